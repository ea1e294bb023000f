"""Comparisons of what a study printed: a mean, and with luck its spread and number of runs.

The ratio of two means is taken on the log scale, where the error of a mean is its coefficient of
variation over the root of n (delta method), with Welch's degrees of freedom.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scipy import stats

from tare.core.model import Better
from tare.results.published.rows import Row, Statistic
from tare.results.stats.ratio import ratio, ratios
from tare.results.stats.signed_rank import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """What a study says of one platform's values; None is what it does not say."""

    mean: float
    sd: float | None = None
    minimum: float | None = None
    maximum: float | None = None
    n: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A cost from two means; interval (95 %) and p need both spreads and numbers of runs."""

    cost: float
    interval: Interval | None = None
    p: float | None = None
    apart: bool | None = None
    """Whether the ranges of values do not meet; None if they are not printed."""


def by_platform(rows: Iterable[Row], n: int | None) -> dict[tuple[str, ...], dict[str, Moments]]:
    """Collect what is said of each subject on each platform; ``n`` is the number of runs."""
    said: dict[tuple[str, ...], dict[str, dict[Statistic, float]]] = {}
    for row in rows:
        if row.value is not None:
            platforms = said.setdefault(row.subject, {})
            platforms.setdefault(row.platform, {})[row.statistic] = row.value
    return {
        subject: {
            platform: Moments(
                mean=values[Statistic.MEAN],
                sd=values.get(Statistic.STDEV),
                minimum=values.get(Statistic.MIN),
                maximum=values.get(Statistic.MAX),
                n=n if Statistic.STDEV in values else None,
            )
            for platform, values in platforms.items()
            if Statistic.MEAN in values
        }
        for subject, platforms in said.items()
    }


def cost(own: Moments, base: Moments, better: Better, scale: float = 1.0) -> Compared | None:
    """Compare two means of positive values; None if one is not positive.

    ``scale`` multiplies the cost: what twice the resources should halve is scaled by two.
    """
    if own.mean <= 0 or base.mean <= 0:
        return None
    worse = -1.0 if better is Better.HIGHER else 1.0
    log = worse * (math.log(own.mean) - math.log(base.mean)) + math.log(scale)
    interval, p = _welch(log, own, base)
    return Compared(cost=ratio(log), interval=interval, p=p, apart=_apart(own, base))


def can_be_means(means: Sequence[str], decimals: int, n: int) -> bool:
    """Return whether all these printed means can be those of n values of a number of decimals.

    Such a mean is a multiple of the values' last digit over n (the GRIM test: Brown and Heathers,
    2017). All means are taken to be rounded as the finest of them is.
    """
    fine = max((len(text.partition(".")[2]) for text in means), default=0)
    step = 10 ** max(0, fine - decimals)
    units = [round(float(text) * 10**fine) for text in means]
    return all(2 * abs(step * round(unit * n / step) - unit * n) <= n for unit in units)


def least_n(means: Sequence[str], decimals: int) -> int:
    """Find the fewest runs that can give all these printed means."""
    n = 1
    while not can_be_means(means, decimals, n):
        n += 1  # ends: with as many values as the last digits differ by, any mean can be
    return n


def least_n_of_spread(spread: float, sd: float) -> int:
    """Find the fewest values that can lie so far apart and have no larger standard deviation.

    Two values at the ends and all others in their middle have the least: spread / sqrt(2(n-1)).
    """
    return 2 if sd <= 0 else max(2, math.ceil(1 + spread**2 / (2 * sd**2) - 1e-9))


def _welch(log: float, own: Moments, base: Moments) -> tuple[Interval | None, float | None]:
    parts = []
    for one in (own, base):
        if one.sd is None or one.n is None or one.n < 2:
            return None, None
        parts.append(((one.sd / one.mean) ** 2 / one.n, one.n - 1))
    variance = sum(part for part, _ in parts)
    if variance == 0:
        return None, None  # no spread was printed, which is not the same as none
    freedom = variance**2 / sum(part**2 / one for part, one in parts)
    error = math.sqrt(variance)
    half = float(stats.t.ppf(0.975, freedom)) * error
    p = 2 * float(stats.t.sf(abs(log) / error, freedom))
    return ratios(Interval(log - half, log + half)), p


def _apart(own: Moments, base: Moments) -> bool | None:
    ends = (own.minimum, own.maximum, base.minimum, base.maximum)
    low, high, base_low, base_high = ends
    if low is None or high is None or base_low is None or base_high is None:
        return None
    return low > base_high or high < base_low
