"""A neighbour is written into a cell's parameters, and read from them again."""

import pytest

from tare.core.model import IDLE, Neighbour, NeighbourCpus, neighbour_of, without_neighbour

OWN = (("threads", 1),)


@pytest.mark.parametrize(
    "neighbour",
    [
        Neighbour(stressor="cpu"),
        Neighbour(stressor="disk", intensity=0.25, count=3, cpus=NeighbourCpus.APART),
        Neighbour(stressor=IDLE, count=128),
    ],
)
def test_what_is_written_is_read(neighbour):
    params = (*OWN, *neighbour.params)

    assert neighbour_of(params) == neighbour
    assert without_neighbour(params) == OWN


def test_a_workload_alone_has_no_neighbour():
    assert neighbour_of(OWN) is None
    assert without_neighbour(OWN) == OWN


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"intensity": 0}, "intensity: 0 was given"),
        ({"intensity": 1.5}, "intensity: 1.5 was given"),
        ({"intensity": float("nan")}, "intensity: nan was given"),
        ({"count": 0}, "count: 0 was given; expected 1 to 128"),
        ({"count": 129}, "count: 129 was given"),
    ],
)
def test_what_cannot_be_is_refused(wrong, says):
    with pytest.raises(ValueError, match=says):
        Neighbour(stressor="cpu", **wrong)


def test_a_level_is_one_more_parameter_and_full_needs_no_calibration():
    half, full = Neighbour(stressor="cpu", level=0.5), Neighbour(stressor="cpu", level="full")

    assert half.params[-1] == ("neighbour_level", 0.5)
    assert (half.target, full.target, full.level) == (0.5, None, 1.0)
    for one in (half, full):
        assert neighbour_of(one.params) == one
        assert without_neighbour((("threads", 1), *one.params)) == (("threads", 1),)
