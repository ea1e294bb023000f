"""Estimates over several levels in blocks: the level of each block taken off, and a jackknife.

Blocks are the only replicates that are independent, so intervals rest on them: the covariance of
estimates is that of the delete-one-block jackknife (Tukey 1958; Efron and Tibshirani 1993, ch. 11).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tare.results.stats.hierarchy import t_quantile
from tare.results.stats.signed_rank import Array, Interval

T = TypeVar("T")

LEAST_BLOCKS = 3
"""The fewest blocks of an interval."""
LEVEL = 0.05
"""The two-sided chance that an interval misses the truth."""


def several(known: Sequence[tuple[int, int, T]]) -> list[T]:
    """Return what blocks have that hold several levels; the others say nothing of how they differ.

    Given are a level, its block, and what is known of it.
    """
    levels: dict[int, set[int]] = {}
    for level, block, _ in known:
        levels.setdefault(block, set()).add(level)
    return [one for _, block, one in known if len(levels[block]) > 1]


def centred(values: Array, place: NDArray[np.intp]) -> Array:
    """Take the mean of its block off each value; blocks are numbered from 0, without a gap."""
    means = np.bincount(place, values) / np.bincount(place)
    return np.asarray(values - means[place], dtype=np.float64)


def jackknife(without: Array) -> Array:
    """Return the covariance of estimates, of those that leave out one block each."""
    count = len(without)
    apart = without - without.mean(axis=0)
    return np.asarray((count - 1) / count * apart.T @ apart, dtype=np.float64)


def student(value: float, error: float, free: int) -> Interval:
    """Return Student's interval of an estimate with a standard error and degrees of freedom."""
    half = t_quantile(1 - LEVEL / 2, free) * error
    return Interval(value - half, value + half)


def slope_of(column: Array, wanted: Array, otherwise: float) -> float:
    """Return the slope of least squares through 0; ``otherwise`` where the column is all 0."""
    squares = float((column**2).sum())
    return float((column * wanted).sum()) / squares if squares > 0 else otherwise
