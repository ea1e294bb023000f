"""The ratio of two means with its interval, for questions of totals: what a batch or a bill costs.

Samples are in their own unit and have the values of the same blocks, a ratio is that of ``a`` to
``b``. ``level`` is the two-sided chance that an interval misses the truth. None: unbounded, or
undefined because there are too few values, no spread, an infinite one or, for a logarithm, one that
is not positive.

Tare's headline is none of these but the Hodges-Lehmann estimate; docs/explanation/statistics.md
says why.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import special, stats

from tare.results.stats.ratio import ratio, ratios
from tare.results.stats.signed_rank import Array, Interval
from tare.results.stats.values import ROUNDING, Estimated, averageable, pairs

Values = Sequence[float] | Array


class _Means(NamedTuple):
    """Two means with their variances and covariance as means, not those of single values."""

    a: float
    b: float
    var_a: float
    var_b: float
    covariance: float

    def fieller(self, t: float) -> Estimated | None:
        """Solve (a - rb)^2 = t^2 Var(a - rb) for r; None if b is not surely away from 0."""
        square = self.b**2 - t**2 * self.var_b
        if square <= 0:
            return None
        middle = self.a * self.b - t**2 * self.covariance
        root = math.sqrt(max(0.0, middle**2 - square * (self.a**2 - t**2 * self.var_a)))
        ends = Interval((middle - root) / square, (middle + root) / square)
        return Estimated(self.a / self.b, ends)


def fieller_paired(a: Values, b: Values, level: float = 0.05) -> Estimated | None:
    """Bound the ratio of arithmetic means of pairs: every r for which a - r b has mean 0 by t.

    Fieller's theorem (1954), for nearly normal values.
    """
    first, second = pairs(a, b)
    if not averageable(first, second):
        return None
    (first, up), (second, down) = _unit(first), _unit(second)
    if _proportional(first, second):
        return None
    n = len(first)
    (var_a, covariance), (_, var_b) = (np.cov(first, second) / n).tolist()
    means = _Means(float(first.mean()), float(second.mean()), var_a, var_b, covariance)
    return _enlarged(means.fieller(float(stats.t.ppf(1 - level / 2, n - 1))), up - down)


def log_t_paired(a: Values, b: Values, level: float = 0.05) -> Estimated | None:
    """Bound the ratio of geometric means of pairs by Student's t on the log ratios."""
    first, second = pairs(a, b)
    if not _positive(first, second):
        return None
    if _proportional(_unit(first)[0], _unit(second)[0]):
        return None
    d = np.log(first) - np.log(second)
    mean = float(d.mean())
    half = float(stats.t.ppf(1 - level / 2, len(d) - 1) * d.std(ddof=1) / math.sqrt(len(d)))
    return Estimated(ratio(mean), ratios(Interval(mean - half, mean + half)))


def bca_paired(
    a: Values, b: Values, level: float = 0.05, *, seed: int, rounds: int = 9999
) -> Estimated | None:
    """Bound the ratio of arithmetic means by the bootstrap, bias-corrected and accelerated.

    Whole pairs are drawn (Efron 1987; Efron and Tibshirani 1993, chapter 14). It under-covers with
    fewer than 20 of them.
    """
    first, second = pairs(a, b)
    if not averageable(first, second):
        return None
    (first, up), (second, down) = _unit(first), _unit(second)
    if _proportional(first, second):
        return None
    drawn = np.random.default_rng(seed).integers(0, len(first), (rounds, len(first)))
    influence = [_influence(_left_out(first), _left_out(second))]
    whole = (float(first.mean()), float(second.mean()))
    found = _corrected(
        whole, first[drawn].mean(axis=1), second[drawn].mean(axis=1), influence, level
    )
    return _enlarged(found, up - down)


def _positive(*rows: Array) -> bool:
    return averageable(*rows) and all(bool((row > 0).all()) for row in rows)


def _unit(row: Array) -> tuple[Array, int]:
    """Bring the largest magnitude to between 0.5 and 1; gives the power of 2 that was taken out."""
    exponent = int(np.frexp(np.abs(row).max())[1])
    return np.ldexp(row, -exponent), exponent


def _enlarged(found: Estimated | None, exponent: int) -> Estimated | None:
    """Put the power of 2 back; None if the ratio is then beyond what a float holds."""
    if found is None or found.interval is None:
        return None
    with np.errstate(over="ignore", under="ignore"):
        value, low, high = np.ldexp([found.value, *found.interval], exponent)
    if not np.isfinite([value, low, high]).all():
        return None
    return Estimated(float(value), Interval(float(low), float(high)))


def _proportional(a: Array, b: Array) -> bool:
    """Whether all pairs have the same ratio, but for rounding; two constant rows too."""
    left = a * b.sum() - b * a.sum()
    scale = float((np.abs(a) * abs(b.sum()) + np.abs(b) * abs(a.sum())).max())
    return bool(np.abs(left).max() <= ROUNDING * scale)


def _left_out(row: Array) -> Array:
    """Return the mean without each value in turn."""
    means: Array = (row.sum() - row) / (len(row) - 1)
    return means


def _influence(means_a: Array, means_b: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        left_out = means_a / means_b
        influence: Array = (left_out.mean() - left_out) * (len(left_out) - 1) / len(left_out)
    return influence


def _corrected(
    whole: tuple[float, float], means_a: Array, means_b: Array, influence: list[Array], level: float
) -> Estimated | None:
    with np.errstate(divide="ignore", invalid="ignore"):
        drawn = means_a / means_b
    together = np.concatenate(influence)
    if whole[1] == 0 or not np.isfinite(drawn).all() or not np.isfinite(together).all():
        return None
    value = whole[0] / whole[1]
    power = float((together**2).sum())
    share = float(((drawn < value).mean() + (drawn <= value).mean()) / 2)
    if power == 0 or not 0 < share < 1:
        return None
    acceleration = float((together**3).sum()) / (6 * power**1.5)
    bias = float(special.ndtri(share))
    z = bias + special.ndtri(np.array([level / 2, 1 - level / 2]))
    low, high = np.quantile(drawn, special.ndtr(bias + z / (1 - acceleration * z)))
    return Estimated(value, Interval(float(low), float(high)))
