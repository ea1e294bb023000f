"""A cell (platform, workload, limits) and a contrast (two cells to compare)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

Scalar = str | int | float | bool
Params = tuple[tuple[str, Scalar], ...]
"""Named values in the order in which they were declared."""

NO_KEY = "no key"
"""Metadata key of a field that is written under another name in a study file."""

INJECTED = "injected"
"""The parameter of a workload to which work was added: cells that differ in it share the rest."""


class DiskCache(StrEnum):
    """Whether a layer with a disk of its own may keep that disk's pages in the host's memory."""

    NONE = "none"
    WRITEBACK = "writeback"


class CpuLimit(StrEnum):
    """How a platform is held to its CPUs."""

    CPUSET = "cpuset"
    """It runs on its own set of the host's CPUs, and on no others."""
    QUOTA = "quota"
    """It runs on all CPUs of the host, with a quota of CPU time (CFS bandwidth)."""
    NONE = "none"
    """Nothing is pinned: a guest has that number of virtual CPUs, all else may use all CPUs."""


class FileAccess(StrEnum):
    """How the file I/O that a workload measures reaches the disks."""

    NONE = "none"
    """It measures no file I/O."""
    CACHED = "cached"
    """Through the kernel's page cache, which may serve it."""
    DIRECT = "direct"
    """By O_DIRECT, which bypasses the page cache of the kernel that it runs on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What every stack must give the workload, so that stacks stay comparable.

    The CPUs are a number in the cell; which CPUs of the host they are is a fact of the session, the
    same for all cells of one kind of limit. ``swap_bytes`` may be used in addition to the memory.
    What was planned before there were kinds and swap was pinned, and had no swap. The limits whose
    default is None are optional: undeclared, nothing is done about them. ``processes`` is the
    number of processes and threads at a time. ``cpu_weight`` is its share of CPUs that others want
    too, as ``cpu.weight`` of cgroup v2 has it: 100 is what each has otherwise. Those of the disk
    are of the one that its files lie on, those of the network of its link to the machine around it;
    ``out`` is what it sends.
    """

    cpus: int
    memory_bytes: int
    disk_cache: DiskCache = DiskCache.NONE
    cpu_limit: CpuLimit = CpuLimit.CPUSET
    swap_bytes: int = 0
    processes: int | None = None
    cpu_weight: int | None = None
    disk_read_bytes_per_s: int | None = None
    disk_write_bytes_per_s: int | None = None
    disk_reads_per_s: int | None = None
    disk_writes_per_s: int | None = None
    network_out_bytes_per_s: int | None = None
    network_in_bytes_per_s: int | None = None

    @property
    def is_pinned(self) -> bool:
        """Whether the platform has CPUs that others do not run on."""
        return self.cpu_limit is CpuLimit.CPUSET

    @property
    def quota_cpus(self) -> int | None:
        """The CPUs whose time is a quota, None where there is none."""
        return self.cpus if self.cpu_limit is CpuLimit.QUOTA else None

    @property
    def unusual(self) -> Params:
        """The limits that are not at their defaults and that most studies do not name."""
        kind = () if self.is_pinned else (("cpu_limit", self.cpu_limit.value),)
        swap = (("swap_bytes", self.swap_bytes),) if self.swap_bytes else ()
        return (*kind, *swap, *self.optional)

    @property
    def optional(self) -> tuple[tuple[str, int], ...]:
        """The declared limits of those that may be left out, by the names of their fields."""
        values = ((name, getattr(self, name)) for name in OPTIONAL)
        return tuple((name, value) for name, value in values if value is not None)


DISK = (
    "disk_read_bytes_per_s",
    "disk_write_bytes_per_s",
    "disk_reads_per_s",
    "disk_writes_per_s",
)
"""The optional limits of a disk."""
NETWORK = ("network_out_bytes_per_s", "network_in_bytes_per_s")
"""The optional limits of a network."""
OPTIONAL = ("processes", "cpu_weight", *DISK, *NETWORK)
"""The limits that are held only where a study declares them."""


def path_of(stack: str) -> tuple[str, ...]:
    """Return a stack's words from the outside in: the place that it starts from, and its layers.

    Studies and plans write a stack as one text; here alone it is taken apart.
    """
    return tuple(stack.split("/"))


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One combination of all factor levels; equal cells are comparable, others never merge.

    ``id`` is its name in trials and files; nothing is computed from it, nor it from a stored cell.
    ``platform`` is the name people read; ``stack`` and ``settings`` are what it stands for, with
    settings named ``<layer>.<key>``. ``replica`` says on which set of the platform's instances it
    is measured: 0 is that of all its cells, another is one that repeats a measurement, as the A/A
    control does. ``file_access`` is what the workload says of itself with these parameters.
    """

    id: str
    platform: str
    stack: str
    settings: Params
    workload: str
    params: Params
    limits: Limits
    replica: int = 0
    file_access: FileAccess = FileAccess.NONE

    @property
    def path(self) -> tuple[str, ...]:
        """The stack's words from the outside in: the place that it starts from, and its layers."""
        return path_of(self.stack)

    @property
    def workload_kind(self) -> str:
        """The workload without the name that a study gives to one of several of a kind."""
        return self.workload.partition(":")[0]

    @property
    def workload_variant(self) -> str:
        """The name that a study gives to one of several workloads of a kind; else empty."""
        return self.workload.partition(":")[2]

    def settings_of(self, layers: Collection[str]) -> Params:
        """Return the settings of some layers."""
        return tuple(one for one in self.settings if one[0].partition(".")[0] in layers)


class ContrastKind(StrEnum):
    """What a contrast asks."""

    OVERHEAD = "overhead"
    """How much more does a platform cost than the baseline?"""
    CONTROL = "control"
    """How far apart are equal things here? The reference, measured a second time (A/A)."""
    INJECTED = "injected"
    """Is work that was added on purpose found again?"""
    ISOLATION = "isolation"
    """How much worse is the same workload on the same platform with a neighbour?"""
    SCALING = "scaling"
    """How much worse is the same work in each of several instances at once than in one?"""
    ATTRIBUTION = "attribution"
    """What does one switch or layer cost, between two platforms that differ in it?"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """Two cells that are compared, by their ids: is the first worse than its reference?

    ``known`` is what is known beforehand of the answer, as a ratio minus one: the share of work
    that was added.
    """

    cell: str
    reference: str
    kind: ContrastKind
    known: float | None = None


class Replicates(StrEnum):
    """What the trials of a cell repeat: of that a comparison rests on as many as there are."""

    INSTANCES = "instances"
    """Instances, which several trials of a cell share."""
    TRIALS = "trials"
    """The trials themselves: each makes instances of its own, and shares only what is around."""
