"""A workload that is run in more and more instances, and what ends that."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

from tare.core.model import Better, Metric, Params, Unit, instances
from tare.experiment.scenarios._fresh_instances import InFreshInstances

FIT = Metric(instances.FIT, Unit.RATIO, Better.HIGHER)
MEMORY_EACH = Metric(instances.MEMORY_EACH, Unit.BYTE, Better.LOWER)
READY_P50 = Metric(instances.READY_P50, Unit.SECOND, Better.LOWER)
READY_P99 = Metric(instances.READY_P99, Unit.SECOND, Better.LOWER)
SLOWEST = Metric(instances.SLOWEST, Unit.RATIO, Better.LOWER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """What has to hold for instances to fit: for each of them, and for the host.

    The slowest instance may take at most ``slowdown`` times as long as one alone does, or reach one
    part in that many of its rate. ``memory_left_bytes`` of the host's memory must stay available.
    No more than ``most`` instances are tried. Raises ValueError on others.
    """

    slowdown: float = 2.0
    memory_left_bytes: int = 2**29
    most: int = 128

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if self.slowdown <= 1:
            raise ValueError(f"slowdown: {self.slowdown:g} was given; expected more than 1")
        if self.memory_left_bytes < LEAST_BYTES:
            raise ValueError(
                f"memory_left: {self.memory_left_bytes / 2**20:g} MiB were given; expected at "
                f"least {LEAST_BYTES // 2**20} MiB, which the host itself needs"
            )
        if not 2 <= self.most <= MOST:
            raise ValueError(f"most: {self.most} was given; expected 2 to {MOST}")

    @property
    def params(self) -> Params:
        """The parameters of a cell that say so."""
        return tuple((one.name, getattr(self, one.name)) for one in fields(self))


LEAST_BYTES = 2**28
"""As ``tare.experiment.trial.guard`` has it, which a test checks: below it a host is in danger."""
MOST = 1024
LEVELS = 8
"""About how many levels are measured in a trial: for estimates, and nothing else."""


@dataclass(frozen=True, kw_only=True)
class Dense(InFreshInstances):
    """A workload, and the objective until which instances of a platform are added that run it.

    ``instances_that_fit`` is the largest number that was measured to meet the objective,
    ``slowest`` how many times as long as one alone the slowest of these took. ``memory_each`` is
    by how much less memory was available on the controlling host with each instance more: the
    slope of a line through all levels. ``ready_p50`` and ``ready_p99`` are from the command that
    makes an instance until it answers, of all that were made in the trial.
    """

    objective: Objective

    metrics: ClassVar[tuple[Metric, ...]] = (FIT, MEMORY_EACH, READY_P50, READY_P99, SLOWEST)

    def expected_s(self) -> float:
        """See Measured.expected_s: as if instances did not slow each other."""
        return LEVELS * self.workload.expected_s()

    def makes(self) -> int:
        """See Measured.makes: one at a time, and each only where the memory for it is there."""
        return 1

    def disk_bytes(self) -> int:
        """See Measured.disk_bytes."""
        return self.workload.disk_bytes() * self.objective.most
