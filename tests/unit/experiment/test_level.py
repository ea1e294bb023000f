"""The search for the intensity at which neighbours bring a resource to a level."""

from dataclasses import replace

import pytest

from tare.core.errors import LayerError, Unavailable
from tare.core.model import Calibration, Cell, Limits, Status
from tare.experiment.scenarios._level import (
    AIM,
    MOST_TRIES,
    TOLERANCE,
    Start,
    calibrate,
    following,
    used,
)
from tare.experiment.trial.calibrations import Calibrations
from tare.experiment.trial.measure import Outcome
from tare.work.stressor import StressedResource

CPU, DISK = StressedResource.CPU, StressedResource.DISK


def sums(alone, neighbours):
    """A resource whose uses add up until it is full."""
    return lambda intensity: min(1.0, alone + neighbours * intensity)


def test_uses_that_add_up_are_right_at_once():
    start = Start(maximum=1.0, alone=0.2, neighbours=0.8)

    found = calibrate(CPU, 0.9, start, sums(0.2, 0.8))

    assert found.tries == ((0.875, pytest.approx(0.9)),)
    assert abs(found.reached - 0.9) <= AIM


@pytest.mark.parametrize("level", [0.3, 0.5, 0.75, 0.9])
@pytest.mark.parametrize(
    "reach",
    [
        lambda x: min(1.0, 0.1 + 3 * x),  # full at a third of what they take at full
        lambda x: 0.1 + 0.9 * x**3,
        lambda x: 0.1 + 0.9 * x**0.4,
        lambda x: max(0.1, 0.1 + x * (1 - 0.2 * x)),
    ],
)
def test_a_device_that_saturates_is_brought_to_a_level_by_reading_back(reach, level):
    start = Start(maximum=200.0, alone=20.0, neighbours=190.0)

    found = calibrate(DISK, level, start, reach)

    assert abs(found.reached - level) <= TOLERANCE
    assert found.reached == pytest.approx(reach(found.intensity))
    assert len(found.tries) <= MOST_TRIES


def test_a_workload_that_is_above_the_level_alone_has_no_such_cell():
    start = Start(maximum=1.0, alone=1.0, neighbours=1.0)

    with pytest.raises(Unavailable, match="alone takes 100 % of the CPUs' time, more than 90 %"):
        calibrate(CPU, 0.9, start, sums(1.0, 1.0))


def test_neighbours_that_are_too_few_are_named():
    start = Start(maximum=1.0, alone=0.2, neighbours=0.25)

    with pytest.raises(Unavailable, match=r"at full take 45 % .* less than 90 %; fix: .*count"):
        calibrate(CPU, 0.9, start, sums(0.2, 0.25))


def test_between_one_below_and_one_above_is_the_next():
    assert following([(0.2, 0.5), (0.6, 0.9)], 0.7, 1.0) == pytest.approx(0.4)
    assert following([(0.2, 0.5)], 0.7, 0.5) == pytest.approx(0.6)
    assert following([(0.9, 0.5)], 0.9, 0.5) == 1.0
    # Noise may say that more was less: then by the last of them.
    assert following([(0.6, 0.5), (0.2, 0.9)], 0.7, 1.0) == 0.01


def part(name, cpuset, busy):
    noise = {} if busy is None else {"busy": busy}
    return Outcome(
        instance=name, status=Status.OK, started_at="", cpuset=cpuset, noise=noise, name=name
    )


def whole(*parts):
    return Outcome(instance="", status=Status.OK, started_at="", duration_s=2.0, parts=tuple(parts))


def test_shared_cpus_count_once_and_others_by_their_number():
    same = whole(part("", "1", 0.8), part("neighbour1", "1", 0.8))
    apart = whole(part("", "1", 0.8), part("neighbour1", "2-4", 0.4))

    assert used(same, CPU) == pytest.approx(0.8)
    assert used(apart, CPU) == pytest.approx(0.5)


def test_what_is_not_counted_is_said():
    with pytest.raises(LayerError, match="counts the CPU time of all parts"):
        used(whole(part("", "1", None)), CPU)
    with pytest.raises(LayerError, match="counts its disk"):
        used(whole(part("", "1", 0.5)), DISK)


CELL = Cell(
    id="abc",
    platform="host",
    stack="host",
    settings=(),
    workload="fio",
    params=(("neighbour_level", 0.9),),
    limits=Limits(cpus=1, memory_bytes=2**30),
)
FOUND = Calibration(
    resource="cpu",
    level=0.9,
    maximum=1.0,
    alone=0.1,
    neighbours=0.9,
    intensity=0.85,
    reached=0.9,
    tries=((0.8, 0.86), (0.85, 0.9)),
)


def test_a_calibration_outlasts_its_session_and_is_checked_in_another_study(tmp_path, monkeypatch):
    monkeypatch.setenv("TARE_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()

    Calibrations(tmp_path / "one").keep(CELL, FOUND)

    assert Calibrations(tmp_path / "one").of(CELL) == FOUND
    other = Calibrations(tmp_path / "other").of(CELL)
    assert other is not None
    assert other.is_known
    assert other.intensity == FOUND.intensity


def test_cells_that_differ_in_their_reservation_share_one(tmp_path, monkeypatch):
    monkeypatch.setenv("TARE_HOME", str(tmp_path))
    held = replace(CELL, id="def", params=(*CELL.params, ("neighbour_reservation", "given")))
    calibrations = Calibrations(tmp_path)

    assert calibrations.of(held) is None
    calibrations.keep(CELL, FOUND)
    assert calibrations.of(held) == FOUND
    assert not calibrations.of(held).is_known
    calibrations.keep(held, replace(FOUND, intensity=0.5))

    assert calibrations.of(CELL).intensity == 0.5
    assert Calibrations(tmp_path).of(CELL).intensity == 0.5


def test_a_shared_file_that_is_not_understood_is_left_alone(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("TARE_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    shared = tmp_path / "home/calibrations.json"
    newer = '{"format": 99, "found": {}}'
    shared.write_text(newer)

    calibrations = Calibrations(tmp_path)
    calibrations.keep(CELL, FOUND)

    assert "it is left alone and not used" in caplog.text
    assert shared.read_text() == newer
    assert calibrations.of(CELL) == FOUND


def test_a_level_that_is_never_near_is_an_error():
    start = Start(maximum=1.0, alone=0.91, neighbours=0.5)

    with pytest.raises(LayerError, match=r"90 % of the CPUs' time was not reached .* best 96 %"):
        calibrate(CPU, 0.9, start, lambda intensity: 0.96 + 0.04 * intensity)
