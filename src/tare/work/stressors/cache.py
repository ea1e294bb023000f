"""cache: reads, writes and flushes as much memory as the last-level cache holds.

What others had in that cache is evicted, and is read from memory again. The size is that of the
last-level cache as the kernel that it runs on reports it, so that in a guest with another report
it is another. Defined by stress-ng 0.15.06.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tare.core.model import Resource, Source
from tare.work.roles import Role
from tare.work.stressor import Bounds, Dial, StressedResource
from tare.work.stressors._readiness import stresses
from tare.work.stressors._stress_ng import MIB, StressNg

LARGEST_CACHE_BYTES = 1024 * MIB
"""More than any last-level cache of today; all workers share one mapping of the cache's size."""


@dataclass(frozen=True, kw_only=True)
class Stressor(StressNg):
    """Let a share of the workers, by ``level``, use up the last-level cache.

    Each takes a CPU as well: compare with the stressor ``cpu``.
    """

    resource = StressedResource.CACHE
    dial = Dial.WORKERS
    readings = (Resource(Source.LAYER, "cache_misses"), Resource(Source.LAYER, "cpu_s"))

    def roles(self, name: str, place: str) -> Sequence[Role]:
        """See Stressor.roles."""
        # By default it goes from CPU to CPU; where it runs is said by its instance's CPUs.
        options = ["--cache", str(self.running), "--cache-no-affinity"]
        return (self.role(name, place, options, stresses(busy=self.running)),)

    def bounds(self) -> Bounds:
        """See Stressor.bounds."""
        return self.bounded(self.running, LARGEST_CACHE_BYTES)
