"""Which pairs share an instance, and what a row says of it."""

import math
from dataclasses import replace

import numpy as np
import pytest

from tare.core.model import Kind, Replicates, Status
from tare.present.view.flags import flag_texts
from tare.results.checks.warmup import unsteady
from tare.results.compare.instances import instance_pairs
from tare.results.compare.pairing import History
from tare.results.stats.sequential import Verdict
from tare.results.study import compare, decided
from unit.makers import RATE, TIME, make_cell, make_plan, make_trial

LEVEL = 6
"""A seed with which no look finds anything between instances."""


HOST, DOCKER = make_cell("host"), make_cell("host/docker")


def plan(*, metric=TIME, **repetition):
    return make_plan(HOST, DOCKER, metrics=(metric,), **repetition)


def trial(of, block, instance, value=1.0, *, kind=Kind.MEASURED, name="time"):
    samples = {name: float(value)}
    return make_trial(of, block, kind=kind, instance=str(instance), samples=samples)


def history(*instances):
    return History({block: trial(HOST, block, one) for block, one in enumerate(instances)})


def pairs(mine, theirs, replicates=Replicates.INSTANCES):
    blocks = range(len(mine))
    sides = history(*mine), history(*theirs)
    for side in sides:
        side.replicates = replicates
    return instance_pairs(*sides, blocks)


def study(luck=0.0, noise=0.002, *, blocks=20, instances=5, seed=1, cost=1.0):
    """Trials of two equal platforms whose instances may differ, rotated over the blocks."""
    rng = np.random.default_rng(seed)
    lucks = rng.normal(0, luck, (2, blocks)) if luck else np.zeros((2, blocks))
    return [
        trial(one, b, b % instances, factor * math.exp(own[b % instances] + rng.normal(0, noise)))
        for one, own, factor in ((HOST, lucks[0], 1.0), (DOCKER, lucks[1], cost))
        for b in range(blocks)
    ]


def row(trials, **repetition):
    (found,) = compare(plan(**repetition), trials).comparisons
    return found


def test_blocks_of_one_pair_of_instances_are_one_group():
    assert pairs("abcab", "xyzxy") == (0, 1, 2, 0, 1)


def test_pairs_that_share_one_side_only_are_one_group_too():
    # After block 1 the cell's instance was replaced alone, after block 3 the baseline's.
    assert pairs("aabbb", "xxxxy") == (0, 0, 0, 0, 0)
    assert pairs("aabb", "xxyy") == (0, 0, 2, 2)


def test_a_late_link_joins_groups_that_were_apart():
    assert pairs("abca", "xyzy") == (0, 0, 2, 0)


def test_the_names_of_the_two_sides_have_nothing_to_do_with_each_other():
    assert pairs("ab", "ba") == (0, 1)


def test_trials_that_name_no_instance_share_none():
    assert pairs(["", "", "a"], ["", "", "a"]) == (0, 1, 2)


def test_every_trial_of_a_lifecycle_makes_its_own():
    assert pairs("aaa", "xxx", Replicates.TRIALS) == ()


def test_in_a_duet_instances_of_one_label_on_either_cpus_are_one_group():
    """What the sets of CPUs differ in is balanced within it."""
    mine, theirs = history("a", "a"), history("x", "x")
    for one in (mine, theirs):
        one.trials = {b: replace(t, cpuset=str(b)) for b, t in one.trials.items()}
    assert instance_pairs(mine, theirs, range(2)) == (0, 0)


def test_instances_that_differ_are_the_replicates_and_the_row_says_so():
    found = row(study(luck=0.02))

    assert (found.pairs, found.instances, found.replicates) == (20, 5, 5)
    assert found.icc > 0.9
    assert found.verdict is Verdict.UNDECIDED
    assert "5 instances are the replicates, not 20 blocks." in " ".join(flag_texts(found.flags))
    assert found.low < found.cost < found.high


def test_it_never_goes_back_to_blocks():
    found = row(study(seed=2))

    assert (found.replicates, found.icc) == (5, 0)
    assert flag_texts(found.flags) == ()


def test_a_difference_that_all_instances_show_is_still_decided():
    found = row(study(luck=0.01, cost=1.5))
    assert found.verdict is Verdict.SLOWER
    assert found.decided_at == 8
    assert found.low < 1.5 < found.high


def test_blocks_are_the_replicates_where_nothing_lies_between_instances():
    found = row(study(seed=LEVEL))

    assert found.replicates == found.pairs == 20
    assert found.instances == 5
    assert found.icc == 0
    assert flag_texts(found.flags) == ()


def test_one_instance_that_always_fails_does_not_make_a_platform_slower():
    trials = [
        replace(one, status=Status.FAILED, samples={}, reason="it broke")
        if one.cell == DOCKER.id and one.instance == "3"
        else one
        for one in study(noise=0.01, blocks=49)
    ]
    found = row(trials)
    assert found.verdict is not Verdict.SLOWER
    assert not any(math.isnan(n) for n in (found.cost, found.low, found.high, found.p) if n)


def test_few_instances_are_said_to_be_few_only_where_the_plan_has_few():
    said = "Measured in 2 instances of each platform"
    assert any(
        flag.startswith(said) for flag in flag_texts(row(study(instances=2), instances=2).flags)
    )
    assert not any(flag.startswith(said) for flag in flag_texts(row(study(), instances=5).flags))


def test_one_instance_is_called_one():
    flags = flag_texts(row(study(instances=1), instances=1).flags)
    assert any(flag.startswith("Measured in one instance of each platform") for flag in flags)


def test_what_is_decided_stays_decided_when_instances_turn_out_to_differ():
    """Each look sees only the blocks before it, so what follows cannot take it back."""
    calm = study(noise=0.001, cost=1.01, blocks=8)
    wild = [
        trial(one, b, b % 5, 1 + 0.3 * (b % 5) * (one is DOCKER))
        for one in (HOST, DOCKER)
        for b in range(8, 49)
    ]
    assert row(calm).verdict is Verdict.SLOWER
    assert row(calm + wild).verdict is Verdict.SLOWER
    assert DOCKER.id in decided(plan(), calm + wild)


def warming(height, *, warmups=1, cold=2, blocks=30, name="time", rate=False, noise=0.002):
    """Five instances; the first ``cold`` trials after the warm-up take that much longer."""
    rng = np.random.default_rng(3)
    trials = []
    for block in range(blocks):
        for one in (HOST, DOCKER):
            if block < 5:
                warm = trial(one, block, block, 2.0, kind=Kind.WARMUP, name=name)
                trials += [warm] * warmups
            value = 1 + height * (block < 5 * cold) + rng.normal(0, noise)
            trials.append(trial(one, block, block % 5, 1 / value if rate else value, name=name))
    return trials


def test_trials_that_had_not_levelled_are_flagged_and_counted_all_the_same():
    found = row(warming(0.03))

    (flag,) = (flag for flag in flag_texts(found.flags) if flag.startswith("Not steady"))
    assert "after 1 warm-up trial they still became 2.9 % faster (2 more" in flag
    assert "Later instances have 3 warm-ups." in flag
    assert found.pairs == 30


def test_a_declared_number_of_warm_ups_is_not_said_to_change():
    (flag,) = (
        f for f in flag_texts(row(warming(0.03), warmup=1).flags) if f.startswith("Not steady")
    )
    assert "Later" not in flag


def test_a_rate_that_rises_is_faster_too():
    trials = warming(0.03, name="rate", rate=True)
    ((_, found),) = unsteady(plan(metric=RATE), trials).items()
    assert (found.declared, found.cut, found.warmups) == (1, 2, 3)
    assert found.speedup == pytest.approx(0.03, abs=0.005)


@pytest.mark.parametrize("height", [0.0, 0.004], ids=["level", "less than half the margin"])
def test_what_has_levelled_is_not_flagged(height):
    assert unsteady(plan(), warming(height)) == {}


def test_instances_that_had_more_warm_ups_do_not_say_what_is_needed():
    trials = warming(0.03)
    later = [replace(one, instance=f"{one.instance}r1") for one in warming(0.0, warmups=3)]
    ((_, found),) = unsteady(plan(), trials + later).items()
    assert found.warmups == 3


def test_series_that_are_short_or_broken_say_nothing():
    assert unsteady(plan(), warming(0.03, blocks=12)) == {}
    failed = [replace(one, status=Status.FAILED, samples={}) for one in warming(0.03)]
    assert unsteady(plan(), failed) == {}
    zero = [replace(one, samples={"time": 0.0}) for one in warming(0.03)]
    assert unsteady(plan(), zero) == {}
    assert unsteady(plan(), []) == {}
