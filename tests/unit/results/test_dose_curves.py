"""What a workload loses at each intensity of a neighbour, of studies with known degradations."""

import pytest

from tare.core.model import Neighbour, Status
from tare.results.questions.dose import dose_curves
from tare.results.study import compare
from unit.disturbed import DOSES, dialled, disturbed


def curves(costs, neighbours=None, **others):
    neighbours = neighbours or dialled()
    given = {name: dict(zip(neighbours, some, strict=True)) for name, some in costs.items()}
    results = disturbed(given, **others)
    found = compare(results.plan, results.trials)
    return dose_curves(found.estimates, found.comparisons)


def test_a_known_curve_is_recovered_on_each_platform():
    """A workload that keeps 1 - 0.2 x of itself falls to 95 % at 25 %; with 0.08 x at 62.5 %."""
    host = [1 / (1 - 0.08 * dose) for dose in DOSES]
    docker = [1 / (1 - 0.16 * dose) for dose in DOSES]
    found = curves({"host": host, "host/docker": docker}, noise=0.002)
    assert [one.alone.platform for one in found] == ["host", "host/docker"]
    assert [point.dose for point in found[0].points] == list(DOSES)
    assert [one.fall.at for one in found] == pytest.approx([0.625, 0.3125], abs=0.03)
    assert all(one.fall.low < one.fall.at < one.fall.high for one in found)
    assert all(one.fall.is_known for one in found)


def test_the_interval_of_the_intensity_holds_the_truth():
    truth, runs, missed = 0.625, 40, 0
    for seed in range(runs):
        host = [1 / (1 - 0.08 * dose) for dose in DOSES]
        (found,) = curves({"host": host}, seed=seed, noise=0.01)
        missed += not found.fall.low <= truth <= found.fall.high
    assert missed <= 0.05 * runs


def test_a_workload_that_never_answers_kept_nothing():
    (found,) = curves({"host": (1.0, 1.01, 1.02, Status.DNR)})
    assert found.points[-1].is_down
    assert 0.75 < found.fall.at < 1.0


def test_what_has_no_number_is_no_point():
    (found,) = curves({"host": (1.0, Status.UNAVAILABLE, Status.UNAVAILABLE, 1.5)})
    assert [point.kept is None for point in found.points] == [False, True, True, False]
    assert found.fall is None


def test_two_intensities_make_no_curve_and_each_kind_of_neighbour_has_its_own():
    two = [*dialled(doses=(0.5, 1.0)), Neighbour(stressor="idle")]
    assert curves({"host": (1.2, 1.5, 1.0)}, two) == ()
    both = [*dialled(), *dialled("memory")]
    found = curves({"host": (1.2, 1.5, 1.7, 2.0, 1.0, 1.1, 1.2, 1.3)}, both)
    assert [one.neighbour.stressor for one in found] == ["cpu", "memory"]
