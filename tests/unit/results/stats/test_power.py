import numpy as np
import pytest

from tare.results.stats import signed_rank
from tare.results.stats.power import (
    blocks_needed,
    detectable,
    minimum_detectable,
    power_paired_t,
    power_signed_rank,
)


def test_the_t_test_of_the_power_tables():
    """R: power.t.test(delta=.5, sd=1, power=.8, type="paired") gives n = 33.3671."""
    assert power_paired_t(0.5, 1, 33.3671) == pytest.approx(0.8, abs=1e-5)


@pytest.mark.parametrize(
    ("n", "effect", "level"), [(15, 1, 0.009), (30, 0.6, 0.009), (20, 0.7, 0.05)]
)
def test_the_signed_rank_test_rejects_as_often_as_predicted(n, effect, level):
    rng = np.random.default_rng(1)
    rejected = [signed_rank.p_value(rng.normal(effect, 1, n)) <= level for _ in range(1000)]
    assert np.mean(rejected) == pytest.approx(power_signed_rank(effect, 1, n, level), abs=0.05)


def test_at_8_pairs_the_prediction_is_at_most_a_tenth_too_high():
    rng = np.random.default_rng(1)
    rejected = np.mean([signed_rank.p_value(rng.normal(2, 1, 8)) <= 0.009 for _ in range(1000)])
    assert rejected < power_signed_rank(2, 1, 8, 0.009) < rejected + 0.12


@pytest.mark.parametrize("n", [8, 20, 100])
def test_the_minimum_detectable_effect_is_detected_with_that_power(n):
    effect = minimum_detectable(0.02, n, 0.009)
    assert power_signed_rank(effect, 0.02, n, 0.009) == pytest.approx(0.8)
    assert minimum_detectable(0.04, n, 0.009) == pytest.approx(2 * effect)
    assert detectable(0.02, n) == pytest.approx(effect, rel=0.35)


def test_power_does_not_depend_on_the_sign_and_grows_with_the_effect():
    effects = [0, 0.1, 0.3, 1, 3, 10, 1000]
    powers = [power_paired_t(e, 1, 10) for e in effects]
    assert powers == sorted(powers)
    assert powers[0] == 0.05
    assert powers[-1] == pytest.approx(1)
    assert [power_paired_t(-e, 1, 10) for e in effects] == powers


def test_what_too_few_pairs_can_show():
    assert minimum_detectable(0.02, 7, 0.009) is None
    assert power_signed_rank(9, 1, 5) == 0
    assert power_paired_t(9, 1, 1) == 0
    assert power_paired_t(9, 1, 2, 0.009) < 0.3 < power_paired_t(9e3, 1, 2, 0.009)


def test_without_spread_everything_shows():
    assert minimum_detectable(0, 8, 0.009) == 0
    assert power_signed_rank(0.01, 0, 8, 0.009) == 1
    assert power_signed_rank(0, 0, 8, 0.009) == 0.009
    assert blocks_needed(0, 0.01) == 8


def test_a_power_below_the_level_is_no_question():
    with pytest.raises(ValueError, match="between the level"):
        minimum_detectable(0.02, 8, 0.05, power=0.04)
