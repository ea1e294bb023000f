"""Where a series changes its distribution: E-divisive (Matteson and James 2014)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from tare.results.stats.signed_rank import Array
from tare.results.stats.values import averageable, numbers, scaled

ROUNDS = 199
"""Random orders drawn for each change point, so p is at least 0.005."""

MOST_ENDS = 100
"""The ends of the right side that are tried; with all, 400 values would take seconds."""


def change_points(
    values: Sequence[float] | Array,
    *,
    seed: int,
    level: float = 0.01,
    smallest: int = 5,
) -> tuple[int, ...] | None:
    """Return the places of the first values of new regimes, in order; () if there is one regime.

    One after the other the best point of all segments is taken, as long as no more than ``level``
    of all random orders within the segments, estimated from 199, give one as good. ``smallest`` is
    the length of the shortest regime. Takes time and memory in the square of the number of values.
    None below two values or with an infinite one.
    """
    array = numbers(values)
    if not averageable(array):
        return None
    (array,) = scaled(array)
    rng, bounds = np.random.default_rng(seed), [0, len(array)]
    allowed = level * (ROUNDS + 1) - 1  # the measured order counts among the random ones
    # A segment's best point stays what it is until the segment is divided.
    best = {(0, len(array)): _best(array, smallest)}
    while True:
        (start, _), (reached, place) = max(best.items(), key=lambda item: item[1][0])
        segments = [array[a:b] for a, b in pairwise(bounds)]
        if place == 0 or _as_good(segments, reached, smallest, allowed, rng) > allowed:
            return tuple(bounds[1:-1])
        bounds = sorted((*bounds, start + place))
        best = {s: best.get(s) or _best(array[slice(*s)], smallest) for s in pairwise(bounds)}


def _as_good(
    segments: list[Array], reached: float, smallest: int, enough: float, rng: np.random.Generator
) -> int:
    """Count the random orders within the segments with as good a point, until more than enough."""
    count = 0
    for _ in range(ROUNDS):
        best = max(_best(rng.permutation(segment), smallest)[0] for segment in segments)
        count += best >= reached * (1 - 1e-9)
        if count > enough:
            break
    return count


def _best(x: Array, smallest: int) -> tuple[float, int]:
    """Find the point whose two sides differ most, as (scaled energy distance, place); 0, 0: none.

    The left side is all before the point; the right side ends anywhere, so that a regime which
    comes back later does not hide the first change (Matteson and James, section 2.2). With equal
    sides of one value each the distance would be 0.
    """
    n, shortest = len(x), max(smallest, 2)
    if n < 2 * shortest:
        return 0.0, 0
    # sums[i, j] is the sum of all distances of the first i values to the first j.
    sums = np.zeros((n + 1, n + 1))
    np.abs(x[:, None] - x, out=sums[1:, 1:])
    np.cumsum(sums, axis=0, out=sums)
    np.cumsum(sums, axis=1, out=sums)
    diagonal = np.diagonal(sums)
    points = slice(shortest, n - shortest + 1)
    # Backwards from the last value, so that the whole series is always among the right sides.
    ends = np.arange(n, 2 * shortest - 1, -math.ceil(n / MOST_ENDS))
    left = np.arange(n + 1.0)[points, None]
    right = np.maximum(ends - left, shortest)
    to_end, within_left = sums[points, ends], diagonal[points, None]
    energy = to_end - within_left
    energy *= 2 / (left * right)
    energy -= within_left / (left * (left - 1))
    energy -= (diagonal[ends] - 2 * to_end + within_left) / (right * (right - 1))
    energy *= left * right / (left + right)
    energy[ends - left < shortest] = 0.0
    where = int(energy.argmax())
    reached = float(energy.flat[where])
    return (reached, shortest + where // energy.shape[1]) if reached > 0 else (0.0, 0)
