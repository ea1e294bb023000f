"""Whether a series of values has levelled, and from where on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tare.results.stats.hierarchy import t_p
from tare.results.stats.signed_rank import Array

SHORTEST = 4
"""The fewest values of which a step and a slope can be distinguished."""
LEAST_SERIES = 3


@dataclass(frozen=True, slots=True)
class Step:
    """The first ``cut`` values of each series lie ``height`` above the rest; ``p`` two-sided."""

    cut: int
    height: float
    p: float


def step(series: Sequence[Array]) -> Step | None:
    """Find the step with which series begin before they level.

    All begin at the same age and are cut to the shortest; one series is one replicate. For every
    age up to the middle a step there and a straight line are fitted to their mean, by least
    squares; the best is taken (a change point with a trend, so that what drifts through the whole
    session is no step). With that age the heights fitted to each series for itself are compared
    with 0 by Student's t; p is multiplied by the number of ages tried. None if there are fewer than
    three series, or they are shorter than four.
    """
    length = min(map(len, series), default=0)
    if len(series) < LEAST_SERIES or length < SHORTEST:
        return None
    table = np.array([one[:length] for one in series])
    mean = table.mean(axis=0)
    cuts = range(1, length // 2 + 1)
    best = min(cuts, key=lambda cut: _left_over(mean, cut))
    heights = np.linalg.lstsq(_design(length, best), table.T, rcond=None)[0][2]
    height = float(heights.mean())
    error = float(heights.std(ddof=1)) / math.sqrt(len(heights))
    rounding = 1e-12 * max(1.0, float(np.abs(table).max()))
    if error <= rounding:
        return Step(best, height, 0.0 if abs(height) > rounding else 1.0)
    p = t_p(height / error, len(heights) - 1)
    return Step(best, height, min(1.0, p * len(cuts)))


def _design(length: int, cut: int) -> Array:
    age = np.arange(length, dtype=np.float64)
    return np.column_stack([np.ones(length), age, age < cut])


def _left_over(values: Array, cut: int) -> float:
    """Return the squares that a step at ``cut`` and a line leave unexplained."""
    design = _design(len(values), cut)
    fitted = design @ np.linalg.lstsq(design, values, rcond=None)[0]
    return float(((values - fitted) ** 2).sum())
