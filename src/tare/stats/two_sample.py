"""Tests of two independent samples, for readers of studies that ran them.

None of them knows blocks: what drifts between the two samples counts as a difference. All are
two-sided and take samples in any unit; a statistic is positive where ``a`` is the larger. None is
given where a test has no answer; see ``tare.stats.values``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from tare.stats.signed_rank import Array
from tare.stats.values import Tested, averageable, constant, numbers, scaled

Values = Sequence[float] | Array

EXACT_UP_TO = 40
"""Up to so many values in each sample the rank-sum distribution is counted, if no two are equal."""

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
    from scipy import stats  # only here: it takes longer to load than most results to compare

    first, second = numbers(a), numbers(b)
    if not len(first) or not len(second):
        return None
    together = np.concatenate((first, second))
    distinct = len(np.unique(together))
    if distinct == 1:
        return Tested(len(first) * len(second) / 2, 1.0)
    exact = distinct == len(together) and max(len(first), len(second)) <= EXACT_UP_TO
    ranks = stats.rankdata(together)  # ranks of ranks are the same, and infinities become finite
    found = stats.mannwhitneyu(
        ranks[: len(first)], ranks[len(first) :], method="exact" if exact else "asymptotic"
    )
    return Tested(float(found.statistic), float(found.pvalue))


def permutation(a: Values, b: Values, *, seed: int, rounds: int = 9999) -> Tested | None:
    """Test the difference of means by exchanging labels (Fisher 1935; Pitman 1937).

    All exchanges are made if they are no more than ``rounds``; else so many are drawn, and the one
    that was measured counts among them (Phipson and Smyth 2010), so p is never 0. The statistic is
    the difference of means. None if a sample is empty or a value infinite.
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
    """Give the degrees of freedom of a sum of two squared standard errors (Welch 1947)."""
    return (part_a + part_b) ** 2 / (part_a**2 / (n - 1) + part_b**2 / (m - 1))


def _t(a: Array, b: Array, *, equal_variances: bool) -> Tested | None:
    from scipy import stats  # only here: it takes longer to load than most results to compare

    if not averageable(a, b) or constant(a, b):
        return None
    a, b = scaled(a, b)
    found = stats.ttest_ind_from_stats(
        float(a.mean()), float(a.std(ddof=1)), len(a),
        float(b.mean()), float(b.std(ddof=1)), len(b), equal_var=equal_variances,
    )  # fmt: skip
    return Tested(float(found.statistic), float(found.pvalue))
