"""How much of the scatter of values lies between the groups they were taken in.

A group is an instance: what is measured twice in one container or guest shares that instance's
luck (where its memory lies, which pages it got), and is no second opinion of the platform.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tare.results.stats.description import middle, spread
from tare.results.stats.signed_rank import Array, Interval, estimate, interval, p_value

RANKS_FROM = 8
"""The fewest group means of which ranks can prove anything at the levels of the looks."""

ENOUGH_GROUPS = 5
"""From this number of groups on any sign that they differ is believed; fewer often show none."""
FEW_GROUPS_P = 0.05


Groups = Sequence[Hashable] | NDArray[np.intp]
"""The group of each value; in an array they are numbers as those of ``numbered``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """The variance of values in groups, split into between and within, in squared units.

    ``between`` is never negative: an estimate below zero says zero. ``f`` is the ratio of the mean
    squares and ``p`` its upper tail under equal groups; ``icc`` the part of the variance that lies
    between, 0 to 1 (intraclass correlation).
    """

    n: int
    groups: int
    between: float
    within: float
    f: float
    p: float
    icc: float


def numbered(groups: Sequence[Hashable]) -> NDArray[np.intp]:
    """Number groups from 0 in the order in which they first appear.

    The numbers of the first groups do not depend on those after them.
    """
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(one, len(numbers)) for one in groups], dtype=np.intp)


def can_differ(groups: NDArray[np.intp]) -> bool:
    """Whether there are two groups, and one with two values: else they have no components."""
    count = int(groups.max(initial=-1)) + 1
    return 2 <= count < len(groups)


def components(values: Array, groups: Groups) -> Components | None:
    """Split the variance of finite values by a one-way random-effects analysis of variance.

    Groups may differ in size: the mean squares are divided as Searle, Casella and McCulloch (1992,
    section 3.6) do, which for equal sizes is the corrected estimator of Kalibera and Jones (2013,
    section 9.2). None if there are fewer than two groups, or none with two values.
    """
    n = len(values)
    place, sizes = _grouped(groups)
    if not can_differ(place):
        return None
    count = len(sizes)
    means = np.bincount(place, values, count) / sizes
    least = n * _rounding(values) ** 2
    squares_within = float(((values - means[place]) ** 2).sum())
    squares_between = float((sizes * (means - values.mean()) ** 2).sum())
    within = squares_within / (n - count) if squares_within > least else 0.0
    mean_square = squares_between / (count - 1) if squares_between > least else 0.0
    typical = (n - float((sizes**2).sum()) / n) / (count - 1)
    between = max(0.0, (mean_square - within) / typical)
    ratio = mean_square / within if within > 0 else 0.0
    if mean_square > within == 0:
        ratio = math.inf
    total = between + within
    return Components(
        n=n,
        groups=count,
        between=between,
        within=within,
        f=ratio,
        p=_f_tail(ratio, count - 1, n - count),
        icc=between / total if total > 0 else 0.0,
    )


def are_replicates(parts: Components) -> bool:
    """Whether groups differ so that each counts as one value, and not its values.

    With enough groups any estimate above 0 will do (F above 1): in the first looks differences
    that count do not show yet, and waiting for significance would let up to 12 of 100 equal
    platforms be called different (decision 14). With fewer groups the interval of their means has
    so few degrees of freedom that this takes significance all the same.
    """
    if parts.groups < ENOUGH_GROUPS:
        return parts.p < FEW_GROUPS_P
    return parts.between > 0


def blocks_per_group(parts: Components, fresh_cost: float, value_cost: float) -> int | None:
    """Find how many values to take in one group before a fresh one is the better buy.

    The square root of cost ratio times variance ratio (Kalibera and Jones 2013, section 7) gives
    the narrowest interval for the whole cost, both in one unit. None if groups do not differ: then
    a fresh one buys nothing.
    """
    if parts.between <= 0:
        return None
    if value_cost <= 0:
        return 1
    share = parts.within / parts.between * max(0.0, fresh_cost) / value_cost
    return max(1, math.ceil(math.sqrt(share)))


def tamed(values: Array) -> Array:
    """Pull values from outside three spreads of the median to there, infinite ones too.

    One wild trial would hide that instances differ; one that always fails has to show it.
    """
    finite = values[np.isfinite(values)]
    if len(finite) == 0:
        return np.sign(values)
    centre = middle(finite)
    bound = 3 * spread(finite) or float(np.abs(finite - centre).max()) or 1.0
    return np.clip(values, centre - bound, centre + bound)


def means(values: Array, groups: Groups) -> Array:
    """Return one value a group, in the order in which the groups appear.

    It is the mean; in a group with failures the Hodges-Lehmann estimate, which those may leave
    finite.
    """
    place, sizes = _grouped(groups)
    parts = [values[place == number] for number in range(len(sizes))]
    if np.isfinite(values).all():
        return np.array([part.mean() for part in parts], dtype=np.float64)
    return np.array(
        [part.mean() if np.isfinite(part).all() else estimate(part) for part in parts],
        dtype=np.float64,
    )


def means_p(values: Array, groups: Groups) -> float:
    """Test centre 0, two-sided, by the means of the groups alone.

    By the signed-rank test from ``RANKS_FROM`` groups on, by Student's t below, where ranks can
    prove nothing; where a group's mean is infinite, it has nothing but its rank.
    """
    centres = means(values, groups)
    return _t_p(centres) if len(centres) < RANKS_FROM else p_value(centres)


def nested_interval(values: Array, groups: Groups, level: float) -> Interval | None:
    """Find all centres that neither the values nor their groups' means reject; None: no bounds.

    It holds if all the values of a group move together. The values stay in it because with few
    groups the other is narrow now and then because the means happen to lie close together.
    """
    inner = interval(values, level)
    centres = means(values, groups)
    few = len(centres) < RANKS_FROM
    by_ranks = not few or not np.isfinite(centres).all()
    outer = interval(centres, level) if by_ranks else t_interval(centres, level)
    if inner is None or outer is None:
        return None
    return Interval(min(inner.low, outer.low), max(inner.high, outer.high))


# SciPy takes half a second to import, which what only shows results need not wait for.


def t_p(t: float, df: int) -> float:
    """Return the two-sided p of Student's t."""
    from scipy.special import stdtr

    return float(2 * stdtr(df, -abs(t)))


def t_quantile(share: float, df: int) -> float:
    """Return the quantile of Student's t below which the share lies."""
    from scipy.special import stdtrit

    return float(stdtrit(df, share))


def t_interval(values: Array, level: float) -> Interval | None:
    """Find Student's interval of the mean of finite values; None of fewer than two."""
    if len(values) < 2:
        return None
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    centre, half = float(values.mean()), t_quantile(1 - level / 2, len(values) - 1) * error
    return Interval(centre - half, centre + half)


def _f_tail(ratio: float, above: int, below: int) -> float:
    from scipy.special import fdtrc

    return float(fdtrc(above, below, ratio))


def _t_p(centres: Array) -> float:
    if len(centres) < 2:
        return 1.0
    if not np.isfinite(centres).all():
        return p_value(centres)  # an instance that always failed has a rank, but no mean
    error = float(centres.std(ddof=1)) / math.sqrt(len(centres))
    centre = float(centres.mean())
    if error <= _rounding(centres):
        return 0.0 if abs(centre) > _rounding(centres) else 1.0
    return t_p(abs(centre) / error, len(centres) - 1)


def _rounding(values: Array) -> float:
    """Return what rounding can make of values that are equal: of such a ratio must not be made."""
    return 4 * float(np.finfo(np.float64).eps) * float(np.abs(values).max(initial=0.0))


def _grouped(groups: Groups) -> tuple[NDArray[np.intp], Array]:
    """Number the groups in the order in which they first appear: each value's number, the sizes."""
    place = groups if isinstance(groups, np.ndarray) else numbered(groups)
    return place, np.bincount(place).astype(np.float64)
