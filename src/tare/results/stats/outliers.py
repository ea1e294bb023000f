"""Which values of a sample stand apart. They are named, never dropped.

All functions give the places of outliers in the order of the values. Infinite values (failed
trials) have a status of their own; they are neither named nor used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import stats

from tare.results.stats.signed_rank import Array
from tare.results.stats.values import ROUNDING, numbers, scaled

LIMIT = 3.5
"""The modified z beyond which Iglewicz and Hoaglin (1993) call a value a potential outlier."""

Values = Sequence[float] | Array


def modified_z(values: Values) -> Array:
    """Return each value's distance from the median in robust standard deviations, with its sign.

    0.6745 (x - median) / MAD; where more than half of the values are equal and the MAD is 0, the
    mean absolute deviation takes its place (x - median) / (1.2533 mean AD); 0 if all are equal.
    Infinite values keep their infinity.
    """
    array = numbers(values)
    finite = np.isfinite(array)
    if not finite.any():
        return array.copy()
    small = array.copy()
    (small[finite],) = scaled(array[finite])
    distances = small - np.median(small[finite])
    scale = 1.482602 * float(np.median(np.abs(distances[finite])))
    if scale == 0:
        scale = math.sqrt(math.pi / 2) * float(np.abs(distances[finite]).mean())
    distances[finite] = distances[finite] / scale if scale > 0 else 0.0
    return distances


def by_modified_z(values: Values) -> tuple[int, ...]:
    """Name the values with a modified z beyond 3.5.

    Not fooled by several outliers, but liberal: it names one in a fifth of all samples of 5 normal
    values, and in a tenth of those of 15 to 100.
    """
    z = modified_z(values)
    return tuple(int(i) for i in np.flatnonzero(np.isfinite(z) & (np.abs(z) > LIMIT)))


def by_esd(values: Values, most: int, level: float = 0.05) -> tuple[int, ...]:
    """Name up to ``most`` values by the generalized extreme Studentized deviate (Rosner 1983).

    In normal samples without outliers it names one in ``level`` of them; for one suspect it is
    Grubbs's test. At most n - 2 values can be judged.
    """
    array = numbers(values)
    places = np.flatnonzero(np.isfinite(array))
    (rest,) = scaled(array[places])
    n, named, found = len(rest), [], 0
    for i in range(1, min(most, n - 2) + 1):
        distances = np.abs(rest - rest.mean())
        sd = float(rest.std(ddof=1))
        if sd <= ROUNDING:
            break
        worst = int(distances.argmax())
        named.append(int(places[worst]))
        t = float(stats.t.ppf(1 - level / (2 * (n - i + 1)), n - i - 1))
        if distances[worst] / sd > (n - i) * t / math.sqrt((n - i - 1 + t**2) * (n - i + 1)):
            found = i
        rest, places = np.delete(rest, worst), np.delete(places, worst)
    return tuple(sorted(named[:found]))


def outliers(values: Values, level: float = 0.05) -> tuple[int, ...]:
    """Name what both rules name: robust against several outliers, and seldom wrong without any.

    The modified z finds the suspects, and so how many to test, but no more than a third of the
    values; the generalized ESD keeps the chance of naming any of n normal values at ``level``.
    """
    suspects = by_modified_z(values)
    most = min(len(suspects), (len(values) - 1) // 3)
    return tuple(sorted(set(suspects) & set(by_esd(values, most, level))))
