"""memory: takes memory and keeps it.

After the ``memory_bomb`` of the Isolation Benchmark Suite, as huang2019 ran it with 1 to 64 threads
in one instance: allocate and touch memory, and never free it. Defined by stress-ng 0.15.06.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from tare.core.model import Resource, Source
from tare.work.roles import Role
from tare.work.stressor import Bounds, Dial, StressedResource
from tare.work.stressors._readiness import stresses
from tare.work.stressors._stress_ng import MIB, StressNg
from tare.work.workloads import at_least, one_of

Access = Literal["touch", "hold"]

KEPT_SHARE = 0.9
"""Of its bytes that must be in memory before it is ready."""


@dataclass(frozen=True, kw_only=True)
class Stressor(StressNg):
    """Let each worker take ``level`` of ``worker_bytes``, and access them.

    ``touch`` writes all of them repeatedly, as the study's bomb does, and takes a CPU for it;
    ``hold`` writes them once and sleeps, so that memory is all that it takes. A worker that the
    kernel kills for lack of memory is started again.
    """

    worker_bytes: int = 256 * MIB
    access: Access = "touch"

    resource = StressedResource.MEMORY
    dial = Dial.SIZE
    readings: ClassVar[tuple[Resource, ...]] = (
        Resource(Source.LAYER, "memory_bytes_most"),
        Resource(Source.HOST, "memory_used_bytes_most"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, worker_bytes=4 * MIB)
        one_of(self, access=Access)

    def roles(self, name: str, place: str) -> Sequence[Role]:
        """See Stressor.roles."""
        # stress-ng divides the bytes among its workers. The method writes each word once.
        total_bytes = self._each_bytes * self.workers
        options = ["--vm", str(self.workers), "--vm-bytes", str(total_bytes), "--vm-keep"]
        options += [
            "--vm-method",
            "write64",
            *(["--vm-hang", "0"] if self.access == "hold" else []),
        ]
        ready = stresses(resident_bytes=int(KEPT_SHARE * total_bytes))
        return (self.role(name, place, options, ready),)

    def bounds(self) -> Bounds:
        """See Stressor.bounds; each worker is watched by a process that starts it again."""
        return self.bounded(2 * self.workers, self._each_bytes * self.workers)

    @property
    def _each_bytes(self) -> int:
        pages = max(1, round(self.level * self.worker_bytes) // 4096)
        return 4096 * pages
