import math
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from tare.results.stats.effect import hodges_lehmann_shift, rank_sum

# Hollander, Wolfe and Chicken (2014), example 4.1: tritiated water through the chorioamnion.
AT_TERM = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
EARLY = [1.15, 0.88, 0.90, 0.74, 1.21]


def draw(n, seed):
    return np.random.default_rng(seed).standard_t(3, n)


def test_the_shift_of_the_book():
    """Examples 4.3 and 4.4: -.305, from -.76 to .15 at 96 %."""
    found = hodges_lehmann_shift(EARLY, AT_TERM, 0.04)
    assert found.value == pytest.approx(-0.305)
    assert found.interval == pytest.approx((-0.76, 0.15))


@pytest.mark.parametrize(("n", "m"), [(3, 4), (5, 5), (2, 7)])
def test_the_rank_sums_are_those_of_all_choices(n, m):
    sums = [sum(c) - n * (n - 1) // 2 for c in combinations(range(n + m), n)]
    expected = np.cumsum(np.bincount(sums, minlength=n * m + 1)) / math.comb(n + m, n)
    assert rank_sum(n, m) == pytest.approx(expected)


@pytest.mark.parametrize(("n", "m"), [(5, 5), (8, 20), (30, 60)])
def test_the_interval_is_what_the_rank_sum_test_does_not_reject(n, m):
    method = "exact" if n * m <= 1600 else "asymptotic"
    for seed in range(5):
        a, b = draw(n, [seed, 0]), draw(m, [seed, 1])
        for end, outwards in zip(hodges_lehmann_shift(a, b).interval, (-1, 1), strict=True):
            inside = stats.mannwhitneyu(a - (end - outwards * 1e-9), b, method=method)
            outside = stats.mannwhitneyu(a - (end + outwards * 1e-9), b, method=method)
            assert inside.pvalue > 0.05 >= outside.pvalue


def test_the_shift_is_antisymmetric_and_moves_with_the_data():
    a, b = draw(9, 1), draw(12, 2)
    value, (low, high) = hodges_lehmann_shift(a, b)
    back = hodges_lehmann_shift(b, a)
    assert (back.value, *back.interval) == pytest.approx((-value, -high, -low))
    moved = hodges_lehmann_shift(a[::-1] * 3 + 1, b * 3)
    assert (moved.value, *moved.interval) == pytest.approx(
        (3 * value + 1, 3 * low + 1, 3 * high + 1)
    )


def test_failed_trials_are_the_largest_values():
    value, ends = hodges_lehmann_shift([1, 2, 3, math.inf, math.inf], [1, 2, 3, 4, math.inf])
    assert math.isfinite(value)
    assert ends == (-math.inf, math.inf)
    assert hodges_lehmann_shift([math.inf] * 5, [math.inf] * 5) == (0, (0, 0))
    assert hodges_lehmann_shift([math.inf] * 5, [1] * 5) == (math.inf, (math.inf, math.inf))


def test_three_against_three_have_a_shift_without_bounds():
    """Their smallest p is 2 / 20."""
    assert hodges_lehmann_shift([1, 2, 3], [4, 5, 6]) == (-3, None)
    assert hodges_lehmann_shift([1, 2, 3], [4, 5, 6], 0.1).interval == (-5, -1)
