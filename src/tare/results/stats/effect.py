"""How large a difference between two independent samples is, by ranks.

``level`` is the two-sided chance that an interval misses the truth: 0.05 gives 95 %. What holds for
(a, b) holds for (b, a), turned round.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from tare.results.stats.signed_rank import Array, Interval
from tare.results.stats.values import Estimated, numbers

EXACT_PRODUCT = 1600
"""Up to n * m differences the rank-sum distribution is counted; above, it is taken as normal."""

Values = Sequence[float] | Array


def hodges_lehmann_shift(a: Values, b: Values, level: float = 0.05) -> Estimated | None:
    """Estimate by how much ``a`` exceeds ``b``: the median of all differences a - b.

    The interval is every shift that the rank-sum test does not reject (Moses; Hollander, Wolfe and
    Chicken 2014, sections 4.2 and 4.3); None if so few values can reject none. Infinite minus
    infinite counts as 0. None if a sample is empty. Of logs, the shift is a log ratio.
    """
    first, second = numbers(a), numbers(b)
    if not len(first) or not len(second):
        return None
    with np.errstate(invalid="ignore"):
        differences = np.subtract.outer(first, second).ravel()
    differences[np.isnan(differences)] = 0.0
    differences.sort()
    cut = _cut(len(first), len(second), level)
    ends = None
    if cut >= 0:
        ends = Interval(float(differences[cut]), float(differences[-1 - cut]))
    low = float(differences[(len(differences) - 1) // 2])
    high = float(differences[len(differences) // 2])
    if low == -high:  # also -inf and +inf
        return Estimated(0.0, ends)
    return Estimated(low if low == high else low / 2 + high / 2, ends)


def _cut(n: int, m: int, level: float) -> int:
    """Return how many ordered differences lie outside the interval on each side; -1: none."""
    from scipy import special

    if n * m <= EXACT_PRODUCT:
        return int(np.searchsorted(rank_sum(min(n, m), max(n, m)), level / 2, "right")) - 1
    sd = math.sqrt(n * m * (n + m + 1) / 12)

    return math.floor(n * m / 2 + sd * float(special.ndtri(level / 2)) - 0.5)


@lru_cache(maxsize=128)
def rank_sum(n: int, m: int) -> Array:
    """Return P(U <= u) for u = 0 .. nm without ties (Mann and Whitney 1947, their recurrence)."""
    # ways[k, u]: k of the values seen so far are of the first sample, with rank sum above the least
    ways = np.zeros((n + 1, n * m + 1))
    ways[0, 0] = 1.0
    for seen in range(n + m):
        for k in range(min(n, seen + 1), 0, -1):
            before = seen - (k - 1)  # values of the second sample below this one
            if before <= m:
                ways[k, before:] += ways[k - 1, : n * m + 1 - before]
    return np.cumsum(ways[n]) / math.comb(n + m, n)
