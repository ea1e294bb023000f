"""One set of results in a comparison of several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tare.core.model import Cell, Facts, Metric, Plan, Trial
from tare.results.compare.comparison import Comparison
from tare.results.compare.pairing import History, histories
from tare.results.compare.study import Comparisons, compare


@dataclass(frozen=True)
class Side:
    """One of the two result sets: its plan, its trials and the facts stored with them."""

    plan: Plan
    trials: Sequence[Trial]
    facts: Facts

    @cached_property
    def comparisons(self) -> Comparisons:
        """What the set says by itself."""
        return compare(self.plan, self.trials, self.facts)

    @cached_property
    def primary(self) -> Mapping[str, Comparison]:
        """The comparison of each cell with its baseline that decides, by the cell's id."""
        return {row.cell.id: row for row in self.comparisons.comparisons if row.primary}

    @cached_property
    def histories(self) -> Mapping[str, History]:
        """The trials that count, by the cell's id."""
        return histories(self.plan, self.trials)

    @cached_property
    def sessions(self) -> Mapping[str, int]:
        """How many of the trials each session measured."""
        return Counter(one.session for one in self.trials if one.session)

    def metric(self, cell: Cell) -> Metric:
        """Give the metric that decides about a cell."""
        return self.plan.metrics[cell.workload][0]
