"""Metrics with their unit, direction and role, and samples of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class Unit(StrEnum):
    """The only units in stored data; the report scales them for the eye."""

    SECOND = "s"
    BYTE = "B"
    PER_SECOND = "1/s"
    BYTE_PER_SECOND = "B/s"
    RATIO = "1"


class Better(StrEnum):
    """Which way a metric improves."""

    HIGHER = "higher"
    LOWER = "lower"


class MetricRole(StrEnum):
    """What the numbers of a metric are used for, apart from being compared."""

    PLAIN = "plain"
    """Nothing else."""
    TOOL_DURATION = "tool_duration"
    """How long the tool reports that it worked, without its start and end; in seconds."""
    LOSS = "loss"
    """The share of what was sent that did not arrive."""
    FAILED = "failed"
    """The share of requests that failed."""
    SEARCHED = "searched"
    """The highest rate that a trial found by trying others: not the amount of work it did."""


UNITS_OF_ROLES = {
    MetricRole.TOOL_DURATION: (Unit.SECOND,),
    MetricRole.LOSS: (Unit.RATIO,),
    MetricRole.FAILED: (Unit.RATIO,),
    MetricRole.SEARCHED: (Unit.PER_SECOND, Unit.BYTE_PER_SECOND),
}
"""The units that a metric of a role may have; any for roles that are not listed."""


@dataclass(frozen=True, slots=True)
class Metric:
    """What a number means. Raises ValueError if the unit does not fit the role."""

    name: str
    unit: Unit
    better: Better
    role: MetricRole = MetricRole.PLAIN

    def __post_init__(self) -> None:
        """Check the unit."""
        units = UNITS_OF_ROLES.get(self.role, tuple(Unit))
        if self.unit not in units:
            expected = " or ".join(units)
            raise ValueError(
                f"metric {self.name}: its unit is {self.unit}; expected {expected}, because its "
                f"role is {self.role}"
            )


def metric_of(metrics: Iterable[Metric], role: MetricRole) -> Metric | None:
    """Return the first of a workload's metrics that has a role, or None."""
    return next((metric for metric in metrics if metric.role is role), None)


def tool_duration_s(samples: Mapping[str, float], metrics: Iterable[Metric]) -> float | None:
    """Return how long a workload's tool reports that it worked, or None if it does not."""
    metric = metric_of(metrics, MetricRole.TOOL_DURATION)
    return None if metric is None else samples.get(metric.name)


@dataclass(frozen=True, slots=True)
class Sample:
    """One number for one metric."""

    metric: Metric
    value: float
