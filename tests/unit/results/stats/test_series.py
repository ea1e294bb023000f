import math

import numpy as np
import pytest
from scipy import stats

from tare.results.stats.change_points import _best, change_points
from tare.results.stats.series import kendall_trend, lag1_autocorrelation
from tare.results.stats.unimodality import _dip, dip

# Box and Jenkins (1976), series F: yields from a batch chemical process.
YIELDS = [
    47, 64, 23, 71, 38, 64, 55, 41, 59, 48, 71, 35, 57, 40, 58, 44, 80, 55, 37, 74, 51, 57, 50, 60,
    45, 57, 50, 45, 25, 59, 50, 71, 56, 74, 50, 58, 45, 54, 36, 54, 48, 55, 45, 57, 50, 62, 44, 64,
    43, 52, 38, 59, 55, 41, 53, 49, 34, 35, 54, 45, 68, 38, 50, 60, 39, 59, 40, 57, 54, 23,
]  # fmt: skip

# Cobb (1978): yearly flow of the Nile at Aswan, 1871 to 1970.
NILE = [
    1120, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140, 995, 935, 1110, 994, 1020, 960, 1180,
    799, 958, 1140, 1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774, 840, 874, 694, 940, 833,
    701, 916, 692, 1020, 1050, 969, 831, 726, 456, 824, 702, 1120, 1100, 832, 764, 821, 768, 845,
    864, 862, 698, 845, 744, 796, 1040, 759, 781, 865, 845, 944, 984, 897, 822, 1010, 771, 676, 649,
    846, 812, 742, 801, 1040, 860, 874, 848, 890, 744, 749, 838, 1050, 918, 986, 797, 923, 975, 815,
    1020, 906, 901, 1170, 912, 746, 919, 718, 714, 740,
]  # fmt: skip

# Hartigan and Hartigan (1985), section 6: quality of 63 statistics departments.
FACULTIES = [
    30, 33, 35, 36, 37, 37, 39, 39, 39, 39, 39, 40, 40, 40, 40, 41, 42, 43, 43, 43, 44, 44, 45, 45,
    46, 46, 47, 47, 48, 48, 48, 49, 50, 50, 51, 52, 52, 53, 53, 53, 53, 53, 54, 54, 57, 57, 59, 60,
    60, 60, 61, 61, 61, 61, 62, 62, 62, 62, 63, 66, 70, 72, 72,
]  # fmt: skip


def normal(n, seed=0):
    return np.random.default_rng(seed).normal(0, 1, n)


def test_the_autocorrelation_of_series_f():
    """Box and Jenkins give r1 = -0.39."""
    found = lag1_autocorrelation(YIELDS, seed=0)
    assert found.statistic == pytest.approx(-0.39, abs=5e-3)
    assert found.p < 0.01


def test_autocorrelation_of_independent_values_is_seldom_significant():
    p = [lag1_autocorrelation(normal(12, s), seed=s, rounds=199).p for s in range(300)]
    assert 0.02 < np.mean(np.array(p) <= 0.05) < 0.09
    forth, back = (lag1_autocorrelation(x, seed=1) for x in (YIELDS, YIELDS[::-1]))
    assert back.statistic == pytest.approx(forth.statistic)
    assert lag1_autocorrelation(np.array(YIELDS) * -1e300, seed=1) == pytest.approx(forth)


@pytest.mark.parametrize("n", [3, 8, 33, 34, 172, 200])
@pytest.mark.parametrize("kind", ["none", "trend", "ties", "both", "perfect", "swapped"])
def test_the_trend_is_that_of_scipy_to_the_last_bit(n, kind):
    times, values = np.arange(n, dtype=float), normal(n, n)
    if kind == "trend":
        values += times / n
    if kind in ("ties", "both"):
        values = np.round(values)
    if kind == "both":
        times = times // 2
    if kind in ("perfect", "swapped"):
        values = -times
    if kind == "swapped":
        values[:2] = values[1::-1]
    found, expected = kendall_trend(times, values), stats.kendalltau(times, values)
    if found is None:  # all values are the same
        assert np.ptp(values) == 0
    else:
        assert (found.tau, found.p) == (expected.statistic, expected.pvalue)


def test_the_trend_of_the_book():
    """Hollander, Wolfe and Chicken (2014), example 8.1: lightness and panel score of tuna."""
    lightness = [44.4, 45.9, 41.9, 53.3, 44.7, 44.1, 50.7, 45.2, 60.1]
    score = [2.6, 3.1, 2.5, 5.0, 3.6, 4.0, 5.2, 2.8, 3.8]
    found = kendall_trend(lightness, score)
    assert found.tau == pytest.approx(4 / 9)
    assert found.p == pytest.approx(0.1194, abs=5e-5)
    down = kendall_trend(lightness, np.negative(score))
    assert down == pytest.approx((-found.tau, found.p, -found.slope))


def test_a_drift_has_its_slope():
    hours = np.arange(30.0)
    found = kendall_trend(hours, 5 + 0.5 * hours + 0.1 * normal(30))
    assert found.slope == pytest.approx(0.5, abs=0.01)
    assert found.p < 1e-6


def test_the_nile_changed_in_1899():
    assert change_points(NILE, seed=0) == (1899 - 1871,)
    assert change_points(np.array(NILE) * -1e-300, seed=0) == (28,)


def test_a_regime_that_comes_back_is_found_on_both_sides():
    x = normal(90)
    x[30:60] += 4
    assert change_points(x, seed=0) == pytest.approx((30, 60), abs=1)


def test_a_change_of_spread_alone_is_a_change():
    x = np.concatenate((normal(80), 8 * normal(80, 1)))
    (found,) = change_points(x, seed=0)
    assert found == pytest.approx(80, abs=6)


def test_independent_values_seldom_have_a_change():
    found = [change_points(normal(30, s), seed=s, level=0.05) for s in range(100)]
    assert sum(bool(f) for f in found) <= 10


def test_the_best_point_by_its_definition():
    x = normal(16, 3)

    def distance(a, b):
        return np.abs(a[:, None] - b).sum()

    best = (0.0, 0)
    for point in range(3, 14):
        for end in range(point + 3, 17):
            a, b = x[:point], x[point:end]
            n, m = len(a), len(b)
            within = distance(a, a) / (n * (n - 1)) + distance(b, b) / (m * (m - 1))
            energy = 2 * distance(a, b) / (n * m) - within
            best = max(best, (n * m / (n + m) * energy, point))
    assert _best(x, 3) == pytest.approx(best)


def test_a_short_or_level_series_has_one_regime():
    assert change_points([1.0, 2.0], seed=0) == ()
    assert change_points([3.0] * 40, seed=0) == ()
    assert change_points([], seed=0) is None
    assert change_points([1.0, math.inf, 2.0], seed=0) is None


def test_the_dip_of_the_faculties():
    """R's diptest 0.77 prints D = 0.059524 and p = 0.0867 for the data of the paper."""
    found = dip(FACULTIES)
    assert found.statistic == pytest.approx(0.059524, abs=5e-7)
    assert found.p == pytest.approx(0.0867, abs=0.03)


def test_dips_that_are_known():
    assert _dip(np.arange(20.0)) == pytest.approx(1 / 40)  # as unimodal as 20 values can be
    assert _dip(np.array([0.0, 0.0, 1.0, 1.0])) == pytest.approx(0.25)
    assert dip([0.0, 0.0, 1.0, 1.0]).p < 0.01
    clusters = np.concatenate((np.arange(50.0), 1e6 + np.arange(50.0)))
    assert _dip(clusters) == pytest.approx(0.25, abs=0.006)


def test_the_dip_of_the_reference_program():
    """Values of diptest 0.12 for Python, the C program of R's package."""
    x = np.sort(np.cos(np.arange(1, 31) ** 2))
    assert _dip(x) == pytest.approx(0.07620647890411072)
    assert _dip(np.round(x, 1)) == pytest.approx(0.07333333333333332)


def test_dips_of_one_and_of_two_groups():
    one = [dip(normal(20, s)).p < 0.05 for s in range(200)]
    assert np.mean(one) < 0.05
    two = [dip(np.concatenate((normal(10, s), 6 + normal(10, s + 999)))).p for s in range(20)]
    assert np.median(two) < 0.01


def test_the_dip_ignores_place_unit_sign_and_order():
    x = normal(33)
    expected = pytest.approx(dip(x).statistic)
    for changed in (-x, 1000 + x, x * 1e-300, np.random.default_rng(1).permutation(x)):
        assert dip(changed).statistic == expected


@pytest.mark.parametrize(
    "values", [[], [1.0], [1.0, 2.0], [2.0] * 9, [1.0, 2.0, math.inf, 3.0, 4.0]]
)
def test_what_has_no_answer(values):
    assert dip(values) is None
    assert lag1_autocorrelation(values, seed=0) is None
    if len(values) != 2:
        assert kendall_trend(range(len(values)), values) is None
