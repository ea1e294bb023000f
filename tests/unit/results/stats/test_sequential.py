import math

import numpy as np
import pytest

from tare.results.stats import looks
from tare.results.stats.sequential import Rule, Stop, Verdict

RULE = Rule(cap=100, minimum=8, margin=math.log(1.02))
RUNS = 1000


def noise(kind, seed, runs=RUNS, n=100):
    """Log ratios of A/A pairs."""
    rng = np.random.default_rng(seed)
    if kind == "normal":
        return rng.normal(0, 0.02, (runs, n))
    if kind == "heavy":
        return rng.standard_t(2, (runs, n)) * 0.02
    # A drift far larger than the noise falls on both trials of a block; a coin orders them.
    drift = np.cumsum(rng.normal(0, 0.02, (runs, 2 * n)), axis=1)
    coin = rng.choice([-1, 1], (runs, n))
    return coin * (drift[:, 1::2] - drift[:, ::2])


def run_until_stopped(log_ratios, rule=RULE):
    """Judge after every block that is a look, as a run does, and stop when the rule says so."""
    for n in looks(rule.cap):
        found = rule.judge(log_ratios[:n], ended=n == rule.cap)
        if found.stop is not Stop.NOT_YET:
            return found
    raise AssertionError


@pytest.mark.parametrize("kind", ["normal", "heavy", "drift"])
def test_of_identical_platforms_at_most_one_in_twenty_is_called_different(kind):
    found = [RULE.judge(pairs, ended=True) for pairs in noise(kind, seed=1)]
    wrong = sum(one.verdict in (Verdict.SLOWER, Verdict.FASTER) for one in found)
    assert wrong <= 0.055 * RUNS
    assert sum(one.p <= 0.05 for one in found) <= 0.055 * RUNS


@pytest.mark.parametrize("cost", [1.0, 1.03])
@pytest.mark.parametrize("kind", ["normal", "heavy", "drift"])
def test_the_interval_at_the_stop_covers_the_truth(kind, cost):
    truth = math.log(cost)
    found = [run_until_stopped(pairs + truth) for pairs in noise(kind, seed=2, runs=400)]
    covered = sum(one.interval.low <= truth <= one.interval.high for one in found)
    assert covered >= 0.93 * len(found)


def test_no_look_of_a_comparison_misses_the_truth_more_than_allowed():
    open_ended = Rule(cap=100, minimum=8, margin=0)
    found = [open_ended.judge(pairs, ended=True) for pairs in noise("normal", seed=3)]
    assert 0.93 * RUNS <= sum(one.stop is Stop.MAXIMUM for one in found) <= RUNS


def test_a_real_cost_is_found_soon():
    found = [run_until_stopped(pairs + math.log(1.03)) for pairs in noise("normal", 4, runs=100)]
    assert sum(one.verdict is Verdict.SLOWER for one in found) >= 95
    assert np.median([one.decided_at for one in found]) <= 15


def test_a_run_that_stops_and_a_complete_one_say_the_same():
    for pairs in noise("normal", seed=5, runs=50) + 0.012:
        stopped, complete = run_until_stopped(pairs), RULE.judge(pairs, ended=True)
        assert (stopped.verdict, stopped.stop, stopped.decided_at) == (
            complete.verdict,
            complete.stop,
            complete.decided_at,
        )


def test_between_looks_nothing_changes():
    pairs = noise("normal", seed=6)[0]
    assert RULE.judge(pairs[:14], ended=False) == RULE.judge(pairs[:11], ended=False)


def test_a_size_is_not_claimed_of_pairs_of_which_a_quarter_failed():
    rule = Rule(cap=100, minimum=8, margin=0.02, precision=0.02)
    few, many = (np.tile([math.inf, -math.inf, *[0.001] * n], 20)[:80] for n in (8, 2))
    assert rule.judge(few, ended=True).verdict is Verdict.SAME
    assert rule.judge(many, ended=True).verdict is Verdict.UNDECIDED
    assert rule.judge(many, ended=True).stop is Stop.MAXIMUM


def test_failures_alone_can_decide_which_is_better():
    assert RULE.judge(np.full(8, math.inf), ended=False).verdict is Verdict.SLOWER
    assert RULE.judge(np.full(8, -math.inf), ended=False).verdict is Verdict.FASTER


def test_the_end_is_a_look_whatever_the_number_of_pairs():
    pairs = noise("normal", seed=7)[0]
    assert RULE.judge(pairs[:97], ended=True).look == 97
    assert RULE.judge(pairs[:97], ended=False).look == 89


def test_fewer_pairs_than_the_first_look_have_no_interval():
    found = RULE.judge(np.full(2, 0.1), ended=False)
    assert (found.stop, found.look, found.interval, found.p) == (Stop.NOT_YET, None, None, 1)
    assert RULE.judge(np.empty(0), ended=True).stop is Stop.MAXIMUM


def test_a_precise_interval_stops_without_a_verdict_and_may_still_get_one():
    rule = Rule(cap=100, minimum=8, margin=0.0, precision=0.05)
    pairs = np.concatenate([[0.01, -0.01] * 4, np.full(92, 0.02)])
    early, late = rule.judge(pairs[:8], ended=False), rule.judge(pairs, ended=True)
    assert (early.stop, early.verdict, early.decided_at) == (Stop.PRECISE, Verdict.UNDECIDED, 8)
    assert (late.stop, late.verdict) == (Stop.EXCLUDES_ONE, Verdict.SLOWER)


def test_a_level_that_eight_pairs_cannot_reach_waits_for_more():
    rule = Rule(cap=400, minimum=8, margin=0.02)
    assert rule.judge(np.full(8, 0.1), ended=False).verdict is Verdict.UNDECIDED
    assert rule.judge(np.full(11, 0.1), ended=False).verdict is Verdict.SLOWER
