"""syscall: contends for locks and lists of the kernel, with next to no data.

Containers share one kernel and so its locks; each virtual machine has a kernel of its own. What a
neighbour of this kind costs on one and not on the other is therefore the kernel's part of the
isolation. Defined by stress-ng 0.15.06.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tare.core.model import Resource, Source
from tare.work.roles import Role
from tare.work.stressor import Bounds, Dial, StressedResource
from tare.work.stressors._readiness import stresses
from tare.work.stressors._stress_ng import MIB, StressNg
from tare.work.workloads import one_of

Method = Literal["dentry", "mmap", "futex", "sync"]

CLASSES: Mapping[Method, str] = {
    "dentry": "--dentry",
    "mmap": "--mmap",
    "futex": "--futex",
    "sync": "--io",
}
MAPPING_BYTES = 16 * MIB
DENTRIES_BYTES = 16 * MIB
"""More than 2048 empty files take of the directory, inodes and journal."""


@dataclass(frozen=True, kw_only=True)
class Stressor(StressNg):
    """Let a share of the workers, by ``level``, call the kernel without end.

    ``dentry`` makes and removes 2048 empty files: it locks the name cache's hash chains and list of
    unused names, and the file system's list of inodes, which no control group divides; it is the
    default for almost all of its time is spent in the kernel on these. ``mmap`` maps, faults in and
    unmaps pages: the free lists of the memory zones. ``futex`` waits and wakes: hash chains of
    waiting threads and the run queues. ``sync`` asks for all file systems of the kernel to be
    written, also those of others, whose writes then count for whom they are of; it mostly waits.
    """

    method: Method = "dentry"

    resource = StressedResource.KERNEL
    dial = Dial.WORKERS
    readings = (Resource(Source.LAYER, "cpu_system_s"), Resource(Source.LAYER, "cpu_s"))

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self, method=Method)

    def roles(self, name: str, place: str) -> Sequence[Role]:
        """See Stressor.roles."""
        options = [CLASSES[self.method], str(self.running)]
        if self.method == "mmap":  # stress-ng divides the bytes among its workers
            options += ["--mmap-bytes", str(MAPPING_BYTES * self.running)]
        return (self.role(name, place, options, stresses(busy=self.running)),)

    def bounds(self) -> Bounds:
        """See Stressor.bounds; a worker of ``mmap`` or ``futex`` has a second process."""
        own = self.bounded(2 * self.running, 2 * MAPPING_BYTES * self.running)
        disk_bytes = DENTRIES_BYTES * self.running if self.method == "dentry" else 0
        return Bounds(memory_bytes=own.memory_bytes, processes=own.processes, disk_bytes=disk_bytes)
