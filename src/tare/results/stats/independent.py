"""Sums and differences of estimates that are independent of each other, as of two sessions."""

from __future__ import annotations

import math
from collections.abc import Iterable

from tare.results.stats.signed_rank import Interval
from tare.results.stats.two_sample import satterthwaite
from tare.results.stats.values import Estimated


def weighted_sum(terms: Iterable[tuple[float, Estimated]]) -> Estimated:
    """Add independent estimates, each times a weight, which may be negative.

    The arms of the intervals are squared and added, below and above by themselves, so that a skewed
    interval stays skewed (Zou and Donner 2008). No interval if one of the terms has none.
    """
    terms = [(weight, one) for weight, one in terms if weight]
    value = math.fsum(weight * one.value for weight, one in terms)
    below, above = [], []
    for weight, (centre, ends) in terms:
        if ends is None:
            return Estimated(value, None)
        arms = [weight * (centre - ends.low), weight * (ends.high - centre)]
        if weight < 0:
            arms = [-arms[1], -arms[0]]
        below.append(max(arms[0], 0.0))
        above.append(max(arms[1], 0.0))
    return Estimated(value, Interval(value - math.hypot(*below), value + math.hypot(*above)))


def p_of_difference(
    one: Estimated, counts_one: int, other: Estimated, counts_other: int, level: float
) -> float:
    """Return the level at which the interval of ``one - other`` would reach 0.

    ``level`` is that of the two intervals, and each rests on its count of independent values:
    Student's t with Satterthwaite's degrees of freedom. ValueError if one of them has no interval.
    """
    from scipy.special import stdtr, stdtrit  # only here: it takes long to load

    found = weighted_sum(((1.0, one), (-1.0, other)))
    if found.interval is None:
        raise ValueError("a difference has a p only if both estimates have an interval")
    up = found.value > 0
    arm = found.value - found.interval.low if up else found.interval.high - found.value
    if math.isinf(arm) or found.value == 0:
        return 1.0
    parts = [_arm(one, below=up) ** 2, _arm(other, below=not up) ** 2]
    if arm <= 0 or max(parts) == 0:
        return 0.0
    largest = max(parts)
    freedom = satterthwaite(
        parts[0] / largest, max(2, counts_one), parts[1] / largest, max(2, counts_other)
    )
    t = float(stdtrit(freedom, 1 - level / 2)) * abs(found.value) / arm
    return float(2 * stdtr(freedom, -t))


def _arm(one: Estimated, *, below: bool) -> float:
    if one.interval is None:
        raise ValueError("an estimate without an interval has no arms")
    return one.value - one.interval.low if below else one.interval.high - one.value
