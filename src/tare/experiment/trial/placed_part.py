"""A part of a trial and the running instance that it is placed in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tare.experiment.trial.service import Server
from tare.experiment.trial.watch import WatchSettings
from tare.machines.stack import Stack

Kept = dict[tuple[str, str], Server]
"""Programs of roles that outlast a trial, by the cell and the role's name."""


@dataclass(frozen=True, kw_only=True)
class PlacedPart:
    """A part placed in an instance that is running, and how it is monitored.

    ``part`` is its name, ``instance`` that of the instance in this session, ``platform`` that of
    the platform where it is another one than its cell's. ``first`` are the ids
    of all cells that are run in the instance if nothing has been run in it yet, else empty;
    ``is_cold`` says whether the cell has not been run in it. ``kept`` are the programs of roles
    that are in it for as long as it is there.
    """

    part: str
    instance: str
    stack: Stack
    how: WatchSettings
    platform: str = ""
    first: Sequence[str] = ()
    is_cold: bool = False
    kept: Kept = field(default_factory=dict)

    @property
    def own_clock(self) -> bool:
        """Whether the machine has a kernel of its own, and so another monotonic clock."""
        return self.how.reader is not None

    @property
    def cpuset(self) -> str:
        """The host's CPUs that it is held to, as a list."""
        return ",".join(map(str, self.how.cpus))
