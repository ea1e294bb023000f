"""Which trials are compared with which, and the log ratio of each pair."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from tare.model import Better, Cell, Kind, Limits, Metric, Params, Plan, Status, Trial
from tare.stats.signed_rank import Array

Group = tuple[str, Params, Limits]


def group(cell: Cell) -> Group:
    """Give what two cells must share to be compared."""
    return cell.workload, cell.params, cell.limits


def baselines(plan: Plan) -> dict[Group, Cell]:
    """Find the baseline cell of every group that has one."""
    return {
        group(cell): cell
        for cell in plan.cells
        if cell.platform == plan.baseline and not cell.control
    }


@dataclass(slots=True)
class History:
    """A cell's trials: by block, the measured one that counts."""

    trials: dict[int, Trial] = field(default_factory=dict)
    repeated: int = 0
    impossible: str | None = None

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
    """Sort trials by cell and block; of several in one block the last good one counts."""
    found = {cell.id: History() for cell in plan.cells}
    for trial in trials:
        history = found.get(trial.cell)
        if history is None:
            continue
        if trial.status is Status.UNAVAILABLE:
            history.impossible = trial.reason or "this host cannot do it"
        if trial.kind is not Kind.MEASURED:
            continue
        before = history.trials.get(trial.block)
        history.repeated += before is not None
        if before is None or trial.status is Status.OK or before.status is not Status.OK:
            history.trials[trial.block] = trial
    for history in found.values():
        history.trials = dict(sorted(history.trials.items()))
    return found


def has_numbers(trial: Trial) -> bool:
    """Whether a trial ran to its end."""
    return trial.status is Status.OK or trial.status is Status.SUSPECT


@dataclass(frozen=True, slots=True)
class Pairs:
    """A cell's blocks beside its baseline's.

    The last four are numbers of blocks: ``both_failed``, ``baseline_missing`` and ``absent`` make
    no pair, the second because the baseline neither gave a number nor failed, the third because the
    cell did neither. ``no_ratio`` counts values, of either side, that are zero, negative or not
    finite; they are failures.
    """

    log_ratios: Array
    """In order of block; positive is worse, +inf the cell failed, -inf the baseline did."""
    suspect: int
    both_failed: int
    baseline_missing: int
    absent: int
    no_ratio: int

    @property
    def failed(self) -> int:
        """Pairs in which only the cell failed."""
        return int(np.isposinf(self.log_ratios).sum())

    @property
    def baseline_failed(self) -> int:
        """Pairs in which only the baseline failed."""
        return int(np.isneginf(self.log_ratios).sum())


def pair(mine: History, theirs: History, metric: Metric) -> Pairs:
    """Set a cell's trials beside those of the baseline in the same blocks."""
    values, bases = [], []
    suspect = both_failed = baseline_missing = absent = no_ratio = 0
    for block, trial in mine.trials.items():
        other = theirs.trials.get(block)
        base = math.nan if other is None else _reading(other, metric.name)
        value = _reading(trial, metric.name)
        if other is None or math.isnan(base):
            baseline_missing += 1
            continue
        if math.isnan(value):
            absent += 1
            continue
        if math.inf in (value, base):
            no_ratio += value == math.inf and has_numbers(trial)
            no_ratio += base == math.inf and has_numbers(other)
            if value == base:
                both_failed += 1
                continue
        values.append(value)
        bases.append(base)
        suspect += trial.status is Status.SUSPECT or other.status is Status.SUSPECT
    # What failed is infinitely worse, whichever way the metric improves.
    ratios = np.log(np.array(values)) - np.log(np.array(bases))
    worse = -1.0 if metric.better is Better.HIGHER else 1.0
    log_ratios = np.where(np.isinf(ratios), ratios, worse * ratios)
    return Pairs(log_ratios, suspect, both_failed, baseline_missing, absent, no_ratio)


def _reading(trial: Trial, name: str) -> float:
    """Read a number of which a ratio can be made; +inf is a failure, NaN is no value."""
    if trial.status is Status.FAILED or trial.status is Status.DNR:
        return math.inf
    value = trial.samples.get(name) if has_numbers(trial) else None
    if value is None:
        return math.nan
    return value if 0 < value < math.inf else math.inf
