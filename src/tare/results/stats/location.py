"""Robust location and scale of one sample.

Infinite values may stand in a median; where a mean is taken they give None, as does an empty
sample; see ``tare.results.stats.values``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats

from tare.results.stats.description import spread
from tare.results.stats.signed_rank import Array, Interval
from tare.results.stats.values import Estimated, numbers

Values = Sequence[float] | Array

QN_SMALL = (0.399, 0.994, 0.512, 0.844, 0.611, 0.857, 0.669, 0.872)
"""Corrections for 2 to 9 values, by simulation of Croux and Rousseeuw (1992)."""


def median(values: Values, level: float = 0.05) -> Estimated | None:
    """Give the median, and the interval between two ordered values that the sign test leaves.

    The interval is symmetric in rank and misses with at most ``level``; None below 6 values at
    0.05, where no two values are far enough apart.
    """
    ordered = np.sort(numbers(values))
    n = len(ordered)
    if n == 0:
        return None
    low, high = float(ordered[(n - 1) // 2]), float(ordered[n // 2])
    middle = low if low == high else low / 2 + high / 2
    if np.isnan(middle):  # one half -inf, the other +inf
        middle = 0.0
    # The largest number of values to leave out on each side: P(X <= cut - 1) <= level / 2.
    cut = int(np.searchsorted(stats.binom.cdf(np.arange(n), n, 0.5), level / 2, "right"))
    ends = Interval(float(ordered[cut - 1]), float(ordered[-cut])) if cut > 0 else None
    return Estimated(middle, ends)


def mad(values: Values) -> float | None:
    """Give the median absolute deviation as the standard deviation of normal values (x 1.4826)."""
    array = _finite(values)
    return None if array is None else spread(array)


def qn(values: Values) -> float | None:
    """Give Qn, a scale as robust as the MAD and twice as precise (Rousseeuw and Croux 1993).

    The k-th smallest distance between two values, scaled as a standard deviation. None below two
    values. Takes memory for all n(n-1)/2 distances.
    """
    array = _finite(values)
    if array is None or len(array) < 2:
        return None
    n = len(array)
    half = n // 2 + 1
    first, second = np.triu_indices(n, 1)
    distances = np.abs(array[first] / 2 - array[second] / 2)
    k = half * (half - 1) // 2 - 1
    large = n / (n + 1.4) if n % 2 else n / (n + 3.8)
    correction = QN_SMALL[n - 2] if n <= 9 else large
    return float(2 * 2.2219 * correction * np.partition(distances, k)[k])


def huber(values: Values, k: float = 1.5) -> float | None:
    """Give Huber's M-estimate of location, with the MAD as scale (Huber 1981).

    Values farther than ``k`` scales count as if they lay there. The median if the MAD is 0.
    """
    array = _finite(values)
    if array is None:
        return None
    middle, scale = float(np.median(array)), spread(array)
    if scale == 0:
        return middle
    for _ in range(200):
        moved = float(np.clip(array, middle - k * scale, middle + k * scale).mean())
        if abs(moved - middle) <= 1e-12 * scale:
            break
        middle = moved
    return middle


def trimmed_mean(values: Values, share: float = 0.1) -> float | None:
    """Give the mean without that share of the values at each end."""
    if not 0 <= share < 0.5:
        raise ValueError(f"a share to trim at each end is from 0 to below 0.5, not {share}")
    array = _finite(values)
    return None if array is None else float(stats.trim_mean(array, share))


def _finite(values: Values) -> Array | None:
    array = numbers(values)
    return array if len(array) and bool(np.isfinite(array).all()) else None
