"""What a lifecycle trial measures, and its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from tare.core.model import Better, Metric, Unit
from tare.work.workload import Measured


class Cache(StrEnum):
    """What the host's page cache holds of the image when a trial begins."""

    WARM = "warm"
    """What the previous trial left in it."""
    COLD = "cold"
    """Nothing: the page cache is dropped, that of the whole host."""


def _seconds(name: str) -> Metric:
    return Metric(name, Unit.SECOND, Better.LOWER)


CREATE, BOOT = _seconds("create"), _seconds("boot")
SOFT_REBOOT, HARD_REBOOT = _seconds("soft_reboot"), _seconds("hard_reboot")
STOP, START, DELETE, TOTAL = map(_seconds, ("stop", "start", "delete", "total"))
HOST_CPU = _seconds("host_cpu")
HOST_MEMORY = Metric("host_memory", Unit.BYTE, Better.LOWER)


@dataclass(frozen=True, kw_only=True)
class Lifecycle(Measured):
    """Instances of a stack's innermost layer, made, used by their verbs and removed, all at once.

    ``count`` is how many at once: 1, or a storm. The layers around are up before. Each phase begins
    when the one before has ended for all; its time is the wall time, by one monotonic clock of the
    host, until the last instance is done:

    ``create`` until all are made; ``boot`` and ``start`` from the command that starts the first
    until all answer a command; ``soft_reboot`` and ``hard_reboot`` until all answer again, booted
    anew; ``stop`` until all stand, in order; ``delete`` until nothing of them is left; ``total``
    the sum of all phases. ``host_cpu`` is what all CPUs of the controlling host were busy in those
    phases, less Tare's own process; ``host_memory`` is by how much less memory was available there
    when all had booted than before.

    A verb that a layer does not have gives no value, and then there is no total.
    """

    count: int = 1
    cache: Cache = Cache.WARM
    reboots: bool = True

    metrics: ClassVar[tuple[Metric, ...]] = (
        BOOT, CREATE, SOFT_REBOOT, HARD_REBOOT, STOP, START, DELETE, TOTAL, HOST_CPU, HOST_MEMORY,
    )  # fmt: skip

    def __post_init__(self) -> None:
        """Refuse what cannot be run."""
        if not 1 <= self.count <= MAX_COUNT:
            raise ValueError(f"count: {self.count} was given; expected 1 to {MAX_COUNT}")

    def makes(self) -> int:
        """Return how many instances a trial makes."""
        return self.count

    def expected_s(self) -> float:
        """Return how long one trial takes; what boots longer than a container takes longer."""
        return 2.0 * self.count


MAX_COUNT = 1024
"""More instances than this on one host are a mistake."""
