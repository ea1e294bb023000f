"""What a reservation gives back: the degradation without it less that with it, in points.

A point is a percentage point of the workload's own value alone: a workload that takes 2.00 times as
long next to a neighbour, and 1.30 times where the neighbour is held, regains 70 points. The study
huang2019 reports its reservations so.

**Method.** Both degradations are of one platform, and are compared with the same trial of the
workload alone: so the difference is taken in each block that has all three, and drift and the luck
of that trial are in both of its parts. The estimate is Hodges and Lehmann's of these differences,
the interval that of the signed-rank test at 95 %; where instances differ
(``tare.results.stats.hierarchy``) their means are the values. The interval is an ordinary one:
nothing is decided by it, and the study stopped for other reasons.

**What failed.** In a block in which only the workload without the reservation failed, what is
regained is infinite, and keeps its rank as that of a pair does; where both failed nothing can be
said of the block, and it is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from tare.core.model import Cell, ContrastKind, Metric, Params, Replicates, neighbour_of
from tare.core.model.group import Group, group
from tare.results.compare.comparison import Comparison
from tare.results.compare.estimate import Estimate
from tare.results.compare.estimates import Estimates
from tare.results.compare.instances import instance_pairs, linked
from tare.results.compare.pairing import aligned
from tare.results.compare.reason import Reason, ReasonKind, reason_of
from tare.results.stats.hierarchy import (
    are_replicates,
    components,
    means,
    nested_interval,
    numbered,
    tamed,
)
from tare.results.stats.signed_rank import Array, Interval, estimate, interval

LEVEL = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Regained:
    """What one reservation gives back to a workload next to one neighbour, on one platform.

    ``without`` and ``held`` are the comparisons with the workload alone; ``without`` is None where
    the study has no such cell. ``points``, ``low`` and ``high`` are percentage points of the
    workload's own value alone, of ``blocks``; ``reason`` says why there are none. Points without
    ends are of too few blocks for an interval.
    """

    held: Comparison
    without: Comparison | None = None
    points: float | None = None
    low: float | None = None
    high: float | None = None
    blocks: int = 0
    reason: Reason | None = None

    @property
    def cell(self) -> Cell:
        """The cell whose neighbour is held."""
        return self.held.cell

    @property
    def metric(self) -> Metric:
        """The metric that the points are of."""
        return self.held.metric


def regained(estimates: Estimates) -> tuple[Regained, ...]:
    """Return what each reservation of a study gives back, in the order of the plan's cells."""
    return tuple(_each(estimates))


def _each(estimates: Estimates) -> Iterator[Regained]:
    plan = estimates.plan
    isolated = {
        cell.id: estimates.of(contrast)
        for cell in plan.cells
        if (contrast := plan.decided_by.get(cell.id)) is not None
        and contrast.kind is ContrastKind.ISOLATION
    }
    free = {
        _disturbance(cell): isolated[cell.id]
        for cell in plan.cells
        if cell.id in isolated and not _is_held(cell)
    }
    for cell in plan.cells:
        if cell.id in isolated and _is_held(cell):
            yield _between(free.get(_disturbance(cell)), isolated[cell.id])


def _between(without: Estimate | None, held: Estimate) -> Regained:
    if without is None:
        return Regained(held=held.row, reason=reason_of(ReasonKind.NOT_IN_STUDY))
    made = Regained(held=held.row, without=without.row)
    free, blocks = without.pairs, held.pairs.blocks
    known = [block for block in blocks if block in set(free.blocks)]
    points = points_of(aligned(free, known), aligned(held.pairs, known))
    has_points = ~np.isnan(points)
    kept = [block for block, has in zip(known, has_points, strict=True) if has]
    points = points[has_points]
    if not len(points):
        why = made.without.reason if made.without and made.without.reason else made.held.reason
        return replace(made, reason=why or reason_of(ReasonKind.NO_COMMON_BLOCK))
    value, ends = _centre(points, without, held, kept)
    if not np.isfinite(value):
        reason = reason_of(ReasonKind.NO_SIZE)
        return replace(made, blocks=len(points), reason=reason)
    low, high = ends or (None, None)
    return replace(made, points=value, low=low, high=high, blocks=len(points))


def points_of(without: Array, held: Array) -> Array:
    """Return the points that are regained in each block, of the log ratios to the workload alone.

    NaN where neither has a ratio.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(100 * (np.exp(without) - np.exp(held)), dtype=np.float64)


def _centre(
    points: Array, without: Estimate, held: Estimate, blocks: list[int]
) -> tuple[float, Interval | None]:
    """Return the estimate and the interval, by instances where these differ."""
    if held.own.replicates is Replicates.INSTANCES:
        sides = [
            tuple(map(str, found))
            for one in (held, without)
            if (found := instance_pairs(one.own, one.base, blocks))
        ]
        groups = numbered(linked(*sides) if len(sides) == 2 else next(iter(sides), ()))
        parts = components(tamed(points), groups)
        if parts is not None and are_replicates(parts):
            return estimate(means(points, groups)), nested_interval(points, groups, LEVEL)
    return estimate(points), interval(points, LEVEL)


Disturbance = tuple[str, Group, Params, int]
"""A platform, a workload under limits, and a neighbour whatever it is held to."""


def _disturbance(cell: Cell) -> Disturbance:
    neighbour = neighbour_of(cell.params)
    params = replace(neighbour, reservation=None).params if neighbour else ()
    return cell.platform, group(cell), params, cell.replica


def _is_held(cell: Cell) -> bool:
    neighbour = neighbour_of(cell.params)
    return neighbour is not None and neighbour.reservation is not None
