"""The rule that ends a comparison and says what it has shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tare.results.stats.early import EarlyLook, early_look
from tare.results.stats.hierarchy import (
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
from tare.results.stats.schedule import bonferroni, early_looks, level, looks, sequential_p
from tare.results.stats.signed_rank import Array, Interval, interval, p_values

Numbers = NDArray[np.intp]

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


class LookKind(StrEnum):
    """What a look rests on."""

    EARLY = "early"
    """Student's interval of 3 to 7 pairs, never narrower than the A/A control allows."""
    RANKS = "ranks"
    """The signed-rank test of 8 pairs and more."""


def has_size(log_ratios: Array) -> bool:
    """Whether so few pairs failed that the others tell how large the difference is.

    Which side is better can be known without: the test needs only the order of the pairs.
    """
    n = len(log_ratios)
    return n > 0 and int(np.count_nonzero(np.isinf(log_ratios))) / n < INFINITE_FROM


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the looks taken so far say.

    ``interval`` is that of ``look``, the last one that has an interval, which is of the kind
    ``interval_by``. ``decided_at`` is the look that set ``stop``, of the kind ``decided_by``.
    ``parts`` is how the pairs scatter between and within groups at the last look by ranks, if
    groups were given and share pairs; ``nested`` says that the group means are what its interval
    rests on.
    """

    stop: Stop
    verdict: Verdict
    decided_at: int | None
    look: int | None
    interval: Interval | None
    p: float
    parts: Components | None = None
    nested: bool = False
    decided_by: LookKind | None = None
    interval_by: LookKind | None = None


class _RankLook:
    """A look by ranks at all of some pairs; ``groups`` are given if their means are replicates."""

    def __init__(self, log_ratios: Array, level: float, groups: Numbers | None) -> None:
        self.pairs = len(log_ratios)
        self.is_sized = has_size(log_ratios)
        self._log_ratios, self._level, self._groups = log_ratios, level, groups

    @cached_property
    def interval(self) -> Interval | None:
        """The interval of this look, which is expensive and needed for few."""
        if self._groups is None:
            return interval(self._log_ratios, self._level)
        return nested_interval(self._log_ratios, self._groups, self._level)


@dataclass(frozen=True, slots=True)
class _Ranks:
    """The looks by ranks that were taken, with the p of each."""

    looks: Sequence[_RankLook]
    p_values: Sequence[float]
    parts: Components | None
    nested: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """When to stop: numbers of pairs, and log ratios (0.02 is about 2 %).

    Before ``minimum`` pairs nothing is decided, but intervals are given; the last look of a
    measuring that ended may decide in any case.
    """

    cap: int
    minimum: int
    margin: float
    precision: float | None = None

    def judge(
        self,
        log_ratios: Array,
        groups: Groups = (),
        *,
        control: Array | None = None,
        ended: bool,
    ) -> Judgement:
        """Take every look that the number of pairs allows.

        ``ended`` says that no block will follow: then all there is makes the last look, although
        some blocks gave no pair. ``control`` has the A/A control's log ratios of the same blocks,
        NaN where it has none; those of the first 8 are used. Without it nothing is decided early.

        ``groups`` names the instances that each pair was measured in: pairs of one group share its
        luck. From the first look by ranks at which they differ, by ``are_replicates``, group means
        are the replicates and stay so: never back to the narrower interval. With enough groups p
        asks in any case whether their means agree, because a family of tests needs p values so
        small that what the first looks cannot see yet would count.
        """
        n = len(log_ratios)
        minimum = min(self.minimum, self.cap, n) if ended else min(self.minimum, self.cap)
        places = groups if isinstance(groups, np.ndarray) else numbered(groups)
        early = self._early(log_ratios, control)
        ranks = self._ranks(log_ratios, places, ended=ended)
        seen: list[EarlyLook | _RankLook] = [*early, *ranks.looks]

        stop, verdict, decided = Stop.NOT_YET, Verdict.UNDECIDED, None
        for one in seen:
            if one.pairs < minimum or one.interval is None:
                continue
            met, verdict = self._criterion(one, one.interval)
            if met not in (stop, Stop.NOT_YET):
                stop, decided = met, one
            if verdict is not Verdict.UNDECIDED:
                break
        if stop is Stop.NOT_YET and ended:
            stop = Stop.MAXIMUM
        last = next((one for one in reversed(seen) if one.interval is not None), None)

        safe = [one.p for one in early if one.is_safe]
        p = sequential_p(ranks.p_values, self.cap, safe)
        if ranks.nested:  # the factor was found for ranks of pairs; Bonferroni's holds for all
            p = min(1.0, max(p, bonferroni(self.cap) * min(ranks.p_values)))
        return Judgement(
            stop=stop,
            verdict=verdict,
            decided_at=decided.pairs if decided else None,
            decided_by=_kind(decided),
            look=last.pairs if last else None,
            interval=last.interval if last else None,
            interval_by=_kind(last),
            p=p,
            parts=ranks.parts,
            nested=ranks.nested,
        )

    def _early(self, log_ratios: Array, control: Array | None) -> list[EarlyLook]:
        taken = [
            early_look(log_ratios[:look], None if control is None else control[:look])
            for look in early_looks(self.cap)
            if look <= len(log_ratios)
        ]
        return [one for one in taken if one is not None]

    def _ranks(self, log_ratios: Array, groups: Numbers, *, ended: bool) -> _Ranks:
        n = len(log_ratios)
        schedule = looks(min(n, self.cap) if ended else self.cap)
        taken = [look for look in schedule if look <= n]
        strict, found = level(self.cap), p_values(log_ratios, taken)
        parts, nested, seen = None, False, []
        for at, look in enumerate(taken):
            pairs, members = log_ratios[:look], groups[:look]
            parts = components(tamed(pairs), members) if can_differ(members) else None
            nested = nested or (parts is not None and are_replicates(parts))
            if nested or (parts is not None and parts.groups >= ENOUGH_GROUPS):
                found[at] = max(found[at], means_p(pairs, members))
            seen.append(_RankLook(pairs, strict, members if nested else None))
        return _Ranks(seen, found, parts, nested)

    def _criterion(self, look: EarlyLook | _RankLook, ends: Interval) -> tuple[Stop, Verdict]:
        zone = 0.0
        if isinstance(look, EarlyLook):
            zone = self.margin if look.is_safe else math.inf
        if ends.low > zone:
            return Stop.EXCLUDES_ONE, Verdict.SLOWER
        if ends.high < -zone:
            return Stop.EXCLUDES_ONE, Verdict.FASTER
        if isinstance(look, EarlyLook) or not look.is_sized:
            # Few pairs never show that two are the same. Failures on both sides cancel to 0 and
            # would make any difference look small.
            return Stop.NOT_YET, Verdict.UNDECIDED
        if -self.margin < ends.low and ends.high < self.margin:
            return Stop.INSIDE_MARGIN, Verdict.SAME
        if self.precision is not None and ends.high - ends.low <= 2 * self.precision:
            return Stop.PRECISE, Verdict.UNDECIDED
        return Stop.NOT_YET, Verdict.UNDECIDED


def _kind(look: EarlyLook | _RankLook | None) -> LookKind | None:
    if look is None:
        return None
    return LookKind.EARLY if isinstance(look, EarlyLook) else LookKind.RANKS
