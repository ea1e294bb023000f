"""memory_bandwidth: reads and writes more memory than any cache holds, without end.

It takes from others the way to the memory and, as it must read all anew, the last-level cache.
Defined by stress-ng 0.15.06, whose ``memrate`` goes through words of 1 to 128 bytes in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tare.core.model import Resource, Source
from tare.work.roles import Role
from tare.work.stressor import Bounds, StressedResource
from tare.work.stressors._rates import Rated
from tare.work.stressors._readiness import stresses
from tare.work.stressors._stress_ng import MIB, StressNg
from tare.work.workloads import at_least


@dataclass(frozen=True, kw_only=True)
class Stressor(StressNg, Rated):
    """Let each worker read and then write a buffer of ``worker_bytes``, again and again.

    A buffer should be four times the last-level cache. Each worker takes a CPU as well: compare
    with the stressor ``cpu``. Below full it sleeps between pieces, to keep the rate.
    """

    worker_bytes: int = 256 * MIB

    resource = StressedResource.MEMORY_BANDWIDTH
    readings = (Resource(Source.LAYER, "cache_misses"), Resource(Source.LAYER, "cpu_s"))
    """Without a PMU no counter shows bytes of memory: the CPU time alone says that it worked."""

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, worker_bytes=4 * MIB)

    def roles(self, name: str, place: str) -> Sequence[Role]:
        """See Stressor.roles."""
        options = ["--memrate", str(self.workers), "--memrate-bytes", str(self.worker_bytes)]
        each = self.rate(1, MIB)
        if each is not None:  # it reads or writes at any time, never both
            options += ["--memrate-rd-mbs", str(each), "--memrate-wr-mbs", str(each)]
        return (self.role(name, place, options, stresses(busy=self.workers)),)

    def bounds(self) -> Bounds:
        """See Stressor.bounds; each worker is watched by a process that starts it again."""
        return self.bounded(2 * self.workers, self.worker_bytes * self.workers)
