"""Advice for a mix: slowdowns, ties and swaps worked out by hand; mix files that are wrong."""

import argparse
import json
import math
from dataclasses import replace

import pytest

from tare.cli import advise as command
from tare.cli.mix_file import read_mix
from tare.core.errors import ConfigError, ResultsError
from tare.core.model import Design, Status
from tare.core.model.group import group
from tare.experiment.scenarios.lifecycle import Lifecycle, Scenario
from tare.experiment.study.combinations import params_of
from tare.present.view.reasons import reason_text
from tare.results.questions.advice import advise
from tare.results.questions.constraints import Constraints, Keeps, Lives
from tare.results.questions.mix_costs import Mix
from tare.results.questions.reversals import LeftOut, Swap
from tare.results.store import facts_of
from tare.results.study import result_set
from unit.makers import LOSS, TIME, again, contrasts_of, make_cell, make_plan, make_trial, store

BLOCKS = 8
WORK = {"cpu": (), "disk": (("pattern", "read"), ("size_bytes", 2**20))}


def cell_of(platform, workload="cpu", **others):
    stack = "host" if platform == "base" else f"host/{platform}"
    given = {"stack": stack, "workload": workload, "params": WORK.get(workload, ())}
    return make_cell(platform, **given | others)


def make_side(costs, *, wobble=None, metrics=None, facts=None, **repetition):
    """Results in which cells have these costs, by platform and then workload.

    ``wobble`` is by how much a platform's logs go up and down by turns of blocks.
    """
    cells = {
        cell_of(platform, workload): cost
        for platform, of in costs.items()
        for workload, cost in of.items()
    }
    plan = make_plan(
        *cells,
        metrics={cell.workload: (TIME,) for cell in cells} | (metrics or {}),
        **{"max_blocks": BLOCKS, "instances": 1} | repetition,
    )
    up = wobble or {}
    trials = [
        trial_of(cell, n, cost * math.exp(up.get(cell.platform, 0) * (-1) ** n), plan)
        for n in range(BLOCKS)
        for cell, cost in cells.items()
        if cost is not None
    ]
    return result_set(plan, trials, facts_of(facts or {}))


def changed(results, **given):
    """Results with another plan or other trials, compared anew."""
    one = replace(results, **given)
    return result_set(one.plan, one.trials, one.facts)


def trial_of(cell, block, value, plan):
    samples = {plan.metrics[cell.workload][0].name: value}
    return make_trial(cell, block, instance="abc-0", duration_s=1.0, samples=samples)


def make_lives(samples, **params):
    """Results of a lifecycle study: what three trials of each platform measured."""
    made = Lifecycle(**params)
    cells = {
        name: cell_of(name, "lifecycle", params=params_of(made)) for name in ("base", *samples)
    }
    plan = make_plan(*cells.values(), metrics=Lifecycle.metrics)
    plan = replace(plan, replicates=Scenario.replicates)
    trials = [
        make_trial(cells[name], block, instance="abc-0", duration_s=1.0, samples=one)
        for name, of in samples.items()
        for block, one in enumerate(of)
    ]
    return result_set(plan, trials, facts_of({"host": {"kernel": "6.1"}}))


def mix(constraints=None, **shares):
    found = {group(cell_of("base", name)): share for name, share in shares.items()}
    return Mix(found, constraints or Constraints())


def by_name(found):
    return {place.platform: place for place in found.places}


BOTH = {
    "base": {"cpu": 1, "disk": 1},
    "docker": {"cpu": 1.1, "disk": 2.0},
    "kvm": {"cpu": 1.5, "disk": 1.2},
}


# Numbers


def test_the_slowdown_is_the_sum_of_shares_of_time_times_costs():
    found = by_name(advise(make_side(BOTH), mix(cpu=0.75, disk=0.25)))

    docker, kvm = found["docker"], found["kvm"]
    assert docker.slowdown == pytest.approx(0.75 * 1.1 + 0.25 * 2)  # 1.325
    assert kvm.slowdown == pytest.approx(0.75 * 1.5 + 0.25 * 1.2)  # 1.425
    assert docker.index == pytest.approx(1.1**0.75 * 2**0.25)
    assert docker.worst == (group(cell_of("base", "disk")), pytest.approx(2))
    assert docker.without == pytest.approx((1.1, 2.0))
    assert (docker.completed, docker.trials, docker.measured) == (16, 16, 2)
    base = found["base"]
    assert (base.rank, base.slowdown, base.low, base.high) == (1, 1, 1, 1)
    assert (docker.rank, kvm.rank) == (2, 3)
    assert [place.letters for place in (base, docker, kvm)] == ["a", "b", "c"]


def test_the_interval_adds_the_squares_of_the_weighted_arms():
    side = make_side(BOTH, wobble={"docker": 0.03})
    docker = by_name(advise(side, mix(cpu=0.75, disk=0.25)))["docker"]

    # Eight pairs that go up and down by w have the interval from exp(-w) to exp(w).
    below, above = 1 - math.exp(-0.03), math.exp(0.03) - 1
    arms = 0.75 * 1.1, 0.25 * 2.0
    assert docker.low == pytest.approx(1.325 - math.hypot(*(arm * below for arm in arms)))
    assert docker.high == pytest.approx(1.325 + math.hypot(*(arm * above for arm in arms)))


def test_a_work_without_a_share_counts_for_nothing():
    found = advise(make_side(BOTH), mix(cpu=1.0, disk=0.0))

    assert by_name(found)["docker"].slowdown == pytest.approx(1.1)
    assert by_name(found)["docker"].without is None
    assert (found.swaps, found.left_out) == ((), ())


def test_platforms_are_told_apart_by_pairs_of_their_own():
    """Both wobble together by 10 %, and their own pairs do not wobble at all."""
    costs = {"base": {"cpu": 1}, "a": {"cpu": 1.20}, "b": {"cpu": 1.21}}
    together = {"a": 0.1, "b": 0.1}
    found = by_name(advise(make_side(costs, wobble=together), mix(cpu=1)))
    apart = by_name(advise(make_side(costs, wobble=together, design=Design.DUET), mix(cpu=1)))

    assert found["a"].high > found["b"].slowdown
    assert (found["a"].letters, found["b"].letters) == ("b", "c")
    assert (apart["a"].letters, apart["b"].letters) == ("b", "b")


def test_ties_share_a_letter_and_need_not_be_transitive():
    costs = {"base": {"cpu": 1}, "a": {"cpu": 1.30}, "b": {"cpu": 1.33}, "c": {"cpu": 1.36}}
    found = advise(make_side(costs, wobble={"a": 0.02, "b": -0.02, "c": 0.01}), mix(cpu=1))

    # Neighbours differ by 2.2 %, and their pairs go up and down by 4 and 3 %; a and c differ by
    # 4.5 %, and their pairs go up and down by 1 %.
    assert [place.letters for place in found.places] == ["a", "b", "bc", "c"]


def test_the_smallest_change_of_a_share_that_makes_the_first_two_equal():
    side = make_side(BOTH, facts={"platforms": {"base": {"start_s": [9.0]}}})
    found = advise(side, mix(Constraints(startup_s=1.0), cpu=0.75, disk=0.25))
    cpu = group(cell_of("base", "cpu"))

    # Of docker and kvm; 1.1 s + 2 (1 - s) = 1.5 s + 1.2 (1 - s) where 0.4 s = 0.8 (1 - s).
    assert [place.rank for place in found.places] == [1, 2, None]
    assert found.swaps == (Swap("docker", "kvm", cpu, 0.75, pytest.approx(2 / 3)),)
    assert found.left_out == (LeftOut(cpu, "kvm"),)


def test_what_is_better_everywhere_is_swapped_by_no_share():
    found = advise(make_side(BOTH), mix(cpu=0.5, disk=0.5))

    assert found.first == ("base",)
    assert found.swaps[0] == Swap("base", "kvm")
    assert found.left_out == ()


def test_each_platform_is_set_beside_the_next_that_it_is_not_tied_with():
    costs = {
        "base": {"cpu": 1, "disk": 1},
        "a": {"cpu": 1.1, "disk": 2.0},
        "like a": {"cpu": 1.1001, "disk": 2.0},
        "b": {"cpu": 2.0, "disk": 1.3},
    }
    side = make_side(costs, wobble={"like a": 0.02})
    found = advise(side, mix(cpu=0.5, disk=0.5))
    cpu = group(cell_of("base", "cpu"))

    assert [place.letters for place in found.places] == ["a", "b", "b", "c"]
    assert [(one.before, one.behind) for one in found.swaps] == [
        ("base", "a"),
        ("a", "b"),
        ("like a", "b"),
    ]
    # 1.1 s + 2 (1 - s) = 2 s + 1.3 (1 - s) where 0.9 s = 0.7 (1 - s).
    assert found.swaps[1] == Swap("a", "b", cpu, 0.5, pytest.approx(0.7 / 1.6))


def test_who_would_only_be_tied_with_the_first_does_not_drive_the_ranking():
    costs = {"base": {"cpu": 1, "disk": 1}, "near": {"cpu": 0.9999, "disk": 1.0002}}
    found = advise(make_side(costs, wobble={"near": 0.02}), mix(cpu=0.5, disk=0.5))

    assert found.first == ("base", "near")
    assert (found.swaps, found.left_out) == ((), ())


def test_a_share_that_is_needed_is_never_less_than_nothing(tmp_path, capsys):
    side = make_side({"base": {"cpu": 1, "disk": 1}, "docker": {"cpu": 2, "disk": 1}})
    folder = store(side, tmp_path / "results")
    assert tare(folder, "--mix", written(folder, "weights: {cpu: 1, disk: 1}")) == 0

    said = capsys.readouterr().out
    assert "base and docker would be equal if cpu had 0 % of the time instead of 50 %." in said


# What is missing


def test_a_platform_that_lacks_a_cost_has_no_place_and_nothing_is_filled_in():
    side = make_side({**BOTH, "xen": {"cpu": 1.01}, "uml": {"cpu": 3, "disk": None}})
    broken = [
        replace(one, status=Status.UNAVAILABLE, reason="no /dev/kvm", samples={})
        if one.cell == cell_of("kvm", "disk").id
        else one
        for one in side.trials
    ]
    found = advise(changed(side, trials=broken), mix(cpu=0.75, disk=0.25))

    kvm = by_name(found)["kvm"]
    assert (kvm.rank, kvm.slowdown, kvm.measured) == (None, None, 1)
    assert [(one.platform, one.workload[0], reason_text(one.reason)) for one in found.missing] == [
        ("kvm", "disk", "no /dev/kvm"),
        ("xen", "disk", "the study does not measure it"),
        ("uml", "disk", "no trial has been measured yet"),
    ]


def test_without_a_baseline_there_is_no_ranking():
    side = make_side({"base": {"cpu": None}, "docker": {"cpu": 1.1}})
    found = advise(side, mix(cpu=1))

    assert [place.rank for place in found.places] == [None, None]
    assert found.first == ()
    assert {one.platform for one in found.missing} == {"base", "docker"}


def test_an_undecided_cost_matters_where_it_can_change_the_order():
    costs = {"base": {"cpu": 1}, "a": {"cpu": 1.005}, "b": {"cpu": 1.5}, "c": {"cpu": 4}}
    found = advise(make_side(costs, wobble={"a": 0.03, "c": 0.03}), mix(cpu=1))

    assert [(one.platform, one.workload[0]) for one in found.undecided] == [("a", "cpu")]
    assert "from 0.975 to 1.036" in reason_text(found.undecided[0].reason)
    assert "past base" in reason_text(found.undecided[0].reason)
    assert found.first == ("base", "a")


def test_failed_trials_are_counted_beside_the_slowdown():
    side = make_side(BOTH, max_blocks=8)
    first = next(one for one in side.trials if one.cell == cell_of("docker", "cpu").id)
    trials = [
        replace(one, status=Status.DNR, samples={}) if one is first else one for one in side.trials
    ]
    docker = by_name(advise(changed(side, trials=trials), mix(cpu=0.5, disk=0.5)))["docker"]

    assert (docker.completed, docker.trials) == (15, 16)


def test_a_control_that_differs_takes_the_trust_from_its_part_of_the_mix():
    side = make_side(BOTH)
    control = cell_of("base", "disk", replica=1)
    cells = (*side.plan.cells, control)
    plan = replace(side.plan, cells=cells, contrasts=contrasts_of(cells, "base"))
    trials = [*side.trials, *(trial_of(control, n, 1.1, plan) for n in range(BLOCKS))]
    side = changed(side, plan=plan, trials=trials)

    assert advise(side, mix(cpu=0.5, disk=0.5)).untrusted == (group(control),)
    assert advise(side, mix(cpu=1.0)).untrusted == ()


# Constraints


def test_a_constraint_is_kept_or_broken_with_its_number():
    facts = {"platforms": {"base": {"start_s": [0.1]}, "docker": {"start_s": [0.4, 0.9, 0.6]}}}
    constraints = Constraints(startup_s=0.5, memory_bytes=2**20, isolation_loss=0.1)
    found = advise(make_side(BOTH, facts=facts), mix(constraints, cpu=1))

    base, docker, kvm = (by_name(found)[name] for name in ("base", "docker", "kvm"))
    startup, memory, isolation = docker.constraints
    assert (startup.keeps, startup.value, startup.n) == (Keeps.BROKEN, 0.6, 3)
    assert (memory.keeps, isolation.keeps) == (Keeps.MISSING, Keeps.MISSING)
    assert base.constraints[0].keeps is Keeps.KEPT
    assert kvm.constraints[0].keeps is Keeps.MISSING
    assert (startup.reason, "lifecycle study" in reason_text(memory.reason)) == (None, True)
    assert "name results of a study of neighbours" in reason_text(isolation.reason)
    assert (docker.is_excluded, docker.rank) == (True, None)
    assert (kvm.is_excluded, kvm.rank) == (False, 2)
    assert [place.platform for place in found.places] == ["base", "kvm", "docker"]
    told = [reason_text(one.reason) for one in found.missing if one.platform == "kvm"]
    assert [one.partition(":")[0] for one in told] == [
        "startup",
        "memory",
        "isolation_loss",
    ]


def test_a_lifecycle_study_says_start_and_memory():
    lives = make_lives(
        {
            "docker": [
                {"create": 0.1, "boot": 0.2, "host_memory": 8 * 2**20},
                {"create": 0.1, "boot": 0.4, "host_memory": 2 * 2**20},
                {"create": 0.1, "boot": 0.3},
            ]
        },
    )
    storm = make_lives({"docker": [{"create": 9.0, "boot": 9.0, "host_memory": 2**30}]}, count=8)
    constraints = Constraints(startup_s=0.5, memory_bytes=2**22)
    found = advise(make_side(BOTH), mix(constraints, cpu=1), [storm, lives])

    startup, memory = by_name(found)["docker"].constraints
    assert (startup.value, startup.n, startup.keeps) == (pytest.approx(0.4), 3, Keeps.KEPT)
    assert (memory.value, memory.n, memory.keeps) == (5 * 2**20, 2, Keeps.BROKEN)
    assert (memory.low, memory.high) == (2 * 2**20, 8 * 2**20)
    assert memory.source == Lives(("host_memory",), 1, "warm")


def test_a_lifecycle_under_other_limits_is_told_of_and_not_used():
    lives = make_lives({"docker": [{"create": 0.1, "boot": 0.2, "host_memory": 8 * 2**20}]})
    other = replace(make_cell("x").limits, cpus=2, memory_bytes=2**29)
    cells = tuple(replace(cell, limits=other) for cell in lives.plan.cells)
    ids = dict(zip((one.id for one in lives.plan.cells), (one.id for one in cells), strict=True))
    moved = result_set(
        replace(lives.plan, cells=cells),
        [replace(trial, cell=ids[trial.cell]) for trial in lives.trials],
        lives.facts,
    )
    asked = Constraints(memory_bytes=2**22, isolation_loss=0.1)
    found = advise(make_side(BOTH), mix(asked, cpu=1), [moved])

    memory, isolation = by_name(found)["docker"].constraints
    assert memory.keeps is Keeps.MISSING
    assert "have it with 2 CPUs, 512 MiB, disk cache none, this study has 1 CPU, " in reason_text(
        memory.reason
    )
    assert "512 MiB" not in reason_text(isolation.reason)
    unread = make_lives({"docker": [{"create": 0.1}]})
    (memory, _) = by_name(advise(make_side(BOTH), mix(asked, cpu=1), [unread]))[
        "docker"
    ].constraints
    assert memory.keeps is Keeps.MISSING
    assert "the named ones" not in reason_text(memory.reason)
    assert "the named ones" not in reason_text(
        by_name(advise(make_side(BOTH), mix(asked, cpu=1)))["docker"].constraints[0].reason
    )


@pytest.mark.parametrize("start_s", [None, "soon", [], ["x", None], [math.inf]])
def test_a_damaged_start_is_a_missing_measurement(start_s):
    facts = {"platforms": {"docker": {"start_s": start_s}}}
    found = advise(make_side(BOTH, facts=facts), mix(Constraints(startup_s=1), cpu=1))

    assert by_name(found)["docker"].constraints[0].keeps is Keeps.MISSING


# The mix file


def rows():
    """A study with two rows of one workload, and one that is no time."""
    side = make_side(BOTH, metrics={"loss": (LOSS,)})
    plan = side.plan
    more = tuple(
        cell_of(name, "disk", params=(("pattern", "write"), ("size_bytes", 2**20)))
        for name in ("base", "docker")
    )
    cells = (*plan.cells, *more, cell_of("base", "loss"))
    return changed(side, plan=replace(plan, cells=cells))


def test_weights_are_made_to_sum_to_one():
    read = read_mix("weights: {cpu: 3, disk: 1}", "mix.yaml", make_side(BOTH))

    assert {key[0]: share for key, share in read.shares.items()} == {"cpu": 0.75, "disk": 0.25}
    assert read.constraints == Constraints()


def test_rows_of_one_workload_are_told_apart_by_their_parameters():
    text = """
weights:
  cpu: 50%
  disk:
    - {weight: 30 %, pattern: read, size: 1MiB, cpus: 1, memory: 1GiB}
    - {weight: 20 %, pattern: write}
constraints: {startup: 500 ms, memory: 64MiB, isolation_loss: 5%}
"""
    read = read_mix(text, "mix.yaml", rows())

    assert [(key[0], dict(key[1]).get("pattern")) for key in read.shares] == [
        ("cpu", None),
        ("disk", "read"),
        ("disk", "write"),
    ]
    assert list(read.shares.values()) == pytest.approx([0.5, 0.3, 0.2])
    assert read.constraints == Constraints(
        startup_s=0.5, memory_bytes=64 * 2**20, isolation_loss=0.05
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "mix.yaml:1: the file is empty"),
        ("# nothing\n---\n", "expected a mapping"),
        ("- cpu", "mix.yaml:1:1: found a list; expected a mapping"),
        ("weights: [1", "mix.yaml:1:12"),
        ("constraints: {startup: 1 s}", "missing weights"),
        ("weights: {}", "found no workload; expected one of cpu, disk, loss"),
        ("weights: {cpu: 1}\nweight: 2", "mix.yaml:2:1: weight: unknown key"),
        ("weights: {cpu: 1, cpu: 2}", "duplicate key"),
        (
            "weights:\n  gpu: 1",
            "mix.yaml:2:3: weights.gpu: no workload of the study is called 'gpu'",
        ),
        ("weights: {gpu: 1}", "did you mean 'cpu'?"),
        ("weights: {'<script>': 1}", "'<script>'"),
        ("weights: {cpu: -1}", "a weight of -1 was given; expected 0 or more"),
        ("weights: {cpu: 0}", "all weights are 0"),
        ("weights: {cpu: .inf}", "'.inf' is not a number"),
        ("weights: {cpu: nan}", "'nan' is not a number"),
        ("weights: {cpu: }", "found no value"),
        ("weights: {cpu: 3 s}", "is a time"),
        ("weights: {loss: 1}", "says no time per unit of work"),
        ("weights: {disk: 1}", "2 rows of the study are meant; expected one; say which by pattern"),
        ("weights: {disk: {pattern: read}}", "missing weight"),
        ("weights: {cpu: {wieght: 1}}", "did you mean 'weight'?"),
        ("weights: {disk: {weight: 1, patern: read}}", "did you mean 'pattern'?"),
        ("weights: {disk: {weight: 1, pattern: trim}}", "no row has 'trim'; expected one of read"),
        ("weights: {disk: {weight: 1, size: x}}", "no row has 'x'; expected one of 1048576"),
        ("weights: {cpu: [1, 1]}", "the same row of the study has a weight above"),
        ("weights: {cpu: 1}\nconstraints: {startup: soon}", "mix.yaml:2:15: constraints.startup"),
        ("weights: {cpu: 1}\nconstraints: {speed: 1}", "unknown key"),
        ("weights: {cpu: 1}\nconstraints: {startup: -1}", "below zero"),
        ("weights: {cpu: 1}\nconstraints: {isolation_loss: -1}", "expected 0 or more"),
        ("weights: {cpu: 1}\nconstraints: {neighbour: cpu}", "expected that as well"),
        (
            "weights: {cpu: 1}\nconstraints: {isolation_loss: 1%, neighbour: cpi}",
            "no stressor is called 'cpi'",
        ),
        ("weights: {cpu: 1}\nconstraints: 3", "expected a mapping"),
    ],
)
def test_a_wrong_mix_says_where_and_what_is_expected(text, said):
    with pytest.raises(ConfigError) as error:
        read_mix(text, "mix.yaml", rows())
    assert said in str(error.value)
    assert str(error.value).startswith("mix.yaml:")


# The command


def tare(*words):
    parser = argparse.ArgumentParser()
    command.arguments(parser)
    return command.run(parser.parse_args([*map(str, words)]))


@pytest.fixture
def folder(tmp_path):
    facts = {
        "host": {"kernel": "6.1"},
        "platforms": {"base": {"start_s": [9.0]}, "docker": {"start_s": [0.25]}},
    }
    side = make_side({**BOTH, "<script>": {"cpu": 1.3}}, facts=facts, wobble={"kvm": 0.01})
    return store(side, tmp_path / "results", facts)


def written(folder, text):
    path = folder.parent / "mix.yaml"
    path.write_text(text)
    return path


def test_the_command_prints_ranks_changes_and_what_is_missing(folder, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "220")
    text = "weights: {cpu: 3, disk: 1}\nconstraints: {startup: 1 s, isolation_loss: 5%}"
    assert tare(folder, "--mix", written(folder, text)) == 0
    said = capsys.readouterr().out
    lines = said.splitlines()

    assert "advice for a mix of 75 % cpu, 25 % disk" in lines[0]
    assert "docker comes first with 1.325" in said
    ranking, beside, constraints = [line for line in lines if "docker  " in line]
    assert ranking.split()[:3] == ["1", "docker", "1.325\N{MULTIPLICATION SIGN}"]
    assert beside.split()[:3] == ["docker", "2.000\N{MULTIPLICATION SIGN}", "disk"]
    assert "250 ms (1 value), kept" in constraints
    assert constraints.rstrip().endswith("missing measurement")
    assert "startup, at most 1 s" in said
    (base,) = [line for line in lines if "9 s (1 value), broken" in line]
    assert base.startswith("base")
    assert "\N{EN DASH}     base" in said
    assert "docker and kvm would be equal if cpu had 67 % of the time instead of 75 %." in said
    assert "Without cpu, kvm would be first" in said
    assert "disk on <script>: the study does not measure it" in said
    assert "isolation_loss: what cpu, disk loses next to a neighbour: name results of" in said
    assert "Whether it keeps isolation_loss is not known: see the missing measurements." in said


def test_the_command_gives_facts_for_programs(folder, capsys):
    assert tare(folder, "--json", "--mix", written(folder, "weights: {cpu: 3, disk: 1}")) == 0
    told = json.loads(capsys.readouterr().out)

    assert told["first"] == ["base"]
    assert [one["share"] for one in told["mix"]] == [0.75, 0.25]
    assert [one["platform"] for one in told["platforms"]] == ["base", "docker", "kvm", "<script>"]
    assert told["platforms"][1]["slowdown"] == pytest.approx(1.325)
    assert told["platforms"][3]["slowdown"] is None
    assert told["missing"][0]["workload"] == "disk"


def test_one_platform_alone_is_first_and_nothing_changes_that(tmp_path, capsys):
    side = make_side({"base": {"cpu": 1}})
    cells = (*side.plan.cells, again(side.plan.cells[0]))
    plan = replace(side.plan, cells=cells, contrasts=contrasts_of(cells, "base"))
    folder = store(changed(side, plan=plan), tmp_path / "results")
    assert tare(folder, "--mix", written(folder, "weights: {cpu: 1}")) == 0
    said = capsys.readouterr().out

    assert "base comes first" in said
    assert "No weight: there are no two platforms" in said


@pytest.mark.parametrize(("most", "told"), [("300 ms", 1), ("100 ms", 2)])
def test_what_is_left_out_by_a_constraint_would_be_ranked_with_another(
    folder, capsys, monkeypatch, most, told
):
    monkeypatch.setenv("COLUMNS", "200")
    text = f"weights: {{cpu: 3, disk: 1}}\nconstraints: {{startup: {most}}}"
    assert tare(folder, "--mix", written(folder, text)) == 0
    said = capsys.readouterr().out

    assert (
        f"base would be ranked, with 1.000\N{MULTIPLICATION SIGN}, "
        f"if startup might be 9 s instead of {most}."
    ) in said
    assert said.count("would be ranked") == told


def test_results_without_a_lifecycle_are_no_lifecycle(folder):
    path = written(folder, "weights: {cpu: 1}")
    with pytest.raises(ResultsError, match=r"has no lifecycle in it.*; leave it out, or name"):
        tare(folder, folder, "--mix", path)


def test_a_lifecycle_of_another_host_is_refused(folder, tmp_path, capsys, monkeypatch):
    lives = make_lives({"docker": [{"create": 0.1, "boot": 0.2, "host_memory": 2**20}]})
    same = store(lives, tmp_path / "same")
    other = store(lives, tmp_path / "other", {"host": {"kernel": "5.10"}})
    path = written(folder, "weights: {cpu: 1}\nconstraints: {memory: 2MiB}")
    monkeypatch.setenv("COLUMNS", "200")

    assert tare(folder, same, "--mix", path) == 0
    assert "1 MiB (1 value), kept" in capsys.readouterr().out
    with pytest.raises(ResultsError, match=r"on another host: kernel 6\.1 and 5\.10; leave it out"):
        tare(folder, other, "--mix", path)


def test_a_mix_that_cannot_be_read_is_told(folder, tmp_path):
    with pytest.raises(ConfigError, match="nowhere: No such file"):
        tare(folder, "--mix", "nowhere")
    (tmp_path / "bytes").write_bytes(b"weights:\n\xff")
    with pytest.raises(ConfigError, match="bytes:2: not UTF-8"):
        tare(folder, "--mix", tmp_path / "bytes")
    with pytest.raises(ResultsError, match="is no results directory"):
        tare(tmp_path, "--mix", tmp_path / "bytes")


# A study that is run


def test_a_study_that_is_run_gives_the_slowdown_that_is_known(lab):
    shared = {"noise": 0.004, "seed": 1}
    platforms = {
        "base": {"sim": shared},
        "dear": {"sim": {**shared, "cost": 1.1}},
        "dearer": {"sim": {**shared, "cost": 1.2}},
    }
    workloads = [
        {"sysbench_cpu": {"threads": 1, "time": "1 s"}},
        {"sysbench_memory": {"threads": 1, "time": "1 s"}},
    ]
    results = lab.run(
        lab.text(
            platforms,
            workloads=workloads,
            repetition={"min_blocks": 20, "max_blocks": 20, "instances": 1},
        )
    )
    side = result_set(results.plan, results.trials, results.facts)
    read = read_mix(
        "weights: {sysbench_cpu: 1, sysbench_memory: 1}\nconstraints: {startup: 1 min}",
        "mix.yaml",
        side,
    )
    found = advise(side, read)

    assert [place.platform for place in found.places] == ["base", "dear", "dearer"]
    assert [place.letters for place in found.places] == ["a", "b", "c"]
    dear = by_name(found)["dear"]
    assert dear.low < 1.1 < dear.high
    assert dear.slowdown == pytest.approx(1.1, rel=0.01)
    assert dear.constraints[0].keeps is Keeps.KEPT
    assert found.missing == ()
