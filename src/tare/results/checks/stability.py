"""Whether what was compared was steady: drift, regimes, modes, order, outliers, by kind.

Random order protects the test from all of these (METHOD.md 2.6), so nothing is corrected and
nothing left out. They say how far the number carries: that it is a middle of things that differ.
What is smaller than the plan's margin is not named, since costs within it count as the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tare.core.model import Better, Cell, Design, Metric, Plan, Variant
from tare.results.checks import outliers
from tare.results.checks.course import FEWEST, Modes, Series, alike, course, modes, place_effect
from tare.results.compare.columns import Columns, Flags
from tare.results.compare.comparison import Comparison
from tare.results.compare.flag import Flag, FlagKind, flag
from tare.results.compare.pairing import Group, History, group, pair
from tare.results.stats.signed_rank import Array, Interval


def beside_series(
    rows: Sequence[Comparison], histories: Mapping[str, History], plan: Plan
) -> list[Comparison]:
    """Put beside each primary comparison what its series and its outliers say."""
    least = math.log1p(plan.repetition.margin)
    groups: dict[Group, list[Cell]] = {}
    for cell in plan.cells:
        groups.setdefault(group(cell), []).append(cell)
    shared: dict[Group, tuple[Flag, ...]] = {}
    found = []
    for row in rows:
        if not row.primary or row.baseline is None or row.cost is None:
            found.append(row)
            continue
        key = group(row.cell)
        if key not in shared:
            base = _values(histories[row.baseline.id], row.metric, row.variant)
            shared[key] = tuple(_of_baseline(base, least))
            if plan.repetition.design is Design.INTERLEAVED:  # the halves of a duet run at once
                cells = [histories[cell.id] for cell in groups[key]]
                series = [_values(history, row.metric, row.variant) for history in cells]
                shared[key] += tuple(_of_order(series, least))
        theirs = histories[row.baseline.id].beside(row.cell.id)
        of_row = _of_row(row, histories[row.cell.id], theirs, least)
        found.append(replace(row, flags=(*row.flags, *of_row, *shared[key])))
    return found


def _of_row(row: Comparison, mine: History, theirs: History, least: float) -> Iterator[Flag]:
    pairs = pair(mine, theirs, row.metric, row.variant)
    ends = None if row.low is None or row.high is None else Interval(row.low, row.high)
    yield from outliers.flags(pairs, row.look, ends, mine, theirs)
    finite = np.isfinite(pairs.log_ratios)
    if finite.sum() < FEWEST:
        return
    columns = mine.columns(row.metric, row.variant)
    paired = np.isin(columns.blocks, np.array(pairs.blocks)[finite])
    costs = _series(columns, paired, pairs.log_ratios[finite])
    drift, levels = course(costs, least)
    if drift is not None:
        yield flag(FlagKind.COST_DRIFT, change=drift.change, tau=drift.tau, p=drift.p)
    if levels:
        yield flag(FlagKind.COST_REGIMES, levels=tuple(levels))
    if drift is not None or levels:  # both make neighbours alike, and give more than one level
        return
    neighbours = alike(costs.values)
    if neighbours is not None:
        yield flag(FlagKind.NEIGHBOURS_ALIKE, correlation=neighbours.statistic, p=neighbours.p)
    yield from _of_modes(modes(costs.values, least), of_baseline=False)


def _of_baseline(base: Series, least: float) -> Iterator[Flag]:
    """Say what concerns all rows of a group."""
    if len(base.blocks) < FEWEST:
        return
    drift, levels = course(base, least)
    if drift is not None:
        yield flag(FlagKind.BASELINE_DRIFT, change=drift.change, tau=drift.tau, p=drift.p)
    if levels:
        first = levels[0][1]
        against = tuple((at, level - first) for at, level in levels[1:])
        yield flag(FlagKind.BASELINE_REGIMES, levels=against)
    if drift is None and not levels:
        yield from _of_modes(modes(base.values, least), of_baseline=True)


def _of_modes(found: Modes | None, *, of_baseline: bool) -> Iterator[Flag]:
    if found is not None:
        yield flag(
            FlagKind.TWO_MODES,
            gap=found.gap,
            lower=found.lower,
            upper=found.upper,
            p=found.p,
            of_baseline=of_baseline,
        )


def _of_order(series: Sequence[Series], least: float) -> Iterator[Flag]:
    """Yield whether trials cost more in one place of their block, counted from 0, than another."""
    found = place_effect(series, least)
    if found is not None:
        yield flag(
            FlagKind.ORDER_MATTERS,
            worst=found.worst,
            best=found.best,
            gap=found.gap,
            p=found.p,
        )


def _values(history: History, metric: Metric, variant: Variant) -> Series:
    """Give the logs of what a cell's trials cost, of those that have a number above 0."""
    columns = history.columns(metric, variant)
    known = np.isfinite(columns.values) & (columns.values > 0)
    worse = -1.0 if metric.better is Better.HIGHER else 1.0
    return _series(columns, known, worse * np.log(columns.values[known]))


def _series(columns: Columns, chosen: Flags, values: Array) -> Series:
    return Series(columns.times[chosen], values, columns.blocks[chosen], columns.slots[chosen])
