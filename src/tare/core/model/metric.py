"""What is measured: metrics with their units and roles, and one value of one."""

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
    """What the numbers of a metric are used for, beside being compared."""

    PLAIN = "plain"
    """Nothing else."""
    TOOL_DURATION = "tool_duration"
    """How long the tool worked, by its own account and without its start and end; in seconds."""
    LOSS = "loss"
    """The share of what was sent that did not arrive."""
    FAILED = "failed"
    """The share of requests that failed."""
    SEARCHED = "searched"
    """The highest rate that a trial found by working at others: no account of the work it did."""


UNITS_OF_ROLES = {
    MetricRole.TOOL_DURATION: (Unit.SECOND,),
    MetricRole.LOSS: (Unit.RATIO,),
    MetricRole.FAILED: (Unit.RATIO,),
    MetricRole.SEARCHED: (Unit.PER_SECOND, Unit.BYTE_PER_SECOND),
}
"""The units that a metric of a role may have; any, where a role is not named."""


@dataclass(frozen=True, slots=True)
class Metric:
    """What a number means. Raises ValueError if its unit is none of its role."""

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
    """Return how long a workload's tool took by its own account, or None if it did not say."""
    metric = metric_of(metrics, MetricRole.TOOL_DURATION)
    return None if metric is None else samples.get(metric.name)


@dataclass(frozen=True, slots=True)
class Sample:
    """One number for one metric."""

    metric: Metric
    value: float
