"""Which cell of one set of results is which of another, and why two may not be compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tare.core.model import Cell, Scalar
from tare.results.compare.reason import Reason, ReasonKind, reason_of
from tare.results.compare.result_set import ResultSet
from tare.results.questions.fact_differences import Changed, differing


class Aspect(StrEnum):
    """What of a cell is looked at."""

    STACK = "stack"
    SETTING = "setting"
    PARAMETER = "parameter"
    LIMIT = "limit"


@dataclass(frozen=True, slots=True)
class Unlike:
    """One thing in which two cells differ."""

    aspect: Aspect
    changed: Changed


def matched(
    before: Sequence[Cell], after: Sequence[Cell]
) -> tuple[dict[str, Cell], dict[str, Reason]]:
    """Find for each cell of A the one of B that is the same, or why there is none.

    What a platform is counts, its stack and settings, and not what it is called; of several that
    are the same the one of the same name.
    """
    by_name = {(cell.platform, cell.replica, *identity(cell)): cell for cell in after}
    names = {cell.id: (cell.platform, cell.replica, *identity(cell)) for cell in before}
    found = {cell: by_name[name] for cell, name in names.items() if name in by_name}
    taken = {cell.id for cell in found.values()}
    reasons = {}
    for cell in before:
        if cell.id in found:
            continue
        free = [one for one in after if one.id not in taken and identity(one) == identity(cell)]
        if free:
            found[cell.id] = free[0]
            taken.add(free[0].id)
        else:
            reasons[cell.id] = _why_alone(cell, [one for one in after if one.id not in taken])
    return found, reasons


def identity(cell: Cell) -> tuple[object, ...]:
    """Return what has to be equal in two sets for cells to be the same."""
    return cell.stack, cell.settings, cell.workload, cell.params, cell.limits


def _why_alone(cell: Cell, others: Sequence[Cell]) -> Reason:
    """Return in what the most alike cell of B differs, of the same workload and platform."""
    alike = [one for one in others if one.workload == cell.workload]
    alike = [one for one in alike if one.stack == cell.stack or one.platform == cell.platform]
    if not alike:
        return reason_of(ReasonKind.NO_PARTNER, workload=cell.workload, platform=cell.platform)
    least = min((tuple(unlike(cell, one)) for one in alike), key=len)
    return reason_of(ReasonKind.MEASURED_OTHERWISE, unlike=least)


def unlike(one: Cell, other: Cell) -> Iterator[Unlike]:
    """List in what two cells differ."""
    pairs: list[tuple[Aspect, Mapping[str, Scalar], Mapping[str, Scalar]]] = [
        (Aspect.STACK, {"stack": one.stack}, {"stack": other.stack}),
        (Aspect.SETTING, dict(one.settings), dict(other.settings)),
        (Aspect.PARAMETER, dict(one.params), dict(other.params)),
        (Aspect.LIMIT, _limits(one), _limits(other)),
    ]
    for aspect, first, second in pairs:
        for name in dict.fromkeys((*first, *second)):
            if first.get(name) != second.get(name):
                yield Unlike(aspect, Changed(name, first.get(name), second.get(name)))


def _limits(cell: Cell) -> dict[str, Scalar]:
    limits = cell.limits
    return {
        "cpus": limits.cpus,
        "memory_bytes": limits.memory_bytes,
        "disk_cache": limits.disk_cache.value,
        "cpu_limit": limits.cpu_limit.value,
        "swap_bytes": limits.swap_bytes,
        **dict(limits.optional),
    }


def refusals_of_all(a: ResultSet, b: ResultSet) -> Iterator[Reason]:
    """List what makes any number of the two another thing, or the same: the trials themselves."""
    shared = a.sessions.keys() & b.sessions.keys()
    if shared:
        counts = tuple(
            (sum(side.sessions[one] for one in shared), len(side.trials)) for side in (a, b)
        )
        yield reason_of(ReasonKind.SAME_SESSION, before=counts[0], after=counts[1])
    first, second = a.plan.repetition, b.plan.repetition
    if first.design is not second.design:
        yield reason_of(ReasonKind.OTHER_DESIGN, before=first.design, after=second.design)
    if first.variant is not second.variant:
        yield reason_of(ReasonKind.OTHER_VARIANT, before=first.variant, after=second.variant)
    ours, other = a.facts.userland, b.facts.userland
    if ours.id and other.id and ours.id != other.id:
        versions = tuple(differing(ours.versions, other.versions))
        yield reason_of(ReasonKind.OTHER_USERLAND, versions=versions)


def refusals(a: ResultSet, b: ResultSet, before: Cell, after: Cell) -> Iterator[Reason]:
    """List why two cells that are the same did not measure the same."""
    first, second = a.metric(before), b.metric(after)
    if first != second:
        yield reason_of(ReasonKind.OTHER_METRIC, before=first, after=second)
    ours = a.facts.platform(before.platform).preconditions.files
    other = b.facts.platform(after.platform).preconditions.files
    names = tuple(name for name in ours if name in other and ours[name] != other[name])
    if names:
        yield reason_of(ReasonKind.OTHER_FILES, names=names)
