"""What disturbs a cell's workload from other instances, as it is written in its parameters."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from tare.core.model.cell import NO_KEY, Params
from tare.core.model.reservation import Reservation, is_reservation_key, reservation_of

IDLE = "idle"
"""In place of a stressor: the neighbour's instances are open and do nothing."""

KEYS = STRESSOR, INTENSITY, COUNT, CPUS = (
    "neighbour",
    "neighbour_intensity",
    "neighbour_count",
    "neighbour_cpus",
)
"""The parameters of a cell that say what its neighbour is."""
LEVEL = "neighbour_level"
"""One more, where a level of the resource is asked for."""
PLATFORM = "neighbour_platform"
"""One more, where its platform is named."""


class NeighbourCpus(StrEnum):
    """Which CPUs a neighbour runs on, where platforms are held to their own."""

    SAME = "same"
    """Those of the workload that it disturbs."""
    APART = "apart"
    """Others, a set of its own for each of its instances."""
    SIBLING = "sibling"
    """The other hardware threads of the cores of the workload's."""
    CACHE = "cache"
    """Those of other cores that share a last-level cache with the workload's."""
    SOCKET = "socket"
    """Those of another socket."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A stressor in instances of its own.

    They are of the platform of a study that has the name ``platform``; None: of that of the
    workload that they disturb.
    ``intensity`` is a share of what the stressor takes at full, between 0 and 1. In its place
    ``level`` is a share of the resource's maximum, as it is measured on the host: so far the
    workload and its neighbours together use it. ``count`` is how many instances run the stressor.
    Raises ValueError on others.
    """

    stressor: str
    intensity: float = 1.0
    level: float | Literal["full"] | None = None
    count: int = 1
    cpus: NeighbourCpus = NeighbourCpus.SAME
    platform: str | None = None
    reservation: Reservation | None = field(default=None, metadata={NO_KEY: True})
    """What its instances are held to so that the workload keeps what it needs; None: nothing."""

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if not 0 < self.intensity <= 1:
            raise ValueError(
                f"intensity: {self.intensity:g} was given; expected more than 0, at most 1 or 100%"
            )
        if self.level == "full":
            object.__setattr__(self, "level", 1.0)
        if self.level is not None and not 0 < float(self.level) <= 1:
            raise ValueError(
                f"level: {self.level:g} was given; expected more than 0, at most 1, 100% or full"
            )
        if self.level is not None and self.intensity != 1:
            raise ValueError("level: an intensity was given too; leave one of them out")
        if not 1 <= self.count <= MOST:
            raise ValueError(f"count: {self.count} was given; expected 1 to {MOST}")

    @property
    def params(self) -> Params:
        """The parameters of a cell that say so."""
        values = self.stressor, float(self.intensity), self.count, self.cpus.value
        own: Params = tuple(zip(KEYS, values, strict=True))
        level = () if self.level is None else ((LEVEL, float(self.level)),)
        platform = () if self.platform is None else ((PLATFORM, self.platform),)
        held = self.reservation.params if self.reservation else ()
        return (*own, *level, *platform, *held)

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of its instances among the parts of a trial."""
        return tuple(f"neighbour{number}" for number in range(1, self.count + 1))

    @property
    def target(self) -> float | None:
        """The level that the resource is brought to by calibration; None: the stressor runs as it
        is dialled, at full where nothing else is said.
        """
        return None if self.level is None or self.level == 1 else float(self.level)


MOST = 128
"""More neighbours than this on one host are a mistake."""


def neighbour_of(params: Params) -> Neighbour | None:
    """Return the neighbour that a cell's parameters name; None: the workload is alone."""
    found = dict(params)
    if STRESSOR not in found:
        return None
    return Neighbour(
        stressor=str(found[STRESSOR]),
        intensity=float(found[INTENSITY]),
        count=int(found[COUNT]),
        cpus=NeighbourCpus(str(found[CPUS])),
        level=float(found[LEVEL]) if LEVEL in found else None,
        platform=str(found[PLATFORM]) if PLATFORM in found else None,
        reservation=reservation_of(params),
    )


def without_neighbour(params: Params) -> Params:
    """Return the parameters of a cell's workload alone."""
    own = (*KEYS, LEVEL, PLATFORM)
    return tuple(one for one in params if one[0] not in own and not is_reservation_key(one[0]))
