"""What was found in this very session that limits what its verdicts say, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from tare.core.model import Kind, Status
from tare.present.view.findings import Findings
from tare.present.view.numbers import share_text
from tare.present.view.verdict_texts import control_text


def threats(found: Findings) -> list[str]:
    """List what a reader must weigh against the verdicts; the first is how far equals differ."""
    return [control_text(found), *_trials(found), *_host(found), *_samples(found)]


def _trials(found: Findings) -> Iterator[str]:
    measured = found.statuses.total() - found.statuses[Status.UNAVAILABLE]
    suspect = found.statuses[Status.SUSPECT]
    failed = found.statuses[Status.FAILED] + found.statuses[Status.DNR]
    again = sum(one.repeat > 0 and one.kind is Kind.MEASURED for one in found.results.trials)
    if measured:
        share = f" ({share_text(suspect / measured)})" if suspect else ""
        yield (
            f"Measured trials known to be disturbed, which count and are marked: {suspect:,} of "
            f"{measured:,}{share}; run again because of it: {again:,}."
        )
    if failed:
        yield f"Trials that failed or did not respond, each the worst value there is: {failed:,}."


def _host(found: Findings) -> Iterator[str]:
    facts = found.results.facts
    unlike = [name for name, platform in facts.platforms.items() if platform.mismatches]
    warned = [name for name, platform in facts.platforms.items() if platform.warnings]
    if unlike:
        yield f"Unlike the baseline in what was not declared, see below: {', '.join(unlike)}."
    if warned:
        yield f"With a warning of their own, see What ran where: {', '.join(warned)}."
    if makes := facts.noise:
        yield f"What makes this host noisy, see below: {len(makes):,} of the things looked for."


def _samples(found: Findings) -> Iterator[str]:
    if damage := found.timelines.damage:
        yield f"Timelines are not drawn of all trials: {damage}."
