"""Kendall's tau-b and its p, as ``scipy.stats.kendalltau`` gives them.

That function's module takes longer to load than most results take to compare.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

EXACT_UP_TO = 33
"""Up to this number of values without ties the orders are counted."""

Counts = NDArray[np.int64]


def kendall(agreeing: int, first: Counts, second: Counts) -> tuple[float, float]:
    """Return tau-b and its two-sided p.

    ``agreeing`` is how many more pairs of points have one order in both rows than have not;
    ``first`` and ``second`` are how often each different value of a row is in it, of which each row
    has two.
    """
    n = int(first.sum())
    every = n * (n - 1) // 2
    ties = [int((row * (row - 1) // 2).sum()) for row in (first, second)]
    tau = agreeing / math.sqrt(every - ties[0]) / math.sqrt(every - ties[1])
    tau = min(1.0, max(-1.0, tau))
    fewer = (every - abs(agreeing)) // 2
    if ties == [0, 0] and (n <= EXACT_UP_TO or fewer <= 1):
        return tau, _exact_p(n, fewer)

    from scipy.special import ndtr  # only here: it takes long to load

    # Kendall (1970), section 4: the variance where values are tied.
    (triples, tens), (other_triples, other_tens) = (_of_ties(row) for row in (first, second))
    m = n * (n - 1.0)
    variance = (
        (m * (2 * n + 5) - tens - other_tens) / 18
        + 2 * ties[0] * ties[1] / m
        + triples * other_triples / (9 * m * (n - 2))
    )
    return tau, float(2 * ndtr(-abs(agreeing / math.sqrt(variance))))


def _of_ties(counts: Counts) -> tuple[int, int]:
    ordered = counts * (counts - 1.0)
    return int((ordered * (counts - 2)).sum()), int((ordered * (2 * counts + 5)).sum())


def _exact_p(n: int, fewer: int) -> float:
    """Count the orders of n values with at most ``fewer`` pairs out of order, or in order."""
    if 4 * fewer == n * (n - 1):
        return 1.0
    if fewer <= 1:
        return 2.0 / math.factorial(n - fewer) if n - fewer < 171 else 0.0
    ways = np.zeros(fewer + 1)
    ways[:2] = 1.0
    for values in range(3, n + 1):
        ways = np.cumsum(ways)
        if values <= fewer:
            ways[values:] -= ways[: fewer + 1 - values].copy()
    return min(1.0, float(2.0 * np.sum(ways) / math.factorial(n)))
