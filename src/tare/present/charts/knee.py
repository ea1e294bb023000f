"""Where a course bends: from there on more of a factor gives less."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise


def knee(x: Sequence[float], y: Sequence[float], sensitivity: float = 1.0) -> int | None:
    """Find the place of the knee by Kneedle (Satopaa et al. 2011); None if there is none.

    ``x`` ascends. Both axes are brought to 0..1, and the course is turned so that it rises and
    bulges upwards, whichever way it bends. The candidate is where it lies farthest above the
    diagonal. It is a knee if the course comes nearer to the diagonal again by ``sensitivity`` mean
    steps of x; 1 is the authors' choice. So few points never have one unless they bend sharply.

    The values are used as they are, not smoothed as the authors do with hundreds of points.
    """
    n = len(x)
    if n < 3 or min(y) == max(y) or x[0] == x[-1]:
        return None
    across = [(value - x[0]) / (x[-1] - x[0]) for value in x]
    up = [(value - min(y)) / (max(y) - min(y)) for value in y]
    if y[-1] < y[0]:
        up = [1 - value for value in up]
    heights = [value - place for value, place in zip(up, across, strict=True)]
    if sum(heights) < 0:  # it bulges downwards: what bends up late, as latency under load
        heights = [-height for height in heights]
    best = max(range(n), key=heights.__getitem__)
    step = sum(after - before for before, after in pairwise(across)) / (n - 1)
    returned = min(heights[best:]) < heights[best] - sensitivity * step
    return best if 0 < best < n - 1 and returned else None
