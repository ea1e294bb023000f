"""Limits on a neighbour's instances that leave a workload what it needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from tare.core.model.cell import OPTIONAL, Limits, Params

RESERVATION = "neighbour_reservation"
"""The parameter of a cell that says which reservation its neighbour has; absent: it has none. The
names of those with its numbers begin with it."""
_GIVEN, _DERIVED = "given", "derived"
_USE, _HEADROOM, _LIMIT = f"{RESERVATION}_use", f"{RESERVATION}_headroom", f"{RESERVATION}_limit_"

CPUS = "cpus"
"""The limit of a reservation that is a quota of CPU time, in CPUs; the others are optional limits
of Limits, by the names of their fields."""


class Use(StrEnum):
    """Which use of a resource by the workload alone is kept for it."""

    PEAK = "peak"
    """The 95th percentile over seconds."""
    MEAN = "mean"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Limits that are put on each instance of a neighbour.

    ``limits`` are by name and in the order of NAMES. Where they are to be derived from what the
    workload takes alone, there are none: ``derived`` says from which use of it, and ``headroom`` is
    the share of that use that is kept in addition. Raises ValueError on others.
    """

    limits: tuple[tuple[str, float], ...] = ()
    derived: Use | None = None
    headroom: float = 0.1

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if bool(self.limits) == (self.derived is not None):
            raise ValueError("a reservation has limits, or derives them; expected one of the two")
        if self.derived is not None and not 0 <= self.headroom <= MOST_HEADROOM:
            raise ValueError(
                f"headroom: {self.headroom:g} was given; expected 0 to {MOST_HEADROOM:g}"
            )
        for name, value in self.limits:
            if name == CPUS and not value >= LEAST_CPUS:
                raise ValueError(f"{CPUS}: {value:g} was given; expected {LEAST_CPUS:g} or more")

    @property
    def params(self) -> Params:
        """The parameters of a cell that say so."""
        if self.derived is not None:
            kind = ((RESERVATION, _DERIVED), (_USE, self.derived.value))
            return (*kind, (_HEADROOM, float(self.headroom)))
        return ((RESERVATION, _GIVEN), *((_LIMIT + name, value) for name, value in self.limits))

    @property
    def cpus(self) -> float | None:
        """The quota of CPU time of each instance; None: it has none."""
        return dict(self.limits).get(CPUS)

    @property
    def optional(self) -> Mapping[str, int]:
        """The other limits, by the names of the fields of Limits."""
        return {name: int(value) for name, value in self.limits if name != CPUS}

    def over(self, limits: Limits) -> Limits:
        """Return the limits of a study with those of the reservation instead, but for the CPUs."""
        values: dict[str, Any] = dict(self.optional)
        return replace(limits, **values)


DISK_RATES = ("disk_read_bytes_per_s", "disk_write_bytes_per_s")
"""The limits of a reservation of the disk, of what is read and of what is written."""

LEAST_DISK_BYTES_PER_S = 2 * 2**20
"""With less, half of it each way, a stressor of the disk would take too long to be ready."""
LEAST_CPUS = 0.01
"""The kernel takes no quota below a millisecond in each tenth of a second."""
MOST_HEADROOM = 10.0


def given(limits: Mapping[str, float]) -> Reservation:
    """Return the reservation that has some limits; they are put in order."""
    ordered = ((name, limits[name]) for name in (CPUS, *OPTIONAL) if name in limits)
    return Reservation(
        limits=tuple((name, float(v) if name == CPUS else int(v)) for name, v in ordered)
    )


def reservation_of(params: Params) -> Reservation | None:
    """Return the reservation that a cell's parameters name; None: there is none."""
    found = dict(params)
    if RESERVATION not in found:
        return None
    if found[RESERVATION] == _DERIVED:
        return Reservation(derived=Use(str(found[_USE])), headroom=float(found[_HEADROOM]))
    limits = ((name.removeprefix(_LIMIT), v) for name, v in params if name.startswith(_LIMIT))
    return given({name: float(value) for name, value in limits})


def is_reservation_key(name: str) -> bool:
    """Return whether a parameter of a cell says something of a reservation."""
    return name.startswith(RESERVATION)


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedLimit:
    """A limit that was derived, of one resource: ``used`` is what the workload took of it alone.

    ``readings`` is the number of seconds in which that was read. ``kept`` is what is kept for the
    workload of the ``capacity`` that it shares with its ``neighbours``, ``each`` the limit of each.
    All are in the resource's own unit; that of ``cpus`` is CPUs. Of the disk, whose two limits are
    one of reads and one of writes, all but ``each`` are of both together.
    """

    resource: str
    used: float
    readings: int
    kept: float
    capacity: float
    neighbours: int
    each: float
