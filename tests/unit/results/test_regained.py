"""What a reservation gives back, in points of the workload's own value alone."""

import math
from dataclasses import replace

import numpy as np
import pytest

from tare.core.model import Contrast, ContrastKind, Neighbour, Reservation, Status, Use
from tare.core.model.reservation import CPUS, given
from tare.results.compare.estimates import Estimates
from tare.results.compare.reason import ReasonKind
from tare.results.questions.regained import points_of, regained
from unit.makers import RATE, TIME, make_cell, make_plan, make_trial

CPU = Neighbour(stressor="cpu")
HELD = replace(CPU, reservation=given({CPUS: 0.25}))
DERIVED = replace(CPU, reservation=Reservation(derived=Use.PEAK))


def found(values, *, metric=TIME, blocks=11, instances=lambda block: f"a-{block}", missing=()):
    """Regain of a host whose cells have values by the neighbour; None in a block is a failure."""
    cells = {
        neighbour: make_cell("host", params=neighbour.params if neighbour else ())
        for neighbour in values
    }
    plan = make_plan(*cells.values(), metrics=(metric,), max_blocks=blocks)
    contrasts = tuple(
        Contrast(cell=cell.id, reference=cells[None].id, kind=ContrastKind.ISOLATION)
        for neighbour, cell in cells.items()
        if neighbour is not None
    )
    trials = []
    for neighbour, value in values.items():
        for block in range(blocks):
            if (neighbour, block) in missing:
                continue
            one = value(block) if callable(value) else value
            more = {"samples": {metric.name: one}} if one else {"status": Status.FAILED}
            trials.append(make_trial(cells[neighbour], block, instance=instances(block), **more))
    return regained(Estimates(replace(plan, contrasts=contrasts), trials))


def test_points_are_the_difference_of_both_degradations():
    (row,) = found({None: 10.0, CPU: 20.0, HELD: 13.0})

    assert row.points == pytest.approx(70)
    assert (row.low, row.high) == pytest.approx((70, 70))
    assert row.blocks == 11
    assert row.without.degradation_percent == pytest.approx(100)
    assert row.held.degradation_percent == pytest.approx(30)
    assert row.cell.params == HELD.params
    assert row.reason is None


def test_a_rate_that_halves_has_lost_as_much_as_a_time_that_doubles():
    (row,) = found({None: 100.0, CPU: 50.0, HELD: 80.0}, metric=RATE)

    assert row.points == pytest.approx(75)


def test_a_reservation_that_makes_it_worse_regains_less_than_nothing():
    (row,) = found({None: 10.0, CPU: 11.0, HELD: 12.0})

    assert row.points == pytest.approx(-10)


def test_drift_of_all_three_cancels_within_blocks():
    def drifts(value):
        return lambda block: value * (1 + block)

    (row,) = found({None: drifts(10.0), CPU: drifts(20.0), HELD: drifts(15.0)})

    assert (row.low, row.high) == pytest.approx((50, 50))


def test_only_blocks_that_have_all_three_count():
    values = {None: 10.0, CPU: 20.0, HELD: 15.0}
    (row,) = found(values, missing=[(None, 0), (CPU, 1), (HELD, 2)])

    assert row.blocks == 8
    assert row.points == pytest.approx(50)


def test_each_reservation_of_a_neighbour_has_a_row():
    rows = found({None: 10.0, CPU: 20.0, HELD: 15.0, DERIVED: 11.0})

    assert [round(row.points) for row in rows] == [50, 90]
    assert [row.cell.params for row in rows] == [HELD.params, DERIVED.params]


def test_a_neighbour_that_is_measured_only_with_a_reservation_has_no_points():
    other = Neighbour(stressor="memory")
    (row,) = found({None: 10.0, other: 20.0, HELD: 15.0})

    assert row.points is None
    assert row.without is None
    assert row.reason.kind is ReasonKind.NOT_IN_STUDY


def test_few_blocks_have_points_without_an_interval():
    (row,) = found({None: 10.0, CPU: 20.0, HELD: 15.0}, blocks=3)

    assert row.points == pytest.approx(50)
    assert (row.low, row.high) == (None, None)


def test_a_block_that_failed_without_the_reservation_alone_is_the_best_one():
    values = {None: 10.0, CPU: lambda block: 0 if block == 3 else 20.0 + block, HELD: 15.0}
    (row,) = found(values)

    assert row.blocks == 11
    assert row.points == pytest.approx(105, abs=5)
    assert row.high <= math.inf


def test_a_block_in_which_both_failed_says_nothing():
    def fails(value):
        return lambda block: 0 if block == 3 else value

    (row,) = found({None: 10.0, CPU: fails(20.0), HELD: fails(15.0)})

    assert row.blocks == 10
    assert row.points == pytest.approx(50)


def test_what_always_failed_without_the_reservation_has_no_size():
    (row,) = found({None: 10.0, CPU: 0, HELD: 15.0})

    assert row.points is None
    assert row.reason is not None


def test_instances_that_differ_are_the_values():
    def luck(block):
        return 10.0 * (block // 2 % 3)

    values = {None: 10.0, CPU: lambda block: 20.0 + luck(block) + block % 2 / 100, HELD: 15.0}
    by_blocks = found(values, blocks=12)[0]
    by_instances = found(values, blocks=12, instances=lambda block: f"a-{block // 2}")[0]

    assert by_instances.high - by_instances.low > by_blocks.high - by_blocks.low
    assert by_instances.points == pytest.approx(150, abs=20)


def test_the_interval_covers_the_truth_as_often_as_it_says():
    random = np.random.default_rng(3)
    missed = 0
    for _ in range(300):
        alone, free, held = (
            value * np.exp(random.normal(0, 0.02, 12)) for value in (10.0, 20.0, 13.0)
        )
        points = points_of(np.log(free / alone), np.log(held / alone))
        (row,) = found(
            {
                None: lambda block, of=alone: float(of[block]),
                CPU: lambda block, of=free: float(of[block]),
                HELD: lambda block, of=held: float(of[block]),
            },
            blocks=12,
        )
        assert row.points == pytest.approx(float(np.median(points)), abs=3)
        missed += not row.low <= 70 <= row.high
    assert missed <= 30


def test_points_without_any_ratio_are_none():
    points = points_of(np.array([np.inf, np.inf, 0.0]), np.array([np.inf, 0.0, np.inf]))

    assert np.isnan(points[0])
    assert points[1:].tolist() == [np.inf, -np.inf]
