"""Word the verdicts of comparisons, the state of a study and its totals, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tare.core.model import Cell, Evidence, Kind, Status, Variant
from tare.core.model.instances import FIT
from tare.present.view.findings import Findings
from tare.present.view.names import platform_text
from tare.present.view.numbers import duration_text, p_text, share_text, size_text
from tare.present.view.reasons import reason_text
from tare.results.compare.comparison import Comparison
from tare.results.compare.evidence import FAMILYWISE
from tare.results.stats.hierarchy import ENOUGH_GROUPS
from tare.results.stats.sequential import LookKind, Stop, Verdict

MAX_PLATFORMS = 5
"""The most platforms with a sentence of their own in the summary."""
MAX_WORKLOADS = 4
"""The most workloads that are named in one clause of it."""
VARIANTS = {
    Variant.WALL: "wall time",
    Variant.CORRECTED: "less foreign delay",
    Variant.HOST_CPU: "host CPU",
}


DENSITY_WORDS = {Verdict.SLOWER: "worse", Verdict.FASTER: "better"}
"""The verdicts on how many instances fit, which is neither slow nor fast."""


def verdict_text(row: Comparison, margin: float) -> str:
    """Return a verdict as people read it."""
    if row.verdict is Verdict.SAME:
        return f"same within {share_text(margin)}"
    if row.metric.name == FIT:
        return DENSITY_WORDS.get(row.verdict, row.verdict.value)
    return row.verdict.value


def variant_text(row: Comparison) -> str:
    """Name a variant of a metric next to another: events, less foreign delay."""
    return f"{row.metric.name}, {VARIANTS[row.variant]}"


def state(found: Findings) -> str:
    """Return whether the study has ended, and why."""
    if stop := found.results.run.stop:
        return f"ended: {stop}"
    return "not ended: the study is running or was killed; what follows is what there is so far"


def lost_text(found: Findings, cell: Cell) -> str:
    """Return what part of its traffic a platform lost or failed: 65 % lost."""
    lost = found.lost.get(cell.id, {})
    return ", ".join(f"{share_text(share)} {word}" for word, share in lost.items())


def pairs_text(row: Comparison) -> str:
    """Count the pairs, and the instances if those are the replicates: 27 in 9."""
    nested = row.replicates is not None and row.replicates < (row.look or row.pairs)
    return f"{row.pairs} in {row.replicates}" if nested else str(row.pairs)


def stop_text(row: Comparison) -> str:
    """Return why a comparison has as many pairs as it has."""
    match row.stop:
        case Stop.EXCLUDES_ONE:
            return f"{_decided(row)}: the interval leaves out 1{strength(row)}"
        case Stop.INSIDE_MARGIN:
            inside = "the interval lies inside the margin"
            return f"{_decided(row)}: {inside}{strength(row)}"
        case Stop.PRECISE:
            return f"precise enough at {row.decided_at} pairs"
        case Stop.MAXIMUM:
            return "all planned blocks were run"
        case Stop.NOTHING:
            return reason_text(row.reason)
        case Stop.NOT_YET:
            return (
                reason_text(row.reason) or "open: more blocks were wanted when the measuring ended"
            )


def _decided(row: Comparison) -> str:
    early = " early," if row.decided_by is LookKind.EARLY else ""
    return f"decided{early} at {row.decided_at} pairs"


def strength(row: Comparison) -> str:
    """Return what a verdict rests on, to follow its reason (METHOD.md 2.4)."""
    match row.evidence:
        case Evidence.ESTABLISHED:
            return "; established: the e-process, which is stricter, agrees"
        case Evidence.LIKELY if row.instances is not None and row.instances < ENOUGH_GROUPS:
            return f"; likely: it can be the luck of so few instances ({row.instances})"
        case Evidence.LIKELY if row.verdict is Verdict.SAME or (row.holm_p or 0) <= FAMILYWISE:
            return "; likely: the e-process, which is stricter, does not say so yet"
        case Evidence.LIKELY:
            p = p_text(row.holm_p)
            return f"; likely: among all others of the study it can be luck (Holm's p {p})"
        case None:
            return ""


def summary(found: Findings) -> list[str]:
    """Return in a few sentences what was decided, with the numbers."""
    rows = [row for row in found.headline if not row.is_control]
    if not rows:
        return ["The plan compares nothing: it has no platform but the baseline."]
    by_platform: dict[str, list[Comparison]] = {}
    for row in rows:  # by its full name, since the arms of a self-test are one platform
        by_platform.setdefault(platform_text(row.cell), []).append(row)
    text = [
        _sentence(platform, some, found)
        for platform, some in list(by_platform.items())[:MAX_PLATFORMS]
    ]
    if len(by_platform) > MAX_PLATFORMS:
        text.append(f"{len(by_platform) - MAX_PLATFORMS} more are in the table.")
    return [*text, *_variant_sentence(found), *_evidence_sentence(rows), control_text(found)]


def _evidence_sentence(rows: Sequence[Comparison]) -> Iterator[str]:
    weighed = [row for row in rows if row.evidence is not None]
    likely = sum(row.evidence is Evidence.LIKELY for row in weighed)
    if likely and len(weighed) > 1:
        yield (
            f"{likely} of {len(weighed)} verdicts are likely, not established: luck is not ruled "
            "out; why stands with each."
        )


def _variant_sentence(found: Findings) -> Iterator[str]:
    match found.plan.repetition.variant:
        case Variant.CORRECTED:
            yield (
                "Decided by wall time less foreign delay: the time in which other work had the CPU "
                "is taken off; wall time is shown with it."
            )
        case Variant.HOST_CPU:
            yield (
                "Decided by host CPU time: what the platform's work took of the CPUs, waiting left "
                "out; wall time is shown with it."
            )


def control_text(found: Findings) -> str:
    """Return what the A/A control says about all other numbers."""
    controls = [row for row in found.headline if row.is_control]
    floors = [row.noise_floor for row in controls if row.noise_floor is not None]
    if found.untrusted:
        names = _list([found.group_names[row.cell.id] for row in found.untrusted])
        return (
            f"NOT TRUSTED: {found.plan.reference} measured twice differs from itself on {names}; "
            "something other than the platforms moved these numbers."
        )
    if not controls:
        return _again_text(found)
    if found.blocks and all(row.pairs == row.failed + row.baseline_failed for row in controls):
        return "The A/A control has no pair of numbers, so the noise of this host is not known."
    if not floors:
        return "The A/A control has too few blocks to tell the noise of this host."
    least, most = share_text(min(floors)), share_text(max(floors))
    return (
        f"The A/A control, {found.plan.reference} measured twice, shows no difference; the noise "
        f"floor is {most if least == most else f'{least} to {most}, by workload'}."
    )


def _again_text(found: Findings) -> str:
    """Return what stands for a missing control: the self-test's arm of no more work."""
    again = next((row for row in found.headline if row.known == 0), None)
    if again is None or again.cost is None:
        return "There is no A/A control, so nobody knows how far equal things differ here."
    verdict = verdict_text(again, found.plan.repetition.margin)
    size = size_text(again.cost, again.low, again.high)
    return (
        f"{platform_text(again.cell)} stands for the A/A control: it is the work of "
        f"{found.plan.reference} measured twice, and is {verdict} ({size})."
    )


def trials_text(found: Findings) -> str:
    """Count what was measured."""
    counts = {one: found.statuses[one] for one in Status if one is not Status.UNAVAILABLE}
    warm = sum(one.kind is Kind.WARMUP for one in found.results.trials)
    bad = [f"{n:,} {one.value}" for one, n in counts.items() if n and one is not Status.OK]
    took = sum(one.duration_s for one in found.results.trials)
    if sum(counts.values()):
        ended = ", ".join(bad) or "all ok"
        measured = f"{sum(counts.values()):,} measured trials in {found.blocks:,} blocks ({ended})"
    elif found.statuses[Status.UNAVAILABLE]:
        measured = "No trial could be measured: all were unavailable"
    else:
        measured = "No trial has been measured"
    return f"{measured}, {warm:,} warm-ups; {duration_text(took)} inside the commands"


def _sentence(platform: str, rows: Sequence[Comparison], found: Findings) -> str:
    return f"{platform} is {_list(list(_clauses(rows, found)), '; ')}."


def _clauses(rows: Sequence[Comparison], found: Findings) -> Iterator[str]:
    """Return each kind of verdict once, with the workloads it was reached on."""
    margin = found.plan.repetition.margin
    for verdict in (Verdict.SLOWER, Verdict.FASTER, Verdict.SAME, Verdict.UNDECIDED):
        some = [row for row in rows if row.verdict is verdict]
        some.sort(key=lambda row: -(row.cost or float("inf")))
        if some:
            names = [f"{found.group_names[row.cell.id]} {_number(row)}" for row in some]
            if len(names) > MAX_WORKLOADS:
                names = [*names[:MAX_WORKLOADS], f"{len(names) - MAX_WORKLOADS} other workloads"]
            yield f"{verdict_text(some[0], margin)} on {_list(names)}"
    missing = [row for row in rows if row.verdict is Verdict.NOT_MEASURED]
    if missing:
        everywhere = len(missing) == len(rows)
        where = _list([found.group_names[row.cell.id] for row in missing[:MAX_WORKLOADS]])
        why = reason_text(missing[0].reason)
        yield f"not measured{'' if everywhere else f' on {where}'} ({why})"


def _number(row: Comparison) -> str:
    if row.cost is None:
        return f"(no cost: {reason_text(row.why_no_ratio)})"
    return f"({size_text(row.cost, row.low, row.high)})"


def _list(parts: Sequence[str], separator: str = ", ") -> str:
    """Join as people do: a, b and c."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{separator.join(parts[:-1])}{';' if separator == '; ' else ''} and {parts[-1]}"
