"""What a study found, in the shape in which people ask for it; made once, shown in many ways."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from tare.core.model import Cell, Kind, Limits, Metric, MetricRole, Params, Plan, Status, Trial
from tare.core.model.group import group
from tare.present.view.disturbances import merged
from tare.present.view.host_use import DiskUse, Usage, disk_use, overhead, sampling, usage
from tare.present.view.names import limits_text, named_apart, params_text
from tare.results.compare.by_name import by_name
from tare.results.compare.columns import has_numbers
from tare.results.compare.comparison import Comparison
from tare.results.compare.summary import Summary
from tare.results.questions.at_once import AtOnce, platforms_at_once
from tare.results.questions.dose import DoseCurve, dose_curves
from tare.results.questions.explanation import Explanation, explanations
from tare.results.questions.isolation import IsolationCompared, isolation_compared
from tare.results.questions.other_tests import OtherTests, other_tests
from tare.results.questions.scaling import ScalingCurve, scaling_curves
from tare.results.questions.tiers import Tier, tiers
from tare.results.stats.sequential import Verdict
from tare.results.stats.signed_rank import Array
from tare.results.store import Results
from tare.results.store.raw_output import Stored, read_raw
from tare.results.study import Comparisons

if TYPE_CHECKING:
    from tare.present.view.timelines import Texts, Timelines

LOST = {MetricRole.LOSS: "lost", MetricRole.FAILED: "failed"}
"""The words for what part of a workload's traffic did not come to its end."""


@dataclass(frozen=True)
class CellGroup:
    """Cells that are compared with each other: one workload, one set of limits.

    ``name`` tells it from the other groups of the study, and is no longer than that takes.
    """

    name: str
    workload: str
    params: Params
    limits: Limits
    cells: tuple[Cell, ...]
    metrics: tuple[Metric, ...]

    @property
    def details(self) -> str:
        """Everything that is the same for all its cells."""
        return ", ".join(filter(None, [params_text(self.params), limits_text(self.limits)]))


@dataclass(frozen=True)
class Findings:
    """A study's results with everything that was computed from them."""

    results: Results
    comparisons: Comparisons
    read_texts: Callable[[], Texts] | None = None
    read_raw: Callable[[], Mapping[str, Stored]] | None = None
    """Either gives what another process reads meanwhile; without one this reads it."""

    @property
    def plan(self) -> Plan:
        """The plan that was run."""
        return self.results.plan

    @cached_property
    def groups(self) -> tuple[CellGroup, ...]:
        """The cells in groups, in the order of the plan."""
        grouped: dict[tuple[str, Params, Limits], list[Cell]] = {}
        for cell in self.plan.cells:
            grouped.setdefault(group(cell), []).append(cell)
        names = named_apart(list(grouped))
        return tuple(
            CellGroup(name, *key, tuple(cells), self.plan.metrics[key[0]])
            for name, (key, cells) in zip(names, grouped.items(), strict=True)
        )

    @cached_property
    def group_names(self) -> Mapping[str, str]:
        """The name of each cell's group, by the cell's id."""
        return {cell.id: group.name for group in self.groups for cell in group.cells}

    @cached_property
    def platforms(self) -> tuple[str, ...]:
        """The platforms, in the order of the plan, the baseline first."""
        names = dict.fromkeys(cell.platform for cell in self.plan.cells)
        return tuple(sorted(names, key=lambda name: name != self.plan.reference))

    @cached_property
    def trials(self) -> Mapping[str, Sequence[Trial]]:
        """The trials of each cell, by its id, in the order in which they ended."""
        trials: dict[str, list[Trial]] = {cell.id: [] for cell in self.plan.cells}
        for trial in self.results.trials:
            trials.get(trial.cell, []).append(trial)
        return trials

    @cached_property
    def measured(self) -> Mapping[str, Sequence[Trial]]:
        """Those trials of each cell that have numbers that count."""
        trials = self.results.trials
        return {cell: [trials[at] for at in places] for cell, places in self._measured_at.items()}

    @cached_property
    def _measured_at(self) -> Mapping[str, Sequence[int]]:
        """Where among all trials they are."""
        places: dict[str, list[int]] = {cell.id: [] for cell in self.plan.cells}
        for at, trial in enumerate(self.results.trials):
            if trial.kind is Kind.MEASURED and has_numbers(trial):
                places.get(trial.cell, []).append(at)
        return places

    def values(self, cell: Cell, metric: Metric) -> Array:
        """Return the finite values of a metric of a cell's measured trials, in their order."""
        key = cell.id, metric.name
        if key not in self._values:
            trials = self.measured[cell.id]
            found = np.array([one.samples.get(metric.name, math.nan) for one in trials], np.float64)
            self._values[key] = found[np.isfinite(found)]
        return self._values[key]

    @cached_property
    def _values(self) -> dict[tuple[str, str], Array]:
        return {}

    @cached_property
    def other_tests(self) -> Mapping[str, OtherTests]:
        """What the tests of older studies say of each cell, by its id."""
        found = other_tests(self.comparisons.estimates)
        return {one.cell.id: one for one in found}

    @cached_property
    def explanations(self) -> tuple[Explanation, ...]:
        """What counters say of each compared cell, in the order of the plan."""
        return explanations(self.comparisons.estimates, self.comparisons.comparisons)

    @cached_property
    def tiers(self) -> tuple[Tier, ...]:
        """What each role's instance took, where workloads have several."""
        return tiers(self.comparisons.estimates, self.comparisons.comparisons)

    @cached_property
    def dose_curves(self) -> tuple[DoseCurve, ...]:
        """What neighbours at three intensities or more cost, in the order of the plan."""
        return dose_curves(self.comparisons.estimates, self.comparisons.comparisons)

    @cached_property
    def scaling_curves(self) -> tuple[ScalingCurve, ...]:
        """What numbers of instances did together, in the order of the plan."""
        return scaling_curves(self.comparisons.estimates)

    @cached_property
    def platforms_at_once(self) -> tuple[AtOnce, ...]:
        """Every two platforms at the same number of instances."""
        return platforms_at_once(self.comparisons.estimates)

    @cached_property
    def isolation_compared(self) -> tuple[IsolationCompared, ...]:
        """Every two platforms next to the same neighbour, in the order of the plan."""
        return isolation_compared(self.comparisons.estimates, self.comparisons.comparisons)

    @cached_property
    def headline(self) -> tuple[Comparison, ...]:
        """The comparison of each cell by its workload's first metric, controls too."""
        return tuple(row for row in self.comparisons.comparisons if row.primary)

    @cached_property
    def rows(self) -> Mapping[tuple[str, str], Comparison]:
        """The comparisons that decide, by the id of the cell and the metric's name."""
        return {key: some[0] for key, some in self._variants.items()}

    @cached_property
    def other_variants(self) -> Mapping[tuple[str, str], Sequence[Comparison]]:
        """The other variants of the same metric, by the id of the cell and the metric's name."""
        return {key: some[1:] for key, some in self._variants.items()}

    @cached_property
    def _variants(self) -> Mapping[tuple[str, str], Sequence[Comparison]]:
        variants: dict[tuple[str, str], list[Comparison]] = {}
        for row in self.comparisons.comparisons:  # the one that decides comes first
            variants.setdefault((row.cell.id, row.metric.name), []).append(row)
        return variants

    @cached_property
    def summaries(self) -> Mapping[tuple[str, str], Summary]:
        """The summaries by the id of the cell and the metric's name."""
        return {(one.cell.id, one.metric.name): one for one in self.comparisons.summaries}

    @cached_property
    def usage(self) -> Mapping[str, Usage]:
        """What the cells cost on the host, by their ids, where it was read."""
        found = {cell: usage(trials) for cell, trials in self.measured.items()}
        return {cell: one for cell, one in found.items() if one is not None}

    @cached_property
    def disk_use(self) -> Mapping[str, DiskUse]:
        """How busy the host's disks were with each cell, by its id."""
        return {cell: disk_use(self.noise, at) for cell, at in self._measured_at.items()}

    @cached_property
    def noise(self) -> Mapping[str, Array]:
        """What else the host did, by name: a number for each trial, NaN where it was not read."""
        return by_name([one.noise for one in self.results.trials])

    @cached_property
    def lost(self) -> Mapping[str, Mapping[str, float]]:
        """What part was lost or failed, by the cell's id and the word for it.

        It is the mean over the trials, because a median says 0 of what is lost now and then. Where
        no platform of a group lost anything there is nothing; where one did, all say how much.
        """
        found: dict[str, dict[str, float]] = {}
        for one in self.groups:
            # A first metric has its own table; this is added to it.
            for metric in one.metrics[1:]:
                if metric.role not in LOST:
                    continue
                means = {cell.id: self._mean(cell, metric) for cell in one.cells}
                if any(means.values()):
                    for cell, share in means.items():
                        if share is not None:
                            found.setdefault(cell, {})[LOST[metric.role]] = share
        return found

    def _mean(self, cell: Cell, metric: Metric) -> float | None:
        numbers = [one.samples.get(metric.name) for one in self.measured[cell.id]]
        known = [number for number in numbers if number is not None]
        return fmean(known) if known else None

    @cached_property
    def timelines(self) -> Timelines:
        """What the samples of trials say over their time."""
        from tare.present.view.timelines import gather  # it needs what a table of verdicts does not

        return gather(self)

    @cached_property
    def raw(self) -> Mapping[str, Stored]:
        """What is stored of each trial's raw output, by the name of its folder."""
        return self.read_raw() if self.read_raw else read_raw(self.results.folder)

    @cached_property
    def notes(self) -> Mapping[str, tuple[str, ...]]:
        """What trials of a cell warn of, by the cell's id; each kind once, with its number."""
        notes = {}
        for cell, trials in self.trials.items():
            measured = [trial for trial in trials if trial.kind is Kind.MEASURED]
            counts = merged(warning for trial in measured for warning in trial.warnings)
            notes[cell] = tuple(
                f"{warning} ({count} of {len(measured)} trials)"
                for warning, count in counts.items()
            )
        return notes

    @cached_property
    def statuses(self) -> Counter[Status]:
        """How the trials ended, warm-ups left out."""
        return Counter(one.status for one in self.results.trials if one.kind is Kind.MEASURED)

    @cached_property
    def blocks(self) -> int:
        """How many blocks were begun."""
        return len({one.block for one in self.results.trials if one.kind is Kind.MEASURED})

    @cached_property
    def untrusted(self) -> tuple[Comparison, ...]:
        """The A/A controls that differ from their baseline, which puts their blocks in doubt."""
        claims = (Verdict.SLOWER, Verdict.FASTER)
        return tuple(row for row in self.headline if row.is_control and row.verdict in claims)

    @cached_property
    def overhead_s(self) -> Mapping[str, Mapping[str, float]]:
        """Tare's own time around a trial by platform: median of each phase, and of their sum."""
        trials = self.results.trials
        phases_s = by_name([one.phases_s for one in trials])
        by_platform: dict[str, list[int]] = {}
        for cell in self.plan.cells:
            places = [at for at in self._measured_at[cell.id] if trials[at].phases_s]
            by_platform.setdefault(cell.platform, []).extend(places)
        return {
            name: overhead({phase: column[places] for phase, column in phases_s.items()})
            for name, places in by_platform.items()
            if places
        }

    @cached_property
    def sampling(self) -> Mapping[str, tuple[float, float]]:
        """What sampling took of a trial by platform, as ``host_use.sampling`` says."""
        by_platform: dict[str, list[Trial]] = {}
        for cell in self.plan.cells:
            by_platform.setdefault(cell.platform, []).extend(self.measured[cell.id])
        found = {name: sampling(trials) for name, trials in by_platform.items()}
        return {name: one for name, one in found.items() if one is not None}
