import numpy as np
import pytest

from tare.results.stats.warmup import step


def series(early, cut, *, count=6, length=12, noise=0.01, drift=0.0, seed=1):
    """Series whose first ``cut`` values are higher, on a line of their own each."""
    rng = np.random.default_rng(seed)
    age = np.arange(length)
    return [
        rng.normal() + drift * age + early * (age < cut) + rng.normal(0, noise, length)
        for _ in range(count)
    ]


def test_a_step_at_the_beginning_is_found_with_its_height():
    found = step(series(0.05, 3))

    assert found.cut == 3
    assert found.height == pytest.approx(0.05, abs=0.02)
    assert found.p < 0.001


def test_drift_through_the_whole_session_is_no_step():
    significant = [step(series(0.0, 0, drift=-0.02, seed=seed)).p < 0.01 for seed in range(200)]
    assert sum(significant) <= 8


def test_a_step_is_fitted_as_least_squares_say():
    """By hand: 5 3 2 1 0 -1 is the line 4 - age, but for the first."""
    one = np.array([5.0, 3.0, 2.0, 1.0, 0.0, -1.0])
    found = step([one, one + 1, one - 2])
    assert (found.cut, found.p) == (1, 0)
    assert found.height == pytest.approx(1)


def test_without_a_step_one_is_seldom_seen():
    significant = [step(series(0.0, 0, seed=seed)).p < 0.01 for seed in range(300)]
    assert sum(significant) <= 9


def test_a_step_beside_drift_is_found():
    found = step(series(0.05, 2, drift=0.004, noise=0.004))
    assert found.height == pytest.approx(0.05, abs=0.015)
    assert found.p < 0.01


def test_series_of_different_lengths_are_cut_to_the_shortest():
    long = series(0.05, 2)
    found = step([*long, long[0][:6]])
    assert found.cut == 2
    assert found.p < 0.01


@pytest.mark.parametrize(
    "given", [[], series(0.05, 2, count=2), series(0.05, 2, length=3)], ids=["none", "few", "short"]
)
def test_too_few_or_too_short_series_say_nothing(given):
    assert step(given) is None


def test_constant_series_are_level_and_equal_steps_certain():
    assert step([np.zeros(6)] * 3).p == 1
    certain = step([np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])] * 3)
    assert (certain.cut, certain.p) == (1, 0)
    assert certain.height == pytest.approx(1)
