"""Derive what neighbours are left from what a workload takes of the host while it is alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tare.core.errors import Unavailable
from tare.core.model import Reservation, Use
from tare.core.model.reservation import (
    CPUS,
    DISK_RATES,
    LEAST_CPUS,
    LEAST_DISK_BYTES_PER_S,
    DerivedLimit,
)

PEAK_SHARE = 0.95
"""Of the seconds, in this part the workload takes no more than its peak."""
SECOND_S = 0.9
"""The least time between two readings that counts as a second: readings are a little early."""
TAIL_S = 0.5
"""The end of a trial counts as a second from this on."""

DISK_BYTES = "disk bytes a second"
"""What is read from and written to the disk together."""
LEAST = {CPUS: LEAST_CPUS, DISK_BYTES: float(LEAST_DISK_BYTES_PER_S)}
"""The resources of which a limit can be derived so far, and the smallest limit of each."""


def rates(times_s: Sequence[float], values: Sequence[float]) -> list[float]:
    """Return how fast a counter grew in each second of a trial; of a shorter one, in all of it."""
    found: list[float] = []
    if not times_s:
        return found
    at_s, at = times_s[0], values[0]
    for time_s, value in zip(times_s[1:], values[1:], strict=True):
        if time_s - at_s >= SECOND_S:
            found.append((value - at) / (time_s - at_s))
            at_s, at = time_s, value
    rest_s = times_s[-1] - at_s
    if rest_s >= TAIL_S or (rest_s > 0 and not found):
        found.append((values[-1] - at) / rest_s)
    return found


def used(of: Use, each_second: Sequence[float]) -> float:
    """Return the peak or the mean of what was used in some seconds, of which there is one."""
    if of is Use.MEAN:
        return math.fsum(each_second) / len(each_second)
    ordered = sorted(each_second)
    return ordered[math.ceil(PEAK_SHARE * len(ordered)) - 1]


def derive(
    reservation: Reservation,
    uses: Mapping[str, Sequence[float]],
    capacity: Mapping[str, float],
    neighbours: int,
) -> list[DerivedLimit]:
    """Return the limit of each neighbour of every resource that has a capacity.

    ``uses`` are what the workload took of a resource in each second alone. What is left of the
    capacity is shared equally; a neighbour is left the smallest limit there is where nothing is.
    Raises Unavailable where a use is not known, or no limit of a resource can be derived.
    """
    if reservation.derived is None:
        raise ValueError("a reservation with limits of its own is not derived")
    found = []
    for resource, whole in capacity.items():
        if resource not in LEAST:
            raise Unavailable(
                f"a reservation of {resource} cannot be derived yet", "give its limits instead"
            )
        seconds = uses.get(resource, ())
        if not seconds:
            raise Unavailable(
                f"how many {resource} the workload takes alone is not known, so no reservation can "
                "be derived from it",
                "give the limits of the reservation instead",
            )
        taken = used(reservation.derived, seconds)
        kept = min(whole, taken * (1 + reservation.headroom))
        found.append(
            DerivedLimit(
                resource=resource,
                used=taken,
                readings=len(seconds),
                kept=kept,
                capacity=whole,
                neighbours=neighbours,
                each=max(LEAST[resource], (whole - kept) / neighbours),
            )
        )
    return found


def both_ways(limit: DerivedLimit) -> list[DerivedLimit]:
    """Return the limits of reads and of writes, half of that of both together for each of them.

    A disk shares its time between the two, so that what a workload needs of either is taken from
    both; the stressor of the disk reads as much as it writes.
    """
    return [
        replace(limit, resource=name, each=float(math.floor(limit.each / 2))) for name in DISK_RATES
    ]
