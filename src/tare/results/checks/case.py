"""What a check is given: one comparison, its estimate, and the study that it is one of."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from tare.core.model import Cell, Facts, Plan, Variant
from tare.core.model.group import Group, group
from tare.results.compare.comparison import Comparison, Subject
from tare.results.compare.estimate import Estimate
from tare.results.compare.estimates import Estimates
from tare.results.compare.pairing import History, Pairs

T = TypeVar("T")


@dataclass(eq=False)
class Comparing:
    """A study of which every comparison is estimated and none is checked yet.

    ``rows`` are in the order in which they are shown.
    """

    estimates: Estimates
    rows: Sequence[Estimate]
    facts: Facts
    _once: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def groups(self) -> Mapping[Group, Sequence[Cell]]:
        """The cells that may be compared with each other."""
        found: dict[Group, list[Cell]] = {}
        for cell in self.plan.cells:
            found.setdefault(group(cell), []).append(cell)
        return found

    @property
    def plan(self) -> Plan:
        """The plan of the study."""
        return self.estimates.plan

    def once(self, make: Callable[..., T], *of: Hashable) -> T:
        """Return what a function makes of the study and of what is given; it is called once."""
        if (make, of) not in self._once:
            self._once[make, of] = make(self, *of)
        found: T = self._once[make, of]
        return found

    @cached_property
    def controls(self) -> Mapping[tuple[Group, str, Variant], Comparison]:
        """The comparison of the A/A control of the same work, by metric and variant."""
        return {_like(one.subject): one.row for one in self.rows if one.subject.is_control}

    @cached_property
    def by_variant(self) -> Mapping[tuple[str, str, Variant], Comparison]:
        """Each comparison by the cell's id, the metric's name and the variant."""
        found = (one.row for one in self.rows)
        return {(row.cell.id, row.metric.name, row.variant): row for row in found}


@dataclass(eq=False)
class Case:
    """One comparison with all that a check may look at."""

    study: Comparing
    estimate: Estimate

    @property
    def row(self) -> Comparison:
        """The comparison, without what checks find and without its noise floor."""
        return self.estimate.row

    @property
    def own(self) -> History:
        """The trials of the cell."""
        return self.estimate.own

    @property
    def base(self) -> History:
        """The trials of the baseline that they are compared with."""
        return self.estimate.base

    @property
    def pairs(self) -> Pairs:
        """The pairs of both."""
        return self.estimate.pairs

    @property
    def is_decisive(self) -> bool:
        """Whether the plan decides by it, and it has a cost."""
        return self.row.primary and self.row.baseline is not None and self.row.cost is not None

    @property
    def margin(self) -> float:
        """The log ratio within which costs count as the same."""
        return math.log1p(self.study.plan.repetition.margin)

    @cached_property
    def control(self) -> Comparison | None:
        """The comparison of the A/A control of the same work, by the same metric and variant."""
        return self.study.controls.get(_like(self.estimate.subject))

    @cached_property
    def noise_floor(self) -> float | None:
        """The larger end of the control's interval, as a ratio minus one, if it has one."""
        control = self.control
        if control is None or not control.low or control.high is None:
            return None
        floor = max(control.high, 1 / control.low) - 1
        return floor if math.isfinite(floor) else None


def _like(subject: Subject) -> tuple[Group, str, Variant]:
    return group(subject.cell), subject.metric.name, subject.variant
