"""The state of one cell while its slot is run: its instances, errors, whether it is awake."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from tare.core.errors import TareError
from tare.core.model import Cell, CpuSet, Placement, Status
from tare.experiment.run.instance_set import InstanceSet, Member, running
from tare.experiment.study import Platform

ALIVE_S = 20.0


@dataclass
class CellRun:
    """One of the cells that a slot measures, and its state.

    ``homes`` are the instance sets of its parts, ``members`` their instances; without any, where
    a set has none.
    ``error`` is what kept it from being measured; ``is_lost`` says that its trial stands and its
    instances could not be paused after it.
    """

    cell: Cell
    slot: int
    placements: tuple[Placement, ...]
    homes: Sequence[InstanceSet]
    members: Sequence[Member]
    awake: ExitStack = field(default_factory=ExitStack)
    error: TareError | None = None
    is_lost: bool = False

    def wake(self) -> None:
        """Resume its instances, and note how long each took."""
        for member in self.members:
            begin = time.perf_counter()
            self.awake.enter_context(running(member))
            member.resumed_s = time.perf_counter() - begin

    def rest(self) -> None:
        """Pause its instances."""
        try:
            self.awake.close()
        except TareError as error:
            self.is_lost = True
            self.error = self.error or error

    def of(self, parts: Collection[str]) -> list[Member]:
        """List the instances in which some parts of its trials are."""
        placed = zip(self.placements, self.members, strict=True)
        return [member for placement, member in placed if placement.part in parts]

    def platform_of(self, parts: Collection[str]) -> Platform:
        """Return the platform of some parts of its trials, which have one in common."""
        placed = zip(self.placements, self.homes, strict=True)
        return next(home.platform for placement, home in placed if placement.part in parts)

    @property
    def closed(self) -> InstanceSet | None:
        """The first of its instance sets that is closed; None: all are open."""
        return next((home for home in self.homes if home.status is not Status.OK), None)

    @property
    def is_new(self) -> bool:
        """Whether it has yet to be run in one of its instances."""
        return any(self.cell.id not in member.warmed for member in self.members)

    @property
    def cpu_sets(self) -> list[CpuSet]:
        """The sets of CPUs that its instances are on: some may share one, a duet's are as one."""
        every = dict.fromkeys(member.number for member in self.members)
        named = [one for one in every if isinstance(one, str)]
        return [*range(len(every) - len(named)), *named]

    @property
    def resumed_s(self) -> float:
        """How long its instances took to wake."""
        return sum(member.resumed_s for member in self.members)


def answers(member: Member) -> bool:
    """Return whether an instance still runs a command, and holds nothing of an earlier one."""
    if member.is_spoiled:
        return False
    try:
        with running(member) as stack:
            is_alive = stack.machine.run(["true"], timeout_s=ALIVE_S).returncode == 0
            return is_alive and not stack.may_hold_orphans
    except TareError:
        return False
