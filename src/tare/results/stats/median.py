"""The interval of a median by order statistics: for any distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence


def median_interval(values: Sequence[float]) -> tuple[float, float] | tuple[None, None]:
    """Return the 95 % interval of the median of values that are in order; None for under 6."""
    rank = median_rank(len(values))
    return (None, None) if rank is None else (values[rank], values[-1 - rank])


def median_rank(n: int) -> int | None:
    """Return the rank, from 0, of the value that bounds the median at 95 %; None for under 6."""
    if n > 1000:
        return math.floor((n - 1.96 * math.sqrt(n)) / 2)
    tail, rank = 0, None
    for k in range(n // 2):
        tail += math.comb(n, k)
        if 2 * tail > 0.05 * 2**n:
            break
        rank = k
    return rank
