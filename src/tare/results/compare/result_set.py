"""One set of results, for questions that are asked of several: its trials and their comparisons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tare.core.model import Cell, Facts, Metric, Plan, Trial
from tare.results.compare.comparison import Comparison
from tare.results.compare.estimates import Estimates
from tare.results.compare.pairing import History


@dataclass(frozen=True)
class ResultSet:
    """A plan, its trials, the facts stored with them and the comparisons made of them."""

    plan: Plan
    trials: Sequence[Trial]
    facts: Facts
    comparisons: Sequence[Comparison] = ()

    @cached_property
    def primary(self) -> Mapping[str, Comparison]:
        """The comparison of each cell with its baseline that decides, by the cell's id."""
        return {row.cell.id: row for row in self.comparisons if row.primary}

    @property
    def histories(self) -> Mapping[str, History]:
        """The trials that count, by the cell's id."""
        return self.estimates.histories

    @cached_property
    def estimates(self) -> Estimates:
        """The estimates of any two of its cells."""
        return Estimates(self.plan, self.trials)

    @cached_property
    def sessions(self) -> Mapping[str, int]:
        """How many of the trials each session measured."""
        return Counter(one.session for one in self.trials if one.session)

    def metric(self, cell: Cell) -> Metric:
        """Return the metric that decides about a cell."""
        return self.plan.metrics[cell.workload][0]
