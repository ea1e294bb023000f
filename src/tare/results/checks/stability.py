"""Whether what was compared was steady: drift, regimes, modes, order, outliers, by kind.

Random order protects the test from all of these (METHOD.md 2.6), so nothing is corrected and
nothing left out. They say how far the number carries: that it is a middle of things that differ.
What is smaller than the plan's margin is not named, since costs within it count as the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from tare.core.model import Better, Design, Metric, Variant
from tare.core.model.group import Group, group
from tare.results.checks.case import Case, Comparing
from tare.results.checks.course import FEWEST, Modes, Series, alike, course, modes, place_effect
from tare.results.compare.columns import Columns, Flags
from tare.results.compare.flag import Flag, FlagKind, flag
from tare.results.compare.pairing import History
from tare.results.stats.signed_rank import Array


def findings(case: Case) -> Iterator[Flag]:
    """Yield what the series of a primary comparison say."""
    row = case.row
    if not case.is_decisive or row.baseline is None:
        return
    yield from _of_costs(case)
    yield from case.study.once(_of_baseline, row.baseline.id, row.metric, row.variant)
    if case.study.plan.repetition.design is Design.INTERLEAVED:  # a duet's halves run at once
        yield from case.study.once(_of_order, group(row.cell), row.metric, row.variant)


def _of_costs(case: Case) -> Iterator[Flag]:
    row, pairs, least = case.row, case.pairs, case.margin
    finite = np.isfinite(pairs.log_ratios)
    if finite.sum() < FEWEST:
        return
    columns = case.own.columns(row.metric, row.variant)
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


def _of_baseline(study: Comparing, cell: str, metric: Metric, variant: Variant) -> list[Flag]:
    """List what concerns all rows that have this baseline."""
    least = math.log1p(study.plan.repetition.margin)
    base = _values(study.estimates.histories[cell], metric, variant)
    if len(base.blocks) < FEWEST:
        return []
    drift, levels = course(base, least)
    found = []
    if drift is not None:
        values = {"change": drift.change, "tau": drift.tau, "p": drift.p}
        found.append(flag(FlagKind.BASELINE_DRIFT, **values))
    if levels:
        first = levels[0][1]
        against = tuple((at, level - first) for at, level in levels[1:])
        found.append(flag(FlagKind.BASELINE_REGIMES, levels=against))
    if drift is None and not levels:
        found += _of_modes(modes(base.values, least), of_baseline=True)
    return found


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


def _of_order(study: Comparing, of: Group, metric: Metric, variant: Variant) -> list[Flag]:
    """List whether trials cost more in one place of their block, counted from 0, than another."""
    histories = [study.estimates.histories[cell.id] for cell in study.groups[of]]
    series = [_values(one, metric, variant) for one in histories]
    found = place_effect(series, math.log1p(study.plan.repetition.margin))
    if found is None:
        return []
    places = {"worst": found.worst, "best": found.best}
    return [flag(FlagKind.ORDER_MATTERS, **places, gap=found.gap, p=found.p)]


def _values(history: History, metric: Metric, variant: Variant) -> Series:
    """Return the logs of what a cell's trials cost, of those that have a number above 0."""
    columns = history.columns(metric, variant)
    known = np.isfinite(columns.values) & (columns.values > 0)
    worse = -1.0 if metric.better is Better.HIGHER else 1.0
    return _series(columns, known, worse * np.log(columns.values[known]))


def _series(columns: Columns, chosen: Flags, values: Array) -> Series:
    return Series(columns.times[chosen], values, columns.blocks[chosen], columns.slots[chosen])
