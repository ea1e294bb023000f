"""What a set of values looks like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """A set of values in their own unit; ``sd`` and ``spread`` need two values."""

    n: int
    median: float
    mean: float
    sd: float | None
    spread: float | None
    minimum: float
    maximum: float


def describe(values: Sequence[float] | NDArray[np.float64]) -> Description | None:
    """Describe finite values; None if there are none. Only a true overflow is infinite."""
    array = np.asarray(values, dtype=np.float64)
    n = len(array)
    if n == 0:
        return None
    # A sum or a square may overflow where the mean and the deviation do not: brought to about 1.
    exponent = int(np.frexp(np.abs(array).max())[1])
    small = np.ldexp(array, -exponent)
    return Description(
        n=n,
        median=_enlarged(middle(small), exponent),
        mean=_enlarged(float(small.mean()), exponent),
        sd=_enlarged(float(small.std(ddof=1)), exponent) if n > 1 else None,
        spread=_enlarged(spread(small), exponent) if n > 1 else None,
        minimum=float(array.min()),
        maximum=float(array.max()),
    )


def middle(values: NDArray[np.float64]) -> float:
    """Return the median of finite values; NumPy's takes ten times as long for few values."""
    ordered = np.sort(values)
    low, high = float(ordered[(len(ordered) - 1) // 2]), float(ordered[len(ordered) // 2])
    return low if low == high else low / 2 + high / 2


def spread(values: NDArray[np.float64]) -> float:
    """Return the median absolute deviation, scaled as a standard deviation of normal values."""
    return 1.4826 * middle(np.abs(values - middle(values)))


def _enlarged(value: float, exponent: int) -> float:
    with np.errstate(over="ignore", under="ignore"):
        return float(np.ldexp(value, exponent))
