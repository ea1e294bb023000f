"""Looks at 3 to 7 pairs: the numbers of METHOD.md 2.4b, worked examples, what they never say."""

import math

import numpy as np
import pytest
from scipy import stats

from proof.designs import blocks
from proof.noise import MODELS
from tare.results.stats.early import early_look, width_factor
from tare.results.stats.schedule import all_looks, early_looks, level, looks, sequential_p
from tare.results.stats.sequential import LookKind, Rule, Stop, Verdict

MARGIN = math.log(1.02)
RULE = Rule(cap=100, minimum=3, margin=MARGIN)
QUIET = np.zeros(8)
"""A control that scatters less than the floor."""


def judge(pairs, control=QUIET, rule=RULE, ended=False):
    return rule.judge(np.array(pairs), control=control, ended=ended)


# The looks, and how wide they are.


def test_early_looks_come_before_those_by_ranks():
    assert early_looks(100) == (3, 4, 5, 6, 7)
    assert all_looks(27) == (3, 4, 5, 6, 7, 8, 11, 15, 20, 27)
    assert all_looks(5) == (3, 4, 5)
    assert all_looks(2) == ()


@pytest.mark.parametrize(("cap", "last"), [(30, 7), (60, 7), (100, 7), (101, 8), (400, 8)])
def test_there_is_an_early_look_at_eight_only_where_ranks_cannot_reject_there(cap, last):
    assert early_looks(cap)[-1] == last
    assert (level(cap) < 2 / 2**8) is (last == 8)
    assert all_looks(cap).count(8) == 1


@pytest.mark.parametrize(
    ("n", "factor"), [(3, 18.244), (4, 6.462), (5, 3.851), (6, 2.804), (7, 2.252), (8, 1.912)]
)
def test_half_the_width_is_students_quantile_of_999_per_mille(n, factor):
    assert width_factor(n) == pytest.approx(factor, abs=0.0005)
    assert width_factor(n) == pytest.approx(stats.t.ppf(0.9995, n - 1) / math.sqrt(n))


def test_the_interval_is_students_where_the_pairs_are_the_noisiest():
    pairs = np.array([0.5, 0.6, 0.7])  # mean 0.6, SD 0.1
    found = early_look(pairs, np.array([0.05, -0.05, 0.05]))

    assert found.interval == pytest.approx((0.6 - 1.8244, 0.6 + 1.8244), abs=1e-4)
    assert found.interval == pytest.approx(
        stats.t.interval(0.999, 2, loc=0.6, scale=0.1 / math.sqrt(3))
    )
    assert found.p == pytest.approx(stats.ttest_1samp(pairs, 0).pvalue)


def test_the_control_widens_it_by_its_distance_from_0_and_not_from_its_mean():
    found = early_look(np.array([0.5, 0.6, 0.7]), np.full(3, 0.3))

    assert found.interval == pytest.approx((0.6 - 18.244 * 0.3, 0.6 + 18.244 * 0.3), abs=1e-3)
    assert found.p == pytest.approx(2 * stats.t.sf(math.sqrt(3) * 0.6 / 0.3, 2))


def test_no_pairs_are_believed_to_scatter_by_less_than_2_percent():
    found = early_look(np.full(4, 0.5), QUIET[:4])

    assert found.interval == pytest.approx((0.5 - 6.462 * 0.02, 0.5 + 6.462 * 0.02), abs=1e-4)


@pytest.mark.parametrize(("n", "least"), [(3, 0.47), (4, 0.16), (5, 0.10), (6, 0.08), (7, 0.07)])
def test_the_least_cost_that_so_few_pairs_can_show(n, least):
    edge = math.log(1.02) + 0.02 * width_factor(n)
    assert math.expm1(edge) == pytest.approx(least, abs=0.006)
    assert judge(np.full(n, edge + 1e-6)).decided_at == n
    assert judge(np.full(n, edge - 1e-6)).decided_at is None


# What a look decides.


@pytest.mark.parametrize(("sign", "verdict"), [(1, Verdict.SLOWER), (-1, Verdict.FASTER)])
def test_an_obvious_difference_is_decided_at_three_pairs(sign, verdict):
    found = judge([sign * 1.0] * 3)

    assert (found.stop, found.verdict) == (Stop.EXCLUDES_ONE, verdict)
    assert (found.decided_at, found.decided_by) == (3, LookKind.EARLY)
    assert (found.look, found.interval_by) == (3, LookKind.EARLY)


def test_there_is_an_interval_from_three_pairs_on_whatever_it_says():
    assert judge([0.0, 0.1]).interval is None
    for n in range(3, 8):
        found = judge([0.0, 0.1, -0.1, 0.05, 0.0, 0.1, -0.1][:n])
        assert (found.look, found.interval_by) == (n, LookKind.EARLY)
        assert found.interval.low < 0 < found.interval.high


def test_an_interval_that_leaves_out_0_but_not_the_margin_decides_nothing():
    pairs = np.full(7, 0.055)  # 0.055 - 2.252 * 0.02 = 0.010, below ln 1.02
    found = judge(pairs)

    assert 0 < found.interval.low < MARGIN
    assert found.verdict is Verdict.UNDECIDED


def test_few_pairs_are_never_the_same_and_never_precise():
    wide = Rule(cap=100, minimum=3, margin=0.5, precision=0.5)
    for n in range(3, 8):
        assert judge(np.zeros(n), rule=wide).stop is Stop.NOT_YET
    assert judge(np.zeros(8), rule=wide).verdict is Verdict.SAME


@pytest.mark.parametrize(
    "control",
    [None, np.full(8, math.nan), np.array([0.0, 0.0, *[math.nan] * 6]), np.full(8, math.inf)],
)
def test_without_three_ratios_of_the_control_there_is_an_interval_and_no_verdict(control):
    found = judge([1.0] * 7, control)

    assert found.interval == pytest.approx((1 - 2.252 * 0.02, 1 + 2.252 * 0.02), abs=1e-4)
    assert (found.stop, found.verdict, found.p) == (Stop.NOT_YET, Verdict.UNDECIDED, 1)
    assert judge([1.0] * 8, control).decided_by is LookKind.RANKS


def test_three_ratios_of_the_control_are_enough():
    control = np.array([math.nan, 0.0, 0.0, math.nan, 0.0, 0.0])

    assert judge([1.0] * 4, control).decided_at is None
    assert judge([1.0] * 5, control).decided_at == 5


def test_a_control_that_is_as_wild_as_the_platform_keeps_all_undecided():
    assert judge([1.0] * 4, np.array([1.0, -1.0, 1.0, -1.0])).verdict is Verdict.UNDECIDED


def test_a_pair_without_a_ratio_ends_the_early_looks_and_keeps_their_last():
    found = judge([0.1, 0.1, 0.1, 0.1, math.inf, 0.1, 0.1])

    assert (found.look, found.decided_at) == (4, None)
    assert math.isfinite(found.interval.low)
    assert judge([math.inf, *[1.0] * 6]).interval is None


def test_a_later_look_without_an_interval_does_not_blank_the_one_before():
    rule = Rule(cap=400, minimum=3, margin=MARGIN)
    pairs = [0.1, -0.1, 0.1, -0.1, 0.1, -0.1, 0.1, math.inf]

    assert judge(pairs, rule=rule).look == 7
    assert judge(pairs, rule=rule).interval == judge(pairs[:7], rule=rule).interval


def test_where_ranks_cannot_reject_at_eight_pairs_an_early_look_is_there():
    rule = Rule(cap=400, minimum=3, margin=MARGIN)
    # By the floor 7 pairs show 6.7 % at the least, and 8 pairs 5.9 %.
    found = judge(np.full(8, math.log(1.063)), rule=rule)

    assert (found.decided_at, found.decided_by) == (8, LookKind.EARLY)


def test_the_minimum_bounds_verdicts_and_no_interval():
    rule = Rule(cap=100, minimum=8, margin=MARGIN)
    early, late = judge([1.0] * 5, rule=rule), judge([1.0] * 8, rule=rule)

    assert (early.look, early.verdict) == (5, Verdict.UNDECIDED)
    assert (late.decided_at, late.decided_by) == (8, LookKind.RANKS)
    twenty = Rule(cap=100, minimum=20, margin=MARGIN)
    assert (judge([1.0] * 15, rule=twenty).look, judge([1.0] * 15, rule=twenty).stop) == (
        15,
        Stop.NOT_YET,
    )
    assert judge([1.0] * 20, rule=twenty).decided_at == 20


def test_the_end_of_the_measuring_decides_whatever_the_minimum():
    rule = Rule(cap=20, minimum=20, margin=MARGIN)

    assert judge([1.0] * 17, rule=rule, ended=True).decided_at == 17
    assert judge([1.0] * 5, rule=Rule(cap=5, minimum=5, margin=MARGIN), ended=True).decided_at == 5


def test_an_early_verdict_stays_while_later_looks_give_the_interval():
    pairs = [1.0] * 3 + [1.0, 1.1, 0.9, 1.05, 0.95]
    found = judge(pairs)

    assert (found.decided_at, found.decided_by) == (3, LookKind.EARLY)
    assert (found.look, found.interval_by) == (8, LookKind.RANKS)
    assert found.interval == (0.9, 1.1)


# p over all looks.


def test_p_allows_for_looks_of_both_kinds():
    assert sequential_p([], 100, [0.01, 0.0001]) == pytest.approx(50 * 0.0001)
    assert sequential_p([0.001], 100, [0.0001]) == pytest.approx(0.005)
    assert sequential_p([0.0001], 100, [0.0001]) == pytest.approx(0.0007)
    assert sequential_p([0.0001], 400, [0.9]) == pytest.approx(0.0009)
    assert sequential_p([0.5], 100, [0.5]) == 1


def test_p_of_a_comparison_is_that_of_its_best_look():
    found = judge([1.0] * 3)

    p = 2 * stats.t.sf(math.sqrt(3) / 0.02, 2)
    assert found.p == pytest.approx(50 * p)
    assert judge([1.0] * 4).p < found.p


# How often it is wrong.


@pytest.mark.parametrize("noise", MODELS, ids=lambda noise: noise.name)
def test_equal_platforms_seldom_alarm_early_on_a_noise_of_the_host(noise):
    made = blocks(noise, np.random.default_rng(1), 1000, 1, cap=7)
    alarms = [RULE.judge(d, control=c, ended=False).decided_at for d, c in made.pairs]

    assert sum(one is not None for one in alarms) <= 3


def test_the_intervals_of_the_early_looks_hold_together():
    rng = np.random.default_rng(2)
    missed = 0
    for pairs in rng.normal(0, 0.1, (4000, 7)):  # a control that is silent is the worst
        ends = [early_look(pairs[:n], QUIET[:n]).interval for n in range(3, 8)]
        missed += any(not one.low <= 0 <= one.high for one in ends)

    assert 0.001 < missed / 4000 < 0.006  # five looks of 0.1 %, which are alike


def test_large_costs_are_decided_soon_and_never_the_wrong_way():
    rng = np.random.default_rng(3)
    pairs, control = rng.normal(math.log(14), 0.2, (500, 7)), rng.normal(0, 0.2, (500, 7))
    found = [RULE.judge(d, control=c, ended=False) for d, c in zip(pairs, control, strict=True)]

    assert {one.verdict for one in found} == {Verdict.SLOWER}
    assert np.median([one.decided_at for one in found]) <= 4


def test_ranks_have_the_looks_they_had():
    assert looks(100)[:3] == (8, 11, 15)
