"""A workload that is asked for again and again, each time in an instance of its own."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

from tare.core.model import Better, Metric, Params, Unit
from tare.experiment.scenarios._fresh_instances import InFreshInstances

LATENCY_P50 = Metric("latency_p50", Unit.SECOND, Better.LOWER)
LATENCY_P99 = Metric("latency_p99", Unit.SECOND, Better.LOWER)
READY_P50 = Metric("ready_p50", Unit.SECOND, Better.LOWER)
DELETE_P50 = Metric("delete_p50", Unit.SECOND, Better.LOWER)
ANSWERED = Metric("answered", Unit.PER_SECOND, Better.HIGHER)
MOST = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """Requests that come at a constant rate, whether those before were answered or not.

    ``rate_per_s`` is how many come in a second, ``requests`` how many in a trial. No more than
    ``at_once`` have an instance at a time; the others wait, and their wait is part of their
    latency. Raises ValueError on others.
    """

    rate_per_s: float = 1.0
    requests: int = 20
    at_once: int = 16

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if self.rate_per_s <= 0:
            raise ValueError(
                f"rate_per_s: {self.rate_per_s:g} was given; expected more than 0 a second"
            )
        if not 1 <= self.requests <= MOST:
            raise ValueError(f"requests: {self.requests} was given; expected 1 to {MOST}")
        if self.at_once < 1:
            raise ValueError(f"at_once: {self.at_once} was given; expected 1 or more")

    @property
    def params(self) -> Params:
        """The parameters of a cell that say so."""
        return tuple((one.name, getattr(self, one.name)) for one in fields(self))

    @property
    def lasts_s(self) -> float:
        """From the first arrival to the last."""
        return (self.requests - 1) / self.rate_per_s


@dataclass(frozen=True, kw_only=True)
class Arriving(InFreshInstances):
    """A workload, and how its requests arrive: each makes an instance, runs in it and removes it.

    A latency is from the time at which a request was to come until its command has ended, so that
    what a slow platform puts off counts (no coordinated omission); quantiles lie between requests,
    so that the p99 of fewer than 100 is between the two slowest. ``ready_p50`` is from the
    command that makes the instance until it answers, ``delete_p50`` how long its removal takes,
    which no request waits for. ``answered`` is how many were answered in a second, from the first
    arrival to the last answer.
    """

    arrivals: Arrivals

    metrics: ClassVar[tuple[Metric, ...]] = (
        LATENCY_P50, LATENCY_P99, READY_P50, DELETE_P50, ANSWERED,
    )  # fmt: skip

    def expected_s(self) -> float:
        """See Measured.expected_s."""
        return self.arrivals.lasts_s + self.workload.expected_s()

    def makes(self) -> int:
        """See Measured.makes."""
        return min(self.arrivals.at_once, self.arrivals.requests)

    def disk_bytes(self) -> int:
        """See Measured.disk_bytes."""
        return self.workload.disk_bytes() * self.makes()
