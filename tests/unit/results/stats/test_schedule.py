import pytest

from tare.results.stats import level, looks
from tare.results.stats.holm import holm
from tare.results.stats.power import blocks_needed, detectable
from tare.results.stats.schedule import sequential_p


def test_looks_are_geometric_and_end_at_the_cap():
    assert looks(100) == (8, 11, 15, 20, 27, 36, 49, 66, 89, 100)
    assert looks(200) == (8, 11, 15, 20, 27, 36, 49, 66, 89, 120, 162, 200)
    assert looks(8) == (8,)


def test_a_cap_below_the_first_look_has_none():
    assert looks(7) == ()


@pytest.mark.parametrize(
    ("cap", "expected"),
    [(30, 0.015), (31, 0.0105), (100, 0.009), (101, 0.0077), (400, 0.0065), (5, 0.015)],
)
def test_the_level_is_that_of_the_next_simulated_cap(cap, expected):
    assert level(cap) == expected


def test_beyond_the_simulated_caps_the_level_is_bonferroni():
    assert level(1000) == pytest.approx(0.045 / len(looks(1000)))
    assert sequential_p([0.001], 1000) == pytest.approx(0.001 * len(looks(1000)) / 0.9)


def test_the_sequential_p_allows_for_the_looks():
    assert sequential_p([0.3, 0.01, 0.02], 100) == pytest.approx(0.07)
    assert sequential_p([0.01], 400) == pytest.approx(0.09)
    assert sequential_p([0.5], 100) == 1
    assert sequential_p([], 100) == 1


def test_holm_on_a_worked_example():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


def test_power_matches_the_method():
    assert blocks_needed(spread=0.015, effect=0.01) == 27
    assert blocks_needed(spread=0.066, effect=0.03) == 59
    assert blocks_needed(spread=0.001, effect=0.03) == 8
    assert detectable(spread=0.02, n=49) == pytest.approx(0.01)
