"""Hold the instances of a neighbour to the limits of a reservation while its cell is measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from tare.core.errors import LayerError, TareError, Unavailable
from tare.core.model import Limits, Reservation
from tare.core.model.cell import OPTIONAL
from tare.core.model.reservation import CPUS
from tare.experiment.run.instance_set import Member
from tare.experiment.study.reservations import KEY
from tare.machines.cgroup.group_limits import GroupLimits
from tare.machines.cgroup.readback import is_held
from tare.machines.layer import Layer
from tare.machines.stack import Stack

ROUNDING_CPUS = 1e-4
"""A quota is written in whole microseconds of a period."""


@contextmanager
def holding(
    members: Sequence[Member], layers: Sequence[Layer], limits: Limits, reservation: Reservation
) -> Iterator[None]:
    """Hold running instances of a platform to a reservation while the ``with`` block runs.

    ``limits`` are those of the study, to which they are held again after it. Raises Unavailable
    where the platform cannot be held to one, LayerError where a limit is not read back as it was
    given, or cannot be taken back.
    """
    if reservation.optional and (why := lacks(layers, limits, reservation)):
        raise Unavailable(why, f"leave that limit out of `{KEY}:`")
    with ExitStack() as taken_back:
        for member in members:
            before = member.stack.held()
            if before is None:
                raise Unavailable(
                    f"no control group holds {member.stack.machine.name}", f"leave `{KEY}:` out"
                )
            own = _own(limits, before)
            taken_back.callback(_release, member, own, reservation, before)
            _hold(member.stack, own, reservation)
        yield


def _own(limits: Limits, before: GroupLimits) -> Limits:
    """Return the limits of a study, with those that an engine gives its instances by default."""
    usual = GroupLimits()
    found: dict[str, Any] = {
        name: value
        for name in OPTIONAL
        if getattr(limits, name) is None
        and (value := getattr(before, name)) != getattr(usual, name)
    }
    return replace(limits, **found)


def lacks(layers: Sequence[Layer], limits: Limits, reservation: Reservation) -> str:
    """Return why a platform cannot be held to the optional limits; empty where it can."""
    around = next((one for one in layers if not one.shared), layers[-1])
    every = (one.lacks(reservation.over(one.held_to(limits))) for one in layers)
    return next(filter(None, every), "") or around.cannot_hold(reservation.over(limits))


def _hold(stack: Stack, limits: Limits, reservation: Reservation) -> None:
    if reservation.optional:
        stack.confine(reservation.over(limits))
    if reservation.cpus is not None:
        stack.ration(reservation.cpus)
    wrong = differences(dict(reservation.limits), stack.held())
    if wrong:
        raise LayerError(f"{stack.machine.name} is not held by its reservation: {'; '.join(wrong)}")


def _release(member: Member, limits: Limits, reservation: Reservation, before: GroupLimits) -> None:
    """Hold an instance to what it was held to again; one that cannot be is no longer used."""
    stack, quota = member.stack, limits.quota_cpus
    failed: TareError | None = None
    try:
        try:
            if reservation.cpus is not None:
                stack.ration(None if quota is None else float(quota))
            if reservation.optional:
                stack.confine(limits)
        except TareError as error:  # what could not be given cannot be taken back either
            failed = error
        if stack.held() != before:
            raise failed or LayerError(f"{stack.machine.name} is still held by its reservation")
    except TareError:
        member.is_spoiled = True
        raise


def differences(given: Mapping[str, float], held: GroupLimits | None) -> list[str]:
    """Return which limits of some were not read back of a group as they were given."""
    found = []
    for name, value in given.items():
        read = getattr(held, "quota_cpus" if name == CPUS else name, None)
        if name == CPUS:
            is_right = read is not None and abs(read - value) <= ROUNDING_CPUS
        else:
            is_right = is_held(name, read, int(value))
        if not is_right:
            what = "no limit" if read is None else f"a limit of {read}"
            found.append(f"{name}: its group has {what}, {value} was to be given")
    return found
