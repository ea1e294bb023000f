"""The finding of a study in one sentence, for readers who stop there."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum

from tare.core.model import Cell, ContrastKind, Kind, Status
from tare.present.view.density import density_finding
from tare.present.view.findings import Findings
from tare.present.view.isolation import isolation_finding
from tare.present.view.names import plain_names
from tare.present.view.neighbours import is_isolation
from tare.present.view.numbers import share_text
from tare.present.view.scaling_finding import is_scaling, scaling_finding
from tare.present.view.speed import TIMES_FROM, size_range, speed_text
from tare.results.compare.comparison import Comparison
from tare.results.stats.sequential import Verdict

USEFUL_BOUND = 100.0
"""A cost above which the end of an interval says how few pairs there are, and not what is paid."""
FEW = 3
"""The most platforms that are named in one clause; of more, their number is given."""
WORKLOADS = 3
"""The most workloads that are named in one clause."""


class _Kind(IntEnum):
    """What is known of a platform over all its workloads, in the order of the sentence."""

    SAME = 0
    FASTER = 1
    A_LITTLE_SLOWER = 2
    SLOWER = 3
    MIXED = 4
    UNDECIDED = 5
    NOT_MEASURED = 6


def finding(found: Findings) -> str:
    """Return in one sentence what each platform costs, and of which that is not known.

    Nothing is claimed that is not in the verdicts: what is decided on some workloads only is given
    with their names, and of what is undecided no more than the end of its interval.
    """
    rows = [row for row in found.headline if not row.is_control]
    if not rows:
        return "Nothing is compared: the plan has no platform but the baseline."
    if any(row.kind is ContrastKind.INJECTED for row in rows):
        return "This is a self-test: work was added on purpose, and what was found of it follows."
    if density := density_finding(found):
        return density
    if is_isolation(rows):
        return isolation_finding(found, rows)
    if is_scaling(rows):
        return scaling_finding(found, rows)
    names = plain_names(found.plan)
    by_platform: dict[str, list[Comparison]] = {}
    for row in rows:
        by_platform.setdefault(row.cell.platform, []).append(row)
    by_kind: dict[_Kind, dict[str, list[Comparison]]] = {kind: {} for kind in _Kind}
    for platform, own in by_platform.items():
        by_kind[_kind(own)][names[platform]] = own
    clauses = [clause for kind, some in by_kind.items() for clause in _clauses(kind, some, found)]
    return f"{_where(found, names)}{'; '.join(clauses)}."


def _where(found: Findings, names: Mapping[str, str]) -> str:
    base = found.plan.reference
    is_host = all(cell.stack == "host" for cell in found.plan.cells if cell.platform == base)
    where = "On this host " if is_host else f"Compared with {names[base]}, "
    if not found.results.run.stop:
        where = f"So far, {where[0].lower()}{where[1:]}"
    if found.untrusted:
        where = (
            f"Not to be trusted, for the control differs from itself: {where[0].lower()}{where[1:]}"
        )
    return where


def _kind(rows: Sequence[Comparison]) -> _Kind:
    verdicts = {row.verdict for row in rows}
    if len(verdicts) > 1:
        return _Kind.MIXED
    (verdict,) = verdicts
    if verdict is Verdict.SLOWER:
        is_small = all(row.cost is not None and row.cost < TIMES_FROM for row in rows)
        return _Kind.A_LITTLE_SLOWER if is_small else _Kind.SLOWER
    return {
        Verdict.SAME: _Kind.SAME,
        Verdict.FASTER: _Kind.FASTER,
        Verdict.UNDECIDED: _Kind.UNDECIDED,
        Verdict.NOT_MEASURED: _Kind.NOT_MEASURED,
    }[verdict]


def _clauses(
    kind: _Kind, platforms: Mapping[str, Sequence[Comparison]], found: Findings
) -> Iterator[str]:
    """Make the clauses of the platforms of one kind; mixed ones have a clause each."""
    if not platforms:
        return
    rows = [row for own in platforms.values() for row in own]
    names, many = _listed(list(platforms)), len(platforms) > 1
    match kind:
        case _Kind.SAME:
            most = max((row.high or 1.0 for row in rows), default=1.0) - 1
            bound = share_text(most if most > 0 else found.plan.repetition.margin)
            yield f"{names} cost{_s(many)} nothing that can be measured (at most {bound})"
        case _Kind.FASTER | _Kind.A_LITTLE_SLOWER | _Kind.SLOWER:
            yield f"{names} {_are(many)} {_speed(rows)}"
        case _Kind.UNDECIDED:
            yield f"whether {names} cost{_s(many)} anything is undecided{_bound(rows)}"
        case _Kind.NOT_MEASURED:
            yield from _not_measured(platforms, found)
        case _Kind.MIXED:
            for name, own in list(platforms.items())[:FEW]:
                yield f"{name} is {_listed(list(_parts(own, found)))}"
            if len(platforms) > FEW:
                yield f"{len(platforms) - FEW} more platforms differ by workload"


def _parts(rows: Sequence[Comparison], found: Findings) -> Iterator[str]:
    """Return each kind of verdict of one platform, with the workloads it was reached on."""
    margin = share_text(found.plan.repetition.margin)
    for verdict in Verdict:
        some = [row for row in rows if row.verdict is verdict]
        if not some:
            continue
        where = f"on {_workloads(some, found)}"
        match verdict:
            case Verdict.SLOWER | Verdict.FASTER:
                yield f"{_speed(some)} {where}"
            case Verdict.SAME:
                yield f"the same within {margin} {where}"
            case Verdict.UNDECIDED:
                yield f"undecided {where}{_bound(some)}"
            case Verdict.NOT_MEASURED:
                yield f"not measured {where}"


def _speed(rows: Sequence[Comparison]) -> str:
    """Return how much slower or faster rows of one verdict are: 3.1 to 15 times slower."""
    word = rows[0].verdict.value
    costs = sorted(row.cost for row in rows if row.cost is not None)
    if not costs:
        return f"{word}, by an amount that too many failures hide,"
    least, most = costs[0], costs[-1]
    size = size_range(most, least) if word == "faster" else size_range(least, most)
    unknown = len(rows) - len(costs)
    hidden = f" ({unknown} of {len(rows)} by an unknown amount)" if unknown else ""
    return f"{size} {word}{hidden}"


def _bound(rows: Sequence[Comparison]) -> str:
    """Return the most that undecided rows can cost, if all have an interval that bounds it."""
    highs = [row.high for row in rows]
    known = [high for high in highs if high is not None and math.isfinite(high)]
    if len(known) < len(highs):
        return ""
    if max(known) > USEFUL_BOUND:
        return " (too few pairs yet to bound it)"
    return f" (at most {speed_text(max(1.0, *known))})"


def _not_measured(platforms: Mapping[str, Sequence[Comparison]], found: Findings) -> Iterator[str]:
    """Return which platforms this host cannot run, which failed, and which have no trial yet."""
    whys: dict[str, list[str]] = {}
    for name, rows in platforms.items():
        whys.setdefault(_why([row.cell for row in rows], found), []).append(name)
    for why, names in whys.items():
        yield f"{_listed(names)} {why.format(are='were' if len(names) > 1 else 'was')}"


def _why(cells: Sequence[Cell], found: Findings) -> str:
    trials = [trial for cell in cells for trial in found.trials[cell.id]]
    statuses = {trial.status for trial in trials if trial.kind is Kind.MEASURED}
    if statuses == {Status.UNAVAILABLE}:
        return "cannot run here"
    if statuses & {Status.FAILED, Status.DNR}:
        return "failed and {are} not measured"
    return "{are} not measured yet" if not statuses else "{are} not measured"


def _workloads(rows: Sequence[Comparison], found: Findings) -> str:
    names = [found.group_names[row.cell.id] for row in rows]
    if len(names) > WORKLOADS:
        return f"{len(names)} workloads"
    return _listed(names)


def _listed(names: Sequence[str]) -> str:
    """Join as people do; of many platforms give the number."""
    if len(names) > FEW + 1:
        return f"{len(names)} platforms"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _s(many: bool) -> str:
    return "" if many else "s"


def _are(many: bool) -> str:
    return "are" if many else "is"
