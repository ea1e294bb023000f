"""How a platform scales: what 1, 2, 4 ... instances do together, and the law through it.

Cells that differ in nothing but the number of instances (the parameter ``INSTANCES``) make a curve.
A trial's sample is the mean of its instances, so that together they have n times its rate, or do n
/ time units of work a second. What a trial did together in each block is what
the law of ``stats.scalability`` is fitted to; how much of it an instance keeps is compared with the
fewest instances that were measured, in the same block.

A trial in which an instance did not answer is no trial of that number of instances: it has no
throughput, and is none of those that answered. Suspect trials count. Nothing is decided here: the
contrasts of the plan are, with their own intervals.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median, stdev

from tare.core.model import (
    INJECTED,
    Better,
    Cell,
    Metric,
    Status,
    Trial,
    Unit,
    Variant,
    instances_of,
)
from tare.core.model.instances import COUNT
from tare.results.compare.columns import has_numbers
from tare.results.compare.estimates import Estimates
from tare.results.stats.scalability import Law, Observation, law
from tare.results.stats.shares import efficiency, fairness, geometric, marginal
from tare.results.stats.values import Estimated

INSTANCES = COUNT
"""The parameter of a cell that says how many instances do its work at the same moment."""
STRAGGLES = 1.5
"""An instance straggles that takes this many times as long as the median of its trial."""
LEAST = 2
"""The fewest numbers of instances of a curve."""
MEMORY = ("layer_pss_bytes", "layer_memory_peak_bytes")
"""What of a trial's resources is its memory, the best first: shared pages count once in PSS."""
RATES = (Unit.PER_SECOND, Unit.BYTE_PER_SECOND)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleLevel:
    """What a number of instances did; what is not known is None.

    ``value`` is that of the metric: of a rate that of all together, of a time that of one, the mean
    of them. ``together`` is the throughput of all, ``blocks`` what it was in each. ``efficiency``
    is what an instance keeps of that of the curve's ``base``. ``fairness`` is the mean over the
    trials of Jain's index of the instances, ``spread`` that of the difference between the largest
    and the smallest value of the metric, ``deviation`` that of their standard deviation, and
    ``stragglers`` that of how many did worse than ``STRAGGLES`` times their median. ``answered`` of
    ``tried`` trials have numbers; ``dnr`` says that none has and all were ended at their deadline.
    """

    instances: int
    cell: Cell
    value: Estimated | None
    together: Estimated | None
    blocks: Mapping[int, float]
    efficiency: Estimated | None
    fairness: float | None
    spread: float | None
    deviation: float | None
    stragglers: float | None
    answered: int
    tried: int
    dnr: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingCurve:
    """A workload on a platform, by a number of instances that rises.

    ``base`` is the fewest instances that have numbers, 0 where none has. ``law`` is None where too
    few levels have numbers. ``memory`` is what one instance more keeps of the host's memory, in
    bytes, read as ``memory_by``.
    """

    cell: Cell
    metric: Metric
    levels: tuple[ScaleLevel, ...]
    base: int
    law: Law | None
    memory: Estimated | None
    memory_by: str = ""

    @property
    def is_rate(self) -> bool:
        """Whether the metric is what all did together in a second; else it is a time."""
        return self.metric.better is Better.HIGHER

    def value_at(self, instances: float) -> float | None:
        """Return what the law says of the metric at a number of instances."""
        if self.law is None:
            return None
        together = self.law.throughput(instances)
        return together if self.is_rate else instances / together


def scaling_curves(estimates: Estimates) -> tuple[ScalingCurve, ...]:
    """List the curves of a study, of its primary metrics, in the order of the plan.

    A metric that is neither a rate nor a time has none.
    """
    plan = estimates.plan
    found: dict[Cell, dict[int, Cell]] = {}
    for cell in plan.cells:
        instances = instances_of(cell.params)
        injected = INJECTED in dict(cell.params)
        if instances is not None and not injected and not cell.replica:
            found.setdefault(_without_instances(cell), {})[instances.count] = cell
    return tuple(
        curve
        for cells in found.values()
        if len(cells) >= LEAST
        for curve in _curve(estimates, dict(sorted(cells.items())))
    )


def _without_instances(cell: Cell) -> Cell:
    params = tuple(one for one in cell.params if one[0] != INSTANCES)
    return replace(cell, id="", params=params)


def _curve(estimates: Estimates, cells: Mapping[int, Cell]) -> Iterator[ScalingCurve]:
    first = next(iter(cells.values()))
    metric = estimates.plan.metrics[first.workload][0]
    is_rate = metric.unit in RATES and metric.better is Better.HIGHER
    if not is_rate and not (metric.unit is Unit.SECOND and metric.better is Better.LOWER):
        return
    means = {n: _values(estimates, cell, metric) for n, cell in cells.items()}
    together = {
        n: {block: n * value if is_rate else n / value for block, value in some.items()}
        for n, some in means.items()
    }
    values = together if is_rate else means
    base = next((n for n, some in together.items() if some), 0)
    memory_by, memory = _memory(estimates, cells)
    yield ScalingCurve(
        cell=first,
        metric=metric,
        levels=tuple(
            _level(estimates, cell, n, values[n], together, base, metric)
            for n, cell in cells.items()
        ),
        base=base,
        law=law(
            [
                Observation(n, block, value)
                for n, some in together.items()
                for block, value in some.items()
            ]
        ),
        memory=memory,
        memory_by=memory_by,
    )


def _values(estimates: Estimates, cell: Cell, metric: Metric) -> dict[int, float]:
    """Return the metric in each block in which the cell has a number that is one."""
    columns = estimates.histories[cell.id].columns(metric, Variant.WALL)
    rows = zip(columns.blocks.tolist(), columns.values.tolist(), strict=True)
    return {block: value for block, value in rows if 0 < value < math.inf}


def _level(  # noqa: PLR0913 - what a level is made of
    estimates: Estimates,
    cell: Cell,
    instances: int,
    values: Mapping[int, float],
    together: Mapping[int, Mapping[int, float]],
    base: int,
    metric: Metric,
) -> ScaleLevel:
    trials = estimates.histories[cell.id].trials.values()
    own, fewest = together[instances], together.get(base, {})
    shared = [block for block in own if block in fewest]
    several = [found for trial in trials if (found := _own(trial, metric)) is not None]
    return ScaleLevel(
        instances=instances,
        cell=cell,
        value=geometric(list(values.values())),
        together=geometric(list(own.values())),
        blocks=own,
        efficiency=efficiency(
            [own[block] for block in shared],
            instances,
            [fewest[block] for block in shared],
            base,
        )
        if instances != base
        else Estimated(1.0, None),
        fairness=_mean([fairness(_rates(one, metric)) for one in several]),
        spread=_mean([max(one) - min(one) for one in several]),
        deviation=_mean([stdev(one) for one in several]),
        stragglers=_mean([_stragglers(_rates(one, metric)) for one in several]),
        answered=len(own),
        tried=len(trials),
        dnr=bool(trials) and all(one.status is Status.DNR for one in trials),
    )


def _own(trial: Trial, metric: Metric) -> list[float] | None:
    """Return the metric of each of a trial's instances; None where it has fewer than two of it."""
    if not has_numbers(trial):
        return None
    found = [one.samples[metric.name] for one in trial.parts if metric.name in one.samples]
    return found if len(found) > 1 and all(0 < one < math.inf for one in found) else None


def _rates(own: Sequence[float], metric: Metric) -> list[float]:
    """Return how much each instance did in a time: of times, their inverse."""
    return list(own) if metric.better is Better.HIGHER else [1 / one for one in own]


def _stragglers(rates: Sequence[float]) -> float:
    return float(sum(STRAGGLES * one < median(rates) for one in rates))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [one for one in values if one is not None]
    return fmean(known) if known else None


def _memory(estimates: Estimates, cells: Mapping[int, Cell]) -> tuple[str, Estimated | None]:
    """Return what one instance more takes, by the best reading that trials of two levels have."""
    for name in MEMORY:
        amounts = [
            (n, block, amount)
            for n, cell in cells.items()
            for block, trial in estimates.histories[cell.id].trials.items()
            if has_numbers(trial) and (amount := _taken(trial, name)) is not None
        ]
        if (found := marginal(amounts)) is not None:
            return name, found
    return "", None


def _taken(trial: Trial, name: str) -> float | None:
    """Return a resource that a trial took: the sum over its parts, or what it has itself."""
    parts: Sequence[float] = [one.resources[name] for one in trial.parts if name in one.resources]
    if trial.parts and len(parts) == len(trial.parts):
        return sum(parts)
    return trial.resources.get(name)
