"""What the stressors that run stress-ng share: its packages, options and bounds."""

from __future__ import annotations

from dataclasses import dataclass

from tare.work import stressor
from tare.work.roles import Role, Succeeds

MIB = 2**20
MAIN_BYTES, WORKER_BYTES = 16 * MIB, 8 * MIB
"""What the first process, and each of the others, may keep of its own: three times what was seen of
stress-ng 0.15.06."""


@dataclass(frozen=True, kw_only=True)
class StressNg(stressor.Stressor):
    """A stressor that is one of stress-ng's own."""

    packages = ("stress-ng",)
    recorded = (("stress-ng", "0.15.06"),)

    @property
    def running(self) -> int:
        """How many workers run where the workers are the dial."""
        return max(1, round(self.level * self.workers))

    def role(self, name: str, place: str, options: list[str], ready: Succeeds) -> Role:
        """Build the role that runs stress-ng with options until it is ended.

        Without ``--oomable`` what the kernel kills for lack of memory is started again: a neighbour
        that ends at its limit would be none. Without a time limit of 0 it would end after a day.
        """
        endless = ["stress-ng", "--timeout", "0", "--no-rand-seed"]
        command = [*endless, *options]
        return Role(name=name, command=command, place=place, packages=self.packages, ready=ready)

    def bounded(self, processes: int, memory_bytes: int = 0) -> stressor.Bounds:
        """Return the bounds of a number of processes below the first, and what else they share."""
        own = MAIN_BYTES + processes * WORKER_BYTES
        return stressor.Bounds(memory_bytes=memory_bytes + own, processes=1 + processes)
