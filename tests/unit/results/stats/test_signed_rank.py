import math

import numpy as np
import pytest
from scipy import stats

from tare.results.stats import signed_rank
from tare.results.stats.description import describe
from tare.results.stats.signed_rank import (
    EXPLICIT_UP_TO,
    Interval,
    estimate,
    estimate_and_interval,
    interval,
    p_value,
    p_values,
)

# Hollander, Wolfe and Chicken, example 3.1: Hamilton depression scale, change under a tranquilizer.
DEPRESSION = np.array([-0.952, 0.147, -1.022, -0.430, -0.620, -0.590, -0.490, 0.080, -0.010])


def draw(n, seed=0):
    return np.random.default_rng(seed).standard_t(3, n) * 0.02 + 0.005


def test_the_worked_example_of_the_book():
    assert p_value(DEPRESSION) == pytest.approx(
        0.0390625
    )  # two-sided; the book's one-sided is .020
    assert estimate(DEPRESSION) == pytest.approx(-0.46)
    assert interval(DEPRESSION, 0.04) == pytest.approx((-0.786, -0.010))


@pytest.mark.parametrize("n", [1, 2, 5, 8, 20, 36, 40])
def test_the_exact_p_is_that_of_scipy(n):
    values = draw(n, seed=n)
    assert p_value(values) == pytest.approx(stats.wilcoxon(values, method="exact").pvalue)


@pytest.mark.parametrize("n", [41, 49, 100, 1000])
def test_the_normal_p_is_that_of_scipy(n):
    values = draw(n, seed=n)
    expected = stats.wilcoxon(values, method="asymptotic", correction=True).pvalue
    assert p_value(values) == pytest.approx(expected)


@pytest.mark.parametrize("n", [20, 100, EXPLICIT_UP_TO + 1])
@pytest.mark.parametrize("kind", ["smooth", "tied", "failed"])
def test_many_looks_at_once_and_both_numbers_at_once_are_as_one_by_one(n, kind):
    values = draw(n, seed=n)
    if kind != "smooth":
        values = np.round(values, 2)  # zeros too, and values that are each other's negative
    if kind == "failed":
        values[3::7], values[5::11] = math.inf, -math.inf
    looks = [1, 8, 11, 15, n]
    assert p_values(values, looks) == [p_value(values[:look]) for look in looks]
    assert p_values(values, []) == []
    for level in (0.05, 1e-9):
        found = estimate_and_interval(values, level)
        assert found == (estimate(values), interval(values, level))
    assert estimate_and_interval(values[:4], 0.01)[1] is None


@pytest.mark.parametrize("n", [9, 40, 100, 299])
@pytest.mark.parametrize("level", [0.9, 0.2, 0.02])
def test_both_numbers_are_those_of_all_averages_in_order(n, level):
    first, second = np.triu_indices(n)
    for seed in range(20):
        values = draw(n, seed)
        ordered = np.sort((values[first] + values[second]) / 2)
        middle, (low, high) = estimate_and_interval(values, level)

        assert middle == np.median(ordered)
        assert np.searchsorted(ordered, low) == len(ordered) - 1 - np.searchsorted(ordered, high)
        assert {low, high} <= set(ordered)


def test_the_normal_is_close_to_exact_where_it_begins():
    for seed in range(50):
        values = draw(41, seed)
        exact = stats.wilcoxon(values, method="exact").pvalue
        assert p_value(values) == pytest.approx(exact, abs=0.005)


@pytest.mark.parametrize("n", [8, 15, 41, 100])
@pytest.mark.parametrize("level", [0.05, 0.009])
def test_the_interval_is_what_the_test_does_not_reject(n, level):
    for seed in range(20):
        values = draw(n, seed)
        ends = interval(values, level)
        for end, outwards in zip(ends, (-1, 1), strict=True):
            assert p_value(values - (end - outwards * 1e-9)) > level
            assert p_value(values - (end + outwards * 1e-9)) <= level


@pytest.mark.parametrize("n", [8, 20, 66])
def test_p_and_interval_agree_when_values_are_coarse(n):
    for seed in range(60):
        values = np.round(draw(n, seed), 2)
        ends = interval(values, 0.009)
        assert (p_value(values) <= 0.009) == (ends.low > 0 or ends.high < 0)


def test_fewer_than_eight_values_reject_nothing_at_the_level_of_a_look():
    assert interval(np.full(7, 0.5), 0.009) is None
    assert interval(np.full(8, 0.5), 0.009) == Interval(0.5, 0.5)


def test_zeros_and_ties_count_against_rejection():
    assert p_value(np.zeros(20)) == 1
    assert p_value(np.full(8, 0.03)) == pytest.approx(2 / 2**8)
    assert p_value(np.array([0.0] + [0.03] * 7)) > 2 / 2**8


def test_a_failed_trial_is_the_worst_value_and_keeps_its_rank():
    values = np.array([0.01, 0.02, -0.01, 0.03, 0.02, 0.04, 0.01, 0.02, math.inf])
    large = np.where(np.isinf(values), 1000.0, values)
    assert p_value(values) == p_value(large)
    assert interval(values, 0.05).low == interval(large, 0.05).low
    assert interval(values, 0.009).high == math.inf
    assert estimate(values) == estimate(large)
    assert estimate(np.full(3, math.inf)) == math.inf


def test_failures_on_both_sides_cancel():
    assert estimate(np.array([math.inf, -math.inf])) == 0
    assert p_value(np.array([math.inf, -math.inf] * 10)) == 1
    assert interval(np.array([math.inf, -math.inf] * 10), 0.009) == (-math.inf, math.inf)
    assert estimate(np.array([-math.inf, -math.inf, math.inf])) == -math.inf


@pytest.mark.parametrize("searched", [False, True])
@pytest.mark.parametrize("n", [9, 20, 66])
def test_what_holds_for_values_holds_for_their_negatives(n, searched, monkeypatch):
    if searched:
        monkeypatch.setattr(signed_rank, "EXPLICIT_UP_TO", 0)
    for seed in range(20):
        rng = np.random.default_rng([n, seed])
        values = draw(n, seed)
        values[rng.random(n) < 0.2] = math.inf
        values[rng.random(n) < 0.1] = -math.inf
        assert p_value(-values) == p_value(values)
        assert estimate(-values) == pytest.approx(-estimate(values), abs=1e-15)
        low, high = interval(values, 0.05)
        assert interval(-values, 0.05) == pytest.approx((-high, -low), abs=1e-15)
        large = np.clip(values, -1000, 1000)
        assert p_value(values) == p_value(large)
        found = estimate(values)
        assert np.clip(found, -400, 400) == pytest.approx(np.clip(estimate(large), -400, 400))


@pytest.mark.parametrize("best", [0, 1, 9, 40])
@pytest.mark.parametrize("worst", [0, 9, 40])
def test_searching_finds_what_making_all_averages_finds(best, worst, monkeypatch):
    values = np.concatenate([np.round(draw(90), 3), [math.inf] * worst, [-math.inf] * best])
    explicit = [estimate(values), *interval(values, 0.05), *interval(values, 1e-9)]
    monkeypatch.setattr(signed_rank, "EXPLICIT_UP_TO", 0)
    searched = [estimate(values), *interval(values, 0.05), *interval(values, 1e-9)]
    assert searched == pytest.approx(explicit, abs=1e-15)


def test_many_zeros_stay_exactly_zero_when_searched():
    values = np.append(np.zeros(EXPLICIT_UP_TO), draw(50))
    assert estimate(values) == 0
    assert interval(values, 0.05) == (0, 0)


def test_many_values_need_little_memory():
    ends = interval(draw(20_000), 0.01)
    assert 0.004 < ends.low < ends.high < 0.006


def test_a_description_is_that_of_numpy_and_scipy():
    values = draw(30)
    found = describe(values)
    assert (found.n, found.median, found.mean) == (30, np.median(values), np.mean(values))
    assert found.sd == pytest.approx(np.std(values, ddof=1))
    assert found.spread == pytest.approx(
        stats.median_abs_deviation(values, scale="normal"), rel=1e-4
    )
    assert (found.minimum, found.maximum) == (values.min(), values.max())


def test_one_value_has_no_spread_and_none_has_no_description():
    assert describe([2.5]).sd is None
    assert describe([2.5]).spread is None
    assert describe([]) is None


@pytest.mark.parametrize("kind", ["normal", "lognormal", "rounded"])
def test_what_is_searched_is_what_all_averages_give(kind):
    rng = np.random.default_rng(5)
    for n in rng.integers(301, 900, 20):
        drawn = rng.lognormal(0, 1, n) if kind == "lognormal" else rng.normal(0, 0.04, n)
        values = np.round(drawn, 2) if kind == "rounded" else drawn
        first, second = np.triu_indices(n)
        averages = np.sort((values[first] + values[second]) / 2)
        middle = averages[(len(averages) - 1) // 2], averages[len(averages) // 2]
        assert estimate(values) == (middle[0] + middle[1]) / 2
