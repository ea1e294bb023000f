import math

import numpy as np
import pytest
from scipy import stats

from tare.results.stats.equivalence import tost_paired, tost_welch


def shaped(n, mean, sd):
    """Make n values with exactly this mean and standard deviation."""
    values = np.linspace(-1, 1, n)
    return mean + sd * (values - values.mean()) / values.std(ddof=1)


def test_the_example_of_lakens():
    """Lakens (2017): Moery and Calin-Jageman's study with bounds of d = 0.43 gives p = .004."""
    a, b = shaped(95, 5.25, 0.95), shaped(89, 5.22, 0.83)
    margin = 0.43 * math.sqrt((0.95**2 + 0.83**2) / 2)
    assert tost_welch(np.exp(a), np.exp(b), margin) == pytest.approx(0.004, abs=5e-4)


@pytest.mark.parametrize("seed", range(8))
def test_p_is_below_5_percent_if_the_90_percent_interval_is_inside(seed):
    rng = np.random.default_rng(seed)
    d = rng.normal(0.004, 0.02, 12)
    ends = stats.ttest_1samp(d, 0).confidence_interval(0.9)
    edge = max(-ends.low, ends.high)
    assert tost_paired(d, edge) == pytest.approx(0.05)
    assert tost_paired(d, edge * 1.01) < 0.05 < tost_paired(d, edge * 0.99)
    a, b = rng.normal(0, 0.02, 9), rng.normal(0, 0.05, 14)
    ends = stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.9)
    assert tost_welch(np.exp(a), np.exp(b), max(-ends.low, ends.high)) == pytest.approx(0.05)


def test_a_difference_of_the_margin_has_no_evidence_of_equivalence():
    assert tost_paired(shaped(20, 0.02, 0.01), 0.02) == pytest.approx(0.5)
    assert tost_paired(shaped(20, 0.2, 0.01), 0.02) == pytest.approx(1)


def test_exchanging_sides_or_units_keeps_p():
    rng = np.random.default_rng(1)
    a, b = rng.lognormal(0, 0.05, 9), rng.lognormal(0.01, 0.05, 12)
    p = tost_welch(a, b, 0.05)
    assert tost_welch(b, a, 0.05) == pytest.approx(p)
    assert tost_welch(a[::-1] * 1e9, b * 1e9, 0.05) == pytest.approx(p)
    assert tost_paired(-np.log(a), 0.05) == pytest.approx(tost_paired(np.log(a), 0.05))


def test_without_spread_or_logarithm_there_is_no_p():
    assert tost_paired([0.01] * 9, 0.02) is None
    assert tost_paired([0.01, math.inf], 0.02) is None
    assert tost_paired([0.01], 0.02) is None
    assert tost_welch([1, 1], [1, 1], 0.02) is None
    assert tost_welch([0, 1], [1, 2], 0.02) is None


@pytest.mark.parametrize("margin", [0, -0.02, math.inf, math.nan])
def test_a_margin_is_positive(margin):
    with pytest.raises(ValueError, match="margin of equivalence"):
        tost_paired([0.01, 0.02], margin)
