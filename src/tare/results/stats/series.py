"""What a row of values in the order of time says about the host it was measured on.

The tests only describe: a random order protects the comparison, and nothing is dropped for what
they find. None where a test has no answer: too few values, no spread, an infinite value. Change
points are in ``tare.results.stats.change_points``, bimodality is in
``tare.results.stats.unimodality``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tare.results.stats.kendall import kendall
from tare.results.stats.signed_rank import Array
from tare.results.stats.values import Tested, averageable, constant, numbers, pairs, scaled

Values = Sequence[float] | Array

CHUNK = 1 << 21
"""Permuted numbers held at once: 16 MB."""


class Trend(NamedTuple):
    """Kendall's tau with its two-sided p, and the Theil-Sen slope in values per unit of time."""

    tau: float
    p: float
    slope: float


def lag1_autocorrelation(values: Values, *, seed: int, rounds: int = 1999) -> Tested | None:
    """Correlate each value with the next; p by drawing orders at random (Wald and Wolfowitz 1943).

    The statistic is the usual r1 = sum (x[t] - m)(x[t+1] - m) / sum (x[t] - m)^2, whose mean over
    random orders is -1/n (Box and Jenkins 1976, section 2.1.5). None below 3 values.
    """
    array = numbers(values)
    n = len(array)
    if n < 3 or not averageable(array) or constant(array):
        return None
    (array,) = scaled(array)
    array = array - array.mean()
    power = float((array**2).sum())
    r1 = float((array[:-1] * array[1:]).sum()) / power
    rng, extreme, left = np.random.default_rng(seed), 0, rounds
    while left > 0:
        many = min(left, max(1, CHUNK // n))
        drawn = rng.permuted(np.tile(array, (many, 1)), axis=1)
        r = (drawn[:, :-1] * drawn[:, 1:]).sum(axis=1) / power
        extreme += int((np.abs(r + 1 / n) >= abs(r1 + 1 / n) - 1e-12).sum())
        left -= many
    return Tested(r1, (extreme + 1) / (rounds + 1))


def kendall_trend(times: Values, values: Values) -> Trend | None:
    """Test that values neither rise nor fall with time (Mann 1945; Kendall's tau-b).

    Exact for few values without ties. Assumes that values do not hang together otherwise: with
    autocorrelation p is too small. None if all times or all values are the same.
    """
    t, x = pairs(times, values)
    if not averageable(t, x) or np.ptp(t) == 0 or np.ptp(x) == 0:
        return None
    first, second = np.triu_indices(len(t), 1)
    with np.errstate(over="ignore", under="ignore"):
        later, more = t[second] - t[first], x[second] - x[first]
        apart = later != 0
        slope = float(np.median(more[apart] / later[apart]))
    agreeing = int((np.sign(later) * np.sign(more)).sum())
    tau, p = kendall(agreeing, *(np.unique(row, return_counts=True)[1] for row in (t, x)))
    return Trend(tau, p, slope)
