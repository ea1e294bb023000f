"""Two one-sided tests: evidence that a difference is smaller than a margin (Schuirmann 1987).

The p value is the larger of the two; below 0.05 if and only if the 90 % interval lies inside the
margin. A margin is a log ratio: ln 1.02 for 2 %. For readers of other studies: Tare's own verdict
``same`` rests on the repeated interval, which also allows for looking more than once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import stats

from tare.results.stats.signed_rank import Array
from tare.results.stats.two_sample import satterthwaite
from tare.results.stats.values import averageable, constant, numbers, scaled


def tost_paired(log_ratios: Sequence[float] | Array, margin: float) -> float | None:
    """Give the p value for ``-margin < mean < margin`` of pairs; None without spread or n < 2."""
    d = numbers(log_ratios)
    _check(margin)
    if not averageable(d) or constant(d):
        return None
    d, scaled_margin = scaled(d, np.array([margin]))
    error = float(d.std(ddof=1)) / math.sqrt(len(d))
    return _larger(float(d.mean()), error, len(d) - 1.0, float(scaled_margin[0]))


def tost_welch(
    a: Sequence[float] | Array, b: Sequence[float] | Array, margin: float
) -> float | None:
    """Give the p value for independent samples of positive values, by Welch's t on their logs.

    None without any spread, with fewer than two values, or if one is infinite or not positive.
    """
    first, second = numbers(a), numbers(b)
    _check(margin)
    if not averageable(first, second) or min(first.min(), second.min()) <= 0:
        return None
    first, second = np.log(first), np.log(second)
    if constant(first, second):
        return None
    part_a = float(first.var(ddof=1)) / len(first)
    part_b = float(second.var(ddof=1)) / len(second)
    freedom = satterthwaite(part_a, len(first), part_b, len(second))
    difference = float(first.mean() - second.mean())
    return _larger(difference, math.sqrt(part_a + part_b), freedom, margin)


def _check(margin: float) -> None:
    if not 0 < margin < math.inf:
        raise ValueError(f"a margin of equivalence is a positive log ratio, not {margin}")


def _larger(difference: float, error: float, freedom: float, margin: float) -> float | None:
    if error == 0:  # the squares of the smallest floats
        return None
    above = stats.t.sf((difference + margin) / error, freedom)
    below = stats.t.cdf((difference - margin) / error, freedom)
    return float(max(above, below))
