"""How throughput grows with the number of instances: a law, its intervals, and whether it fits.

**The law.** Gunther's Universal Scalability Law (2007, Guerrilla Capacity Planning, chapter 6)
is X(n) = lambda n / (1 + sigma (n - 1) + kappa n (n - 1)): ``lambda`` is the throughput of one,
``sigma`` the contention (the share of work that queues for what is shared; with kappa = 0 it is
Amdahl's law), ``kappa`` the coherency (what every two cost each other). Neither is below 0.

**The fit** is by least squares on logarithms, by Gauss and Newton, with a level of its own for each
block: noise of throughput is a share of it, and what slows a whole block (drift) says nothing of
how it scales. In each step the two parameters that are not below 0 and leave the least squares are
found among the four ways in which none, either or both are 0. That is exact: two parameters make a
convex problem with four faces.

**Intervals** rest on blocks, the only replicates that are independent: the covariance of sigma and
kappa is that of the delete-one-block jackknife (Tukey 1958; Efron and Tibshirani 1993, ch. 11) of
the fit *without* bounds, whose estimates are about normal where those with bounds pile up at 0, and
ends are Student's with one degree of freedom less than there are blocks. A percentile bootstrap
over 8 blocks holds the truth in 89 of 100 studies, this in 95 (decision 44). Ends are then cut at
0, which no truth is below, and widened to the estimate where that lies outside.

**Where it peaks.** X is largest at n = sqrt((1 - sigma) / kappa), which is infinite where kappa is
0 and 1 at the least. A ratio of two uncertain numbers has no standard error to trust, so its
interval is that of Fieller (1954): every n at which 1 - sigma - kappa n^2 is not surely above 0 or
below it. It ends nowhere where kappa is not surely above 0.

**The knee** is Kleinrock's (1979, Power and deterministic rules of thumb, ICC 43.1): the n of the
largest power, which is throughput over response time, X / R. With R = n / X (Little 1961) it is
where X^2 / n is largest: 3 kappa n^2 + (sigma - kappa) n = 1 - sigma; for Amdahl's law at
(1 - sigma) / sigma. Up to there an instance more adds a larger share of throughput than it adds of
response time. Its interval is made as that of the peak.

**Whether it fits** is Fisher's test of lack of fit (Draper and Smith 1998, section 2.1): the
squares that the law leaves between levels, over those that levels and blocks together leave (pure
error). A parameter at its bound is no degree of freedom. With many blocks the test finds what is
too small to matter, so it takes a level that lies off by more than ``OFF`` too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from tare.results.stats.blocks import (
    LEAST_BLOCKS,
    LEVEL,
    centred,
    jackknife,
    several,
    slope_of,
)
from tare.results.stats.hierarchy import t_quantile
from tare.results.stats.ratio import ratio, ratios
from tare.results.stats.signed_rank import Array, Interval
from tare.results.stats.values import Estimated

LEAST_LEVELS = 3
"""Two levels make a curve whatever lies between them."""
MISFIT_P = 0.05
OFF = 0.02
"""From this share on a level that lies off the law matters."""
FARTHEST = 1e6
"""No host holds this number of instances: a peak beyond it is none."""
STEPS = 60
CLOSE = 1e-11


class Fit(StrEnum):
    """Whether the law describes what was measured."""

    FITS = "fits"
    """Levels lie no farther off than blocks scatter, or by less than matters."""
    MISFIT = "misfit"
    """Levels lie off the law by more than chance: its parameters describe another curve."""
    UNTESTED = "untested"
    """There are no more levels than parameters, or no two blocks."""


@dataclass(frozen=True, slots=True)
class Observation:
    """The throughput of a number of instances together, in one block."""

    instances: int
    block: int
    throughput: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """The law of a curve: its parameters, where it bends and peaks, and what it leaves.

    ``peak`` and ``knee`` are numbers of instances, 1 at the least and infinite where throughput
    only grows. Intervals are None below ``LEAST_BLOCKS`` blocks. ``residuals`` are what each level
    measured, over what the law says there, minus 1; ``p`` is that of the lack of fit, None where it
    was not tested.
    """

    rate: Estimated
    contention: Estimated
    coherency: Estimated
    peak: Estimated
    knee: Estimated
    residuals: Mapping[int, float]
    fit: Fit
    p: float | None

    def throughput(self, instances: float) -> float:
        """Return what the law says of a number of instances."""
        return self.rate.value * instances / float(self._slowed(instances))

    def _slowed(self, instances: float) -> float:
        more = instances - 1
        return 1 + self.contention.value * more + self.coherency.value * instances * more


def law(observations: Sequence[Observation]) -> Law | None:
    """Fit the law; None below ``LEAST_LEVELS`` levels.

    What did not respond is left out by the caller: it has no throughput. ValueError for a number
    of instances below 1 or a throughput that is not finite and above 0.
    """
    _Data.of(observations)  # which refuses what is no throughput
    data = _Data.of(several([(one.instances, one.block, one) for one in observations]))
    if len(data.levels) < LEAST_LEVELS:
        return None
    bounded = _fitted(data, np.array([0.1, 0.001]), is_bounded=True)
    free = _fitted(data, bounded, is_bounded=False)
    sigma, kappa = (float(one) for one in bounded)
    spread = _spread(data, free)
    fit, p = _tested(data, bounded)
    residuals = _residuals(data, bounded)
    if fit is Fit.MISFIT and max(map(abs, residuals.values())) <= OFF:
        fit = Fit.FITS
    return Law(
        rate=_rate(_height(data, bounded), _height(data, free), spread),
        contention=_parameter(sigma, free[0], spread, 0),
        coherency=_parameter(kappa, free[1], spread, 1),
        peak=_bend(_peak(sigma, kappa), _before_peak, free, spread),
        knee=_bend(_knee(sigma, kappa), _before_knee, free, spread),
        residuals=residuals,
        fit=fit,
        p=p,
    )


@dataclass(frozen=True, slots=True)
class _Data:
    """Observations as columns; ``place`` is the number of each one's block, from 0."""

    n: Array
    place: NDArray[np.intp]
    logs: Array

    @classmethod
    def of(cls, observations: Sequence[Observation]) -> _Data:
        for one in observations:
            if one.instances < 1 or not 0 < one.throughput < math.inf:
                raise ValueError(f"expected a throughput above 0 of 1 instance or more, got {one}")
        blocks = sorted({one.block for one in observations})
        numbered = {block: place for place, block in enumerate(blocks)}
        return cls(
            np.array([one.instances for one in observations], dtype=np.float64),
            np.array([numbered[one.block] for one in observations], dtype=np.intp),
            np.log(np.array([one.throughput for one in observations], dtype=np.float64)),
        )

    @property
    def blocks(self) -> int:
        return int(self.place.max(initial=-1)) + 1

    @property
    def levels(self) -> Array:
        return np.unique(self.n)

    def without(self, block: int) -> _Data:
        kept = self.place != block
        _, place = np.unique(self.place[kept], return_inverse=True)
        return _Data(self.n[kept], place, self.logs[kept])


def _slowed(n: Array, parameters: Array) -> Array:
    return np.asarray(1 + parameters[0] * (n - 1) + parameters[1] * n * (n - 1), dtype=np.float64)


def _left(data: _Data, parameters: Array) -> Array:
    """Return what the law leaves of each observation, the level of its block taken off."""
    ideal = np.log(data.n) - np.log(_slowed(data.n, parameters))
    return centred(data.logs - ideal, data.place)


def _fitted(data: _Data, start: Array, *, is_bounded: bool) -> Array:
    """Return sigma and kappa by Gauss-Newton, halving a step that does not lead down."""
    found, left = start, _left(data, start)
    for _ in range(STEPS):
        slowed = _slowed(data.n, found)
        columns = np.column_stack(
            [
                centred(-(data.n - 1) / slowed, data.place),
                centred(-data.n * (data.n - 1) / slowed, data.place),
            ]
        )
        wanted = left + columns @ found
        step = _least(columns, wanted, is_bounded=is_bounded) - found
        before, share = float((left**2).sum()), 1.0
        while share > CLOSE:
            tried = found + share * step
            if (_slowed(data.n, tried) > 0).all():
                its = _left(data, tried)
                if float((its**2).sum()) <= before:
                    break
            share /= 2
        else:
            break
        found, left = tried, its
        if (np.abs(share * step) <= CLOSE * (np.abs(found) + CLOSE)).all():
            break
    return found


def _least(columns: Array, wanted: Array, *, is_bounded: bool) -> Array:
    """Return the two parameters of least squares; if bounded, those that are not below 0."""
    # Coherency goes with the square of n: of columns of one size squares lose no digits.
    sizes = np.sqrt((columns**2).sum(axis=0))
    sizes[sizes == 0] = 1.0
    scaled = columns / sizes
    whole = _both(scaled, wanted)
    if not is_bounded or (whole >= 0).all():
        return np.asarray(whole / sizes, dtype=np.float64)
    best = np.zeros(2)
    for kept in (0, 1):
        one = np.zeros(2)
        one[kept] = max(0.0, slope_of(scaled[:, kept], wanted, 0.0))
        if _squares(scaled, wanted, one) < _squares(scaled, wanted, best):
            best = one
    return np.asarray(best / sizes, dtype=np.float64)


def _both(columns: Array, wanted: Array) -> Array:
    """Return what two columns of length 1 have of least squares."""
    along, targets = float(columns[:, 0] @ columns[:, 1]), columns.T @ wanted
    apart = 1 - along**2
    if apart < 1e-8:  # the normal equations would lose half of all digits
        return np.asarray(np.linalg.lstsq(columns, wanted, rcond=None)[0], dtype=np.float64)
    first, second = float(targets[0]), float(targets[1])
    return np.array([first - along * second, second - along * first]) / apart


def _squares(columns: Array, wanted: Array, parameters: Array) -> float:
    return float(((wanted - columns @ parameters) ** 2).sum())


def _height(data: _Data, parameters: Array) -> float:
    """Return the mean over the blocks of the logarithm of lambda."""
    ideal = np.log(data.n) - np.log(_slowed(data.n, parameters))
    return float((np.bincount(data.place, data.logs - ideal) / np.bincount(data.place)).mean())


@dataclass(frozen=True, slots=True)
class _Spread:
    """The covariance of sigma, kappa and the logarithm of lambda, and its degrees of freedom."""

    covariance: Array
    errors: float
    """How many standard errors an end is away."""

    def half(self, which: int) -> float:
        """Return half the width of the interval of one of the three."""
        return self.errors * math.sqrt(float(self.covariance[which, which]))


def _spread(data: _Data, start: Array) -> _Spread | None:
    if data.blocks < LEAST_BLOCKS:
        return None
    parts = [data.without(block) for block in range(data.blocks)]
    if any(len(one.levels) < LEAST_LEVELS for one in parts):
        return None
    found = [(one, _fitted(one, start, is_bounded=False)) for one in parts]
    rows = np.array([[*parameters, _height(one, parameters)] for one, parameters in found])
    return _Spread(jackknife(rows), t_quantile(1 - LEVEL / 2, data.blocks - 1))


def _parameter(value: float, free: float, spread: _Spread | None, which: int) -> Estimated:
    if spread is None:
        return Estimated(value, None)
    half = spread.half(which)
    low, high = max(0.0, free - half), max(0.0, free + half)
    return Estimated(value, Interval(min(low, value), max(high, value)))


def _rate(value: float, free: float, spread: _Spread | None) -> Estimated:
    if spread is None:
        return Estimated(ratio(value), None)
    half = spread.half(2)
    return Estimated(
        ratio(value), ratios(Interval(min(free - half, value), max(free + half, value)))
    )


def _peak(sigma: float, kappa: float) -> float:
    if sigma >= 1:
        return 1.0
    return _bounded(math.sqrt((1 - sigma) / kappa)) if kappa > 0 else math.inf


def _knee(sigma: float, kappa: float) -> float:
    if sigma >= 1:
        return 1.0
    if kappa > 0:
        linear = sigma - kappa
        root = math.sqrt(linear**2 + 12 * kappa * (1 - sigma))
        # The form without a difference of nearly equal numbers.
        return _bounded(
            2 * (1 - sigma) / (linear + root) if linear > 0 else (root - linear) / 6 / kappa
        )
    return _bounded((1 - sigma) / sigma) if sigma > 0 else math.inf


def _bounded(n: float) -> float:
    return 1.0 if n < 1 else n if n <= FARTHEST else math.inf


_Side = tuple[Array, Array]


def _before_peak(n: Array) -> _Side:
    """Return what 1 minus the weighted sigma and kappa is above 0 of, before the peak."""
    return np.ones_like(n), n**2


def _before_knee(n: Array) -> _Side:
    """Return the weights of sigma and kappa at the knee, as those at the peak."""
    return 1 + n, 3 * n**2 - n


def _bend(
    at: float, side: Callable[[Array], _Side], free: Array, spread: _Spread | None
) -> Estimated:
    """Return a bend, with the instances at which 1 less the weighted parameters may be 0."""
    if spread is None:
        return Estimated(at, None)
    n = np.geomspace(1.0, FARTHEST, 4001)
    weights = np.column_stack(side(n))
    value = 1 - weights @ free
    variance = np.einsum("ij,jk,ik->i", weights, spread.covariance[:2, :2], weights)
    half = spread.errors * np.sqrt(np.maximum(variance, 0.0))
    surely_before, surely_after = value > half, value < -half
    # What is sure at one number of instances is so of all before it, or after it.
    before = int(np.argmin(surely_before)) if not surely_before.all() else len(n)
    after = len(n) - int(np.argmin(surely_after[::-1])) if not surely_after.all() else 0
    low = math.inf if before == len(n) else float(n[max(0, before - 1)])
    high = math.inf if after == len(n) else float(n[after])
    return Estimated(at, Interval(min(low, at), max(high, at)))


def _residuals(data: _Data, parameters: Array) -> dict[int, float]:
    left = _left(data, parameters)
    return {int(level): math.expm1(float(left[data.n == level].mean())) for level in data.levels}


def _tested(data: _Data, parameters: Array) -> tuple[Fit, float | None]:
    """Test the squares that the law leaves between levels against those of pure error."""
    levels = data.levels
    every = np.column_stack(
        [centred((data.n == level).astype(np.float64), data.place) for level in levels[1:]]
    )
    solved, _, rank, _ = np.linalg.lstsq(every, centred(data.logs, data.place), rcond=None)
    pure = centred(data.logs, data.place) - every @ solved
    free_pure = len(data.n) - data.blocks - int(rank)
    free_lack = int(rank) - int((parameters > 0).sum())
    if free_pure < 1 or free_lack < 1:
        return Fit.UNTESTED, None
    pure_squares = float((pure**2).sum())
    lack = max(0.0, float((_left(data, parameters) ** 2).sum()) - pure_squares)
    least = len(data.n) * (1e-9) ** 2
    if pure_squares <= least:
        p = 1.0 if lack <= least else 0.0
    else:
        p = _f_tail(lack / free_lack / (pure_squares / free_pure), free_lack, free_pure)
    return (Fit.MISFIT if p < MISFIT_P else Fit.FITS), p


def _f_tail(value: float, above: int, below: int) -> float:
    # SciPy takes half a second to import, which what only shows results need not wait for.
    from scipy.special import fdtrc

    return float(fdtrc(above, below, value))
