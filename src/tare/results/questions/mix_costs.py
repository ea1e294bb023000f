"""A mix of work, and what every platform costs for the parts of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tare.core.model import Cell, Contrast, ContrastKind, Design, Unit
from tare.core.model.group import Group, group
from tare.results.compare.columns import has_numbers
from tare.results.compare.comparison import Comparison
from tare.results.compare.reason import Reason, ReasonKind, reason_of
from tare.results.compare.result_set import ResultSet
from tare.results.questions.constraints import Constraints
from tare.results.stats.independent import weighted_sum
from tare.results.stats.ratio import ratio
from tare.results.stats.signed_rank import Interval
from tare.results.stats.values import Estimated

TIMES = (Unit.SECOND, Unit.PER_SECOND, Unit.BYTE_PER_SECOND)
"""Metrics that say how long a unit of work takes, so that a share of time has a meaning."""


@dataclass(frozen=True, slots=True)
class Mix:
    """Shares of native time by what is compared with each other; they sum to 1."""

    shares: Mapping[Group, float]
    constraints: Constraints = field(default_factory=Constraints)


def has_time(side: ResultSet, key: Group) -> bool:
    """Whether a share of time has a meaning for what is measured first of a workload."""
    return side.plan.metrics[key[0]][0].unit in TIMES


class Costs:
    """The costs of all platforms for the parts of a mix that have a share."""

    def __init__(self, side: ResultSet, mix: Mix) -> None:
        self.side = side
        self.shares = {key: share for key, share in mix.shares.items() if share > 0}
        self.cells: dict[tuple[str, Group], Cell] = {
            (cell.platform, group(cell)): cell for cell in side.plan.platform_cells
        }
        self.baseline = side.plan.reference
        self.platforms = tuple(dict.fromkeys(name for name, _ in self.cells))

    def without(self, key: Group) -> Costs:
        """Return the costs for the mix without one of its parts."""
        rest = {one: share for one, share in self.shares.items() if one != key}
        return Costs(self.side, Mix(rest))

    @cached_property
    def references(self) -> Mapping[Group, Cell]:
        """The cell of the baseline for each part of the mix."""
        plan = self.side.plan
        return {group(cell): cell for cell in plan.cells if cell.id in plan.references}

    def cell(self, platform: str) -> Cell:
        """Return one of a platform's cells: its stack and limits are those of all."""
        return next(cell for (name, _), cell in self.cells.items() if name == platform)

    def cost(self, platform: str, key: Group) -> Estimated | None:
        """Return a cost with its interval, if finite and above 0; that of the baseline is 1."""
        if platform == self.baseline and (platform, key) in self.cells:
            return Estimated(1.0, Interval(1.0, 1.0)) if self._has_trials(key) else None
        row = self.row(platform, key)
        return None if row is None else _estimated(row)

    def row(self, platform: str, key: Group) -> Comparison | None:
        """Return the comparison with the baseline that decides."""
        cell = self.cells.get((platform, key))
        return None if cell is None else self.side.primary.get(cell.id)

    def costs(self, platform: str) -> dict[Group, float]:
        """Return the costs that are known."""
        found = ((key, self.cost(platform, key)) for key in self.shares)
        return {key: one.value for key, one in found if one is not None}

    def relative(self, platform: str, other: str) -> Estimated | None:
        """Return by which factor a platform is slower than another for the mix; None: not known."""
        base = self.costs(other)
        if base.keys() != self.shares.keys():
            return None
        total = math.fsum(share * base[key] for key, share in self.shares.items())
        terms = []
        for key, share in self.shares.items():
            one = self._between(platform, other, key)
            if one is None:
                return None
            terms.append((share * base[key] / total, one))
        return weighted_sum(terms)

    def are_apart(self, one: str, other: str) -> bool:
        """Whether it is known which of two platforms is faster for the mix."""
        if one == self.baseline:
            one, other = other, one
        found = self.relative(one, other)
        if found is None or found.interval is None:
            return False
        return found.interval.low > 1 or found.interval.high < 1

    def why_no_cost(self, platform: str, key: Group) -> Reason:
        """Return why a platform has no cost for a part of the mix."""
        row = self.row(platform, key)
        if row is not None:
            return row.why_no_cost
        if (platform, key) not in self.cells:
            return reason_of(ReasonKind.NOT_IN_STUDY)
        cell = self.cells[platform, key]
        history = self.side.histories[cell.id]
        if history.last_reason and history.unavailable is None:
            return reason_of(ReasonKind.TRIAL_SAID, said=history.last_reason)
        return history.why_unavailable or reason_of(ReasonKind.BASELINE_WITHOUT_NUMBER)

    def _between(self, platform: str, other: str, key: Group) -> Estimated | None:
        if other == self.baseline:
            return self.cost(platform, key)
        if self.side.plan.repetition.design is Design.DUET:
            return self._divided(platform, other, key)
        cell, base = self.cells.get((platform, key)), self.cells.get((other, key))
        if cell is None or base is None:
            return None
        contrast = Contrast(cell=cell.id, reference=base.id, kind=ContrastKind.OVERHEAD)
        return _estimated(self.side.estimates.of(contrast).row)

    def _divided(self, platform: str, other: str, key: Group) -> Estimated | None:
        own, base = self.cost(platform, key), self.cost(other, key)
        if own is None or base is None:
            return None
        found = weighted_sum(((1.0, _log(own)), (-1.0, _log(base))))
        ends = found.interval
        return Estimated(
            ratio(found.value),
            None if ends is None else Interval(ratio(ends.low), ratio(ends.high)),
        )

    def _has_trials(self, key: Group) -> bool:
        history = self.side.histories[self.references[key].id]
        return any(has_numbers(trial) for trial in history.counted)


def _estimated(row: Comparison) -> Estimated | None:
    if row.cost is None or not 0 < row.cost < math.inf:
        return None
    ends = None if row.low is None or row.high is None else Interval(row.low, row.high)
    return Estimated(row.cost, ends)


def _log(one: Estimated) -> Estimated:
    ends = one.interval
    if ends is not None:
        ends = Interval(math.log(ends.low) if ends.low > 0 else -math.inf, math.log(ends.high))
    return Estimated(math.log(one.value), ends)
