"""Which trials are compared with which, and the log ratio of each pair."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tare.core.model import (
    Better,
    Cell,
    Contrast,
    ContrastKind,
    Kind,
    Metric,
    MetricRole,
    Plan,
    Replicates,
    Status,
    Trial,
    Variant,
    metric_of,
)
from tare.core.model.group import group
from tare.results.compare.columns import Columns, Readings, has_numbers
from tare.results.compare.contention import Unaccounted
from tare.results.compare.reason import Reason, ReasonKind, reason_of
from tare.results.compare.suspects import Why
from tare.results.stats.signed_rank import Array


def against(cells: Iterable[Cell], platform: str) -> tuple[Contrast, ...]:
    """Contrast each cell with that of a platform that shares workload, parameters and limits."""
    cells = tuple(cells)
    references = {group(cell): cell for cell in cells if cell.platform == platform}
    return tuple(
        Contrast(cell=cell.id, reference=reference.id, kind=ContrastKind.OVERHEAD)
        for cell in cells
        if (reference := references.get(group(cell))) is not None and cell is not reference
    )


@dataclass(slots=True)
class History:
    """A cell's trials: by block, the measured one that counts.

    In a duet the baseline has one in each block with each of the others: ``partners`` has them by
    the id of that cell, and ``trials`` has the first of each block. ``metrics`` are those of the
    cell's workload, ``replicates`` is the plan's.
    """

    trials: dict[int, Trial] = field(default_factory=dict)
    metrics: Sequence[Metric] = ()
    repeated: int = 0
    impossible: str | None = None
    partners: dict[str, History] = field(default_factory=dict)
    replicates: Replicates = Replicates.INSTANCES
    _readings: Readings | None = field(default=None, repr=False)

    def columns(self, metric: Metric, variant: Variant) -> Columns:
        """Return the trials as columns; they are made once, so trials may not be added later."""
        return self._read.columns(metric, variant)

    def numbers(self, name: str) -> Array:
        """Return a metric's finite numbers, of all trials that count."""
        if not self.partners:
            return self._read.numbers(name, alone=False)
        apart = [one.numbers(name) for one in self.partners.values()]
        return np.concatenate([self._read.numbers(name, alone=True), *apart])

    def instances(self, blocks: Sequence[int]) -> tuple[str, ...]:
        """Name the instance of each of some blocks, which are in order.

        In a duet two have one label, each on CPUs of its own. They are one group: a difference
        between the sets of CPUs is no luck of instances. It is balanced within the group, while
        between two groups it would be taken for such luck.
        """
        if len(blocks) == len(self.trials):
            return self._read.instances
        return tuple([self.trials[block].instance or f"\0{block}" for block in blocks])

    @property
    def _read(self) -> Readings:
        if self._readings is None:
            self._readings = Readings(self.trials, self.metrics)
        return self._readings

    def compared_with(self, cell: str) -> History:
        """Return the trials that a cell is compared with: in a duet those at the same moment."""
        return self.partners.get(cell, self)

    @property
    def tool_duration(self) -> Metric | None:
        """The metric that says how long the tool took, if the workload has it."""
        return metric_of(self.metrics, MetricRole.TOOL_DURATION)

    @property
    def counted(self) -> list[Trial]:
        """All trials that count, whatever they ran together with."""
        if not self.partners:
            return list(self.trials.values())
        apart = [trial for one in self.partners.values() for trial in one.trials.values()]
        return [*(trial for trial in self.trials.values() if not trial.partner), *apart]

    @property
    def unavailable(self) -> str | None:
        """What was stored of why this host cannot do it, if it never could; it may be empty."""
        could = any(trial.status is not Status.UNAVAILABLE for trial in self.trials.values())
        return None if could else self.impossible

    @property
    def why_unavailable(self) -> Reason | None:
        """Why this host cannot do it, if it never could."""
        said = self.unavailable
        return None if said is None else reason_of(ReasonKind.UNAVAILABLE, said=said)

    @property
    def last_reason(self) -> str:
        """The last thing that a trial said of how it ended."""
        return next((one.reason for one in reversed(self.trials.values()) if one.reason), "")


def histories(plan: Plan, trials: Iterable[Trial]) -> dict[str, History]:
    """Sort trials by cell and block; of several in one block the last good one counts.

    In a duet the last one counts, whatever it came to: both halves must be of one moment.
    """
    found = {
        cell.id: History(metrics=plan.metrics[cell.workload], replicates=plan.replicates)
        for cell in plan.cells
    }
    for trial in trials:
        history = found.get(trial.cell)
        if history is None:
            continue
        if trial.status is Status.UNAVAILABLE:
            history.impossible = trial.reason
        if trial.kind is not Kind.MEASURED:
            continue
        if trial.partner:
            _take_half(history, trial)
            continue
        before = history.trials.get(trial.block)
        history.repeated += before is not None
        if before is None or _goodness(trial) >= _goodness(before):
            history.trials[trial.block] = trial
    for history in found.values():
        for one in (history, *history.partners.values()):
            one.trials = dict(sorted(one.trials.items()))
    return found


def _take_half(history: History, trial: Trial) -> None:
    empty = History(metrics=history.metrics, replicates=history.replicates)
    apart = history.partners.setdefault(trial.partner, empty)
    repeats = trial.block in apart.trials
    history.repeated += repeats
    apart.repeated += repeats
    apart.impossible = history.impossible
    apart.trials[trial.block] = trial
    first = history.trials.setdefault(trial.block, trial)
    if first.partner == trial.partner:
        history.trials[trial.block] = trial


def _goodness(trial: Trial) -> int:
    return has_numbers(trial) + (trial.status is Status.OK)


@dataclass(frozen=True, slots=True)
class Pairs:
    """The blocks of a cell and its baseline, paired.

    In ``failed`` pairs only the cell failed, in ``baseline_failed`` only the baseline. In ``zeros``
    the cell alone had 0 of what is better when lower, in ``baseline_zeros`` the baseline, in
    ``both_zero`` both. ``both_failed``, ``baseline_missing`` and ``absent`` blocks make no pair,
    the second because the baseline neither gave a number nor failed, the third because the cell did
    neither. ``no_ratio`` counts values, of either side, that are failures for what they are:
    negative, not finite, or 0 of what is better when higher. ``unknown`` counts the trials, of
    either side, for which the variant is not known, by the reason; ``workers`` is the most threads
    at once whose delay was averaged.
    """

    log_ratios: Array
    """In order of block; positive is worse. It is +inf where the cell failed or the baseline alone
    had 0, -inf where the baseline failed or the cell alone had 0, and 0 where both had 0."""
    failed: int
    baseline_failed: int
    zeros: int
    baseline_zeros: int
    both_zero: int
    suspect: int
    why_suspect: Mapping[Why, int]
    """How many of the suspect blocks there are for each reason; one may have several."""
    both_failed: int
    baseline_missing: int
    absent: int
    no_ratio: int
    unknown: Mapping[Unaccounted, int] = field(default_factory=dict)
    workers: int = 0
    blocks: tuple[int, ...] = ()
    """The block of each of the log ratios."""
    apart: int = 0
    """Blocks whose two trials are of different sessions, hours apart perhaps: they make no pair."""
    other_entry: int = 0
    """Blocks whose trials were not both entered as those of most pairs were: they make no pair."""

    @property
    def left_out(self) -> int:
        """How many blocks make no pair."""
        none = self.both_failed + self.baseline_missing + self.absent
        return none + self.apart + self.other_entry


NO_PAIRS = Pairs(np.empty(0), 0, 0, 0, 0, 0, 0, {}, 0, 0, 0, 0)
"""Those of a cell that is compared with nothing."""


def pair(
    cell: History, baseline: History, metric: Metric, variant: Variant = Variant.WALL
) -> Pairs:
    """Pair a cell's trials with those of the baseline in the same blocks."""
    here, there = cell.columns(metric, variant), baseline.columns(metric, variant)
    blocks, at, other, alone = _meet(here.blocks, there.blocks)
    together = here.sessions[at] == there.sessions[other]
    blocks, at, other = blocks[together], at[together], other[together]
    alike = _entered_alike(here.by_agent[at], there.by_agent[other])
    blocks, at, other = blocks[alike], at[alike], other[alike]

    whys = [
        *(here.unknown[place] for place in (*at, *alone) if here.unknown),
        *(there.unknown[place] for place in other if there.unknown),
    ]
    unknown = Counter(why for why in whys if why is not None)

    own, base = here.values[at], there.values[other]
    has_own, has_base = ~np.isnan(own), ~np.isnan(base)
    read = has_base & has_own
    no_ratio = _count(here.no_ratio[at] & read) + _count(there.no_ratio[other] & read)
    both_failed = np.isinf(own) & np.isinf(base)
    kept = read & ~both_failed
    if not kept.all():
        blocks, at, other, own, base = (one[kept] for one in (blocks, at, other, own, base))
    # What failed is infinitely worse, whichever way the metric improves; 0 is infinitely better.
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.log(own) - np.log(base)
    no_own, no_base = own == 0, base == 0
    both_zero = no_own & no_base
    ratios[both_zero] = 0.0
    worse = -1.0 if metric.better is Better.HIGHER else 1.0
    own_failed, base_failed = np.isinf(own), np.isinf(base)
    suspect = here.suspect[at] | there.suspect[other]
    suspect = suspect[suspect != 0]
    return Pairs(
        np.where(np.isinf(ratios), ratios, worse * ratios),
        failed=_count(own_failed),
        baseline_failed=_count(base_failed),
        zeros=_count(no_own & ~both_zero & ~base_failed),
        baseline_zeros=_count(no_base & ~both_zero & ~own_failed),
        both_zero=_count(both_zero),
        suspect=len(suspect),
        why_suspect={why: _count(suspect & int(why)) for why in Why},
        both_failed=_count(both_failed),
        baseline_missing=len(alone) + _count(~has_base),
        absent=_count(has_base & ~has_own),
        no_ratio=no_ratio,
        unknown=unknown,
        workers=int(max(here.workers[at].max(initial=0), there.workers[other].max(initial=0))),
        blocks=tuple(blocks.tolist()),
        apart=_count(~together),
        other_entry=_count(~alike),
    )


def _entered_alike(own: NDArray[np.bool_], base: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which pairs have both trials entered in one way, that of most such pairs."""
    by_agent, anew = own & base, ~own & ~base
    return by_agent if _count(by_agent) >= _count(anew) else anew


def aligned(pairs: Pairs, blocks: Sequence[int]) -> Array:
    """Return the log ratio of each of some blocks; NaN where there is none."""
    known = dict(zip(pairs.blocks, pairs.log_ratios.tolist(), strict=True))
    return np.array([known.get(block, math.nan) for block in blocks], dtype=np.float64)


Blocks = NDArray[np.int64]
Places = NDArray[np.intp]


def _meet(here: Blocks, there: Blocks) -> tuple[Blocks, Places, Places, Places]:
    """Return the blocks of both, where each has them, and the places of those only here."""
    if np.array_equal(here, there):  # nearly always
        every = np.arange(len(here))
        return here, every, every, every[:0]
    blocks, at, other = np.intersect1d(here, there, assume_unique=True, return_indices=True)
    return blocks, at, other, np.flatnonzero(~np.isin(here, there))


def _count(flags: NDArray[np.generic]) -> int:
    return int(np.count_nonzero(flags))
