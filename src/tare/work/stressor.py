"""The interface of a stressor: a program that occupies one resource until it is ended.

A stressor is what a neighbour runs. It has no result of its own: what it achieved is read back from
its control group and from the host (``readings``). Stress tools report success, with exit status 0,
even where the kernel killed or refused everything that they tried.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar, Self

from tare.core.errors import ConfigError
from tare.core.model import Resource, Scalar
from tare.core.named_modules import NamedModules
from tare.work import stressors
from tare.work.roles import PEER, Role
from tare.work.workloads import at_least


class StressedResource(StrEnum):
    """What a stressor takes away from others."""

    CPU = "cpu"
    MEMORY = "memory"
    MEMORY_BANDWIDTH = "memory_bandwidth"
    PROCESSES = "processes"
    DISK = "disk"
    NETWORK_OUT = "network_out"
    NETWORK_IN = "network_in"
    CACHE = "cache"
    KERNEL = "kernel"
    """Locks and lists of the kernel that machines without a kernel of their own share."""


class Dial(StrEnum):
    """How a stressor's intensity is set below full."""

    TIME = "time"
    """Each worker runs for a share of the time."""
    RATE = "rate"
    """Each worker is held to a share of the rate that it was measured to reach at full."""
    SIZE = "size"
    """Each worker takes a share of its bytes."""
    WORKERS = "workers"
    """A share of the workers runs, in whole numbers and at least one: the dial has few steps."""


TARE_PROCESSES = 32
"""What Tare needs at most to look into an instance, and to end what runs there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The most that a stressor may take where it runs: what a ceiling for the host must allow.

    Under a limit below these it stresses up to the limit, but it may never be ready, as nothing
    more can be started in the instance: not even what looks whether it is.
    """

    memory_bytes: int
    processes: int
    """Processes and threads, as the process limit of a control group counts them."""
    disk_bytes: int = 0

    @property
    def process_limit(self) -> int:
        """The lowest process limit under which it can still be ended from inside its instance.

        Below, only the end of the instance ends it.
        """
        return self.processes + TARE_PROCESSES


@dataclass(frozen=True, kw_only=True)
class Stressor(ABC):
    """A program that occupies a resource, with its parameters fixed.

    A concrete stressor is a frozen dataclass named Stressor in a module of its own under
    tare/work/stressors. Its fields are its parameters, with units in their names; the module's name
    is its name. The methods are pure: they touch no file, no clock and no machine.

    ``workers`` is the number of bombs, and ``level`` the share of its full that each takes, by the
    stressor's ``dial``.
    """

    resource: ClassVar[StressedResource]
    dial: ClassVar[Dial]
    readings: ClassVar[tuple[Resource, ...]]
    """The resource figures of a trial that show what it achieved, the most telling one first.

    A figure that a host cannot count, such as cache misses without a PMU, is missing in the trial,
    with the reason in its timeline."""

    packages: ClassVar[tuple[str, ...]]
    """The Debian packages that its machine must have."""

    recorded: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Upstream versions of the packages that its options were tested with."""

    workers: int = 1
    level: float = 1.0

    def __post_init__(self) -> None:
        at_least(self, workers=1)
        if not 0 < self.level <= 1:
            raise ValueError(f"level: {self.level} was given; expected more than 0, up to 1")

    @property
    def name(self) -> str:
        """Its name: that of its module."""
        return type(self).__module__.rpartition(".")[2]

    @abstractmethod
    def roles(self, name: str, place: str) -> Sequence[Role]:
        """Build the roles that run until they are ended; the one called ``name`` is at ``place``.

        Others are its counterparts at PEER, whose names begin with that name. A role is ready once
        it can be seen to stress.
        """

    @abstractmethod
    def bounds(self) -> Bounds:
        """Return the most that it may take at its place."""

    def uses_peer(self) -> bool:
        """Return whether it has a counterpart at the peer."""
        return any(role.place == PEER for role in self.roles("any", "any"))

    def all_packages(self) -> set[str]:
        """List the packages of its roles."""
        return {name for role in self.roles("any", "any") for name in role.packages}

    def at(self, intensity: float) -> Self:
        """Return it at a share of its full, whatever its level is now, or raise ConfigError.

        The share is from above 0 to 1; none at all is a neighbour without a stressor.
        """
        try:
            return replace(self, level=intensity)
        except ValueError as error:
            raise self._refused(error) from None

    def scaled(self, workers: int) -> Self:
        """Return it with another number of workers, or raise ConfigError."""
        try:
            return replace(self, workers=workers)
        except ValueError as error:
            raise self._refused(error) from None

    def _refused(self, error: ValueError) -> ConfigError:
        return ConfigError(f"stressor {self.name}: {error}")


_MODULES: NamedModules[Stressor] = NamedModules("stressor", stressors, "Stressor")


def names() -> list[str]:
    """List every stressor there is, without importing any; ``_name`` is no stressor."""
    return _MODULES.names()


def kind(name: str) -> type[Stressor]:
    """Find a stressor's class by its name, or raise ConfigError."""
    return _MODULES.kind(name)


def load(name: str, **params: Scalar) -> Stressor:
    """Make a stressor from its name and parameters, or raise ConfigError."""
    return _MODULES.load(name, **params)
