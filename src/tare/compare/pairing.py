"""Which trials are compared with which, and the log ratio of each pair."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from tare.compare.contention import share_of_wall, value
from tare.model import (
    INJECTED,
    Better,
    Cell,
    Kind,
    Limits,
    Metric,
    Params,
    Plan,
    Status,
    Trial,
    Variant,
)
from tare.stats.signed_rank import Array

Group = tuple[str, Params, Limits]


def group(cell: Cell) -> Group:
    """Give what two cells must share to be compared; injected work is the difference sought."""
    params = tuple(one for one in cell.params if one[0] != INJECTED)
    return cell.workload, params, cell.limits


def baselines(plan: Plan) -> dict[Group, Cell]:
    """Find the baseline cell of every group that has one."""
    return {
        group(cell): cell
        for cell in plan.cells
        if cell.platform == plan.baseline and not cell.control and cell.injected is None
    }


@dataclass(slots=True)
class History:
    """A cell's trials: by block, the measured one that counts.

    In a duet the baseline has one in each block beside each of the others: ``partners`` has them by
    the id of that cell, and ``trials`` has the first of each block.
    """

    trials: dict[int, Trial] = field(default_factory=dict)
    repeated: int = 0
    impossible: str | None = None
    partners: dict[str, History] = field(default_factory=dict)

    def beside(self, cell: str) -> History:
        """Give the trials that a cell is compared with: in a duet those at the same moment."""
        return self.partners.get(cell, self)

    @property
    def counted(self) -> list[Trial]:
        """All trials that count, beside whatever they were measured."""
        apart = [trial for one in self.partners.values() for trial in one.trials.values()]
        return [*(trial for trial in self.trials.values() if not trial.partner), *apart]

    @property
    def unavailable(self) -> str | None:
        """Why this host cannot do it, if it never could."""
        could = any(trial.status is not Status.UNAVAILABLE for trial in self.trials.values())
        return None if could else self.impossible

    @property
    def last_reason(self) -> str:
        """The last thing that a trial said of how it ended."""
        return next((one.reason for one in reversed(self.trials.values()) if one.reason), "")


def histories(plan: Plan, trials: Iterable[Trial]) -> dict[str, History]:
    """Sort trials by cell and block; of several in one block the last good one counts.

    In a duet the last one counts, whatever it came to: both halves must be of one moment.
    """
    found = {cell.id: History() for cell in plan.cells}
    for trial in trials:
        history = found.get(trial.cell)
        if history is None:
            continue
        if trial.status is Status.UNAVAILABLE:
            history.impossible = trial.reason or "this host cannot do it"
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
    apart = history.partners.setdefault(trial.partner, History())
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


def has_numbers(trial: Trial) -> bool:
    """Whether a trial ran to its end."""
    return trial.status is Status.OK or trial.status is Status.SUSPECT


@dataclass(frozen=True, slots=True)
class Pairs:
    """A cell's blocks beside its baseline's.

    The last four are numbers of blocks: ``both_failed``, ``baseline_missing`` and ``absent`` make
    no pair, the second because the baseline neither gave a number nor failed, the third because the
    cell did neither. ``no_ratio`` counts values, of either side, that are zero, negative or not
    finite; they are failures. ``unknown`` counts the trials, of either side, for which the variant
    is not known, by the reason; ``workers`` is the most threads at once whose delay was averaged.
    """

    log_ratios: Array
    """In order of block; positive is worse, +inf the cell failed, -inf the baseline did."""
    suspect: int
    both_failed: int
    baseline_missing: int
    absent: int
    no_ratio: int
    unknown: Mapping[str, int] = field(default_factory=dict)
    workers: int = 0
    blocks: tuple[int, ...] = ()
    """The block of each of the log ratios."""
    apart: int = 0
    """Blocks whose two trials are of different sessions, hours apart perhaps: they make no pair."""

    @property
    def failed(self) -> int:
        """Pairs in which only the cell failed."""
        return int(np.isposinf(self.log_ratios).sum())

    @property
    def baseline_failed(self) -> int:
        """Pairs in which only the baseline failed."""
        return int(np.isneginf(self.log_ratios).sum())


def pair(mine: History, theirs: History, metric: Metric, variant: Variant = Variant.WALL) -> Pairs:
    """Set a cell's trials beside those of the baseline in the same blocks."""
    values, bases, blocks = [], [], []
    unknown: Counter[str] = Counter()
    workers = 0
    suspect = both_failed = baseline_missing = absent = no_ratio = apart = 0
    for block, trial in mine.trials.items():
        other = theirs.trials.get(block)
        if other is not None and _session(other) != _session(trial):
            apart += 1
            continue
        base = math.nan if other is None else _reading(other, metric, variant)
        own = _reading(trial, metric, variant)
        if variant is not Variant.WALL:
            unknown.update(_unknown(one, metric, variant) for one in (trial, other) if one)
        if other is None or math.isnan(base):
            baseline_missing += 1
            continue
        if math.isnan(own):
            absent += 1
            continue
        if math.inf in (own, base):
            no_ratio += own == math.inf and has_numbers(trial)
            no_ratio += base == math.inf and has_numbers(other)
            if own == base:
                both_failed += 1
                continue
        values.append(own)
        bases.append(base)
        blocks.append(block)
        if variant is Variant.CORRECTED:
            workers = max(workers, _delayed_workers(trial), _delayed_workers(other))
        suspect += trial.status is Status.SUSPECT or other.status is Status.SUSPECT
    # What failed is infinitely worse, whichever way the metric improves.
    ratios = np.log(np.array(values)) - np.log(np.array(bases))
    worse = -1.0 if metric.better is Better.HIGHER else 1.0
    log_ratios = np.where(np.isinf(ratios), ratios, worse * ratios)
    del unknown[""]
    counts = (suspect, both_failed, baseline_missing, absent, no_ratio)
    return Pairs(log_ratios, *counts, unknown, workers, tuple(blocks), apart)


def _session(trial: Trial) -> str:
    """Name the session that a trial was measured in, as its instance does."""
    return trial.instance.partition("-")[0]


def _reading(trial: Trial, metric: Metric, variant: Variant) -> float:
    """Read a number of which a ratio can be made; +inf is a failure, NaN is no value."""
    if trial.status is Status.FAILED or trial.status is Status.DNR:
        return math.inf
    found = value(trial, metric, variant) if has_numbers(trial) else None
    if found is None:
        return math.nan
    return found if 0 < found < math.inf else math.inf


def _unknown(trial: Trial, metric: Metric, variant: Variant) -> str:
    """Say why a trial that has the metric does not have the variant; empty if it has."""
    share = share_of_wall(trial, variant)
    has_metric = has_numbers(trial) and metric.name in trial.samples
    return share if isinstance(share, str) and has_metric else ""


def _delayed_workers(trial: Trial) -> int:
    return trial.host.workers if trial.host and trial.host.foreign_delay_s else 0
