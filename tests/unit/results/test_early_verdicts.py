"""Verdicts at 3 to 7 pairs as a study has them: whose control counts, and how they are told."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from tare.core.model import NO_FACTS, NO_RUN, Evidence, Status
from tare.present.report import as_json, describe
from tare.present.view.flags import flag_texts
from tare.present.view.verdict_texts import stop_text
from tare.results.compare.flag import FlagKind, flag
from tare.results.compare.result_set import ResultSet
from tare.results.questions.allocation import standings
from tare.results.stats.sequential import LookKind, Stop, Verdict
from tare.results.store import Results, load
from tare.results.study import compare, decided
from unit.makers import RATE, TIME, make_cell, make_trial, store
from unit.makers import make_plan as plan

HOST, CONTROL = make_cell("host"), make_cell("host", replica=1)
DOCKER = make_cell("host/docker")
STUDY = plan(HOST, CONTROL, DOCKER)
DECIDED_EARLY = flag(FlagKind.DECIDED_EARLY)


def trials(of, values, **others):
    """A trial a block; a block whose value is None has none."""
    return [
        make_trial(of, block, samples={"time": value}, **others)
        for block, value in enumerate(values)
        if value is not None
    ]


def measured(docker, control=None, blocks=None):
    """Trials of a host that always takes 1 s, its control and docker."""
    count = blocks or len(docker)
    calm = [1.0] * count
    return trials(HOST, calm) + trials(CONTROL, control or calm) + trials(DOCKER, docker)


def row(found, of=DOCKER):
    return next(one for one in found.comparisons if one.cell == of)


def judged(docker, control=None, study=STUDY):
    return row(compare(study, measured(docker, control)))


def test_an_obvious_cost_is_decided_at_three_pairs_and_is_likely():
    found = judged([3.0, 3.1, 2.9])

    assert (found.verdict, found.stop, found.evidence) == (
        Verdict.SLOWER,
        Stop.EXCLUDES_ONE,
        Evidence.LIKELY,
    )
    assert (found.decided_at, found.decided_by, found.interval_by) == (
        3,
        LookKind.EARLY,
        LookKind.EARLY,
    )
    assert found.flags[-1] == DECIDED_EARLY
    assert stop_text(found).startswith("decided early, at 3 pairs: the interval leaves out 1")


def in_instances(docker, instances):
    """The same trials, each block of which is in an instance of its own choice."""
    return [replace(one, instance=instances[one.block]) for one in measured(docker)]


def test_an_early_look_at_eight_pairs_is_likely_whatever_the_e_process_says():
    study = plan(HOST, CONTROL, DOCKER, max_blocks=400)
    found = [
        row(compare(study, in_instances([3.0] * count, [str(n) for n in range(count)])))
        for count in (8, 11)
    ]

    assert [one.interval_by for one in found] == [LookKind.EARLY, LookKind.RANKS]
    assert [one.evidence for one in found] == [Evidence.LIKELY, Evidence.ESTABLISHED]


def test_where_instances_differ_an_early_verdict_is_established_only_if_their_means_agree():
    lucky = [3.0, 3.1, 2.9]
    for rest, evidence in (([0.9, 1.0, 1.1] * 9, Evidence.LIKELY), ([2.0, 2.1, 2.2] * 9, None)):
        costs = [*lucky, *rest[:24]]
        found = row(compare(STUDY, in_instances(costs, [str(n // 3) for n in range(27)])))
        assert (found.verdict, found.decided_by) == (Verdict.SLOWER, LookKind.EARLY)
        assert found.replicates == 9  # the means of nine instances
        assert found.evidence is (evidence or Evidence.ESTABLISHED)


def test_its_cost_is_the_mean_of_the_log_ratios_with_students_interval():
    found = judged([3.0, 3.1, 2.9])

    cost = (3.0 * 3.1 * 2.9) ** (1 / 3)
    sd = math.sqrt(sum(math.log(value / cost) ** 2 for value in (3.0, 3.1, 2.9)) / 2)
    assert found.cost == pytest.approx(cost)
    assert found.high == pytest.approx(cost * math.exp(18.244 * sd), rel=1e-4)
    assert found.low == pytest.approx(cost / math.exp(18.244 * sd), rel=1e-4)
    # Student's ordinary interval of 95 %: t(2; 0.975) is 4.303.
    assert found.fixed_high == pytest.approx(cost * math.exp(4.3027 * sd / math.sqrt(3)), rel=1e-4)
    # What an interval of this width would just show.
    assert found.mde == pytest.approx(1.02 * math.exp(18.244 * sd) - 1, rel=1e-4)


def test_a_control_as_noisy_as_the_difference_leaves_it_undecided():
    found = judged([3.0, 3.1, 2.9], [1.0, 3.0, 0.4])

    assert (found.verdict, found.look) == (Verdict.UNDECIDED, 3)
    assert DECIDED_EARLY not in found.flags


def test_the_controls_ratios_are_those_of_the_same_blocks():
    wild = [1.0, 9.0, 1.0, 1.0, 1.0]  # in the second block
    without = judged([3.0, None, 3.1, 2.9, 3.0], wild)
    among = judged([3.0, 3.1, None, 2.9, 3.0], wild)

    assert (without.pairs, without.decided_at) == (4, 3)
    assert (among.pairs, among.decided_at) == (4, None)


def test_a_control_that_lacks_a_block_is_known_in_the_others():
    found = judged([3.0, 3.1, 2.9, 3.0], [1.0, None, 1.0, 1.0])

    assert found.decided_at == 4  # of three pairs it knew but two


def test_without_a_control_there_is_an_interval_and_no_early_verdict():
    alone = plan(HOST, DOCKER)
    some = trials(HOST, [1.0] * 8) + trials(DOCKER, [3.0] * 8)
    early = row(compare(alone, [one for one in some if one.block < 7]))

    assert (early.verdict, early.look, early.p) == (Verdict.UNDECIDED, 7, 1)
    assert early.low > 2.8
    late = row(compare(alone, some))
    assert (late.decided_at, late.decided_by) == (8, LookKind.RANKS)


def test_a_control_is_never_decided_early_itself():
    found = row(compare(STUDY, measured([1.0] * 7, [3.0] * 7)), CONTROL)

    assert (found.verdict, found.look) == (Verdict.UNDECIDED, 7)


def test_the_control_counts_by_the_same_metric():
    study = plan(HOST, CONTROL, DOCKER, metrics=(TIME, RATE))
    some = [
        replace(one, samples={"time": one.samples["time"], "rate": rate(one)})
        for one in measured([3.0, 3.1, 2.9])
    ]
    time, rates = (
        next(
            one
            for one in compare(study, some).comparisons
            if one.cell == DOCKER and one.metric is metric
        )
        for metric in (TIME, RATE)
    )

    assert time.verdict is Verdict.SLOWER
    assert rates.verdict is Verdict.UNDECIDED


def rate(one):
    """Work per second, which of the control goes up and down."""
    wild = (0.3, 3.0, 1.0)[one.block] if one.cell == CONTROL.id else 1.0
    return wild / one.samples["time"]


def test_a_failure_among_the_first_pairs_ends_the_early_looks():
    some = measured([3.0, 3.1, 3.0, 3.1, 3.0, 3.1], blocks=6)
    failed = [
        replace(one, status=Status.FAILED, samples={})
        if one.cell == DOCKER.id and one.block == 1
        else one
        for one in some
    ]
    found = row(compare(STUDY, failed))

    assert (found.pairs, found.failed, found.low) == (6, 1, None)
    assert found.verdict is Verdict.UNDECIDED


def test_a_size_is_not_claimed_of_the_first_pairs_where_most_failed_later():
    some = measured([3.0, 3.1, 2.9])
    for block in range(3, 7):
        some += [make_trial(one, block, samples={"time": 1.0}) for one in (HOST, CONTROL)]
        some += [make_trial(DOCKER, block, status=Status.FAILED)]
    found = row(compare(STUDY, some))

    assert (found.pairs, found.failed, found.look, found.cost) == (7, 4, 3, None)
    assert found.verdict is Verdict.SLOWER
    assert any(flag.startswith("No cost is given") for flag in flag_texts(found.flags))


def test_a_verdict_that_later_pairs_refute_is_taken_back():
    found = judged([3.0] * 3 + [0.5] * 24)

    assert (found.verdict, found.decided_at, found.decided_by) == (
        Verdict.UNDECIDED,
        3,
        LookKind.EARLY,
    )
    assert any(
        "Called slower at 3 pairs" in flag and "chance" in flag for flag in flag_texts(found.flags)
    )


def test_a_verdict_that_later_pairs_bear_out_says_when_it_fell_and_has_the_later_interval():
    found = judged([3.0 + 0.01 * n for n in range(8)])

    assert (found.decided_at, found.decided_by) == (3, LookKind.EARLY)
    assert (found.look, found.interval_by) == (8, LookKind.RANKS)
    assert DECIDED_EARLY not in found.flags


def test_a_cell_that_is_decided_early_is_done_and_rests_from_five_narrow_pairs():
    narrow, wide = [3.0, 3.01, 2.99, 3.0, 3.01], [3.0, 4.2, 2.2, 3.0, 3.5]
    for blocks in (3, 4, 5):
        some = measured(narrow[:blocks])
        assert decided(STUDY, some) == {one.id for one in STUDY.cells}
        one = standings(STUDY, some)[DOCKER.id]
        assert (one.decided, one.rests) == (True, blocks == 5)
    found = standings(STUDY, measured(wide + [3.0] * 2))[DOCKER.id]
    assert found.half_width > math.log(1.5)
    assert (found.decided, found.rests) == (True, False)
    assert standings(STUDY, measured([*wide, 3.0, 3.1, 3.2]))[DOCKER.id].rests


def test_what_cannot_be_compared_is_measured_eight_times():
    study = plan(HOST, CONTROL, DOCKER, baseline="none")
    assert decided(study, measured([1.0] * 7)) == set()
    assert decided(study, measured([1.0] * 8)) == {one.id for one in study.cells}


def test_early_verdicts_are_told_apart_in_what_is_exported():
    some = tuple(measured([3.0, 3.1, 2.9]))
    rows = as_json(describe(Results(Path(), "", STUDY, NO_FACTS, NO_RUN, some)))["rows"]

    told = [
        (one["decided_by"], one["interval_by"]) for one in rows if one["stack"] == "host/docker"
    ]
    assert told == [("early", "early")]


def test_results_that_were_stored_with_a_minimum_of_8_are_decided_from_8_pairs_on(tmp_path):
    old = plan(HOST, CONTROL, DOCKER, min_blocks=8)
    for count, verdict in ((5, Verdict.UNDECIDED), (8, Verdict.SLOWER)):
        folder = store(ResultSet(old, measured([3.0] * count), NO_FACTS), tmp_path / str(count))
        results = load(folder)
        found = row(compare(results.plan, results.trials))
        assert results.plan.repetition.min_blocks == 8
        assert (found.look, found.verdict) == (count, verdict)
        assert found.low > 1
