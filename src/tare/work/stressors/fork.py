"""fork: makes processes without end, and a bounded number of them at a time.

After the ``fork_bomb`` of the Isolation Benchmark Suite, which huang2019 ran in 1 to 64 instances.
That one never ends a process and so only the process limit of its instance stops it; here children
end at once and are made anew, so that it is bounded by itself too. Defined by stress-ng 0.15.06.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tare.core.model import Resource, Source
from tare.work.roles import Role
from tare.work.stressor import Bounds, Dial, StressedResource
from tare.work.stressors._readiness import stresses
from tare.work.stressors._stress_ng import StressNg
from tare.work.workloads import at_least, at_most


@dataclass(frozen=True, kw_only=True)
class Stressor(StressNg):
    """Let each worker make ``children`` processes, wait for all of them, and begin again.

    Below full a share of the workers runs. A process that a limit refuses is tried again, so the
    limit holds and the stress goes on; see ``Bounds.process_limit``.
    """

    children: int = 50

    resource = StressedResource.PROCESSES
    dial = Dial.WORKERS
    readings = (
        Resource(Source.LAYER, "page_faults"),
        Resource(Source.LAYER, "cpu_system_s"),
        Resource(Source.LAYER, "pids_most"),
    )
    """Each child copies pages when it is made and touches them: faults count children, for Linux
    counts forks of the whole host alone."""

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, children=1)
        at_most(self, children=16_000)

    def roles(self, name: str, place: str) -> Sequence[Role]:
        """See Stressor.roles."""
        options = ["--fork", str(self.running), "--fork-max", str(self.children)]
        return (self.role(name, place, options, stresses(busy=self.running)),)

    def bounds(self) -> Bounds:
        """See Stressor.bounds."""
        return self.bounded(self.running * (1 + self.children))
