import math

import numpy as np
import pytest

from tare.results.stats.location import huber, mad, median, qn, trimmed_mean

# Venables and Ripley (2002), section 5.5: copper in wholemeal flour, by 24 determinations.
CHEM = [
    2.90, 3.10, 3.40, 3.40, 3.70, 3.70, 2.80, 2.50, 2.40, 2.40, 2.70, 2.20,
    5.28, 3.37, 3.03, 3.03, 28.95, 3.77, 3.40, 2.20, 3.50, 3.60, 3.70, 3.70,
]  # fmt: skip

SCALES = [mad, qn]
LOCATIONS = [lambda x: median(x).value, huber, trimmed_mean]


def test_the_flour_of_the_book():
    assert median(CHEM).value == pytest.approx(3.385)
    assert mad(CHEM) == pytest.approx(0.5263, abs=5e-5)
    assert huber(CHEM) == pytest.approx(3.2067, abs=5e-5)
    assert trimmed_mean(CHEM, 0.1) == pytest.approx(3.205)


@pytest.mark.parametrize(
    ("n", "place", "confidence"),
    [(6, 1, 0.969), (9, 2, 0.961), (10, 2, 0.979), (15, 4, 0.965), (20, 6, 0.959), (31, 10, 0.971)],
)
def test_the_ranks_of_the_median_are_those_of_the_tables(n, place, confidence):
    """Le Boudec (2010), table A.1."""
    values = np.random.default_rng(n).permutation(np.arange(1.0, n + 1))
    assert median(values).interval == (place, n + 1 - place)
    tail = sum(math.comb(n, k) for k in range(place)) / 2**n
    assert 1 - 2 * tail == pytest.approx(confidence, abs=6e-4)


def test_five_values_do_not_bound_a_median():
    assert median([3, 1, 2, 5, 4]) == (3, None)
    assert median([3, 1, 2, 5, 4], 0.1).interval == (1, 5)


def test_failed_trials_count_in_a_median():
    assert median([1, 2, math.inf]).value == 2
    assert median([1, math.inf, math.inf]).value == math.inf
    assert median([-math.inf, math.inf]).value == 0


def test_qn_by_its_definition():
    """Of 4 values k = 3 of 6 distances; of 5, k = 3 of 10."""
    assert qn([1, 2, 4, 8]) == pytest.approx(2.2219 * 0.512 * 3)
    assert qn([1, 2, 4, 8, 16]) == pytest.approx(2.2219 * 0.844 * 3)


@pytest.mark.parametrize("n", [4, 9, 10, 11, 25])
def test_qn_estimates_the_standard_deviation_of_normal_values(n):
    rng = np.random.default_rng(n)
    assert np.mean([qn(rng.normal(7, 2, n)) for _ in range(2000)]) == pytest.approx(2, rel=0.03)


@pytest.mark.parametrize("scale", SCALES)
def test_a_scale_ignores_place_and_follows_the_unit(scale):
    values = np.random.default_rng(1).standard_t(3, 31)
    assert scale(-3 * values[::-1] + 100) == pytest.approx(3 * scale(values))
    assert scale([*values, 1e9]) < 1.5 * scale(values)
    assert scale([5.0] * 9) == 0


@pytest.mark.parametrize("location", LOCATIONS)
def test_a_location_moves_with_the_values(location):
    values = np.random.default_rng(1).standard_t(3, 31)
    assert location(-3 * values[::-1] + 100) == pytest.approx(100 - 3 * location(values))
    assert location([*values, 1e9]) == pytest.approx(location(values), abs=0.2)
    assert location([5.0] * 9) == 5


def test_huber_of_mostly_equal_values_is_their_median():
    assert huber([1, 1, 1, 1, 9]) == 1


def test_what_has_no_answer():
    assert [f([]) for f in (median, mad, qn, huber, trimmed_mean)] == [None] * 5
    assert [f([1, math.inf]) for f in (mad, qn, huber, trimmed_mean)] == [None] * 4
    assert qn([1.0]) is None
    assert (mad([1.0]), huber([1.0]), trimmed_mean([1.0])) == (0, 1, 1)
    with pytest.raises(ValueError, match="share to trim"):
        trimmed_mean([1, 2], 0.5)
