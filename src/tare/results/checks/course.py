"""What a series of costs did over a session: drift, regimes, modes, likeness of neighbours, order.

Each is found only if it is at least as large as ``least``, a log ratio, and significant at LEVEL.
The size is looked at first, because the tests are dear.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tare.results.stats.change_points import change_points
from tare.results.stats.description import middle
from tare.results.stats.series import kendall_trend, lag1_autocorrelation
from tare.results.stats.signed_rank import Array
from tare.results.stats.unimodality import dip
from tare.results.stats.values import Tested

LEVEL = 0.01
FEWEST = 10
"""Values below which a series is too short for any of this."""
ALIKE = 0.3
"""Autocorrelation of neighbours below which it does not matter, significant or not."""
APART = 3.5
"""Distance of two groups in their deviations (Ashman's D) from which on they may be two modes.

The halves of a uniform distribution, the flattest with one mode, are 3.46 apart.
"""
CLEARLY = 0.75
"""Largest distance of regimes from the series, in a drift's; any drift can be cut into steps."""
PLACE_ROUNDS = 999
SEED = 1
"""Of the permutations; the same results give the same answers."""


@dataclass(frozen=True, slots=True)
class Series:
    """Logs of costs by block, in the order in which they were measured; positive is worse.

    ``times`` are seconds, or the numbers of the blocks where a trial does not tell its time; in
    the order of ``slots`` the cells of a block were measured.
    """

    times: Array
    values: Array
    blocks: NDArray[np.int64]
    slots: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Drift:
    """The change from the first third to the last, the slope per unit of time, Kendall's tau, p."""

    change: float
    slope: float
    tau: float
    p: float


@dataclass(frozen=True, slots=True)
class Modes:
    """Two groups of values: the distance of their medians, how many are in each, p of the dip."""

    gap: float
    lower: int
    upper: int
    p: float


@dataclass(frozen=True, slots=True)
class PlaceEffect:
    """What is measured in one place of its block (from 0) costs ``gap`` more than in another."""

    worst: int
    best: int
    gap: float
    p: float


Levels = list[tuple[int, float]]
"""The first block and the median of each regime."""


def course(series: Series, least: float) -> tuple[Drift | None, Levels]:
    """Find a drift, or regimes if there is more than one: whichever is nearer to the series."""
    drift, levels = _drift(series, least), _regimes(series, least)
    if drift is None or not levels:
        return drift, levels
    later = [block for block, _ in levels[1:]]
    steps = np.array([level for _, level in levels])[np.searchsorted(later, series.blocks, "right")]
    # A line has two parameters; a level has one, and the block from which on it holds.
    by_levels = _off(series.values - steps, 2 * len(levels) - 1)
    by_line = _off(series.values - drift.slope * series.times, 2)
    return (None, levels) if by_levels < CLEARLY * by_line else (drift, [])


def alike(values: Array) -> Tested | None:
    """Find whether neighbours are alike, or unlike."""
    seen = lag1_autocorrelation(values, seed=SEED, rounds=0)
    if seen is None or abs(seen.statistic) < ALIKE:
        return None
    found = lag1_autocorrelation(values, seed=SEED)
    return found if found is not None and found.p < LEVEL else None


def modes(values: Array, least: float) -> Modes | None:
    """Find whether values lie around two levels."""
    lower, upper = _halves(np.sort(values))
    gap = middle(upper) - middle(lower)
    within = math.sqrt((float(lower.var()) + float(upper.var())) / 2)
    if gap < least or float(upper.mean() - lower.mean()) < APART * within:
        return None
    found = dip(values)
    if found is None or found.p >= LEVEL:
        return None
    return Modes(gap, len(lower), len(upper), found.p)


def place_effect(series: Sequence[Series], least: float) -> PlaceEffect | None:
    """Find whether the place in the block matters, over all cells that are compared.

    A value's residual is its log less the median of its block and less that of its cell, for which
    each place counts alike. Only blocks in which every cell has a value are used.
    """
    blocks = reduce(np.intersect1d, (one.blocks for one in series))
    if len(series) < 2 or len(blocks) < FEWEST:
        return None
    at = [np.searchsorted(one.blocks, blocks) for one in series]  # a series is in order of block
    logs = np.array([one.values[found] for one, found in zip(series, at, strict=True)])
    slots = np.array([one.slots[found] for one, found in zip(series, at, strict=True)])
    residuals = logs - np.median(logs, axis=0)
    places = slots.argsort(axis=0).argsort(axis=0)
    for own, place in zip(residuals, places, strict=True):
        own -= np.mean([middle(own[place == one]) for one in np.unique(place)])
    medians = [middle(residuals[places == place]) for place in range(len(series))]
    worst, best = int(np.argmax(medians)), int(np.argmin(medians))
    gap = medians[worst] - medians[best]
    if gap < least:
        return None
    p = _place_p(residuals, places)
    return PlaceEffect(worst, best, gap, p) if p < LEVEL else None


def _place_p(residuals: Array, places: NDArray[np.intp]) -> float:
    """Test that residuals do not depend on the place, by drawing the order of each block again.

    Residuals of one block are not independent (those of two cells are each other's mirror image),
    so Kruskal and Wallis' test finds too much. Its statistic, the sum of squared mean ranks of the
    places, is kept.
    """
    # Ranks of equal values may differ: it costs power only, and only where all are nearly equal.
    ranks = residuals.ravel().argsort().argsort().reshape(residuals.shape)
    rng = np.random.default_rng(SEED)
    drawn = rng.permuted(np.tile(ranks, (PLACE_ROUNDS, 1, 1)), axis=1)
    sums = [np.where(places == place, drawn, 0).sum(axis=(1, 2)) for place in range(len(ranks))]
    there = [np.where(places == place, ranks, 0).sum() for place in range(len(ranks))]
    extreme = (np.square(sums).sum(axis=0) >= np.square(there).sum()).sum()
    return float(extreme + 1) / (PLACE_ROUNDS + 1)


def _drift(series: Series, least: float) -> Drift | None:
    third = len(series.values) // 3
    change = middle(series.values[-third:]) - middle(series.values[:third])
    if abs(change) < least:
        return None
    trend = kendall_trend(series.times, series.values)
    if trend is None or trend.p >= LEVEL:
        return None
    return Drift(change, trend.slope, trend.tau, trend.p)


def _regimes(series: Series, least: float) -> Levels:
    """Return the regimes if there is more than one.

    They are looked for only where neighbours are alike: in a series that changes its level they
    are, and the search is dear.
    """
    found = alike(series.values)
    if found is None or found.statistic < 0:
        return []
    points = change_points(series.values, seed=SEED, level=LEVEL) or ()
    levels = [
        (int(series.blocks[start]), float(np.median(series.values[start:end])))
        for start, end in pairwise((0, *points, len(series.values)))
    ]
    steps = [abs(after - before) for (_, before), (_, after) in pairwise(levels)]
    return levels if steps and max(steps) >= least else []


def _off(residuals: Array, parameters: int) -> float:
    """Return the mean distance of a series from what was fitted to it."""
    rest = len(residuals) - parameters
    return float(np.abs(residuals - np.median(residuals)).sum()) / rest if rest > 0 else math.inf


def _halves(ordered: Array) -> tuple[Array, Array]:
    """Cut sorted values in two so that the squares within the parts are least."""
    n = len(ordered)
    sizes = np.arange(1, n)
    centred = ordered - ordered.mean()
    # The squares within are least where those between are most.
    cut = int(np.argmax(np.cumsum(centred)[:-1] ** 2 / (sizes * (n - sizes)))) + 1
    return ordered[:cut], ordered[cut:]
