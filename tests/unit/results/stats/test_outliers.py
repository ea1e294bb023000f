import math

import numpy as np
import pytest

from tare.results.stats.outliers import by_esd, by_modified_z, modified_z, outliers

# Rosner (1983), section 7, as reprinted by NIST: vitamin E in 54 samples.
VITAMIN_E = [
    -0.25, 0.68, 0.94, 1.15, 1.20, 1.26, 1.26, 1.34, 1.38, 1.43, 1.49, 1.49, 1.55, 1.56, 1.58,
    1.65, 1.69, 1.70, 1.76, 1.77, 1.81, 1.91, 1.94, 1.96, 1.99, 2.06, 2.09, 2.10, 2.14, 2.15,
    2.23, 2.24, 2.26, 2.35, 2.37, 2.40, 2.47, 2.54, 2.62, 2.64, 2.90, 2.92, 2.92, 2.93, 3.21,
    3.26, 3.30, 3.59, 3.68, 4.30, 4.64, 5.34, 5.42, 6.01,
]  # fmt: skip

# Aspernäs and Simonsson (2016), table 2.2: requests served by Docker in a virtual CoreOS.
REQUESTS = [35783, 57263, 58398, 56835, 58116]


def test_the_three_outliers_of_rosner_hide_each_other():
    assert by_esd(VITAMIN_E, most=10) == (51, 52, 53)
    assert by_esd(VITAMIN_E, most=1) == ()


def test_the_example_of_iglewicz_and_hoaglin():
    """Modified z scores of 25.9 and 26.3, while ordinary z scores stay below 2."""
    values = [2.1, 2.6, 2.4, 2.5, 2.3, 2.1, 2.3, 2.6, 8.2, 8.3]
    assert modified_z(values)[8:] == pytest.approx([25.9, 26.3], abs=0.05)
    assert by_modified_z(values) == outliers(values) == (8, 9)
    assert np.abs((values - np.mean(values)) / np.std(values, ddof=1)).max() < 2


def test_run_1_of_the_virtual_coreos_is_named():
    assert outliers(REQUESTS) == by_modified_z(REQUESTS) == by_esd(REQUESTS, 1) == (0,)


@pytest.mark.parametrize("n", [5, 8, 30, 100])
def test_of_normal_samples_few_have_an_outlier(n):
    rng = np.random.default_rng(n)
    assert np.mean([bool(outliers(rng.normal(0, 1, n))) for _ in range(600)]) < 0.075


def test_the_unit_sign_and_order_do_not_matter():
    values = np.array(VITAMIN_E)
    order = np.random.default_rng(1).permutation(len(values))
    assert {int(order[i]) for i in outliers(values[order])} == {51, 52, 53}
    for changed in (-values, values * 1e-300, values * 1e300, values + 1000):
        assert outliers(changed) == (51, 52, 53)


def test_where_most_are_equal_the_mean_deviation_takes_over():
    assert modified_z([1, 1, 1, 1, 9])[4] == pytest.approx(8 / (1.2533 * 1.6), rel=1e-4)
    assert by_modified_z([1.0] * 20 + [9.0]) == outliers([1.0] * 20 + [9.0]) == (20,)


def test_equal_or_few_values_have_no_outlier():
    for values in ([], [1.0], [1.0, 9.0], [3.0] * 9, [0.0] * 9, [0.1 * 3] * 5):
        assert outliers(values) == by_modified_z(values) == by_esd(values, 9) == ()
    assert modified_z([3.0] * 3) == pytest.approx([0, 0, 0])


def test_failed_trials_are_neither_named_nor_used():
    values = [math.inf, *REQUESTS, -math.inf]
    assert outliers(values) == by_modified_z(values) == by_esd(values, 1) == (1,)
    assert modified_z(values)[0] == math.inf
    assert outliers([math.inf, math.inf]) == ()
