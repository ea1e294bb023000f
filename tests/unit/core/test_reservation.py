"""A reservation is written into a cell's parameters with its neighbour, and read from them."""

from dataclasses import replace

import pytest

from tare.core.model import (
    Limits,
    Neighbour,
    Reservation,
    Use,
    neighbour_of,
    reservation_of,
    without_neighbour,
)
from tare.core.model.cell import OPTIONAL
from tare.core.model.reservation import CPUS, given

OWN = (("threads", 1),)
LIMITS = Limits(cpus=1, memory_bytes=2**30, cpu_weight=200)


@pytest.mark.parametrize(
    "reservation",
    [
        given({CPUS: 0.25}),
        given({CPUS: 1, "cpu_weight": 30, "processes": 64}),
        given(dict.fromkeys(OPTIONAL, 1000)),
        Reservation(derived=Use.PEAK),
        Reservation(derived=Use.MEAN, headroom=0.0),
    ],
)
def test_what_is_written_is_read(reservation):
    neighbour = Neighbour(stressor="cpu", count=2, reservation=reservation)
    params = (*OWN, *neighbour.params)

    assert neighbour_of(params) == neighbour
    assert reservation_of(params) == reservation
    assert without_neighbour(params) == OWN
    assert neighbour_of(params).params == neighbour.params


def test_a_neighbour_without_a_reservation_is_written_as_before():
    assert Neighbour(stressor="cpu").params == (
        ("neighbour", "cpu"),
        ("neighbour_intensity", 1.0),
        ("neighbour_count", 1),
        ("neighbour_cpus", "same"),
    )
    assert reservation_of(Neighbour(stressor="cpu").params) is None


def test_a_reservation_stands_in_place_of_the_studys_own_limits():
    held = given({CPUS: 0.5, "cpu_weight": 30}).over(LIMITS)

    assert held == replace(LIMITS, cpu_weight=30)
    assert given({CPUS: 0.5}).over(LIMITS) == LIMITS


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({}, "has limits, or derives them"),
        ({"limits": ((CPUS, 0.5),), "derived": Use.PEAK}, "has limits, or derives them"),
        ({"limits": ((CPUS, 0.0),)}, "cpus: 0 was given; expected 0.01 or more"),
        ({"limits": ((CPUS, float("nan")),)}, "cpus: nan was given"),
        ({"derived": Use.PEAK, "headroom": -0.1}, "headroom: -0.1 was given; expected 0 to 10"),
    ],
)
def test_what_cannot_be_is_refused(wrong, says):
    with pytest.raises(ValueError, match=says):
        Reservation(**wrong)
