"""Whether the trials of a workload had levelled after their warm-up."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tare.core.model import Better, Cell, Kind, MetricRole, Plan, Trial, metric_of
from tare.core.model.group import Group, group
from tare.results.checks.case import Case, Comparing
from tare.results.compare.columns import has_numbers
from tare.results.compare.contention import value
from tare.results.compare.flag import Flag, FlagKind, flag
from tare.results.stats.signed_rank import Array
from tare.results.stats.warmup import LEAST_SERIES, step

SURE = 0.01
"""Largest p at which a step is believed; it must also be half the margin high."""

_Label = tuple[str, ...]
"""An instance and the CPUs it had."""
_Instance = tuple[int, Cell, Sequence[Trial]]
"""How many warm-ups it had, of which cell, and all its trials."""


@dataclass(frozen=True, slots=True)
class Unsteady:
    """After ``declared`` warm-ups the next ``cut`` trials of an instance were not yet level.

    ``speedup`` is the ratio minus one by which those after them are better, below 0 worse.
    """

    declared: int
    cut: int
    speedup: float
    p: float

    @property
    def warmups(self) -> int:
        """How many warm-up trials an instance needs."""
        return self.declared + self.cut


def unsteady(plan: Plan, trials: Iterable[Trial]) -> dict[Group, Unsteady]:
    """Find the groups whose primary metric had not levelled after the warm-up.

    Instances of all platforms of a group are pooled: those with one label worked in the same
    blocks, so their mean is one series. Only instances with the fewest warm-ups are asked: after a
    count was raised, the later ones cannot say what the earlier ones needed.
    """
    by_group: dict[Group, dict[_Label, list[_Instance]]] = {}
    for (of, *label), some in _by_instance(trials).items():
        cell = plan.cells_by_id.get(of)
        if cell is None:
            continue
        warm = sum(trial.kind is Kind.WARMUP for trial in some)
        labels = by_group.setdefault(group(cell), {})
        labels.setdefault(tuple(label), []).append((warm, cell, some))
    found = {}
    for key, labels in by_group.items():
        if len(labels) < LEAST_SERIES:
            continue
        declared = min(warm for some in labels.values() for warm, _, _ in some)
        pooled = [
            _pooled([_series(plan, cell, one) for warm, cell, one in some if warm == declared])
            for some in labels.values()
        ]
        seen = step([series for series in pooled if series is not None])
        if seen is None or seen.p >= SURE:
            continue
        speedup = math.expm1(seen.height)
        if abs(speedup) >= plan.repetition.margin / 2:
            found[key] = Unsteady(declared, seen.cut, speedup, seen.p)
    return found


def findings(case: Case) -> Iterator[Flag]:
    """Yield that trials had not levelled when they were first measured.

    ``later`` is how many warm-ups later instances have.
    """
    found = case.study.once(_unsteady).get(group(case.row.cell))
    if found is None:
        return
    is_auto = case.study.plan.repetition.warmup == "auto"
    yield flag(
        FlagKind.NOT_STEADY,
        declared=found.declared,
        cut=found.cut,
        speedup=found.speedup,
        p=found.p,
        later=found.warmups if is_auto else None,
    )


def _unsteady(study: Comparing) -> dict[Group, Unsteady]:
    return unsteady(study.plan, study.estimates.trials)


def _by_instance(trials: Iterable[Trial]) -> dict[tuple[str, str, str], list[Trial]]:
    """Sort trials by the cell's id, instance and CPUs, in the order in which they ended."""
    found: dict[tuple[str, str, str], list[Trial]] = {}
    for trial in trials:
        if trial.instance:
            found.setdefault((trial.cell, trial.instance, trial.cpuset), []).append(trial)
    return found


def _series(plan: Plan, cell: Cell, trials: Sequence[Trial]) -> Array:
    """Return the log times of an instance's measured trials, up to the first without a number."""
    metrics, variant = plan.metrics[cell.workload], plan.repetition.variant
    metric, tool_duration = metrics[0], metric_of(metrics, MetricRole.TOOL_DURATION)
    worse = -1.0 if metric.better is Better.HIGHER else 1.0

    def logs() -> Iterator[float]:
        for trial in trials:
            if trial.kind is not Kind.MEASURED:
                continue
            good = has_numbers(trial)
            number = value(trial, metric, variant, tool_duration) if good else None
            if number is None or not 0 < number < math.inf:
                return
            yield worse * math.log(number)

    return np.array(list(logs()), dtype=np.float64)


def _pooled(series: Sequence[Array]) -> Array | None:
    """Average the series of instances that worked in the same blocks, as far as all of them go."""
    long = [one for one in series if len(one) > 0]
    length = min(map(len, long), default=0)
    return np.mean([one[:length] for one in long], axis=0) if length else None
