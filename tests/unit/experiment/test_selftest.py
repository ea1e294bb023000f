"""The self-test: its plan, what it makes of trials whose truth is known, and who repeats it."""

import io
import json
import math
import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tare.cli import CANNOT, DONE, NOT_ALL_OK
from tare.cli import selftest as command
from tare.cli.progress import Lines
from tare.core.errors import OutputNotUnderstood
from tare.core.model import NO_FACTS, NO_RUN, ContrastKind, HostCost, Kind, Status, Trial, Variant
from tare.experiment import resolution
from tare.experiment import run as runner
from tare.experiment.selftest import ARMS, STAGES, declare, evaluate, is_resolved, order, until
from tare.experiment.selftest.injected_work import Work
from tare.experiment.selftest.outcome import SPANS_S
from tare.experiment.selftest.sentences import found_so_far, said
from tare.present.report import describe
from tare.present.view.facts import selftest as told
from tare.present.view.names import platform_text
from tare.present.view.reasons import reason_text
from tare.results.store import Results, Writer, facts_of, load
from tare.results.study import compare
from tare.work.workload import Output

WORK_S = 0.7
HOST = {"kernel": "6.1", "cpu_model": "made up", "cpus": 2}


BLOCKS = 36
"""Those of one stage."""


def planned(stage=1):
    return until(order(declare("host"), seed=1), stage)


def trials(plan, *, load=1.0, noise=0.002, account=True, bias=1.0, seed=7):
    """Run a plan on a host where other work takes a random share of every trial."""
    rng = np.random.default_rng(seed)
    added = {one.cell: one.known for one in plan.contrasts}
    for slot in plan.slots:
        more = (1 + added.get(slot.cell, 0.0)) ** bias
        cpu_s = WORK_S * more * math.exp(rng.normal(0, noise))
        lost_s = WORK_S * load * rng.uniform(0, 1)
        wall_s = cpu_s + lost_s
        host = HostCost(cpu_s=cpu_s, run_delay_s=lost_s, all_cpu_s=cpu_s, coverage=1.0, threads=1,
                        workers=1, foreign_cpu_s=lost_s, foreign_delay_s=lost_s)  # fmt: skip
        yield Trial(
            cell=slot.cell, block=slot.block, slot=slot.slot, kind=Kind.MEASURED, instance="1",
            status=Status.OK, duration_s=wall_s, samples={"tool_duration": wall_s},
            host=host if account else None, phases_s={"command": wall_s, "setup": 0.05},
        )  # fmt: skip


def by_variant(tested):
    return {one.variant: one for one in tested}


def test_every_arm_stands_once_in_each_block_on_the_same_instance():
    plan = planned()

    assert [one.known for one in plan.contrasts] == [0.0, 0.01, 0.03, 0.1]
    assert {one.kind for one in plan.contrasts} == {ContrastKind.INJECTED}
    assert {one.cell for one in plan.contrasts} | plan.references == set(plan.cells_by_id)
    assert len(plan.references) == 1
    assert Counter(slot.cell for slot in plan.slots) == {cell.id: BLOCKS for cell in plan.cells}
    for block in range(BLOCKS):
        of = [slot for slot in plan.slots if slot.block == block]
        assert [slot.slot for slot in of] == list(range(5))
        assert len({slot.instance for slot in of}) == 1
    orders = {tuple(s.cell for s in plan.slots if s.block == block) for block in range(BLOCKS)}
    assert len(orders) > BLOCKS / 2
    assert planned().slots == plan.slots


def test_a_stage_is_the_beginning_of_the_next():
    stages = [planned(stage) for stage in range(1, STAGES + 1)]

    assert [stage.repetition.max_blocks for stage in stages] == [36, 72, 144, 288, 576]
    assert stages[-1].slots == order(declare("host"), seed=1).slots
    for one, following in pairwise(stages):
        assert following.slots[: len(one.slots)] == one.slots


def test_it_is_resolved_when_every_interval_of_the_recommended_variant_is_narrow():
    plan = planned()

    assert is_resolved(evaluate(plan, trials(plan, noise=0.002)))
    assert not is_resolved(evaluate(plan, trials(plan, noise=0.02)))
    assert is_resolved(evaluate(plan, []))  # there is nothing to go on with


def test_the_arms_are_compared_with_the_baseline_of_their_stack_by_the_corrected_time():
    plan = planned()
    found = [row for row in compare(plan, trials(plan)).comparisons if row.primary]

    assert [row.known for row in found] == list(ARMS)
    assert {row.baseline.id for row in found} == plan.references
    assert {row.variant for row in found} == {Variant.CORRECTED}
    assert platform_text(found[2].cell) == "host (+3 % work)"


@pytest.mark.parametrize(("injected", "total"), [(None, 800), (0.0, 800), (0.01, 808), (0.1, 880)])
def test_the_dear_arm_does_so_many_more_rounds(injected, total):
    assert Work(rounds=800, injected=injected).command() == ["./xorshift", str(total)]


def test_a_run_that_ended_early_is_none():
    text = '{{"rounds": {}, "state": "6f0b3e8a2c11d94e", "seconds": {}}}\n'
    work = Work(rounds=800, injected=0.01)

    (sample,) = work.parse(Output(text.format(808, 0.7)))
    assert (sample.metric.name, sample.value) == ("tool_duration", 0.7)
    for wrong in (text.format(807, 0.7), text.format(808, 0.0), text.format(808, 0.7)[:20], ""):
        with pytest.raises(OutputNotUnderstood):
            list(work.parse(Output(wrong)))


def test_under_load_the_truth_is_found_less_foreign_delay():
    plan = planned()
    found = by_variant(evaluate(plan, trials(plan), stacks=3))

    for variant in (Variant.CORRECTED, Variant.HOST_CPU):
        for arm in found[variant].arms:
            assert arm.holds, (variant, arm)
            assert arm.high - arm.low < 0.01
            assert arm.pairs == BLOCKS
    (three,) = (arm for arm in found[Variant.WALL].arms if arm.truth == 0.03)
    assert three.high - three.low > 0.05
    assert [one.recommended for one in found.values()] == [False, True, False]
    assert found[Variant.CORRECTED].resolvable[1] < found[Variant.WALL].resolvable[1] / 10


def test_on_a_quiet_host_wall_time_is_recommended():
    plan = planned()
    found = by_variant(evaluate(plan, trials(plan, load=0.0)))

    assert [one.recommended for one in found.values()] == [True, False, False]


def test_without_an_account_only_wall_time_is_left():
    plan = planned()
    found = by_variant(evaluate(plan, trials(plan, account=False)))

    assert found[Variant.WALL].recommended
    assert found[Variant.CORRECTED].resolvable == (None,) * len(SPANS_S)
    assert "corrected variant is not known" in reason_text(found[Variant.CORRECTED].reason)


def test_a_time_too_short_for_eight_pairs_resolves_nothing():
    plan = planned()
    slow = [replace(one, phases_s={"command": 4.0}) for one in trials(plan)]
    found = by_variant(evaluate(plan, slow))[Variant.CORRECTED]

    assert found.pair_s == 8.0
    assert found.resolvable[:2] == (None, None)
    assert found.resolvable[2] > 0


def test_a_stack_that_is_not_there_says_why():
    plan = planned()
    missing = [
        replace(one, status=Status.UNAVAILABLE, reason="no docker", samples={}, host=None)
        for one in trials(plan)
    ]
    found = evaluate(plan, missing)

    assert {reason_text(one.reason) for one in found} == {"no docker"}
    assert not any(one.recommended for one in found)
    assert command.status(found) == CANNOT
    assert "no numbers" in said(found, "today")[0]


def test_fewer_pairs_than_can_decide_are_no_numbers():
    plan = planned()
    found = evaluate(plan, list(trials(plan))[:25])

    assert {reason_text(one.reason) for one in found} == {"5 pairs are too few"}


def test_no_trials_at_all_are_no_numbers():
    found = evaluate(planned(), [])

    assert all(arm.found is None for one in found for arm in one.arms)
    assert command.status(found) == CANNOT


def test_a_truth_outside_its_interval_is_a_failure():
    plan = planned()

    assert command.status(evaluate(plan, trials(plan))) == DONE
    wrong = evaluate(plan, trials(plan, bias=2.0))
    assert command.status(wrong) == NOT_ALL_OK
    assert re.search(r"[12] of 4 intervals hold .* [23] missed it", said(wrong, "today")[0])


def test_bad_luck_of_one_interval_among_many_is_none():
    plan = planned()
    lucky = [0, 0]
    for seed in range(200):
        (host,) = (one for one in evaluate(plan, trials(plan, seed=seed), 3) if one.recommended)
        lucky[0] += any(arm.holds is False for arm in host.arms)
        lucky[1] += any(arm.missed for arm in host.arms)

    assert 0 < lucky[0] < 200 * 4 * 0.0125 * 2
    assert lucky[1] <= 200 * 0.0125 * 2


def test_it_goes_through_the_ordinary_runner(lab):
    study = declare("host/sim")
    plan, folder = until(order(study, seed=3), 1), lab.folder / "selftest"
    writer = Writer(folder)
    writer.start(study.source, plan)
    writer.close()
    runner.run(study, plan, folder, runner.Silent())
    results = load(folder)

    assert results.run.stop == f"the maximum of {BLOCKS} blocks was reached"
    found = by_variant(evaluate(plan, results.trials))[Variant.WALL]
    for arm in found.arms:
        assert arm.holds
        assert arm.found == pytest.approx(arm.truth, abs=0.02)
    assert len(describe(results).groups) == 1


def test_a_look_says_what_each_truth_has_come_out_as():
    plan = planned()
    tested = evaluate(plan, trials(plan))

    assert re.fullmatch(
        r"A/A is [+-]0\.\d\d \[.*\] %; \+1 % is .*; \+3 % is \+[23]\.\d\d \[.*\] %; \+10 % is .*",
        found_so_far(tested),
    )
    assert found_so_far(evaluate(plan, [])) == "no numbers yet"


def test_its_progress_does_not_count_decisions():
    lines = Lines(Path("made-up"))
    lines.begins(planned(), 0)

    assert "decided" not in lines.where()


def test_the_page_prints_every_variant_and_marks_what_was_missed():
    from rich.console import Console

    plan = planned()
    tested = evaluate(plan, trials(plan))
    console = Console(width=150, record=True, file=io.StringIO())
    for part in command.page(tested, said(tested, "2026-11-21")):
        console.print(part)
    text = console.export_text()

    assert "host, less foreign delay (recommended)" in text
    assert "host, wall time" in text
    assert "+3 % of work came out as" in text


@pytest.fixture
def stored(monkeypatch, tmp_path):
    monkeypatch.setenv("TARE_HOME", str(tmp_path / "home"))
    resolution.remember(HOST, "2026-11-21", ["It came out.", "It resolves 1 %."], [])
    return tmp_path / "home" / resolution.FILE


def test_the_last_self_test_of_this_host_is_remembered(stored):
    assert resolution.last(HOST)["said"] == ["It came out.", "It resolves 1 %."]
    assert resolution.last({**HOST, "kernel": "6.2"}) == {}
    resolution.remember(HOST, "2026-11-22", ["Another."], [])
    assert resolution.last(HOST)["date"] == "2026-11-22"


@pytest.mark.parametrize("content", ["", "{", "[]", '{"host": 1}'])
def test_a_damaged_self_test_is_none(stored, content):
    stored.write_text(content)
    assert resolution.last(HOST) == {}


def test_reports_have_the_self_test_that_was_known_when_the_study_began(stored, tmp_path):
    results = Results(tmp_path, "", planned(), facts=NO_FACTS, run=NO_RUN, trials=())
    known = {"said": ["As the study began."]}

    def lines(**facts):
        return told(describe(replace(results, facts=facts_of(facts))))

    assert lines(host=HOST, selftest=known) == ["As the study began."]
    # What this machine knows of itself by now says nothing of the results.
    for facts in ({}, {"host": HOST}, {"host": HOST, "selftest": {}}, {"selftest": "no"}):
        assert "tare selftest tells" in lines(**facts)[1]


def test_what_is_stored_is_plain_data(stored):
    plan = planned()
    tested = evaluate(plan, trials(plan))

    assert json.loads(json.dumps(command.as_table(tested)))[0]["arms"][0]["truth"] == 0.0
