"""One policy for bad input: NaN raises, no answer is None, and no statistic is ever NaN."""

import math
import operator

import numpy as np
import pytest

from tare.results.stats import (
    change_points,
    effect,
    eprocess,
    outliers,
    paired,
    series,
    two_sample,
    unimodality,
    values,
)

ONE = {
    "paired_t": paired.paired_t,
    "modified_z": outliers.modified_z,
    "by_esd": lambda x: outliers.by_esd(x, 3),
    "outliers": outliers.outliers,
    "lag1": lambda x: series.lag1_autocorrelation(x, seed=0, rounds=99),
    "change_points": lambda x: change_points.change_points(x, seed=0),
    "dip": unimodality.dip,
    "e_values": eprocess.e_values,
}

TWO = {
    "student": two_sample.student,
    "welch": two_sample.welch,
    "mann_whitney": two_sample.mann_whitney,
    "permutation": lambda a, b: two_sample.permutation(a, b, seed=0, rounds=99),
    "hodges_lehmann_shift": effect.hodges_lehmann_shift,
    "log_t": two_sample.log_t,
    "kendall_trend": series.kendall_trend,
}

BAD = {
    "empty": [],
    "one": [3.0],
    "two": [3.0, 4.0],
    "constant": [3.0] * 12,
    "zeros": [0.0] * 12,
    "one differs": [0.0] * 11 + [1.0],
    "failed": [math.inf] * 12,
    "both failed": [math.inf, -math.inf] * 6,
    "some failed": [1.0, math.inf, 2.0, 1.5] * 3,
    "negative": [-1.0, -2.0, -3.0] * 4,
    "huge": list(1e300 * np.linspace(0.9, 1.7, 12)),
    "tiny": list(1e-300 * np.linspace(0.9, 1.7, 12)),
    "both ends": [1e300, 1e-300, -1e300, 1.0] * 3,
    "whole numbers": [1.0, 2.0, 2.0, 3.0] * 3,
}


def flat(found):
    """List every number in an answer."""
    if found is None:
        return []
    if isinstance(found, (tuple, list, np.ndarray)):
        return [x for part in found for x in flat(part)]
    return [found]


@pytest.mark.parametrize("data", BAD.values(), ids=BAD)
@pytest.mark.parametrize("statistic", ONE.values(), ids=ONE)
def test_bad_data_have_an_answer_or_none(statistic, data):
    assert not any(math.isnan(x) for x in flat(statistic(data)))


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("statistic", TWO.values(), ids=TWO)
def test_bad_pairs_have_an_answer_or_none(statistic, name):
    first = BAD[name]
    for second in (*BAD.values(), list(np.arange(1.0, 13.0))):
        n = min(len(first), len(second))
        for a, b in ((first[:n], second[:n]), (second[:n], first[:n])):
            assert not any(math.isnan(x) for x in flat(statistic(a, b))), (a, b)


@pytest.mark.parametrize("statistic", ONE.values(), ids=ONE)
def test_nan_is_refused(statistic):
    with pytest.raises(ValueError, match="value 1 of 3 is NaN"):
        statistic([1.0, math.nan, 2.0])
    with pytest.raises(ValueError, match="one row"):
        statistic(np.ones((3, 3)))


@pytest.mark.parametrize("statistic", TWO.values(), ids=TWO)
def test_nan_is_refused_in_the_second_sample(statistic):
    with pytest.raises(ValueError, match="value 2 of 3 is NaN"):
        statistic([1.0, 3.0, 2.0], [1.0, 2.0, math.nan])


def test_scaling_keeps_the_order_and_the_ratios():
    rows = ([3e307, -1.5e308], [1e300])
    (a, b) = values.scaled(*map(np.array, rows))
    assert max(map(abs, (*a, *b))) <= 1
    assert a[1] / a[0] == pytest.approx(-5)
    assert operator.lt(0, b[0])
