"""The rule that ends a comparison and says what it has shown."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from tare.stats.hierarchy import (
    ENOUGH_GROUPS,
    Components,
    Groups,
    are_replicates,
    can_differ,
    components,
    means_p,
    nested_interval,
    numbered,
    tamed,
)
from tare.stats.schedule import level, looks, sequential_p
from tare.stats.signed_rank import Array, Interval, interval, p_values

INFINITE_FROM = 0.25
"""The share of infinite log ratios from which on a size would be that of the lucky trials only."""


class Verdict(StrEnum):
    """What is known about a cost."""

    SLOWER = "slower"
    """Worse than the baseline, for a metric of any kind."""
    FASTER = "faster"
    SAME = "same"
    """Any difference is smaller than the margin."""
    UNDECIDED = "undecided"
    NOT_MEASURED = "not measured"


class Stop(StrEnum):
    """Why a comparison needs no more blocks."""

    EXCLUDES_ONE = "excludes 1"
    INSIDE_MARGIN = "inside the margin"
    PRECISE = "precise"
    MAXIMUM = "maximum"
    NOT_YET = "not yet"
    NOTHING = "nothing to compare"
    """This host cannot do it, there is no baseline, or every trial failed."""


def has_size(log_ratios: Array) -> bool:
    """Whether so few pairs failed that the others tell how large the difference is.

    Which side is better can be known without: the test needs only the order of the pairs.
    """
    n = len(log_ratios)
    return n > 0 and int(np.count_nonzero(np.isinf(log_ratios))) / n < INFINITE_FROM


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the looks taken so far say.

    ``interval`` is that of ``look``, the last one; ``decided_at`` is the look that set ``stop``.
    ``parts`` is how the pairs of that look scatter between and within groups, if groups were given
    and share pairs; ``nested`` says that the group means are what the interval rests on.
    """

    stop: Stop
    verdict: Verdict
    decided_at: int | None
    look: int | None
    interval: Interval | None
    p: float
    parts: Components | None = None
    nested: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """When to stop: numbers of pairs, and log ratios (0.02 is about 2 %)."""

    cap: int
    minimum: int
    margin: float
    precision: float | None = None

    def judge(self, log_ratios: Array, groups: Groups = (), *, ended: bool) -> Judgement:
        """Take every look that so many pairs allow.

        ``ended`` says that no block will follow: then all there is makes the last look, although
        some blocks gave no pair. ``groups`` names the instances that each pair was measured in:
        pairs of one group share its luck. From the first look at which they differ, by
        ``are_replicates``, group means are the replicates and stay so: never back to the narrower
        interval. With enough groups p asks in any case whether their means agree, because a family
        of tests needs p values so small that what the first looks cannot see yet would count.
        """
        n = len(log_ratios)
        stop, verdict = Stop.NOT_YET, Verdict.UNDECIDED
        decided_at, look, ends = None, None, None
        parts, nested = None, False
        schedule = looks(min(n, self.cap) if ended else self.cap, self.minimum)
        taken = [look for look in schedule if look <= n]
        strict, found = level(self.cap), p_values(log_ratios, taken)
        places = groups if isinstance(groups, np.ndarray) else numbered(groups)
        for at, look in enumerate(taken):
            pairs, members = log_ratios[:look], places[:look]
            parts = components(tamed(pairs), members) if can_differ(members) else None
            nested = nested or (parts is not None and are_replicates(parts))
            if nested or (parts is not None and parts.groups >= ENOUGH_GROUPS):
                found[at] = max(found[at], means_p(pairs, members))
            if verdict is not Verdict.UNDECIDED and look != taken[-1]:
                continue  # only the last interval is still printed
            ends = nested_interval(pairs, members, strict) if nested else interval(pairs, strict)
            if verdict is Verdict.UNDECIDED and ends is not None:
                met, verdict = self._criterion(ends, sized=has_size(log_ratios[:look]))
                if met not in (stop, Stop.NOT_YET):
                    stop, decided_at = met, look
        if stop is Stop.NOT_YET and ended:
            stop = Stop.MAXIMUM
        p = sequential_p(found, self.cap)
        if nested:  # the factor was found for ranks of pairs; Bonferroni's holds for all tests
            p = min(1.0, max(p, len(looks(self.cap)) * min(found)))
        return Judgement(stop, verdict, decided_at, look, ends, p, parts, nested)

    def _criterion(self, ends: Interval, *, sized: bool) -> tuple[Stop, Verdict]:
        if ends.low > 0:
            return Stop.EXCLUDES_ONE, Verdict.SLOWER
        if ends.high < 0:
            return Stop.EXCLUDES_ONE, Verdict.FASTER
        if not sized:
            # Failures on both sides cancel to 0 and would make any difference look small.
            return Stop.NOT_YET, Verdict.UNDECIDED
        if -self.margin < ends.low and ends.high < self.margin:
            return Stop.INSIDE_MARGIN, Verdict.SAME
        if self.precision is not None and ends.high - ends.low <= 2 * self.precision:
            return Stop.PRECISE, Verdict.UNDECIDED
        return Stop.NOT_YET, Verdict.UNDECIDED
