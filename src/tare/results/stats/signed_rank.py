"""Wilcoxon's signed-rank test of paired log ratios, and the Hodges-Lehmann estimate it implies.

All three functions count *Walsh averages*, the means of every two values (each with itself too): of
n values there are n(n+1)/2. How many of them lie below a number is the test's statistic for that
number; their median is the estimate; the interval is every number that the test does not reject
(Hodges and Lehmann 1963; Hollander, Wolfe and Chicken 2014, sections 3.1 to 3.3).

A value of +inf (the trial failed) or -inf (the baseline's failed) is larger than any other and
keeps its rank; NaN may not occur. The Walsh average of +inf and -inf is 0, because a failure on
each side speaks for neither. So what holds for values holds for their negatives, turned round.

A Walsh average exactly at the tested number, which zeros and ties make, counts against rejection
on both sides: the test stays valid, and p <= level exactly if the interval leaves 0 out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

EXACT_UP_TO = 40
"""Up to this number of values the distribution is counted; above, it is taken as normal.

At 41 values that moves no p by more than 0.005, and one near 0.01 by 0.001, upwards.
"""

EXPLICIT_UP_TO = 300
"""Up to this number of values all Walsh averages are made (0.4 MB); of more, they are searched."""
FEW_AVERAGES = 20_000
"""This number is made at once, in less time than it takes to count further."""
SKETCH = 100
"""This number of values, evenly chosen, shows nearly where a rank lies among all averages."""
NEAR = 0.004
"""Part of the averages on either side in which it is then looked for."""
ASIDE = 1e-9
MOST_CUTS = 180
"""A third of them halve: after 60 halves only averages that are equal are left together."""


class Interval(NamedTuple):
    """Two ends, both inside."""

    low: float
    high: float


def p_value(values: Array) -> float:
    """Test that the values are symmetric about 0; two-sided."""
    n = len(values)
    ordered = np.sort(values)
    at_or_below = _count(ordered, 0.0, "right")
    at_or_above = n * (n + 1) // 2 - _count(ordered, 0.0, "left")
    return _p(min(at_or_below, at_or_above), n)


def p_values(values: Array, looks: Sequence[int]) -> list[float]:
    """Test the first values, for each of some rising numbers of them."""
    if not looks or looks[-1] > EXPLICIT_UP_TO:
        return [p_value(values[:look]) for look in looks]
    some = values[: looks[-1]]
    mirrored, not_after = -some[:, None], _lower_triangle(len(some))
    # The averages of each value with itself and those before it are what it adds.
    at_or_below = np.cumsum(((some <= mirrored) & not_after).sum(axis=1))
    at_or_above = np.cumsum(((some >= mirrored) & not_after).sum(axis=1))
    statistics = np.minimum(at_or_below, at_or_above).tolist()
    return [_p(statistics[look - 1], look) for look in looks]


def estimate(values: Array) -> float:
    """Find the median of the Walsh averages (Hodges-Lehmann); infinite if too many values are."""
    return _middle(*_walsh(values, *_middle_ranks(len(values))))


def interval(values: Array, level: float) -> Interval | None:
    """Find all centres that the test does not reject at ``level``; None if it can reject none."""
    ranks = _end_ranks(len(values), level)
    return Interval(*_walsh(values, *ranks)) if ranks else None


def estimate_and_interval(values: Array, level: float) -> tuple[float, Interval | None]:
    """Find both as ``estimate`` and ``interval`` do, from the same averages."""
    middle, ends = _middle_ranks(len(values)), _end_ranks(len(values), level)
    found = _walsh(values, *middle, *ends)
    return _middle(*found[:2]), Interval(*found[2:]) if ends else None


def _middle_ranks(n: int) -> tuple[int, int]:
    last = n * (n + 1) // 2 - 1
    return last // 2, (last + 1) // 2


def _middle(low: float, high: float) -> float:
    return low if low == high else (low + high) / 2


def _end_ranks(n: int, level: float) -> tuple[int, int] | tuple[()]:
    """Return the ranks of the two averages that bound the interval; none if nothing is rejected."""
    if n <= EXACT_UP_TO:
        cut = int(np.searchsorted(_distribution(n), level / 2, "right")) - 1
    else:
        mean, sd = _moments(n)
        cut = math.floor(NormalDist(mean, sd).inv_cdf(level / 2) - 0.5)
    return () if cut < 0 else (cut, n * (n + 1) // 2 - 1 - cut)


def _p(statistic: int, n: int) -> float:
    if n <= EXACT_UP_TO:
        tail = float(_distribution(n)[statistic])
    else:
        mean, sd = _moments(n)
        tail = NormalDist(mean, sd).cdf(statistic + 0.5)
    return min(1.0, 2 * tail)


@lru_cache(maxsize=EXACT_UP_TO + 1)
def _distribution(n: int) -> Array:
    """Return P(statistic <= w) for w = 0 .. n(n+1)/2: rank r adds r or nothing, by a fair coin."""
    ways = np.zeros(n * (n + 1) // 2 + 1, dtype=np.int64)
    ways[0] = 1
    for rank in range(1, n + 1):
        ways[rank:] += ways[:-rank].copy()
    return np.cumsum(ways) / 2.0**n


def _moments(n: int) -> tuple[float, float]:
    return n * (n + 1) / 4, math.sqrt(n * (n + 1) * (2 * n + 1) / 24)


def _count(ordered: Array, centre: float, side: Literal["left", "right"]) -> int:
    """Count the Walsh averages below the centre (left), or not above it (right).

    With infinities on both sides this holds for centre 0 only.
    """
    pairs = int(np.searchsorted(ordered, 2 * centre - ordered, side).sum())
    return (pairs + int(np.searchsorted(ordered, centre, side))) // 2


def _walsh(values: Array, *ranks: int) -> list[float]:
    """Find the Walsh averages of some ranks, counted from 0."""
    if len(values) > EXPLICIT_UP_TO:
        ordered = np.sort(values)
        return [_search(ordered, rank) for rank in ranks]
    first, second = _upper_triangle(len(values))
    if np.isfinite(values).all():
        sums = values[first] + values[second]
    else:
        with np.errstate(invalid="ignore"):
            sums = values[first] + values[second]
        sums[np.isnan(sums)] = 0.0  # +inf with -inf
    above = 0
    for rank in sorted(set(ranks)):  # NumPy takes four times as long to place them all at once
        sums[above:].partition(rank - above)
        above = rank + 1
    return [float(sums[rank]) / 2 for rank in ranks]


@lru_cache(maxsize=32)
def _upper_triangle(n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    return np.triu_indices(n)


@lru_cache(maxsize=32)
def _lower_triangle(n: int) -> NDArray[np.bool_]:
    return np.tri(n, dtype=bool)


def _search(ordered: Array, rank: int) -> float:
    """Find the Walsh average of a rank of sorted values in O(n) memory."""
    finite = ordered[np.isfinite(ordered)]
    n, best = len(finite), int(np.isneginf(ordered).sum())
    rank -= best * (best + 1) // 2 + best * n
    if rank < 0:
        return -math.inf
    # What is left begins with the finite averages, and among them the zeros of +inf with -inf.
    negative, zeros = _count(finite, 0.0, "left"), best * (len(ordered) - n - best)
    if negative <= rank < negative + zeros:
        return 0.0
    rank -= zeros if rank >= negative else 0
    return math.inf if rank >= n * (n + 1) // 2 else _bisect(finite, rank)


def _near(finite: Array, share: float) -> list[float]:
    """Return two numbers between which the Walsh average of a rank probably lies."""
    some = finite[:: max(1, len(finite) // SKETCH)]
    first, second = _upper_triangle(len(some))
    averages = some[first] + some[second]
    last = len(averages) - 1
    places = sorted({round(last * min(max(share + off, 0.0), 1.0)) for off in (-NEAR, NEAR)})
    averages.partition(places)
    # Next to an average, and not on it: there rounding decides on which side it is counted.
    aside = ASIDE * float(finite[-1] - finite[0])
    return [float(averages[place]) / 2 + aside for place in places]


def _bisect(finite: Array, rank: int) -> float:
    """Find the Walsh average of a rank among finite, sorted values.

    The bracket is cut on both sides of where the averages of every n-th value have the rank; then
    where it would lie if averages were spread evenly in it, and every third time in its middle,
    until few enough are left to be made.
    """
    n = len(finite)
    below, reached = float(np.nextafter(finite[0], -math.inf)), float(finite[-1])
    counts = [0, n * (n + 1) // 2]
    near = _near(finite, rank / counts[1])
    for step in range(MOST_CUTS):
        if counts[1] - counts[0] <= FEW_AVERAGES:
            break
        share = (rank + 0.5 - counts[0]) / (counts[1] - counts[0])
        share = 0.5 if step % 3 == 2 else min(max(share, 0.01), 0.99)
        cut = below + share * (reached - below)
        if near:
            cut = min(max(near.pop(), below), reached)
        elif not below < cut < reached:
            break
        count = _count(finite, cut, "right")
        if count > rank:
            reached, counts[1] = cut, count
        else:
            below, counts[0] = cut, count
    # The bounds only enclose the number; it must be exact, because 0 and 1e-18 differ in verdict.
    own = np.arange(n)
    first = np.maximum(np.searchsorted(finite, 2 * below - finite, "right"), own)
    sizes = np.maximum(np.searchsorted(finite, 2 * reached - finite, "right") - first, 0)
    if not 0 < sizes.sum() <= 2 * FEW_AVERAGES:  # they are equal: any of them is the number
        has_partner = first < n
        return float(((finite[has_partner] + finite[first[has_partner]]) / 2).min())
    partners = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes - first, sizes)
    averages = (np.repeat(finite, sizes) + finite[partners]) / 2
    place = min(max(rank - int((first - own).sum()), 0), len(averages) - 1)
    averages.partition(place)
    return float(averages[place])
