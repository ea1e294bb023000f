"""A workload that runs while stressors disturb it from instances of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

from tare.core.errors import ConfigError
from tare.core.model import IDLE, CpuSet, FileAccess, Neighbour, NeighbourCpus, Sample
from tare.experiment.scenarios._level import KNOWN
from tare.experiment.scenarios._wrapped import Wrapped
from tare.work import stressor
from tare.work.roles import OWN, Role, Succeeds
from tare.work.stressor import Dial, StressedResource
from tare.work.workload import Course, Output


@dataclass(frozen=True, kw_only=True)
class Disturbed(Wrapped):
    """A workload, and a neighbour whose instances each run one stressor as a role.

    All that it measures is what the workload measures; the stressors are ready before it begins,
    and are ended after it.
    """

    neighbour: Neighbour
    full_bytes_per_s: int = 0
    """What one of the neighbour's instances was measured to move at full; 0: it is not dialled."""

    def roles(self) -> Sequence[Role]:
        """See Measured.roles: those of the workload, and the stressors."""
        return (*self.workload.roles(), *self.stressors())

    def stressors(self) -> Iterator[Role]:
        """Return what each of the neighbour's instances runs, and what of it is at the peer."""
        chosen = self.neighbour
        for name in self.instances:
            if chosen.stressor == IDLE:
                idle = ["sleep", "infinity"]
                yield Role(name=name, command=idle, place=OWN, ready=Succeeds(["true"]))
            else:
                yield from self._stressor.roles(name, OWN)

    def bounds(self) -> stressor.Bounds | None:
        """Return the most that one of the neighbour's instances takes; None: it is idle."""
        return None if self.neighbour.stressor == IDLE else self._stressor.bounds()

    def disk_bytes(self) -> int:
        """See Measured.disk_bytes: that of the workload and of all stressors."""
        bounds = self.bounds()
        return self.workload.disk_bytes() + (
            bounds.disk_bytes * len(self.instances) if bounds else 0
        )

    @property
    def _stressor(self) -> stressor.Stressor:
        chosen = self.neighbour
        full = {"full_bytes_per_s": self.full_bytes_per_s} if self.full_bytes_per_s else {}
        return stressor.load(chosen.stressor, **full).at(chosen.intensity)

    def dialled(self, intensity: float, full_bytes_per_s: int) -> Self:
        """Return it with a neighbour of another intensity, of what it moves at full."""
        neighbour = replace(self.neighbour, intensity=intensity, level=None)
        return replace(self, neighbour=neighbour, full_bytes_per_s=full_bytes_per_s)

    def idle(self) -> Self:
        """Return it with its neighbour's instances doing nothing."""
        return replace(self, neighbour=replace(self.neighbour, stressor=IDLE, level=None))

    def unloaded(self) -> Unloaded:
        """Return its neighbour at full and no load on the workload's own programs."""
        neighbour = replace(self.neighbour, level=None)
        return Unloaded(workload=self.workload, neighbour=neighbour)

    @property
    def resource(self) -> stressor.StressedResource:
        """What its neighbour takes away from it."""
        return stressor.kind(self.neighbour.stressor).resource

    @property
    def takes_the_rest_of_the_disk(self) -> bool:
        """Whether its neighbour is left what the workload leaves of the disk."""
        held = self.neighbour.reservation
        is_derived = held is not None and held.derived is not None
        return is_derived and self.resource is StressedResource.DISK

    @property
    def is_bomb(self) -> bool:
        """Whether its neighbour takes what the host cannot do without: processes or memory."""
        return self.neighbour.stressor != IDLE and self.resource in BOMBS

    @property
    def instances(self) -> tuple[str, ...]:
        """The names of the neighbour's instances among the parts of a trial."""
        return self.neighbour.parts

    def platforms(self, parts: Sequence[str]) -> list[str]:
        """Return the name of the platform of each part of a trial; empty: the workload's own."""
        other = self.neighbour.platform or ""
        return [other if part in self.instances else "" for part in parts]

    def cpu_sets(self, parts: Sequence[str]) -> list[CpuSet]:
        """Return which set of CPUs each part of a trial has."""
        chosen = self.neighbour.cpus
        if chosen is NeighbourCpus.APART:
            return [*range(len(parts))]
        theirs: CpuSet = 0 if chosen is NeighbourCpus.SAME else chosen.value
        return [theirs if part in self.instances else n for n, part in enumerate(parts)]


class Unloaded(Disturbed):
    """Wait in place of the workload's command; its roles are there, and do nothing."""

    metrics = ()

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        return ["sleep", f"{UNLOADED_S:g}"]

    def parse(self, output: Output) -> Iterator[Sample]:
        """See Workload.parse: nothing is measured."""
        del output
        yield from ()

    def courses(self, output: Output) -> Iterator[Course]:
        """See Workload.courses."""
        del output
        yield from ()

    def before_trial(self) -> Sequence[str] | None:
        """See Workload.before_trial."""
        return None

    def warm_up(self) -> Sequence[str] | None:
        """See Workload.warm_up."""
        return None

    def expected_s(self) -> float:
        """See Measured.expected_s."""
        return UNLOADED_S

    def file_access(self) -> FileAccess:
        """See Measured.file_access."""
        return FileAccess.NONE


UNLOADED_S = 2.0
"""How long neighbours are measured without the workload."""


def check(neighbour: Neighbour) -> None:
    """Raise ValueError where there is no such stressor, or it cannot run at such an intensity."""
    known = [*stressor.names(), IDLE]
    name = neighbour.stressor
    if name not in known:
        raise ValueError(f"stressor: found {name!r}; expected one of {', '.join(known)}")
    if neighbour.level is not None:
        _check_level(name)
    if neighbour.intensity == 1:
        return
    if name == IDLE:
        raise ValueError("intensity: an idle neighbour has none; leave it out")
    if stressor.kind(name).dial not in CONTINUOUS:
        raise ValueError(
            f"intensity: {neighbour.intensity:g} was given, and {name} runs at full only; expected "
            "1 or 100%"
        )
    try:
        stressor.load(name).at(neighbour.intensity)
    except ConfigError as error:
        raise ValueError(f"intensity: {error}") from None


def _check_level(name: str) -> None:
    """Raise ValueError where nothing reads how far a stressor's resource is used, or dials it."""
    able = [
        one
        for one in stressor.names()
        if stressor.kind(one).resource in KNOWN
        and stressor.kind(one).dial in (*CONTINUOUS, Dial.RATE)
    ]
    if name not in able:
        raise ValueError(
            f"level: {name} has none, as nothing reads back how far its resource is used; expected "
            f"one of {', '.join(able)}; leave `level` out"
        )


def check_reservation(neighbour: Neighbour) -> None:
    """Raise ValueError where the neighbour's reservation cannot be derived."""
    if neighbour.reservation is None or neighbour.reservation.derived is None:
        return
    name = neighbour.stressor
    if stressor.kind(name).resource in UNDERIVED:
        raise ValueError(
            f"no reservation of what {name} takes can be derived, as no counter says what the "
            "workload takes of the network; give its limits in the reservation instead"
        )
    if stressor.kind(name).resource is StressedResource.DISK:
        return  # whatever the CPUs are
    if neighbour.cpus is not NeighbourCpus.SAME:
        raise ValueError(
            f"the neighbour {name} has other CPUs than the workload, so nothing of them is kept "
            "for it; expected `cpus: same` where a reservation is derived"
        )


BOMBS = (StressedResource.PROCESSES, StressedResource.MEMORY)
"""Resources without which nothing else on the host goes on either."""
UNDERIVED = (StressedResource.NETWORK_OUT, StressedResource.NETWORK_IN)
"""Resources of which no counter says what the workload takes: control groups do not count network
bytes, and a host counts them on each of the devices that they pass."""
CONTINUOUS = (Dial.TIME, Dial.SIZE)
"""How a stressor can be dialled in a study: a rate at full is not measured yet, and one worker, as
each instance has, is not divided."""
