"""What a unit of work takes of each counter, on a platform and on its baseline."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from tare.core.model import (
    Better,
    Metric,
    MetricRole,
    Resource,
    Source,
    Trial,
    Unit,
    metric_of,
    resource_of,
)
from tare.results.compare.by_name import by_name
from tare.results.compare.columns import Flags, has_numbers
from tare.results.compare.reason import Reason, ReasonKind, reason_of
from tare.results.stats.description import middle
from tare.results.stats.effect import hodges_lehmann_shift
from tare.results.stats.hierarchy import (
    ENOUGH_GROUPS,
    are_replicates,
    components,
    means,
    nested_interval,
    t_p,
    tamed,
)
from tare.results.stats.ratio import ratio, ratios
from tare.results.stats.sequential import has_size
from tare.results.stats.signed_rank import Array, Interval, estimate, estimate_and_interval
from tare.results.stats.values import constant

PerUnit = Mapping[Resource, Array]
"""What each counter comes to for a unit of work, of trials or of instances; NaN where unknown."""

LEVEL = 0.05

_NO_RATIO = reason_of(ReasonKind.ZERO_TOO_OFTEN)
_NOTHING = reason_of(ReasonKind.ZERO_ON_BOTH)

AMPLIFIED = ("disk_reads", "disk_writes", "disk_read_bytes", "disk_written_bytes")


class Pace(StrEnum):
    """How a counter moved compared with the cost itself, by whether their intervals overlap."""

    LESS = "less than the cost"
    WITH = "as the cost"
    MORE = "more than the cost"


@dataclass(frozen=True, slots=True)
class Work:
    """What a unit of work is: one of what a rate counts, or, without one, a whole run.

    ``tool_duration`` is the metric that says over which time the rate counts, if there is one.
    """

    rate: Metric | None
    tool_duration: Metric | None = None

    def of(self, trial: Trial) -> float | None:
        """Return how much of it a trial did; None if it did nothing, or nobody knows."""
        if not has_numbers(trial):
            return None
        if self.rate is None:
            return 1.0
        found = trial.samples.get(self.rate.name, math.nan) * trial.lasted_s(self.tool_duration)
        return found if 0 < found < math.inf else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Movement:
    """A counter of a cell compared with its baseline's.

    ``resource`` is one of ``Trial.resources``; ``baseline`` and ``own`` are medians per unit of
    work, None where it was not read. ``ratio``, ``low`` and ``high`` are ratios of these; ``pairs``
    is of how many. ``in_warmups`` says that only warm-ups have it: medians and ratio are then of
    trials that are not paired. Without a ratio ``reason`` says why.
    """

    resource: Resource
    baseline: float | None
    own: float | None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    holm_p: float | None = None
    pairs: int = 0
    in_warmups: bool = False
    pace: Pace | None = None
    moved: bool = False
    reason: Reason | None = None

    @property
    def source(self) -> Source | None:
        """Whose counter it is."""
        return self.resource.source

    @property
    def kind(self) -> str:
        """What it counts."""
        return self.resource.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Amplification:
    """How many of ``outer`` there were for each of ``inner``, which the guest itself counted."""

    outer: Resource
    inner: Resource
    ratio: float | None
    low: float | None
    high: float | None
    trials: int


def work_of(metrics: Sequence[Metric]) -> Work | Reason:
    """Return what a workload's work is counted in, or why nobody can."""
    first, tool_duration = metrics[0], metric_of(metrics, MetricRole.TOOL_DURATION)
    rates = [one for one in metrics if one.unit is Unit.PER_SECOND and one.better is Better.HIGHER]
    if first.role is MetricRole.SEARCHED:
        return reason_of(ReasonKind.SEARCHED_RATE)
    if first.unit in (Unit.PER_SECOND, Unit.BYTE_PER_SECOND):
        return Work(first, tool_duration)
    if first.unit is Unit.SECOND:
        return Work(rates[0] if rates else None, tool_duration)
    return reason_of(ReasonKind.NO_AMOUNT, metric=first.name)


def per_unit(trials: Sequence[Trial], work: Work) -> PerUnit:
    """Divide the counters of trials by their work: a column for each that any has, else NaN.

    The halves of a duet share a host: what it counts is of both.
    """
    amounts = np.array([work.of(one) or math.nan for one in trials])
    halves = np.array([bool(one.partner) for one in trials])
    found = {}
    for name, column in by_name([one.resources for one in trials]).items():
        known = (column >= 0) & (column < math.inf)
        resource = resource_of(name)
        if resource.source is Source.HOST:
            known &= ~halves
        if resource.is_total and known.any():
            found[resource] = np.where(known, column, math.nan) / amounts
    return found


def paired(
    resource: Resource, ours: Array | None, base: Array | None, groups: Sequence[int]
) -> Movement:
    """Compare a counter of paired trials with the baseline's; ``groups`` are those of the pairs.

    Either column is None where no trial has it.
    """
    at = in_both(ours, base)
    if not at.any():
        own, there = _known(ours), _known(base)
        read_apart = len(own) and len(there)
        why = reason_of(ReasonKind.NOT_READ_TOGETHER) if read_apart else _not_read(own)
        return Movement(resource=resource, baseline=_median(there), own=_median(own), reason=why)
    own, there = _known(ours, at), _known(base, at)
    one = Movement(resource=resource, baseline=_median(there), own=_median(own), pairs=len(own))
    if not own.any() and not there.any():
        return replace(one, reason=_NOTHING)
    logs = _logs(own, there)
    size, ends, replicates = _measured(logs, np.array(groups)[at].tolist() if groups else ())
    reason = None if size is not None else _NO_RATIO
    low, high = ends or (None, None)
    return replace(one, ratio=size, low=low, high=high, p=_p(replicates), reason=reason)


def _not_read(own: Array) -> Reason:
    """Return which side has no reading, where one has: not the one that has ``own``."""
    return reason_of(ReasonKind.NOT_READ_ON_BASELINE if len(own) else ReasonKind.NOT_READ_HERE)


def in_both(ours: Array | None, base: Array | None) -> Flags:
    """Return of which pairs both sides have a counter."""
    if ours is None or base is None:
        return np.zeros(0, bool)
    both: Flags = ~(np.isnan(ours) | np.isnan(base))
    return both


def unpaired(resource: Resource, ours: Array | None, base: Array | None) -> Movement:
    """Compare a counter with the baseline's where nothing pairs them, one reading an instance."""
    own, there = _known(ours), _known(base)
    one = Movement(resource=resource, baseline=_median(there), own=_median(own), in_warmups=True)
    if not len(own) or not len(there):
        return replace(one, reason=_not_read(own))
    if not own.any() and not there.any():
        return replace(one, reason=_NOTHING)
    if own.all() and not there.any():
        # Of two sides that are alike the one has all the zeros at most as often as this.
        share = len(there) / (len(own) + len(there))
        p = 2 * share ** len(there) * (1 - share) ** len(own)
        return replace(one, low=math.inf, high=math.inf, p=min(1.0, p), reason=_NO_RATIO)
    if not own.all() or not there.all():
        return replace(one, p=1.0, reason=_NO_RATIO)  # one of the tests, which finds nothing
    first, second = np.log(own), np.log(there)
    shift = hodges_lehmann_shift(first, second, LEVEL)
    low, high = ratios(shift.interval) if shift and shift.interval else (None, None)
    size = ratio(shift.value) if shift else None
    return replace(one, ratio=size, low=low, high=high, p=_welch_p(first, second))


def by_instance(trials: Iterable[Trial], work: Work) -> PerUnit:
    """Return the counters per unit of work of each instance, medians over its trials."""
    good = [one for one in trials if work.of(one)]
    places: dict[str, list[int]] = {}
    for place, trial in enumerate(good):
        places.setdefault(trial.instance, []).append(place)
    return {
        name: np.array([_median(_known(column[some])) for some in places.values()], np.float64)
        for name, column in per_unit(good, work).items()
    }


def amplifications(trials: Sequence[Trial]) -> Iterator[Amplification]:
    """Compare what the host did with what the guest asked for; the layer's own where known."""
    for kind in AMPLIFIED:
        inner = Resource(Source.MACHINE, kind)
        for source in (Source.LAYER, Source.HOST):
            outer = Resource(source, kind)
            both = [
                (trial.resources[outer.name], trial.resources[inner.name], trial.instance)
                for trial in trials
                if outer.name in trial.resources and trial.resources.get(inner.name, 0.0) > 0
                if not (trial.partner and source is Source.HOST)
            ]
            if both:
                logs = _logs([one[0] for one in both], [one[1] for one in both])
                size, ends, _ = _measured(logs, [one[2] for one in both])
                low, high = ends or (None, None)
                yield Amplification(
                    outer=outer, inner=inner, ratio=size, low=low, high=high, trials=len(both)
                )
                break


def _logs(own: Sequence[float] | Array, there: Sequence[float] | Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        logs: Array = np.log(own) - np.log(there)
    logs[np.isnan(logs)] = 0.0  # both have 0
    return logs


def _measured(logs: Array, groups: Sequence[object]) -> tuple[float | None, Interval | None, Array]:
    """Estimate a ratio with its interval as a comparison does, and give what p may rest on.

    With enough instances p rests on their means in any case, for the reason that ``Rule.judge``
    gives.
    """
    parts = components(tamed(logs), list(groups)) if groups else None
    own = means(logs, list(groups)) if parts is not None else logs
    nested = parts is not None and are_replicates(parts)
    asked = nested or (parts is not None and parts.groups >= ENOUGH_GROUPS)
    if nested:
        centre, ends = estimate(own), nested_interval(logs, list(groups), LEVEL)
    else:
        centre, ends = estimate_and_interval(logs, LEVEL)
    size = ratio(centre) if has_size(logs) else None
    return size, ratios(ends) if ends else None, own if asked else logs


def _p(logs: Array) -> float:
    """Test that log ratios are centred at 0, by Student's t; infinite ones are pulled in.

    Of values that are all the same t knows no error. Two sides that are alike make a pair of any
    one such ratio with a chance of at most 1/4 for either sign.
    """
    if len(logs) < 2:
        return 1.0
    if not np.isfinite(logs).all():
        logs = tamed(logs)
    centre = float(logs.mean())
    if constant(logs):
        return 1.0 if centre == 0 else 2 * 0.25 ** len(logs)
    return t_p(abs(centre) / float(logs.std(ddof=1)) * math.sqrt(len(logs)), len(logs) - 1)


def _welch_p(first: Array, second: Array) -> float:
    """Test that two samples have one mean; the degrees of freedom are the fewest there may be."""
    fewest = min(len(first), len(second))
    if fewest < 2:
        return 1.0
    apart = abs(float(first.mean() - second.mean()))
    error = math.sqrt(float(first.var(ddof=1) / len(first) + second.var(ddof=1) / len(second)))
    if constant(first, second):
        # All of one side above all of the other: of all orders of these, two.
        return 2 / math.comb(len(first) + len(second), fewest) if apart > 0 else 1.0
    return t_p(apart / error, fewest - 1)


def _known(column: Array | None, at: Flags | None = None) -> Array:
    """Return what is known of a column, or what stands in some places of it."""
    if column is None:
        return np.zeros(0)
    known: Array = column[~np.isnan(column) if at is None else at]
    return known


def _median(values: Array) -> float | None:
    return middle(values) if len(values) else None
