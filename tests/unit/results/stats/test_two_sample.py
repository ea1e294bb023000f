import math

import numpy as np
import pytest
from scipy import stats

from tare.results.stats.paired import paired_t
from tare.results.stats.two_sample import mann_whitney, permutation, student, welch

# Student (1908), table of additional hours of sleep gained by two drugs.
DEXTRO = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
LAEVO = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]

# Darwin's maize, cross- minus self-fertilized, in eighths of an inch (Fisher 1935, section 17).
MAIZE = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]

# Hollander, Wolfe and Chicken (2014), example 4.1: tritiated water through the chorioamnion.
AT_TERM = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
EARLY = [1.15, 0.88, 0.90, 0.74, 1.21]


def draw(n, seed):
    return np.random.default_rng(seed).lognormal(0, 0.5, n)


def seeded(a, b):
    return permutation(a, b, seed=3, rounds=2000)


def test_student_of_students_sleep():
    assert student(DEXTRO, LAEVO) == pytest.approx((-1.8608, 0.07919), abs=5e-5)
    assert welch(DEXTRO, LAEVO) == pytest.approx((-1.8608, 0.07939), abs=5e-5)
    assert paired_t(np.subtract(DEXTRO, LAEVO)) == pytest.approx((-4.0621, 0.002833), abs=5e-5)


def test_fishers_maize():
    """Fisher gives t = 2.148 with p 4.970 %, and 1726 of 32768 choices of signs as extreme."""
    assert paired_t(MAIZE) == pytest.approx((2.148, 0.04970), abs=5e-4)


def test_mann_whitney_of_the_book():
    """One-sided .1272 there."""
    assert mann_whitney(AT_TERM, EARLY) == pytest.approx((35, 2 * 0.1272), abs=1e-4)


@pytest.mark.parametrize("test", [student, welch, mann_whitney, seeded])
def test_exchanging_the_samples_turns_the_sign_and_keeps_p(test):
    a, b = draw(8, 1), draw(12, 2) * 1.3
    forth, back = test(a, b), test(b, a)
    middle = len(a) * len(b) / 2 if test is mann_whitney else 0
    assert back.statistic - middle == pytest.approx(middle - forth.statistic)
    assert back.p == pytest.approx(forth.p, abs=0 if test is not seeded else 0.03)


@pytest.mark.parametrize("scale", [1e-300, 1e-3, 1e300])
@pytest.mark.parametrize("test", [student, welch, mann_whitney, seeded])
def test_the_unit_does_not_change_p(test, scale):
    a, b = draw(8, 1), draw(9, 2) * 1.3
    assert test(a * scale, b * scale).p == pytest.approx(test(a, b).p)


@pytest.mark.parametrize("test", [student, welch, mann_whitney])
def test_the_order_within_a_sample_does_not_matter(test):
    a, b = draw(8, 1), draw(9, 2)
    assert test(a[::-1], np.sort(b)) == pytest.approx(test(a, b))


def test_all_exchanges_are_made_when_few():
    """Of 4 and 3 values there are 35 exchanges, one of which is as extreme as complete order."""
    assert permutation([5, 6, 7, 8], [1, 2, 3], seed=0).p == pytest.approx(1 / 35)
    assert permutation([1.0], [1.0, 1.0], seed=0) == (0.0, 1.0)


def test_drawn_exchanges_come_close_to_all():
    a, b = draw(7, 1), draw(7, 2) * 1.5
    every = permutation(a, b, seed=0, rounds=math.comb(14, 7)).p
    assert permutation(a, b, seed=1, rounds=3000).p == pytest.approx(every, abs=0.02)
    assert permutation(a, b, seed=1, rounds=3000) == permutation(a, b, seed=1, rounds=3000)
    far = permutation(draw(40, 1), draw(40, 2) + 90, seed=0, rounds=999)
    assert far.p == pytest.approx(1 / 1000)


def test_ties_are_shared_and_a_failed_trial_is_the_largest():
    tied = mann_whitney([1, 2, 2, 3], [2, 3, 3, 4])
    assert tied.p == pytest.approx(stats.mannwhitneyu([1, 2, 2, 3], [2, 3, 3, 4]).pvalue)
    assert mann_whitney([1, 2, math.inf], [0, 3]) == mann_whitney([1, 2, 9], [0, 3])


def test_one_constant_sample_leaves_a_test_and_two_leave_none():
    assert welch([1, 1, 1], [1, 2, 3]).p == pytest.approx(2 * stats.t.sf(math.sqrt(3), 2))
    assert student([1, 1, 1], [2, 2]) is None
    assert welch([0.1 * 3] * 3, [2, 2]) is None
    assert paired_t([0.02] * 8) is None
    assert paired_t(np.log(np.array([3.0, 7.1, 11.3]) * 1.1) - np.log([3.0, 7.1, 11.3])) is None
    assert mann_whitney([1, 1], [1, 1]) == (2, 1.0)


@pytest.mark.parametrize("digits", [1, 9])  # with ties and without
@pytest.mark.parametrize(("n", "m"), [(2, 3), (8, 30), (40, 40), (41, 5), (60, 90)])
def test_the_tests_are_those_of_scipy(n, m, digits):
    a, b = np.round(draw(n, n + 1), digits), np.round(1.1 * draw(m, m + 2), digits)
    is_tied = len(np.unique(np.concatenate((a, b)))) < n + m
    method = "asymptotic" if is_tied or max(n, m) > 40 else "exact"
    assert mann_whitney(a, b) == pytest.approx(tuple(stats.mannwhitneyu(a, b, method=method)))
    assert student(a, b) == pytest.approx(tuple(stats.ttest_ind(a, b)))
    assert welch(a, b) == pytest.approx(tuple(stats.ttest_ind(a, b, equal_var=False)))
    assert paired_t(a[:2] - b[:2]) == pytest.approx(tuple(stats.ttest_rel(a[:2], b[:2])))
