"""Intervals of a ratio of means, which `benchmarks/intervals.py` compares with Tare's."""

import math

import numpy as np
import pytest
from scipy import stats

from proof.ratio_of_means import bca_paired, fieller_paired, log_t_paired
from tare.results.stats.two_sample import log_t

# Efron and Tibshirani (1993), table 25.1: eight patients, hormone after three patches.
OLD_OVER_PLACEBO = [8406, 2342, 8187, 8459, 4795, 3516, 4796, 10238]
NEW_OVER_OLD = [-1200, 2601, -2705, 1982, -1290, 351, -638, -2719]


def drawn_bca_paired(a, b, level=0.05):
    return bca_paired(a, b, level, seed=1, rounds=2000)


PAIRED = [fieller_paired, log_t_paired, drawn_bca_paired]


def draw(n, seed=0):
    """Two rows with a common part, as values of the same blocks have."""
    rng = np.random.default_rng(seed)
    common = rng.lognormal(0, 0.2, n)
    return common * rng.lognormal(0.03, 0.05, n), common * rng.lognormal(0, 0.05, n)


def test_fieller_of_the_patch_data():
    """The book gives the ratio -.071 and, at 90 %, -.249 to .170."""
    found = fieller_paired(NEW_OVER_OLD, OLD_OVER_PLACEBO, 0.1)
    assert found.value == pytest.approx(-0.0713, abs=5e-5)
    assert found.interval == pytest.approx((-0.249, 0.170), abs=5e-4)


def test_bca_is_that_of_scipy():
    a, b = NEW_OVER_OLD, OLD_OVER_PLACEBO
    ours = bca_paired(a, b, 0.1, seed=1, rounds=20000).interval
    theirs = stats.bootstrap(
        (a, b), lambda x, y, axis=-1: np.mean(x, axis=axis) / np.mean(y, axis=axis),
        paired=True, vectorized=True, confidence_level=0.9, n_resamples=20000,
        rng=np.random.default_rng(2),
    ).confidence_interval  # fmt: skip
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.012)


def test_the_ends_of_fieller_are_the_ratios_that_the_t_test_just_rejects():
    a, b = draw(12)
    for end in fieller_paired(a, b).interval:
        assert stats.ttest_1samp(a - end * b, 0).pvalue == pytest.approx(0.05)


def test_log_t_is_the_t_interval_of_the_logarithms():
    a, b = draw(12)
    one = stats.ttest_1samp(np.log(a / b), 0).confidence_interval()
    assert log_t_paired(a, b).interval == pytest.approx(np.exp([one.low, one.high]))
    two = stats.ttest_ind(np.log(a), np.log(b), equal_var=False).confidence_interval()
    assert log_t(a, b).interval == pytest.approx(np.exp([two.low, two.high]))
    assert log_t(a, b).value == pytest.approx(log_t_paired(a, b).value)


@pytest.mark.parametrize("method", [fieller_paired, log_t, log_t_paired])
def test_exchanging_the_samples_gives_the_reciprocal(method):
    a, b = draw(15)
    value, (low, high) = method(a, b)
    back = method(b, a)
    assert (back.value, *back.interval) == pytest.approx((1 / value, 1 / high, 1 / low))


@pytest.mark.parametrize("method", [*PAIRED, log_t])
def test_units_multiply_the_ratio_and_order_does_not_matter(method):
    a, b = draw(15)
    value, (low, high) = method(a, b)
    for scale in (1e-150, 1e150):
        found = method(a * scale, b / scale)
        expected = np.array([value, low, high]) * scale * scale
        assert (found.value, *found.interval) == pytest.approx(expected, rel=1e-9)
    turned = method(a[::-1], b[::-1])
    exact = method is not drawn_bca_paired
    assert turned.interval == pytest.approx((low, high), rel=1e-9 if exact else 0.02)


def test_pairs_gain_by_what_both_have_in_common():
    a, b = draw(15)
    assert np.ptp(log_t_paired(a, b).interval) < 0.5 * np.ptp(log_t(a, b).interval)


@pytest.mark.parametrize("method", [*PAIRED, log_t])
def test_values_without_spread_have_no_interval(method):
    assert method([2.0, 2.0, 2.0], [1.0, 1.0, 1.0]) is None
    assert method([2.0], [1.0]) is None
    assert method([], []) is None
    assert method([1.0, math.inf, 2.0], [1.0, 2.0, 2.0]) is None


@pytest.mark.parametrize("method", PAIRED)
def test_pairs_in_one_ratio_have_no_interval(method):
    a = np.array([3.0, 7.1, 11.3, 0.2])
    assert method(1.1 * a, a) is None
    with pytest.raises(ValueError, match="expected pairs, got 2 values and 3"):
        method([1.0, 2.0], [1.0, 2.0, 3.0])


def test_a_baseline_that_may_be_zero_has_an_unbounded_ratio():
    assert fieller_paired([5.0, 6.0, 7.0], [-1.0, 0.5, 1.5]) is None
    assert fieller_paired([5.0, 6.0, 8.0], [-1.0, 0.0, 1.0]) is None
    assert log_t([5.0, 6.0, 7.0], [0.0, 1.0, 2.0]) is None
    assert log_t_paired([5.0, -6.0, 7.0], [3.0, 1.0, 2.0]) is None


def test_a_ratio_beyond_floats_is_not_printed():
    a, b = draw(8)
    assert drawn_bca_paired(a * 1e300, b * 1e-300) is None
    assert log_t(a * 1e300, b * 1e-300).interval == (math.inf, math.inf)
