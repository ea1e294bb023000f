"""What every statistic does with its input before it computes anything.

One policy for all: NaN is a bug of the caller and raises ``ValueError``; data for which a statistic
has no answer (too few values, no spread, an infinite value where a mean is taken) give None. A
printed NaN is never the outcome.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tare.results.stats.signed_rank import Array, Interval

ROUNDING = 1e-12
"""A spread relative to the values that no clock or counter resolves, but arithmetic can make."""


class Estimated(NamedTuple):
    """An estimate, and the interval that is expected to hold the truth; None: it has no bounds."""

    value: float
    interval: Interval | None


class Tested(NamedTuple):
    """A test's statistic and its two-sided p value."""

    statistic: float
    p: float


def numbers(values: Sequence[float] | Array) -> Array:
    """Return values as one row of floats; ``ValueError`` if one is NaN or there are more rows."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"expected one row of numbers, got an array of shape {array.shape}")
    if np.isnan(array).any():
        at = int(np.flatnonzero(np.isnan(array))[0])
        raise ValueError(f"value {at} of {len(array)} is NaN; leave out what was not measured")
    return array


def pairs(a: Sequence[float] | Array, b: Sequence[float] | Array) -> tuple[Array, Array]:
    """Return two rows of the same length; ``ValueError`` if one is NaN or they differ in length."""
    first, second = numbers(a), numbers(b)
    if len(first) != len(second):
        raise ValueError(f"expected pairs, got {len(first)} values and {len(second)}")
    return first, second


def averageable(*rows: Array) -> bool:
    """Whether every row has two values or more and all of them are finite."""
    return all(len(row) > 1 and bool(np.isfinite(row).all()) for row in rows)


def scaled(*rows: Array) -> tuple[Array, ...]:
    """Divide all by their largest magnitude, so that no square overflows or vanishes."""
    largest = max((float(np.abs(row).max()) for row in rows if len(row)), default=0.0)
    if largest == 0:
        return rows
    # In two steps, because 1 / 1e-310 is infinite.
    exponent = int(np.frexp(largest)[1])
    return tuple(np.ldexp(row, -exponent) for row in rows)


def constant(*rows: Array) -> bool:
    """Whether each row by itself has no spread but what rounding makes.

    The log ratios of values in a constant ratio are such a row.
    """
    return all(np.ptp(row) <= ROUNDING * np.abs(row).max() for row in rows if len(row))
