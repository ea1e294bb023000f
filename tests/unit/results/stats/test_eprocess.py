import itertools
import math

import numpy as np
import pytest

from tare.results.stats.eprocess import (
    CLIP,
    ESTABLISHED,
    FIRST_SEEN,
    STRENGTHS,
    e_values,
    established,
)


def test_over_all_signs_the_stake_is_1_on_average_at_every_block():
    """The defining property, exact for any sizes (Ville 1939)."""
    sizes = np.abs(np.random.default_rng(1).standard_t(2, 9))
    stakes = [e_values(sizes * signs) for signs in itertools.product((-1, 1), repeat=9)]
    assert np.mean(stakes, axis=0) == pytest.approx(np.ones(9))


def test_the_stake_by_hand():
    """Of two equal values the running median is that value, so each bet is on a size of 1."""
    wins = [math.exp(s) / math.cosh(s) for s in (*STRENGTHS, *(-s for s in STRENGTHS))]
    expected = [np.mean(wins), np.mean(np.square(wins))]
    assert e_values([0.03, 0.03]) == pytest.approx(expected)


def test_eight_that_agree_establish_a_difference():
    assert established([0.01] * 20) == 8
    assert established([-0.01] * 20) == 8
    assert established([0.01] * 20, centre=0.01) is None
    assert established([0.01] * 7) is None


@pytest.mark.parametrize("quiet", [0, 30, FIRST_SEEN - 4, FIRST_SEEN * 3, FIRST_SEEN * 5])
def test_it_is_established_where_the_stake_first_reaches_20(quiet):
    d = np.tile([0.01, -0.01], quiet)
    d = np.concatenate([d, np.full(FIRST_SEEN, 0.03)])
    (reached, *_) = np.flatnonzero(e_values(d) >= ESTABLISHED)
    assert established(d) == reached + 1


def test_what_is_no_number_is_refused_wherever_it_stands():
    with pytest.raises(ValueError, match="is NaN"):
        established([0.01] * 500 + [math.nan])


def test_a_true_null_is_seldom_established_however_often_one_looks():
    rng = np.random.default_rng(2)
    bursts = rng.normal(0, 1, (400, 60)) * rng.lognormal(0, 1.5, (400, 60))
    assert np.mean([established(d) is not None for d in bursts]) < 0.05


def test_sign_and_unit_do_not_change_the_stake():
    d = np.random.default_rng(3).normal(0.5, 1, 40)
    assert e_values(-d) == pytest.approx(e_values(d))
    assert e_values(d * 1e-9) == pytest.approx(e_values(d))
    assert e_values(d + 7, centre=7) == pytest.approx(e_values(d))


def test_the_stake_after_a_block_does_not_know_later_blocks():
    d = np.random.default_rng(3).normal(0.5, 1, 40)
    assert e_values(d[:25]) == pytest.approx(e_values(d)[:25])


def test_one_wild_or_failed_block_wins_no_more_than_the_clip():
    wild, failed = e_values([0.1, 0.1, 1e9]), e_values([0.1, 0.1, math.inf])
    assert wild == pytest.approx(failed)
    assert failed == pytest.approx(e_values([0.1, 0.1, 0.1 * CLIP]))
    assert np.isfinite(e_values([math.inf] * 2000)).all()
    assert e_values([math.inf] * 8)[-1] > ESTABLISHED


def test_equal_values_neither_win_nor_lose():
    assert e_values([0.0] * 5) == pytest.approx(np.ones(5))
    assert e_values([0.0, 0.0, 0.1, 0.0, 0.1])[-1] > 1.5
    assert len(e_values([])) == 0
    assert established([]) is None
