"""Tests that paired differences are centred at 0, beside the signed-rank test of Tare's verdicts.

Each takes the differences, or the log ratios, of the pairs; all are two-sided. None is given where
a test has no answer; see ``tare.results.stats.values``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tare.results.stats.signed_rank import Array
from tare.results.stats.values import Tested, averageable, constant, numbers, scaled

EXACT_UP_TO = 16
"""Up to so many pairs all 2**n choices of signs are made."""

WILCOXON_EXACT_UP_TO = 50

CHUNK = 1 << 21
"""Signs held at once: 16 MB as floats."""


def paired_t(differences: Sequence[float] | Array) -> Tested | None:
    """Test that the mean is 0 (Student 1908); None if there is no spread or an infinite value."""
    from scipy import special  # only here: it takes longer to load than most results to compare

    d = numbers(differences)
    if not averageable(d) or constant(d):
        return None
    (d,) = scaled(d)
    statistic = float(d.mean() / (d.std(ddof=1) / math.sqrt(len(d))))
    return Tested(statistic, 2 * float(special.stdtr(len(d) - 1, -abs(statistic))))


def wilcoxon(differences: Sequence[float] | Array) -> Tested | None:
    """Give Wilcoxon's signed-rank test as other tools print it; the statistic is the smaller sum.

    Zeros are dropped and tied ranks shared (Wilcoxon 1945); exact up to 50 differences without
    ties, else normal with continuity correction. Tare's verdicts rest on
    ``tare.results.stats.signed_rank``, which counts zeros and ties against rejection instead. None
    if no difference is left.
    """
    from scipy import stats  # only here, as above

    d = numbers(differences)
    d = d[d != 0]
    if not len(d):
        return None
    magnitudes = np.abs(d)
    exact = len(d) <= WILCOXON_EXACT_UP_TO and len(np.unique(magnitudes)) == len(d)
    ranks = stats.rankdata(magnitudes) * np.sign(d)  # same ranks, and infinities become finite
    found = stats.wilcoxon(ranks, correction=not exact, method="exact" if exact else "approx")
    return Tested(float(found.statistic), float(found.pvalue))


def sign_flip(
    differences: Sequence[float] | Array, *, seed: int, rounds: int = 9999
) -> Tested | None:
    """Test the mean by flipping signs: exact for any distribution symmetric about 0 (Fisher 1935).

    All signs are tried up to 16 pairs; above, so many rounds are drawn and the measured one counts
    among them, so p is never 0. The statistic is the mean. None if there is no value or an infinite
    one.
    """
    d = numbers(differences)
    n = len(d)
    if not n or not np.isfinite(d).all():
        return None
    (small,) = scaled(d)
    limit = abs(float(small.sum())) - 1e-12 * float(np.abs(small).sum())
    mean = float((d / n).sum())
    if n <= EXACT_UP_TO:
        sums = np.zeros(1)
        for value in small:
            sums = np.concatenate((sums + value, sums - value))
        return Tested(mean, float((np.abs(sums) >= limit).mean()))
    rng, extreme, left = np.random.default_rng(seed), 0, rounds
    while left > 0:
        many = min(left, max(1, CHUNK // n))
        signs = rng.integers(0, 2, (many, n), dtype=np.int8) * 2 - 1
        extreme += int((np.abs(signs @ small) >= limit).sum())
        left -= many
    return Tested(mean, (extreme + 1) / (rounds + 1))
