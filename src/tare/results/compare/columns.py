"""The trials of one cell as columns of numbers, which is what comparisons work on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tare.core.model import (
    Better,
    Entry,
    Metric,
    MetricRole,
    Status,
    Trial,
    Unit,
    Variant,
    metric_of,
)
from tare.results.compare.contention import Unaccounted, share_of_wall
from tare.results.compare.suspects import why_suspect
from tare.results.stats.signed_rank import Array

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Columns:
    """What pairs are made of: one metric of a history, trial by trial in order of block.

    ``suspect`` has the ``Why`` of each. ``values`` are numbers that can be compared; +inf is a
    failure, NaN is no value. ``no_ratio`` marks failures of trials that have numbers. ``unknown``
    says of each trial why the variant is not known for it; it is empty where it is of all.
    ``workers`` is how many threads' delay was averaged, 0 where none was. ``times`` is when each
    began, in seconds, or the numbers of the blocks where any does not tell; ``slots`` its place in
    the block.
    """

    blocks: NDArray[np.int64]
    sessions: NDArray[np.str_]
    by_agent: Flags
    suspect: NDArray[np.int64]
    values: Array
    no_ratio: Flags
    workers: NDArray[np.int64]
    unknown: Sequence[Unaccounted | None]
    times: Array
    slots: NDArray[np.int64]


def has_numbers(trial: Trial) -> bool:
    """Whether a trial ran to its end."""
    return trial.status is Status.OK or trial.status is Status.SUSPECT


class Readings:
    """What trials say, by block; each column is made once, and shared by those that need it.

    ``metrics`` are those of the trials' workload.
    """

    def __init__(self, trials: Mapping[int, Trial], metrics: Sequence[Metric]) -> None:
        self._tool_duration = metric_of(metrics, MetricRole.TOOL_DURATION)
        self._trials = tuple(trials.values())
        self._blocks = np.array(list(trials), dtype=np.int64)
        self._samples: dict[str, tuple[Array, Flags]] = {}
        self._shares: dict[Variant, tuple[Array, Sequence[Unaccounted | None]]] = {}
        self._columns: dict[tuple[str, Better, Unit, Variant], Columns] = {}

    def columns(self, metric: Metric, variant: Variant) -> Columns:
        """Return one metric by one variant.

        A rate of 0 delivered nothing, and no work takes 0 s: both are failures. Of what else is
        better when lower, such as loss, 0 is the best value there is, although no ratio can be made
        of it.
        """
        key = metric.name, metric.better, metric.unit, variant
        if key not in self._columns:
            self._columns[key] = self._made(metric, variant)
        return self._columns[key]

    def _made(self, metric: Metric, variant: Variant) -> Columns:
        samples, is_there = self._sampled(metric.name)
        shares, reasons = self._shared(variant)
        has_metric = self._has_numbers & is_there
        known = has_metric & ~np.isnan(shares)
        found = samples[known]
        if variant is not Variant.WALL:
            part = shares[known]
            found = found / part if metric.better is Better.HIGHER else found * part
        may_be_zero = metric.better is Better.LOWER and metric.unit is not Unit.SECOND
        is_good = (found > 0) & (found < math.inf)
        if may_be_zero:
            is_good |= found == 0
        values = np.full(len(samples), math.nan)
        values[known] = np.where(is_good, found, math.inf)
        values[self._failed] = math.inf
        silent = [why if has else None for why, has in zip(reasons, has_metric, strict=False)]
        averaged = variant is Variant.CORRECTED
        return Columns(
            self._blocks,
            self._sessions,
            self._by_agent,
            self._suspect,
            values,
            np.isinf(values) & self._has_numbers,
            self._workers if averaged else np.zeros(len(samples), dtype=np.int64),
            silent if any(silent) else (),
            self._times,
            self._slots,
        )

    def _sampled(self, name: str) -> tuple[Array, Flags]:
        """Return a metric's samples, and which trials have it."""
        if name not in self._samples:
            found = [trial.samples.get(name) for trial in self._trials]
            values = np.array(found, dtype=np.float64)
            is_there = ~np.isnan(values)
            for place in np.flatnonzero(~is_there):  # a sample may be NaN itself
                is_there[place] = found[place] is not None
            self._samples[name] = values, is_there
        return self._samples[name]

    def _shared(self, variant: Variant) -> tuple[Array, Sequence[Unaccounted | None]]:
        """Return the part of the wall time that a variant counts; NaN, and why it is not known."""
        if variant is Variant.WALL:
            return np.ones(len(self._trials)), ()
        if variant not in self._shares:
            found = [share_of_wall(one, variant, self._tool_duration) for one in self._trials]
            reasons = [one if isinstance(one, Unaccounted) else None for one in found]
            if any(reasons):
                numbers = [math.nan if isinstance(one, Unaccounted) else one for one in found]
                self._shares[variant] = np.array(numbers, dtype=np.float64), reasons
            else:
                self._shares[variant] = np.array(found, dtype=np.float64), ()
        return self._shares[variant]

    @cached_property
    def instances(self) -> tuple[str, ...]:
        """The instance of each; a trial that names none has one of its own."""
        return tuple([trial.instance or f"\0{trial.block}" for trial in self._trials])

    def numbers(self, name: str, *, alone: bool) -> Array:
        """Return a metric's finite numbers; ``alone``: only of trials that ran by themselves."""
        samples, _ = self._sampled(name)
        chosen = self._has_numbers & np.isfinite(samples)
        if alone:
            chosen &= np.array([not trial.partner for trial in self._trials], dtype=bool)
        return samples[chosen]

    @cached_property
    def _has_numbers(self) -> Flags:
        return np.array([has_numbers(trial) for trial in self._trials], dtype=bool)

    @cached_property
    def _failed(self) -> Flags:
        failed, late = Status.FAILED, Status.DNR
        found = [trial.status is failed or trial.status is late for trial in self._trials]
        return np.array(found, dtype=bool)

    @cached_property
    def _sessions(self) -> NDArray[np.str_]:
        """The sessions that trials were measured in."""
        return np.array([trial.session for trial in self._trials], dtype=str)

    @cached_property
    def _by_agent(self) -> Flags:
        """Which trials' commands were started by an agent."""
        agent = Entry.AGENT
        return np.array([trial.entry is agent for trial in self._trials], dtype=bool)

    @cached_property
    def _times(self) -> Array:
        starts = [trial.started_at for trial in self._trials]
        try:
            return np.array([datetime.fromisoformat(one).timestamp() for one in starts])
        except ValueError:
            return self._blocks.astype(np.float64)

    @cached_property
    def _slots(self) -> NDArray[np.int64]:
        return np.array([trial.slot for trial in self._trials], dtype=np.int64)

    @cached_property
    def _suspect(self) -> NDArray[np.int64]:
        found = np.zeros(len(self._trials), dtype=np.int64)
        suspect = Status.SUSPECT
        for place, trial in enumerate(self._trials):
            if trial.status is suspect:
                found[place] = why_suspect(trial)
        return found

    @cached_property
    def _workers(self) -> NDArray[np.int64]:
        counts = [t.host.workers if t.host and t.host.foreign_delay_s else 0 for t in self._trials]
        return np.array(counts, dtype=np.int64)
