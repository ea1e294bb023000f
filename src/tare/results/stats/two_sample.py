"""Tests of two independent samples, for readers of studies that ran them.

None of them knows blocks: what drifts between the two samples counts as a difference. All are
two-sided and take samples in any unit; a statistic is positive where ``a`` is the larger. None is
given where a test has no answer; see ``tare.results.stats.values``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from tare.results.stats.effect import rank_sum
from tare.results.stats.ratio import ratio, ratios
from tare.results.stats.signed_rank import Array, Interval
from tare.results.stats.values import Estimated, Tested, averageable, constant, numbers, scaled

Values = Sequence[float] | Array

EXACT_UP_TO = 40
"""Up to this number of values in each sample, all different, the distribution is counted."""

CHUNK = 1 << 21
"""Permuted numbers held at once: 16 MB."""


def student(a: Values, b: Values) -> Tested | None:
    """Test equal means if both variances are the same (Student 1908); None without any spread."""
    return _t(numbers(a), numbers(b), equal_variances=True)


def welch(a: Values, b: Values) -> Tested | None:
    """Test equal means without assuming equal variances (Welch 1947); None without any spread."""
    return _t(numbers(a), numbers(b), equal_variances=False)


def mann_whitney(a: Values, b: Values) -> Tested | None:
    """Test that neither sample tends to larger values (Mann and Whitney 1947); U counts a > b.

    Exact up to 40 values each without ties, else normal with corrections for ties and continuity.
    Infinite values are the largest or smallest. None if a sample is empty; p is 1 if all are equal.
    """
    first, second = numbers(a), numbers(b)
    n, m = len(first), len(second)
    if not n or not m:
        return None
    distinct, places, ties = np.unique(
        np.concatenate((first, second)), return_inverse=True, return_counts=True
    )
    if len(distinct) == 1:
        return Tested(n * m / 2, 1.0)
    ranks = np.cumsum(ties) - (ties - 1) / 2
    u = float(ranks[places[:n]].sum()) - n * (n + 1) / 2
    least = min(u, n * m - u)
    if len(distinct) == n + m and max(n, m) <= EXACT_UP_TO:
        return Tested(u, min(1.0, 2 * float(rank_sum(min(n, m), max(n, m))[round(least)])))
    from scipy import special  # only here: it takes longer to load than most results to compare

    shared = float((ties**3.0 - ties).sum()) / ((n + m) * (n + m - 1))
    sd = math.sqrt(n * m / 12 * (n + m + 1 - shared))
    return Tested(u, min(1.0, 2 * float(special.ndtr((least + 0.5 - n * m / 2) / sd))))


def permutation(a: Values, b: Values, *, seed: int, rounds: int = 9999) -> Tested | None:
    """Test the difference of means by exchanging labels (Fisher 1935; Pitman 1937).

    All exchanges are made if they are no more than ``rounds``; else that number is drawn, and the
    one that was measured counts among them (Phipson and Smyth 2010), so p is never 0. The statistic
    is the difference of means. None if a sample is empty or a value infinite.
    """
    first, second = numbers(a), numbers(b)
    n, together = len(first), np.concatenate((first, second))
    if not n or not len(second) or not np.isfinite(together).all():
        return None
    (small,) = scaled(together)
    small = small - small.mean()
    # With the total fixed, the sum of the first sample orders exchanges as its mean minus the other
    # mean does; centring makes its expectation 0, also for samples of unequal size.
    limit = abs(float(small[:n].sum())) - 1e-12 * float(np.abs(small).sum())
    total = math.comb(len(small), n)
    if total <= rounds:
        chosen = np.array(list(combinations(range(len(small)), n)))
        p = float((np.abs(small[chosen].sum(axis=1)) >= limit).mean())
    else:
        rng, extreme, left = np.random.default_rng(seed), 0, rounds
        while left > 0:
            many = min(left, max(1, CHUNK // len(small)))
            drawn = rng.permuted(np.tile(small, (many, 1)), axis=1)[:, :n].sum(axis=1)
            extreme += int((np.abs(drawn) >= limit).sum())
            left -= many
        p = (extreme + 1) / (rounds + 1)
    # Halved, so that two means near the largest float have a finite difference if there is one.
    return Tested(2 * float((first / 2).mean() - (second / 2).mean()), p)


def satterthwaite(part_a: float, n: int, part_b: float, m: int) -> float:
    """Return the degrees of freedom of a sum of two squared standard errors (Welch 1947)."""
    return (part_a + part_b) ** 2 / (part_a**2 / (n - 1) + part_b**2 / (m - 1))


def _t(a: Array, b: Array, *, equal_variances: bool) -> Tested | None:
    from scipy import special  # only here: it takes longer to load than most results to compare

    if not averageable(a, b) or constant(a, b):
        return None
    a, b = scaled(a, b)
    n, m = len(a), len(b)
    own, other = float(a.var(ddof=1)), float(b.var(ddof=1))
    apart = float(a.mean()) - float(b.mean())
    if own == other == 0:  # next to the other sample a spread as small as that is none
        return Tested(math.copysign(math.inf, apart), 0.0) if apart else None
    if equal_variances:
        free: float = n + m - 2
        own = other = ((n - 1) * own + (m - 1) * other) / free
    else:
        free = satterthwaite(own / n, n, other / m, m)
    t = apart / math.sqrt(own / n + other / m)
    return Tested(t, 2 * float(special.stdtr(free, -abs(t))))


def log_t(a: Values, b: Values, level: float = 0.05) -> Estimated | None:
    """Bound the ratio of geometric means by Welch's t on the logarithms.

    None without spread, with fewer than two values, or if one is infinite or not positive.
    """
    first, second = numbers(a), numbers(b)
    if not averageable(first, second) or min(first.min(), second.min()) <= 0:
        return None
    first, second = np.log(first), np.log(second)
    if constant(first, second):
        return None
    from scipy import special  # only here, as above

    difference = float(first.mean() - second.mean())
    part_a, part_b = first.var(ddof=1) / len(first), second.var(ddof=1) / len(second)
    freedom = satterthwaite(part_a, len(first), part_b, len(second))
    half = float(special.stdtrit(freedom, 1 - level / 2) * np.sqrt(part_a + part_b))
    return Estimated(ratio(difference), ratios(Interval(difference - half, difference + half)))
