"""What work loses next to a neighbour, held to the most that is allowed.

A loss is a cost minus 1: next to the neighbour against alone, on the same platform. The worst of
the mix's workloads and of the neighbours counts, by its interval: kept if every loss is surely
within the limit, broken if one is surely beyond it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tare.core.model import IDLE, Cell, ContrastKind, Neighbour, neighbour_of
from tare.core.model.group import Group, group
from tare.results.compare.comparison import Comparison
from tare.results.compare.reason import ReasonKind, reason_of
from tare.results.compare.result_set import ResultSet
from tare.results.questions.constraints import (
    ISOLATION,
    Constrained,
    Constraints,
    Keeps,
    NextTo,
)
from tare.results.stats.sequential import Verdict


@dataclass(frozen=True, slots=True)
class _Loss:
    """A loss with the ends of its interval; infinite where the work did not come to its end."""

    row: Comparison
    neighbour: Neighbour
    value: float
    low: float
    high: float


def isolation_loss(
    cell: Cell, groups: Iterable[Group], constraints: Constraints, sources: Sequence[ResultSet]
) -> Iterator[Constrained]:
    """Hold what a cell's platform loses on some workloads to the limit, if there is one."""
    limit = constraints.isolation_loss
    if limit is None:
        return
    groups = tuple(groups)
    losses = list(_losses(cell, groups, constraints.neighbour, sources))
    measured = {group(one.row.cell) for one in losses}
    missing = tuple(one for one in groups if one not in measured)
    if any(one.low > limit for one in losses):
        keeps = Keeps.BROKEN
    elif missing:
        names = tuple(dict.fromkeys(workload for workload, _, _ in missing))
        reason = reason_of(
            ReasonKind.ISOLATION_NOT_MEASURED, workloads=names, stressor=constraints.neighbour
        )
        yield Constrained(name=ISOLATION, limit=limit, keeps=Keeps.MISSING, reason=reason)
        return
    else:
        is_kept = all(one.high <= limit for one in losses)
        keeps = Keeps.KEPT if is_kept else Keeps.UNDECIDED
    # What breaks it, or may: not always the largest number.
    worst = max(losses, key=lambda one: (one.low > limit, one.high > limit, one.value))
    yield Constrained(
        name=ISOLATION,
        limit=limit,
        keeps=keeps,
        value=worst.value,
        low=worst.low,
        high=worst.high,
        n=worst.row.replicates or worst.row.pairs,
        source=NextTo(group(worst.row.cell), worst.neighbour, len(losses)),
    )


def _losses(
    cell: Cell, groups: Sequence[Group], stressor: str | None, sources: Sequence[ResultSet]
) -> Iterator[_Loss]:
    """Yield the loss of each row of the platform with a workload of the mix and a neighbour.

    Neighbours that are held by a reservation do not count: without one they would take more.
    """
    for row in (row for side in sources for row in side.comparisons):
        neighbour = neighbour_of(row.cell.params)
        if not row.primary or row.kind is not ContrastKind.ISOLATION or neighbour is None:
            continue
        is_own = (row.cell.stack, row.cell.settings) == (cell.stack, cell.settings)
        is_asked = neighbour.stressor != IDLE and stressor in (None, neighbour.stressor)
        if is_own and is_asked and neighbour.reservation is None and group(row.cell) in groups:
            yield from _loss(row, neighbour)


def _loss(row: Comparison, neighbour: Neighbour) -> Iterator[_Loss]:
    if row.cost is not None:
        low = -1.0 if row.low is None else row.low - 1
        high = math.inf if row.high is None else row.high - 1
        yield _Loss(row, neighbour, row.cost - 1, low, high)
    elif row.failed or row.verdict is Verdict.SLOWER:
        yield _Loss(row, neighbour, math.inf, math.inf, math.inf)
