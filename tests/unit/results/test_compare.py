import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tare.core.model import (
    NO_FACTS,
    NO_RUN,
    Complaint,
    ComplaintKind,
    Kind,
    Status,
)
from tare.experiment.trial.peer import Peer
from tare.present.report import as_json, describe
from tare.present.view.flags import flag_texts
from tare.present.view.reasons import reason_text
from tare.results.stats.sequential import Stop, Verdict
from tare.results.store import Results
from tare.results.study import compare, decided
from unit.makers import LOSS, RATE, TIME, make_cell, make_trial
from unit.makers import make_plan as plan


def cell(stack, **others):
    return make_cell(stack, params=(("seconds", 1),), **others)


HOST, CONTROL = cell("host"), cell("host", replica=1)
DOCKER, QEMU, BOTH = cell("host/docker"), cell("host/qemu"), cell("host/qemu/docker")


def trial(of, block, status=Status.OK, **samples):
    return make_trial(of, block, status=status, samples=samples)


def series(of, factor=1.0, blocks=20, noise=0.002, name="time", seed=0):
    """Trials with a drift that all cells of a block share."""
    rng = np.random.default_rng([seed, int(of.id, 16)])
    drift = np.exp(np.linspace(0, 1, 200))
    values = factor * drift[:blocks] * np.exp(rng.normal(0, noise, blocks))
    return [trial(of, block, **{name: float(value)}) for block, value in enumerate(values)]


def failures(of, blocks, status=Status.FAILED, reason="it broke"):
    return [replace(trial(of, block, status), reason=reason) for block in blocks]


def row(of, found):
    return next(one for one in found.comparisons if one.cell == of)


def flags_of(one):
    """The flags of a row but for its baseline's drift, which the series above all share."""
    return tuple(
        flag for flag in flag_texts(one.flags) if not flag.startswith("Drift: the baseline")
    )


def assert_no_nan(found):
    for one in found.comparisons:
        numbers = (one.cost, one.low, one.high, one.p, one.holm_p, one.mde, one.noise_floor)
        assert not any(number is not None and math.isnan(number) for number in numbers)


def test_a_cost_is_the_ratio_to_the_baseline_of_the_same_block():
    found = row(DOCKER, compare(plan(HOST, DOCKER), series(HOST) + series(DOCKER, 1.10)))
    assert found.cost == pytest.approx(1.10, abs=0.003)
    assert found.degradation_percent == pytest.approx(10, abs=0.3)
    assert found.low < 1.10 < found.high
    assert found.low < found.fixed_low < found.fixed_high < found.high
    assert (found.verdict, found.stop) == (Verdict.SLOWER, Stop.EXCLUDES_ONE)
    assert (found.pairs, found.look, found.decided_at, found.level) == (20, 20, 8, 0.009)
    assert found.baseline == HOST
    assert found.primary


def test_a_rate_that_falls_is_a_cost_above_one():
    trials = series(HOST, name="rate") + series(DOCKER, 0.5, name="rate")
    found = row(DOCKER, compare(plan(HOST, DOCKER, metrics=(RATE,)), trials))
    assert found.cost == pytest.approx(2, rel=0.01)
    assert found.verdict is Verdict.SLOWER


def test_only_the_first_metric_is_primary_and_belongs_to_the_family_of_holm():
    trials = [
        replace(one, samples={"time": one.samples["time"], "rate": 1 / one.samples["time"]})
        for one in series(HOST) + series(DOCKER, 1.1) + series(QEMU, 1.0)
    ]
    found = compare(plan(HOST, DOCKER, QEMU, metrics=(TIME, RATE)), trials).comparisons
    assert [(one.metric.name, one.primary) for one in found[:2]] == [
        ("time", True),
        ("rate", False),
    ]
    assert found[0].cost == pytest.approx(found[1].cost)
    assert found[0].holm_p == pytest.approx(2 * found[0].p)
    assert found[1].holm_p is None


def test_no_difference_larger_than_the_margin_is_a_verdict():
    found = row(DOCKER, compare(plan(HOST, DOCKER), series(HOST) + series(DOCKER, 1.0)))
    assert (found.verdict, found.stop) == (Verdict.SAME, Stop.INSIDE_MARGIN)


def test_pairs_after_the_last_look_wait():
    trials = series(HOST, blocks=14) + series(DOCKER, 1.1, blocks=14)
    found = row(DOCKER, compare(plan(HOST, DOCKER), trials))
    assert (found.pairs, found.look) == (14, 11)
    until = [one for one in trials if one.block < 11]
    assert row(DOCKER, compare(plan(HOST, DOCKER), until)).cost == found.cost


def test_before_the_first_look_there_is_a_cost_and_no_interval():
    trials = series(HOST, blocks=2) + series(DOCKER, 1.1, blocks=2)
    found = row(DOCKER, compare(plan(HOST, DOCKER), trials))
    assert found.cost == pytest.approx(1.1, abs=0.01)
    assert (found.low, found.high, found.look, found.p) == (None, None, None, 1)
    assert (found.verdict, found.stop) == (Verdict.UNDECIDED, Stop.NOT_YET)


def test_a_verdict_stays_and_a_later_contradiction_is_said():
    later = [trial(DOCKER, block, time=0.7 if block % 2 else 1.4) for block in range(8, 36)]
    trials = [trial(HOST, block, time=1.0) for block in range(36)]
    trials += [trial(DOCKER, block, time=1.1) for block in range(8)] + later
    found = row(DOCKER, compare(plan(HOST, DOCKER), trials))
    assert (found.verdict, found.decided_at, found.look) == (Verdict.SLOWER, 8, 36)
    assert "Decided at 8 pairs; the interval of 36 pairs holds 1 again." in flag_texts(found.flags)


def test_the_control_gives_the_noise_floor_and_is_no_member_of_the_family():
    trials = series(HOST) + series(CONTROL) + series(DOCKER, 1.1)
    found = compare(plan(HOST, CONTROL, DOCKER), trials)
    control = row(CONTROL, found)
    floor = max(control.high, 1 / control.low) - 1
    assert 0 < floor < 0.01
    assert row(DOCKER, found).noise_floor == floor
    assert control.holm_p is None
    assert row(DOCKER, found).holm_p == row(DOCKER, found).p
    assert flags_of(row(DOCKER, found)) == ()


def test_a_control_that_differs_takes_the_trust_from_its_workload_only():
    other_host, other = cell("host", workload="disk"), cell("host/docker", workload="disk")
    trials = series(HOST) + series(CONTROL, 1.05) + series(DOCKER, 1.03)
    trials += series(other_host) + series(other, 1.03)
    found = compare(plan(HOST, CONTROL, DOCKER, other_host, other), trials)
    flags = flag_texts(row(DOCKER, found).flags)
    assert flags[0].startswith("NOT TRUSTED")
    assert flags[1].startswith("Below the noise floor of 5")
    assert flag_texts(row(CONTROL, found).flags)[0].startswith("NOT TRUSTED")
    assert flags_of(row(other, found)) == ()


def test_faster_than_its_baseline_is_implausible():
    trials = series(HOST) + series(CONTROL) + series(DOCKER, 0.9)
    found = row(DOCKER, compare(plan(HOST, CONTROL, DOCKER), trials))
    assert found.verdict is Verdict.FASTER
    assert flag_texts(found.flags)[0].startswith("IMPLAUSIBLE")


def test_a_failed_trial_counts_as_the_worst_value():
    trials = series(HOST, blocks=27) + series(DOCKER, 1.1, blocks=27)
    trials = [one for one in trials if one.cell == HOST.id or one.block not in (3, 5)]
    trials += failures(DOCKER, [3, 5], Status.DNR)
    found = row(DOCKER, compare(plan(HOST, DOCKER), trials))
    assert (found.pairs, found.failed, found.verdict) == (27, 2, Verdict.SLOWER)
    assert found.cost == pytest.approx(1.1, abs=0.01)
    assert flags_of(found) == ("Failed in 2 of 27 pairs, which count as the worst value.",)


def test_no_cost_is_made_of_the_lucky_trials():
    trials = series(HOST) + series(DOCKER, 1.1)[:15] + failures(DOCKER, range(15, 20))
    found = row(DOCKER, compare(plan(HOST, DOCKER), trials))
    assert (found.cost, found.degradation_percent, found.mde) == (None, None, None)
    assert (found.verdict, found.high) == (Verdict.SLOWER, math.inf)
    assert flag_texts(found.flags)[-1] == "No cost is given: too many pairs failed."


def test_a_cell_that_always_fails_is_not_measured_and_needs_no_more_blocks():
    trials = series(HOST) + failures(DOCKER, range(8))
    found = row(DOCKER, compare(plan(HOST, DOCKER), trials))
    assert (found.verdict, found.stop, found.p) == (Verdict.NOT_MEASURED, Stop.NOTHING, None)
    assert (
        reason_text(found.reason)
        == "it gave no number in any of 8 blocks; the last reason: it broke"
    )
    assert DOCKER.id in decided(plan(HOST, DOCKER), trials)


def test_a_failed_baseline_counts_for_the_cell():
    host = [one for one in series(HOST, blocks=27) if one.block not in (3, 5)]
    host += [*failures(HOST, [3], Status.DNR), trial(HOST, 5, time=-1.0)]
    found = row(DOCKER, compare(plan(HOST, DOCKER), host + series(DOCKER, 0.9, blocks=27)))
    assert (found.pairs, found.failed, found.baseline_failed) == (27, 0, 2)
    assert (found.verdict, found.left_out) == (Verdict.FASTER, 0)
    assert found.cost == pytest.approx(0.9, abs=0.01)
    assert flag_texts(found.flags)[:2] == (
        "The baseline failed in 2 of 27 pairs, which count as the best value.",
        "1 values are negative or not finite and have no ratio: they count as failed.",
    )


def test_a_block_in_which_both_failed_is_left_out():
    host = series(HOST)[:19] + failures(HOST, [19], Status.DNR)
    docker = series(DOCKER, 1.1)[:19] + failures(DOCKER, [19])
    found = row(DOCKER, compare(plan(HOST, DOCKER), host + docker))
    assert (found.pairs, found.failed, found.baseline_failed) == (19, 0, 0)
    assert (found.left_out, found.both_failed) == (1, 1)
    assert flags_of(found) == ("Left out 1 blocks in which both failed: they favour neither.",)


def test_a_baseline_without_a_trial_or_that_is_unavailable_makes_no_pair():
    host = series(HOST)[2:] + failures(HOST, [0], Status.UNAVAILABLE)
    found = row(DOCKER, compare(plan(HOST, DOCKER), host + series(DOCKER, 1.1)))
    assert (found.pairs, found.left_out, found.both_failed, found.look) == (18, 2, 0, 15)
    assert flags_of(found) == (
        "Left out 2 blocks in which the baseline has no number and did not fail.",
    )


@pytest.mark.parametrize("metric", [TIME, RATE])
@pytest.mark.parametrize("share", [0.1, 0.3])
def test_cell_and_baseline_that_change_places_turn_every_number_round(metric, share):
    rng = np.random.default_rng(3)
    one, other = (
        [
            failures(of, [each.block])[0] if rng.random() < share else each
            for each in series(of, cost, blocks=49, name=metric.name)
        ]
        for of, cost in ((HOST, 1), (QEMU, 1.01))
    )

    def found(base, cell):
        trials = [replace(each, cell=HOST.id) for each in base]
        trials += [replace(each, cell=QEMU.id) for each in cell]
        return row(QEMU, compare(plan(HOST, QEMU, metrics=(metric,)), trials))

    def reciprocal(cost):
        return cost if cost is None else math.inf if cost == 0 else pytest.approx(1 / cost)

    there, back = found(one, other), found(other, one)
    assert there.failed == back.baseline_failed > 0
    assert there.baseline_failed == back.failed > 0
    assert there.p == back.p
    assert (there.cost is None) == (share == 0.3)
    assert there.cost == reciprocal(back.cost)
    assert (there.low, there.high) == (reciprocal(back.high), reciprocal(back.low))
    assert (there.fixed_low, there.fixed_high) == (
        reciprocal(back.fixed_high),
        reciprocal(back.fixed_low),
    )


def test_identical_platforms_that_fail_at_random_are_seldom_told_apart():
    studies, blocks, noise = 500, 30, 0.02
    cells = [
        replace(one, id=f"{one.id}{i}", params=(("study", i),))
        for i in range(studies)
        for one in (HOST, DOCKER)
    ]
    rng = np.random.default_rng(1)
    failed = rng.random((blocks, len(cells))) < 0.1
    values = np.exp(rng.normal(0, noise, failed.shape))
    trials = [
        trial(of, block, Status.FAILED) if broke else trial(of, block, time=value)
        for block in range(blocks)
        for of, broke, value in zip(
            cells, failed[block].tolist(), values[block].tolist(), strict=True
        )
    ]
    rows = compare(plan(*cells, max_blocks=blocks, margin=0.0), trials).comparisons
    # A verdict is that of the first look that gave one, as of a study that ended there.
    told_apart = sum(one.verdict in (Verdict.SLOWER, Verdict.FASTER) for one in rows)
    assert 0.02 * studies < told_apart <= 0.055 * studies
    assert sum(one.failed for one in rows) == pytest.approx(0.09 * studies * blocks, rel=0.05)
    assert sum(one.both_failed for one in rows) == pytest.approx(0.01 * studies * blocks, rel=0.1)


def test_a_control_whose_baseline_fails_more_often_takes_the_trust():
    trials = failures(HOST, range(8)) + series(HOST)[8:11] + series(CONTROL) + series(DOCKER)
    found = compare(plan(HOST, CONTROL, DOCKER), trials)
    assert (row(CONTROL, found).verdict, row(CONTROL, found).low) == (Verdict.FASTER, 0)
    assert any(flag.startswith("NOT TRUSTED") for flag in flag_texts(row(DOCKER, found).flags))
    assert row(DOCKER, found).noise_floor is None


def test_failures_on_both_sides_make_nothing_the_same():
    trials = [trial(HOST, block, time=1.0) for block in range(100) if block % 3]
    trials += [trial(DOCKER, block, time=1.1) for block in range(100) if block % 3 != 1]
    trials += failures(HOST, range(0, 100, 3)) + failures(DOCKER, range(1, 100, 3))
    found = row(DOCKER, compare(plan(HOST, DOCKER), trials))
    assert (found.failed, found.baseline_failed, found.cost) == (33, 34, None)
    assert (found.verdict, found.stop) == (Verdict.UNDECIDED, Stop.MAXIMUM)


@pytest.mark.parametrize(
    ("host", "docker", "reason"),
    [
        (range(8), (), "the baseline has no number in any of 8 blocks"),
        (range(8), range(8), "it and the baseline failed in all 8 blocks of both"),
        (range(4), range(4, 8), "no block has a number of both it and the baseline"),
        (range(8), range(2), "the baseline has no number in any of 8 blocks"),
        (range(2), range(8), "it gave no number in any of 8 blocks"),
    ],
)
def test_where_failures_leave_no_number_the_reason_says_whose(host, docker, reason):
    trials = series(HOST, blocks=8) + series(DOCKER, blocks=8)
    trials = [
        failures(of, [one.block])[0] if one.block in bad else one
        for of, bad in ((HOST, host), (DOCKER, docker))
        for one in trials
        if one.cell == of.id
    ]
    found = row(DOCKER, compare(plan(HOST, DOCKER), trials))
    assert (found.verdict, found.cost, found.p) == (Verdict.NOT_MEASURED, None, None)
    assert reason_text(found.reason) == f"{reason}; the last reason: it broke"


def test_a_baseline_that_always_fails_needs_no_more_blocks():
    trials = failures(HOST, range(8)) + series(DOCKER, blocks=8)
    assert row(DOCKER, compare(plan(HOST, DOCKER), trials)).stop is Stop.NOTHING
    assert decided(plan(HOST, DOCKER), trials) == {HOST.id, DOCKER.id}


def test_what_the_host_cannot_do_is_not_measured_with_the_reason():
    missing = replace(trial(QEMU, 0, Status.UNAVAILABLE), reason="no /dev/kvm", kind=Kind.WARMUP)
    trials = [*series(HOST), *series(DOCKER, 1.1), missing]
    study = plan(HOST, DOCKER, QEMU)
    found = row(QEMU, compare(study, trials))
    assert (found.verdict, found.stop) == (Verdict.NOT_MEASURED, Stop.NOTHING)
    assert reason_text(found.reason) == "no /dev/kvm"
    assert row(DOCKER, compare(study, trials)).holm_p == row(DOCKER, compare(study, trials)).p
    assert decided(study, trials) == {HOST.id, DOCKER.id, QEMU.id}


def test_an_unavailable_baseline_is_the_reason():
    missing = replace(trial(HOST, 0, Status.UNAVAILABLE), reason="no root")
    study, trials = plan(HOST, DOCKER), [missing, *series(DOCKER, blocks=8)]
    found = row(DOCKER, compare(study, trials))
    assert reason_text(found.reason) == "the baseline is unavailable: no root"
    assert decided(study, trials[:8]) == set()
    assert decided(study, trials) == {HOST.id, DOCKER.id}


def test_a_plan_without_a_baseline_cell_is_no_crash():
    alone = plan(DOCKER, baseline="host")
    found = compare(alone, series(DOCKER))
    assert reason_text(row(DOCKER, found).reason) == "the plan has no baseline cell for it"
    assert compare(alone, []).comparisons[0].verdict is Verdict.NOT_MEASURED


def test_values_without_a_ratio_count_as_failed_and_are_said():
    trials = series(HOST, name="rate") + series(DOCKER, 0.9, name="rate")[:17]
    trials += [trial(DOCKER, 17 + i, rate=value) for i, value in enumerate((0.0, -1.0, math.nan))]
    found = row(DOCKER, compare(plan(HOST, DOCKER, metrics=(RATE,)), trials))
    assert (found.failed, found.zeros) == (3, 0)
    assert flag_texts(found.flags)[1].startswith("3 values are zero, negative or not finite")


@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
def test_a_baseline_of_impossible_values_is_no_crash(value):
    trials = [trial(HOST, block, rate=value) for block in range(9)]
    trials += series(DOCKER, blocks=9, name="rate")
    found = compare(plan(HOST, DOCKER, metrics=(RATE,)), trials)
    assert row(DOCKER, found).verdict is Verdict.NOT_MEASURED
    assert_no_nan(found)


def losses(of, values):
    return [trial(of, block, loss=float(value)) for block, value in enumerate(values)]


def test_a_side_that_loses_nothing_is_better_by_no_ratio():
    host = losses(HOST, [1e-5] * 3 + [0] * 17)
    docker = losses(DOCKER, 0.5 + np.linspace(0, 0.01, 20))
    study = plan(HOST, DOCKER, metrics=(LOSS,))
    there = row(DOCKER, compare(study, host + docker))
    assert (there.verdict, there.stop, there.cost) == (Verdict.SLOWER, Stop.EXCLUDES_ONE, None)
    assert there.p < 0.01
    assert (there.failed, there.baseline_failed, there.baseline_zeros) == (0, 0, 17)
    assert flags_of(there) == (
        "The baseline had 0 in 17 of 20 pairs, which has no ratio: it is better in them.",
        "No cost is given: in 17 of 20 pairs one side had 0, which has no ratio.",
    )
    assert DOCKER.id in decided(study, host + docker)

    swapped = [replace(one, cell=DOCKER.id) for one in host]
    swapped += [replace(one, cell=HOST.id) for one in docker]
    back = row(DOCKER, compare(study, swapped))
    assert (back.verdict, back.zeros, back.p) == (Verdict.FASTER, 17, there.p)


@pytest.mark.parametrize(
    ("host", "docker", "verdict"),
    [
        ([0] * 20, [0.5] * 20, Verdict.SLOWER),
        ([0.5] * 20, [0] * 20, Verdict.FASTER),
        ([0] * 20, [0] * 20, Verdict.SAME),
        ([0, 0.5] * 10, [0.5, 0] * 10, Verdict.UNDECIDED),
    ],
)
def test_zeros_on_either_side_are_a_verdict_and_no_failure(host, docker, verdict):
    trials = losses(HOST, host) + losses(DOCKER, docker) + losses(CONTROL, host)
    study = plan(HOST, CONTROL, DOCKER, metrics=(LOSS,), max_blocks=20)
    found = compare(study, trials)
    assert row(DOCKER, found).verdict is verdict
    assert row(CONTROL, found).verdict is Verdict.SAME
    assert row(DOCKER, found).cost == (1 if verdict is Verdict.SAME else None)
    said = " ".join((reason_text(row(DOCKER, found).reason), *flag_texts(row(DOCKER, found).flags)))
    assert "failed" not in said
    assert "no number" not in said
    assert_no_nan(found)


def test_blocks_in_which_neither_side_lost_anything_count_as_equal():
    trials = losses(HOST, [0] * 19 + [1e-3]) + losses(DOCKER, [0] * 18 + [1e-3] * 2)
    found = row(DOCKER, compare(plan(HOST, DOCKER, metrics=(LOSS,)), trials))
    assert (found.verdict, found.cost, found.pairs) == (Verdict.SAME, 1, 20)
    assert flags_of(found)[:2] == (
        "The baseline had 0 in 1 of 20 pairs, which has no ratio: it is better in them.",
        "Both had 0 in 18 of 20 pairs, which count as equal.",
    )


def test_a_failed_trial_is_worse_than_any_loss_and_a_zero_beside_it_is_no_zero():
    trials = [*failures(HOST, range(4)), *losses(HOST, [0] * 20)[4:], *losses(DOCKER, [0] * 20)]
    found = row(DOCKER, compare(plan(HOST, DOCKER, metrics=(LOSS,)), trials))
    assert (found.baseline_failed, found.zeros, found.baseline_zeros) == (4, 0, 0)


@pytest.mark.parametrize("seed", range(20))
def test_sides_with_zeros_that_change_places_turn_the_verdict_round(seed):
    rng = np.random.default_rng(seed)
    one, other = (
        np.where(rng.random(49) < share, 0, np.exp(rng.normal(-5, 1, 49)))
        for share in rng.random(2)
    )
    study = plan(HOST, DOCKER, metrics=(LOSS,), instances=1)
    there = row(DOCKER, compare(study, losses(HOST, one) + losses(DOCKER, other)))
    back = row(DOCKER, compare(study, losses(HOST, other) + losses(DOCKER, one)))
    turned = {Verdict.SLOWER: Verdict.FASTER, Verdict.FASTER: Verdict.SLOWER}
    assert back.verdict is turned.get(there.verdict, there.verdict)
    assert (back.p, back.zeros, back.baseline_zeros) == (there.p, there.baseline_zeros, there.zeros)
    assert (there.cost is None) == (back.cost is None)
    if there.cost is not None:
        assert there.cost * back.cost == pytest.approx(1)
    assert there.low in (0, math.inf) or back.high == pytest.approx(1 / there.low)


def test_a_metric_that_trials_do_not_have_is_not_measured():
    found = compare(plan(HOST, DOCKER, metrics=(TIME, RATE)), series(HOST) + series(DOCKER))
    assert found.comparisons[1].verdict is Verdict.NOT_MEASURED
    mixed = [*series(HOST), *series(DOCKER)[:19], trial(DOCKER, 19, rate=1.0)]
    found = row(DOCKER, compare(plan(HOST, DOCKER), mixed))
    assert (found.pairs, found.left_out) == (19, 1)


def test_suspect_trials_carry_numbers_and_are_counted():
    trials = [replace(one, status=Status.SUSPECT) for one in series(DOCKER, 1.1)[:3]]
    trials += series(DOCKER, 1.1)[3:] + series(HOST)
    found = compare(plan(HOST, DOCKER), trials)
    assert row(DOCKER, found).suspect == 3
    assert flags_of(row(DOCKER, found)) == ("Suspect in 3 of 20 pairs: the host was disturbed.",)
    assert found.summaries[1].counts == {Status.SUSPECT: 3, Status.OK: 17}
    assert found.summaries[1].values.n == 20


def test_what_the_machine_outside_limited_is_not_said_of_the_host():
    outside = Peer(None, "", "", [1], is_apart=False)
    busy, shared = outside.complaints({"outside_cpu": 1.0, "outside_thread": 1.0})
    foreign = Complaint(ComplaintKind.FOREIGN, {"share": 0.11})
    warnings = {0: (busy,), 1: ("a text", busy, shared), 2: (foreign, busy), 3: ()}
    trials = [
        replace(one, status=Status.SUSPECT, reason="words", warnings=warnings[one.block])
        if one.block in warnings
        else one
        for one in series(DOCKER, 1.1)
    ]
    found = row(DOCKER, compare(plan(HOST, DOCKER), [*trials, *series(HOST)]))
    assert found.suspect == 4
    assert flags_of(found) == (
        "Suspect in 2 of 20 pairs: the host was disturbed.",
        "Limited by the machine outside in 3 of 20 pairs: it was busy, and what is compared may be "
        "its own number on both sides.",
        "The machine outside shared the trial's CPUs in 1 of 20 pairs.",
    )


def test_of_repeated_trials_the_last_good_one_counts():
    trials = series(HOST) + failures(DOCKER, [0]) + series(DOCKER, 1.1) + failures(DOCKER, [0, 1])
    found = compare(plan(HOST, DOCKER), trials)
    assert row(DOCKER, found).failed == 0
    assert found.summaries[1].repeated == 3
    assert "3 trials were run again; the last good one of a block counts." in flag_texts(
        row(DOCKER, found).flags
    )


def test_warmups_and_trials_of_other_plans_do_not_count():
    strangers = [replace(one, cell="unknown") for one in series(DOCKER, 9)]
    warmups = [replace(one, kind=Kind.WARMUP) for one in series(DOCKER, 9)]
    clean = series(HOST) + series(DOCKER, 1.1)
    assert compare(plan(HOST, DOCKER), clean + warmups + strangers) == compare(
        plan(HOST, DOCKER), clean
    )


def test_the_order_of_different_blocks_does_not_matter():
    trials = series(HOST) + series(DOCKER, 1.1)
    assert compare(plan(HOST, DOCKER), trials[::-1]) == compare(plan(HOST, DOCKER), trials)


def test_a_summary_describes_the_values_themselves():
    found = compare(plan(HOST), [trial(HOST, block, time=float(block + 1)) for block in range(3)])
    assert (found.summaries[0].values.median, found.summaries[0].values.sd) == (2, 1)


@pytest.mark.parametrize(
    ("factor", "verdict"),
    [(1.0, Verdict.SAME), (1.05, Verdict.SLOWER), (0.9, Verdict.FASTER), (1e100, Verdict.SLOWER)],
)
def test_constant_data_have_a_clear_verdict(factor, verdict):
    trials = [trial(HOST, block, time=1.0) for block in range(20)]
    trials += [trial(CONTROL, block, time=1.0) for block in range(20)]
    trials += [trial(DOCKER, block, time=factor) for block in range(20)]
    found = compare(plan(HOST, CONTROL, DOCKER), trials)
    assert row(DOCKER, found).verdict is verdict
    assert row(DOCKER, found).mde == 0
    assert_no_nan(found)


def test_one_pair_and_no_trial_at_all_are_no_crash():
    found = compare(plan(HOST, DOCKER), [trial(HOST, 0, time=1.0), trial(DOCKER, 0, time=1.1)])
    assert row(DOCKER, found).cost == pytest.approx(1.1)
    assert (row(DOCKER, found).spread, row(DOCKER, found).mde) == (None, None)
    found = row(DOCKER, compare(plan(HOST, DOCKER), []))
    assert reason_text(found.reason) == "no trial has been measured yet"
    assert decided(plan(HOST, DOCKER), []) == set()


@pytest.mark.parametrize("seed", range(30))
def test_arbitrary_outcomes_never_make_a_nan(seed):
    rng = np.random.default_rng(seed)
    cells = (HOST, CONTROL, DOCKER, QEMU, BOTH)
    values = [*[1.0, 1.1] * 9, 0.0, math.inf, math.nan, 1e-100, 1e100]
    outcomes = [*Status] + [Status.OK] * 10
    trials = [
        trial(of, block, outcomes[rng.integers(len(outcomes))], time=float(rng.choice(values)))
        for of in cells
        for block in range(int(rng.integers(0, 40)))
    ]
    found = compare(plan(*cells), trials)
    json.dumps(
        as_json(describe(Results(Path(), "", plan(*cells), NO_FACTS, NO_RUN, tuple(trials)))),
        allow_nan=False,
    )
    assert_no_nan(found)
    assert json.dumps(sorted(decided(plan(*cells), trials)))


class TestDecided:
    study = plan(HOST, CONTROL, DOCKER, QEMU, max_blocks=30)

    def test_a_cell_leaves_and_its_baseline_and_control_stay(self):
        noisy = series(QEMU, 1.0, noise=0.2, blocks=8)
        trials = series(HOST, blocks=8) + series(CONTROL, blocks=8) + series(DOCKER, 1.1, blocks=8)
        assert decided(self.study, trials + noisy) == {DOCKER.id}

    def test_all_leave_with_the_last_comparison_whatever_the_control_says(self):
        trials = series(HOST, blocks=8) + series(CONTROL, blocks=8, noise=0.3)
        trials += series(DOCKER, 1.1, blocks=8) + series(QEMU, 1.5, blocks=8)
        assert decided(self.study, trials) == {one.id for one in self.study.cells}

    def test_a_cell_that_left_stays_out_while_others_go_on(self):
        early = series(DOCKER, 1.1, blocks=8)
        for blocks in range(8, 30):
            trials = series(HOST, blocks=blocks) + series(QEMU, 1.0, noise=0.2, blocks=blocks)
            assert decided(self.study, early + trials) == {DOCKER.id}
            assert row(DOCKER, compare(self.study, early + trials)).pairs == 8

    def test_the_maximum_ends_all(self):
        noisy = [one for of in self.study.cells for one in series(of, noise=0.3, blocks=30)]
        assert decided(self.study, noisy) == {one.id for one in self.study.cells}
        assert row(QEMU, compare(self.study, noisy)).stop is Stop.MAXIMUM

    def test_a_control_alone_is_a_comparison(self):
        study = plan(HOST, CONTROL)
        assert decided(study, series(HOST, blocks=7) + series(CONTROL, blocks=7)) == set()
        both = series(HOST) + series(CONTROL)
        assert decided(study, both) == {HOST.id, CONTROL.id}

    def test_workloads_are_decided_apart(self):
        other_host, other = cell("host", workload="disk"), cell("host/docker", workload="disk")
        study = plan(HOST, DOCKER, other_host, other)
        trials = series(HOST, blocks=8) + series(DOCKER, 1.1, blocks=8)
        trials += series(other_host, blocks=8) + series(other, noise=0.3, blocks=8)
        assert decided(study, trials) == {HOST.id, DOCKER.id}

    def test_precision_ends_a_comparison_without_a_verdict(self):
        study = plan(HOST, DOCKER, margin=0.0, precision=0.5)
        trials = series(HOST, blocks=8) + series(DOCKER, noise=0.02, blocks=8)
        assert decided(study, trials) == {HOST.id, DOCKER.id}
        found = row(DOCKER, compare(study, trials))
        assert (found.stop, found.verdict) == (Stop.PRECISE, Verdict.UNDECIDED)


class TestAttribution:
    study = plan(HOST, DOCKER, QEMU, BOTH)

    def test_a_stack_is_set_beside_the_product_of_its_layers(self):
        trials = series(HOST) + series(DOCKER, 1.1) + series(QEMU, 2.0) + series(BOTH, 2.42)
        (found,) = compare(self.study, trials).attributions
        assert found.stack.cell == BOTH
        assert [one.cell for one in found.layers] == [QEMU, DOCKER]
        assert found.product == pytest.approx(2.2, rel=0.01)
        assert found.interaction == pytest.approx(1.1, rel=0.01)
        assert found.product_interval.low < found.product < found.product_interval.high
        assert 1 < found.interaction_interval.low < 1.1 < found.interaction_interval.high

    def test_the_interaction_interval_covers_no_interaction(self):
        misses = 0
        for seed in range(40):
            trials = [
                one
                for of, cost in ((HOST, 1), (DOCKER, 1.1), (QEMU, 2.0), (BOTH, 2.2))
                for one in series(of, cost, noise=0.02, blocks=20, seed=seed)
            ]
            (found,) = compare(self.study, trials).attributions
            product, interaction = found.product_interval, found.interaction_interval
            misses += not product.low <= 2.2 <= product.high
            misses += not interaction.low <= 1 <= interaction.high
        assert misses <= 2

    def test_a_missing_layer_is_the_reason(self):
        (found,) = compare(plan(HOST, QEMU, BOTH), series(HOST) + series(BOTH)).attributions
        assert reason_text(found.reason) == "host/docker with the same settings is not in the plan"
        assert found.product is None

    def test_a_layer_with_other_settings_is_another_layer(self):
        runc = cell("host/docker", settings=(("docker.runtime", "runc"),))
        runsc = cell("host/qemu/docker", settings=(("docker.runtime", "runsc"),))
        (found,) = compare(plan(HOST, QEMU, runc, runsc), []).attributions
        assert reason_text(found.reason) == "host/docker with the same settings is not in the plan"

    def test_a_layer_without_an_interval_is_the_reason(self):
        trials = series(HOST) + series(DOCKER)[:2] + series(QEMU) + series(BOTH)
        (found,) = compare(self.study, trials).attributions
        assert reason_text(found.reason) == "host/docker has no cost with a finite interval"

    def test_a_baseline_that_the_stack_does_not_stand_on_is_the_reason(self):
        (found,) = compare(plan(DOCKER, BOTH, baseline="host/docker"), []).attributions
        assert reason_text(found.reason) == "it does not stand on the baseline, host/docker"

    def test_one_layer_more_than_the_baseline_needs_no_attribution(self):
        assert compare(plan(QEMU, BOTH, baseline="host/qemu"), []).attributions == ()


def in_session(session, trials):
    return [replace(one, instance=f"{session}-1", session=session) for one in trials]


def test_trials_of_two_sessions_make_no_pair():
    later = [one for one in series(DOCKER, 1.10) if one.block >= 8]
    trials = [*in_session("a", series(HOST)), *in_session("b", later)]
    found = row(DOCKER, compare(plan(HOST, DOCKER), trials))

    assert (found.pairs, found.left_out, found.cost) == (0, 12, None)


def test_a_repeat_that_failed_does_not_take_a_number_away():
    suspect = [replace(one, status=Status.SUSPECT) for one in series(DOCKER, 1.10)]
    trials = [*series(HOST), *suspect, *failures(DOCKER, range(20))]
    found = row(DOCKER, compare(plan(HOST, DOCKER), trials))

    assert (found.pairs, found.failed) == (20, 0)


def test_a_verdict_that_later_pairs_refute_is_taken_back():
    early, late = series(DOCKER, 1.10, 60)[:8], series(DOCKER, 0.80, 60)[8:]
    found = row(
        DOCKER, compare(plan(HOST, DOCKER, max_blocks=60), [*series(HOST, 1, 60), *early, *late])
    )

    assert found.high < 1
    assert found.verdict is Verdict.UNDECIDED
    assert any(flag.startswith("Called slower at 8 pairs") for flag in flag_texts(found.flags))
