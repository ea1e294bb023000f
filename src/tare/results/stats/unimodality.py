"""Whether values fall into two groups: the dip test (Hartigan and Hartigan 1985)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tare.results.stats.signed_rank import Array
from tare.results.stats.values import Tested, averageable, constant, numbers, scaled

SIMULATED_UP_TO = 400
"""Above this number of values, sqrt(n) times the dip is taken to be distributed as at that many.

Of 2000 uniform values 1.2 % then have a p below 0.01.
"""

ROUNDS = 999

SEED = 1985
"""The p value of a dip is the same in every run."""


def dip(values: Sequence[float] | Array) -> Tested | None:
    """Measure and test how far the values are from any distribution with one mode.

    The dip is the largest distance between their distribution function and the nearest unimodal
    one, from 1 / 2n to 1/4. The p value is the share of uniform samples of the same size with a dip
    at least as large (the measured one counts among them); uniform is the unimodal distribution
    with the largest dips, so other shapes are safe. Coarsely rounded values look multimodal: give
    at least as many digits as make most values different. None below 4 values, without spread, or
    with an infinite value.
    """
    array = numbers(values)
    if len(array) < 4 or not averageable(array) or constant(array):
        return None
    (array,) = scaled(array)
    n, found = len(array), _dip(np.sort(array))
    simulated = _uniform_dips(min(n, SIMULATED_UP_TO))
    comparable = found * math.sqrt(n / min(n, SIMULATED_UP_TO))
    larger = len(simulated) - int(np.searchsorted(simulated, comparable * (1 - 1e-12), "left"))
    return Tested(found, (larger + 1) / (len(simulated) + 1))


@lru_cache(maxsize=SIMULATED_UP_TO)
def _uniform_dips(n: int) -> Array:
    rng = np.random.default_rng((SEED, n))
    samples = np.sort(rng.random((ROUNDS, n)), axis=1)
    return np.sort([_dip(sample) for sample in samples])


def _dip(ordered: Array) -> float:
    """Find the dip of values in ascending order by narrowing the modal interval, as in the paper.

    Counts of values stand for probabilities until the end. Left of the modal interval the nearest
    unimodal function is the greatest convex minorant of the distribution function, right of it the
    least concave majorant; where the two are farthest apart the next, smaller interval begins.
    """
    x, counts = np.unique(ordered, return_counts=True)
    times = counts.astype(np.float64)
    high = np.cumsum(times)
    low = high - times
    left, right, largest = 0, len(x) - 1, 1.0
    while left < right:
        here = x[left : right + 1]
        convex = left + _hull(here, low[left : right + 1], 1.0)
        concave = left + _hull(here, high[left : right + 1], -1.0)
        minorant = np.interp(here, x[convex], low[convex])
        majorant = np.interp(here, x[concave], high[concave])
        gap = majorant - minorant
        knots = np.union1d(convex, concave)
        widest = int(knots[gap[knots - left].argmax()])
        new_left = int(convex[np.searchsorted(convex, widest, "right") - 1])
        new_right = int(concave[np.searchsorted(concave, widest, "left")])
        if gap[widest - left] <= largest:
            break
        # A unimodal function may jump at the mode, so equal values there count as one.
        below = (high[left:new_left] - minorant[: new_left - left]).max(initial=1.0)
        above = (majorant[new_right + 1 - left :] - low[new_right + 1 : right + 1]).max(initial=1.0)
        largest = max(largest, float(below), float(above))
        if (new_left, new_right) == (left, right):
            break
        left, right = new_left, new_right
    return largest / (2 * float(high[-1]))


def _hull(x: Array, y: Array, turn: float) -> NDArray[np.intp]:
    """Return the places of the lower (turn 1) or upper (turn -1) convex hull, ends included."""
    xs, ys, kept = x.tolist(), y.tolist(), [0]
    for i in range(1, len(xs)):
        while len(kept) > 1:
            a, b = kept[-2], kept[-1]
            if turn * ((ys[b] - ys[a]) * (xs[i] - xs[a]) - (ys[i] - ys[a]) * (xs[b] - xs[a])) < 0:
                break
            kept.pop()
        kept.append(i)
    return np.array(kept, dtype=np.intp)
