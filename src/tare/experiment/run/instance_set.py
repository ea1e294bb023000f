"""The running instances of one platform under one set of limits, or why there are none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

from tare.core.errors import LayerError
from tare.core.model import Cell, CpuSet, Limits, Status, neighbour_of
from tare.experiment.probes.inner_machine import AnyReader
from tare.experiment.run import conditions
from tare.experiment.study import Platform
from tare.experiment.trial.placed_part import Kept
from tare.experiment.trial.role_placement import end_kept
from tare.machines import detection
from tare.machines.cgroup import readback
from tare.machines.stack import Stack

Key = tuple[str, int, Limits, int | None]


def key(cell: Cell, cores: int | None = None, platform: str = "") -> Key:
    """Return the key of the instances that a part of a cell runs on; a replica has its own.

    A duet has one for each of the two sets of CPUs, ``cores``. ``platform`` is that of a part which
    is on another one than its cell.
    """
    if platform:
        return platform, 0, cell.limits, cores
    return cell.platform, cell.replica, cell.limits, cores


def keys(cell: Cell) -> tuple[Key, ...]:
    """Return the keys of all instances that the parts of a cell run on, without a duet's CPUs."""
    neighbour = neighbour_of(cell.params)
    other = neighbour.platform if neighbour else None
    return (key(cell),) if other in (None, cell.platform) else (key(cell), key(cell, None, other))


def takes_userland(platform: Platform) -> bool:
    """Return whether any layer of a platform takes the shared userland."""
    return any(one.runs_userland for one in platform.made)


def runs_userland(platform: Platform) -> bool:
    """Return whether the programs that a platform measures are those of the shared userland."""
    return takes_userland(platform) and not platform.made[-1].own_system()


def label_of(index: int, reopened: int) -> str:
    """Return the name of an instance among those of its platform.

    By its place, and how many had that before it.
    """
    return f"{index}r{reopened}" if reopened else str(index)


@dataclass
class Member:
    """One running instance; ``warmed`` are the cells that had their first trial in it.

    ``index`` says which of its platform's instances it is, or takes the place of, ``reopened`` how
    many had this place before it. ``number`` is that of its CPUs in Session.cpus; ``resumed_s`` is
    how long it last took to wake; ``reader`` reads in the machine inside, where this has a kernel
    of its own.
    """

    index: int
    stack: Stack
    warmed: set[str] = field(default_factory=set)
    reopened: int = 0
    start_s: float = 0.0
    number: CpuSet = 0
    resumed_s: float = 0.0
    reader: AnyReader | None = None
    kept: Kept = field(default_factory=dict)
    """Programs of roles that last as long as the instance."""
    is_spoiled: bool = False
    """Whether it must be replaced: something was done to it that could not be undone."""

    @property
    def label(self) -> str:
        """Its name among its platform's instances."""
        return label_of(self.index, self.reopened)

    @property
    def is_first(self) -> bool:
        """Whether it is the first instance, in which facts of the whole platform are read.

        If the one that opens first were taken, two runs of one plan would differ.
        """
        return self.index == 0 and not self.reopened


@dataclass
class InstanceSet:
    """The instances of one platform under one set of limits, or why there are none."""

    platform: Platform
    limits: Limits
    name: str
    members: list[Member] = field(default_factory=list)
    status: Status = Status.OK
    reason: str = ""
    warnings: list[str] = field(default_factory=list)
    inside: readback.Inside | None = None
    detected: Sequence[detection.Detected] | None = None
    conditions: conditions.Conditions | None = None
    probe: Mapping[str, str] = field(default_factory=dict)
    cores: int | None = None
    """Which of a duet's two sets of CPUs it is held to."""
    number: int = 0
    """The number of these CPUs in Session.cpus."""
    places: int = 1
    """How many sets of instances it has, as declared: open at once, or one after another."""
    cpu_sets: tuple[CpuSet, ...] = (0,)
    """Which set of CPUs each instance of a set of instances has: of what a trial has at once."""
    missing: Mapping[CpuSet, str] = field(default_factory=dict)
    """Which of them this host does not have, and why: no instance is opened for those."""
    _lock: Lock = field(default_factory=Lock)

    @property
    def opened(self) -> list[CpuSet]:
        """The sets of CPUs for which instances are opened."""
        return [one for one in self.cpu_sets if one not in self.missing]

    @property
    def parts(self) -> int:
        """How many instances are a set: what a trial has at once, as far as this host can."""
        return len(self.opened)

    def placed(self, instance: int, most_parts: int) -> Member | None:
        """Return the instance that a plan numbers so; None: there is none.

        A plan counts the instances of a place as its largest set has them, ``most_parts``.
        """
        place, part = divmod(instance, most_parts)
        if not self.members or self.cpu_sets[part] in self.missing:
            return None
        before = sum(one not in self.missing for one in self.cpu_sets[:part])
        return self.members[(place * self.parts + before) % len(self.members)]

    def admit(self, member: Member) -> None:
        """Add an instance, or remove it if the platform was given up while it was started."""
        with self._lock:
            if self.status is Status.OK:
                self.members.append(member)
                return
        self.remove(member)

    def sets(self, places: Iterable[int]) -> list[Member]:
        """List the instances of some sets, each once; places are counted on over the last set."""
        count = len(self.members) // self.parts
        chosen = sorted({place % count for place in places})
        return [self.members[one * self.parts + n] for one in chosen for n in range(self.parts)]

    def close(self, status: Status, reason: str) -> None:
        """Close the platform with a reason (the first one stays), and remove its instances."""
        with self._lock:
            if self.status is Status.OK:
                self.status, self.reason = status, reason
            members, self.members = self.members, []
        for member in members:
            self.remove(member)

    def remove(self, member: Member) -> None:
        """Remove an instance; what fails stays in the ledger, and the session's end tries again."""
        if member.reader is not None:
            member.reader.close()
        self.warnings += end_kept(member.kept, apart=True)
        try:
            member.stack.close()
        except LayerError as error:
            self.warnings.append(str(error))


@contextmanager
def running(member: Member) -> Iterator[Stack]:
    """Resume an instance while the ``with`` block runs."""
    member.stack.resume()
    try:
        yield member.stack
    finally:
        member.stack.pause()
