"""The duet design: its plan, the CPUs it needs, how halves meet, and whole studies with it."""

import json
import math
import os
from collections import Counter, defaultdict
from dataclasses import replace
from functools import partial
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from tare.cli import main, progress
from tare.cli.progress import Tally
from tare.core.completed import Completed
from tare.core.errors import ConfigError, LayerError, Unavailable
from tare.core.model import CpuLimit, Design, Evidence, Kind, Limits, Repetition, Status, Trial
from tare.experiment import run as runner
from tare.experiment.design import estimate, make_plan
from tare.experiment.run import cpu_sets as cores
from tare.experiment.run.session import Session
from tare.experiment.study import read_study
from tare.experiment.study.duet import ASSUMES, Pairing
from tare.experiment.trial import measure
from tare.machines.simulation.tools import answer
from tare.present.view.flags import flag_texts
from tare.present.view.starts import start_rows
from tare.present.view.study import describe
from tare.present.view.verdict_texts import stop_text
from tare.results.stats.sequential import Rule, Verdict
from tare.results.store import load
from tare.results.store.reader import read_plan
from tare.results.study import compare, decided

BLOCKS = 40


def text(platforms=("dear",), blocks=BLOCKS, workload="sysbench_cpu", **repetition):
    """A study of a simulated baseline and other platforms, as a duet."""
    every = [{"stack": "host/sim", "name": name} for name in ("base", *platforms)]
    rule = {"min_blocks": blocks, "max_blocks": blocks, "instances": 2, "design": "duet"}
    return yaml.safe_dump({
        "name": "simulated", "platforms": every, "baseline": "base",
        "limits": {"cpus": 1, "memory": "1GiB"}, "workloads": [{workload: {}}],
        "repetition": rule | repetition,
    })  # fmt: skip


def planned(platforms=("dear",), blocks=BLOCKS, seed=1, **repetition):
    return make_plan(read_study(text(platforms, blocks, **repetition), "study.yaml"), seed)


def halves(slot):
    """List what a slot measures at once, in the order of starting."""
    return [
        SimpleNamespace(
            block=slot.block, slot=slot.slot + number, cell=one.cell, cores=one.cores,
            instance=one.instance, part=one.part,
            partner=next((cell for cell in slot.cells if cell != one.cell), ""),
        )
        for number, one in enumerate(slot.placements)
    ]  # fmt: skip


def places(plan):
    return [halves(slot) for slot in plan.slots]


def base_of(plan):
    return next(c.id for c in plan.cells if c.platform == plan.reference and not c.replica)


# The plan


def test_every_block_has_each_cell_and_the_control_once_beside_the_baseline():
    plan = planned(("dear", "cheap"))
    base = base_of(plan)
    others = {cell.id for cell in plan.cells} - {base}
    pairs = places(plan)

    assert len(pairs) == 3 * BLOCKS
    assert Counter((pair[0].block, cell) for pair in pairs for cell in {s.cell for s in pair}) == {
        **{(block, cell): 1 for block in range(BLOCKS) for cell in others},
        **{(block, base): 3 for block in range(BLOCKS)},
    }
    for first, second in pairs:
        assert (first.partner, second.partner) == (second.cell, first.cell)
        assert {(one.part, one.cell == base) for one in (first, second)} == {
            ("subject", False), ("reference", True),
        }  # fmt: skip
        assert {first.cores, second.cores} == {0, 1}
        assert (second.slot, second.instance) == (first.slot + 1, first.instance)


def test_cores_and_order_of_starting_are_balanced_in_twos_and_fours_of_blocks():
    plan = planned(("dear", "cheap"))
    base, ways = base_of(plan), defaultdict(list)
    for first, second in places(plan):
        mine = second if first.cell == base else first
        ways[mine.cell].append((mine.cores, mine is first))

    assert len(ways) == 3
    for chosen in ways.values():
        fours = [chosen[at : at + 4] for at in range(0, BLOCKS, 4)]
        assert all(len(set(four)) == 4 for four in fours)
        twos = [four[at : at + 2] for four in fours for at in (0, 2)]
        assert all(one[0] != two[0] and one[1] != two[1] for one, two in twos)
        assert len({tuple(four) for four in fours}) > 4  # and in random order


def test_a_seed_repeats_the_plan_of_a_duet():
    assert planned(seed=3) == planned(seed=3)
    assert planned(seed=3).slots != planned(seed=4).slots


def test_an_instance_serves_both_halves_of_a_balanced_two():
    plan = planned(instances=3)
    assert {(s.block, s.instance) for s in plan.slots} == {
        (block, block // 2 % 3) for block in range(BLOCKS)
    }


def test_an_interleaved_plan_has_no_partners():
    slots = planned(design="interleaved").slots
    assert {(s.cells, s.placements[0].cores) for s in slots} == {((s.cell,), 0) for s in slots}


def test_a_pair_is_estimated_to_take_as_long_as_one_trial():
    def of(design):
        study = read_study(text(blocks=20, design=design), "study.yaml")
        return estimate(make_plan(study, 1), study)

    at_once, in_turn = of("duet"), of("interleaved")
    # 2 pairs in each of 20 blocks, and 4 instances of 3 cells warmed.
    assert at_once.trials_max == 2 * 2 * 20 + 3 * 4
    assert in_turn.trials_max == 3 * 20 + 3 * 2
    assert at_once.starts == {"base": 8, "dear": 4}
    assert at_once.duration_max_s == pytest.approx((2 * 20 + 3 * 4) * 31.15)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"workload": "fio"}, r"study.yaml:\d+:1: repetition: .*the same disk in fio"),
        ({"design": "interleaved", "shared_devices": True}, "only for the design duet"),
        ({"design": "trio"}, "expected one of interleaved, duet"),
    ],
)
def test_what_cannot_be_a_duet_is_refused_with_its_place(given, said):
    with pytest.raises(ConfigError, match=said):
        read_study(text(**given), "study.yaml")


@pytest.mark.parametrize("kind", ["quota", "none"])
def test_limits_that_pin_nothing_are_refused_with_their_line(kind):
    declared = yaml.safe_load(text())
    declared["limits"] = {**declared["limits"], "cpu_limit": kind}
    written = yaml.safe_dump(declared, sort_keys=False)
    (line,) = [n for n, one in enumerate(written.splitlines(), 1) if "cpu_limit" in one]

    with pytest.raises(ConfigError) as caught:
        read_study(written, "study.yaml")
    assert str(caught.value).startswith(
        f"study.yaml:{line}:3: limits.cpu_limit: {kind} was given, and the halves of a duet have "
        "CPUs of their own; expected cpuset, or the design interleaved"
    )


def test_a_shared_disk_is_allowed_where_it_is_said():
    study = read_study(text(workload="fio", shared_devices=True), "study.yaml")
    assert study.repetition.design is Design.DUET


def test_a_lifecycle_study_cannot_be_a_duet():
    declared = yaml.safe_load(text()) | {"scenario": "lifecycle"}
    del declared["workloads"]
    with pytest.raises(ConfigError, match="a lifecycle study cannot be a duet"):
        read_study(yaml.safe_dump(declared), "study.yaml")


def test_unequal_cores_and_order_raise_no_alarm():
    """Balance takes their effects out of the estimate; what is left only widens the interval."""
    rule, noise = Rule(cap=40, minimum=8, margin=0.02), np.random.default_rng(2)
    alarms = 0
    for seed in range(200):
        pairing = Pairing({"base"}, Random(seed))  # noqa: S311
        ways = [pair for _ in range(40) for _, pair in pairing.pairs(["base", "dear"])]
        effects = [
            0.1 * (1 if ("subject", "dear", 1) in way else -1)
            + 0.05 * (1 if way[0].cell == "dear" else -1)
            for way in ways
        ]
        verdict = rule.judge(np.array(effects) + noise.normal(0, 0.01, 40), ended=True).verdict
        alarms += verdict in (Verdict.SLOWER, Verdict.FASTER)
    assert alarms <= 10  # of 200 at 5 %


def test_the_plan_says_what_a_duet_assumes(tmp_path, capsys):
    path = tmp_path / "study.yaml"
    path.write_text(text())
    assert main(["plan", str(path)]) == 0
    said = capsys.readouterr().out
    assert all(assumption in said for assumption in ASSUMES)

    path.write_text(text(design="interleaved"))
    assert main(["plan", str(path)]) == 0
    assert "duet" not in capsys.readouterr().out


# The CPUs


class FakeSys:
    """A tree as below /sys/devices/system/cpu."""

    def __init__(self, folder, siblings, nodes=None, max_khz=None):
        self.folder = folder
        for cpu, names in enumerate(siblings):
            topology = folder / f"cpu{cpu}" / "topology"
            topology.mkdir(parents=True)
            (topology / "thread_siblings_list").write_text(f"{names}\n")
            (folder / f"cpu{cpu}" / f"node{nodes[cpu] if nodes else 0}").mkdir()
            if max_khz:
                (folder / f"cpu{cpu}/cpufreq").mkdir()
                (folder / f"cpu{cpu}/cpufreq/cpuinfo_max_freq").write_text(f"{max_khz[cpu]}\n")


def session(count):
    host = SimpleNamespace(everything=list(range(count)))
    host.cpus = partial(Session.cpus, host)
    host.cpus_under = partial(Session.cpus_under, host)
    return host


def chosen(folder, count, each=1, **tree):
    fake = FakeSys(folder, **tree)
    host = session(count)
    return [host.cpus(each, number) for number in cores.numbers(host, each, fake.folder)]


def test_the_two_last_cpus_are_taken_where_they_are_equal(tmp_path):
    assert chosen(tmp_path, 4, siblings="0123") == [[3], [2]]


def test_threads_of_one_core_are_passed_over(tmp_path):
    pairs = ["0-1", "0-1", "2-3", "2-3"]
    assert chosen(tmp_path, 4, siblings=pairs) == [[3], [1]]


def test_two_threads_of_a_core_equal_two_threads_of_another(tmp_path):
    pairs = ["0-1", "0-1", "2-3", "2-3"]
    assert chosen(tmp_path, 4, each=2, siblings=pairs) == [[2, 3], [0, 1]]


@pytest.mark.parametrize(
    ("count", "each", "tree", "said"),
    [
        (2, 1, {"siblings": ["0-1", "0-1"]}, "CPUs 1 and 0 are threads of one core"),
        (2, 1, {"siblings": "01", "nodes": "01"}, "NUMA nodes differ: 1 of CPUs 1 and 0 of CPUs 0"),
        (2, 1, {"siblings": "01", "max_khz": (3000, 2000)}, r"frequencies \(kHz\) differ: 2000"),
        (4, 2, {"siblings": ["0", "1", "2-3", "2-3"]}, "cores differ: 1 of CPUs 2,3 and 2 of"),
        (3, 2, {"siblings": "012"}, "a duet of 2 CPUs for each half needs 4, this host gives 3"),
        (1, 1, {"siblings": "0"}, "needs 2, this host gives 1"),
    ],
)
def test_a_host_without_two_equal_sets_is_told_why(tmp_path, count, each, tree, said):
    with pytest.raises(Unavailable, match=said):
        chosen(tmp_path, count, each, **tree)


def test_what_the_kernel_does_not_tell_is_no_difference(tmp_path):
    host = session(2)
    assert cores.numbers(host, 1, tmp_path) == (0, 1)


def limits(cpus):
    return [Limits(cpus=cpus, memory_bytes=2**30)]


def with_parts(parts=1, **repetition):
    """As much of a plan as says which CPUs its trials have."""
    return SimpleNamespace(repetition=Repetition(**repetition), sets_of_parts=range(parts))


def test_tare_stays_off_the_cpus_of_every_part():
    host = session(8)

    assert cores.measured(host, with_parts(3), limits(2)[0]) == [[6, 7], [4, 5], [2, 3]]
    assert cores.kept_free(host, with_parts(3), limits(2)) == 6
    assert cores.kept_free(host, with_parts(), limits(2)) == 2
    assert cores.kept_free(session(2), with_parts(8), limits(1)) == 2  # they share


def test_tare_stays_off_both_sets_and_says_where_it_cannot():
    rule = with_parts(design=Design.DUET)
    wide, narrow = session(64), session(2)
    free = cores.kept_free(wide, rule, limits(1))
    assert free < 64 or cores.caveats(wide, rule, limits(1))
    assert cores.kept_free(session(4), with_parts(), limits(2)) == 2
    assert cores.kept_free(session(4), with_parts(), limits(5)) == 4
    assert cores.caveats(narrow, with_parts(), limits(1)) == []
    assert cores.caveats(narrow, rule, limits(2)) == []  # it cannot be run at all


def test_limits_that_pin_nothing_have_all_cpus_and_leave_none_to_tare():
    loose = [replace(one, cpu_limit=CpuLimit.QUOTA) for one in limits(2)]
    host = session(4)

    assert cores.measured(host, with_parts(2), loose[0]) == [[0, 1, 2, 3]] * 2
    assert cores.kept_free(host, with_parts(), [*limits(1), *loose]) == 4
    assert cores.named(host, with_parts(), loose) == "0,1,2,3"
    (said,) = cores.caveats(host, with_parts(), [*limits(1), *loose])
    assert said.startswith("limits that pin nothing leave no CPU to the host and Tare")
    with pytest.raises(Unavailable, match="8 CPUs are asked for, this host gives 4"):
        host.cpus_under(replace(loose[0], cpus=8))


# What the data say: trials made by hand for every slot of a plan


def trials_of(
    plan, *, cost=0.0, cores_cost=0.0, first_cost=0.0, common=0.0, noise=0.005, run_s=1.0
):
    """Make the trials of a plan; all costs are logs, ``common`` is noise that a pair shares."""
    random, base, made, seconds = np.random.default_rng(5), base_of(plan), [], 0
    for pair in places(plan):
        shared = random.normal(0, common) if common else 0.0
        seconds += 2
        for slot in pair:
            log = shared + random.normal(0, noise) + cores_cost * slot.cores
            log += first_cost * (slot is pair[0])
            is_dear = slot.cell != base and not plan.cells_by_id[slot.cell].replica
            log += cost * is_dear
            made.append(Trial(
                cell=slot.cell, block=slot.block, slot=slot.slot, kind=Kind.MEASURED,
                instance=f"s-{slot.instance}", status=Status.OK, partner=slot.partner,
                started_at=f"2026-01-01T{seconds // 3600:02}:{seconds // 60 % 60:02}:"
                f"{seconds % 60:02}.000+00:00",
                duration_s=run_s if is_dear else 1.0, cpuset=str(1 - slot.cores),
                samples={"events": math.exp(-log)},
            ))  # fmt: skip
    return made


def rows(plan, trials):
    return {
        "A/A" if row.is_control else row.cell.platform: row
        for row in compare(plan, trials).comparisons
        if row.primary
    }


def flagged(row, beginning):
    return [flag for flag in flag_texts(row.flags) if flag.startswith(beginning)]


def test_each_platform_is_compared_with_the_trial_at_the_same_moment():
    plan = planned(("dear", "cheap"))
    trials = trials_of(plan, cost=math.log(1.05), common=0.2)
    found = rows(plan, trials)

    assert found["dear"].pairs == found["cheap"].pairs == BLOCKS
    assert found["dear"].low <= 1.05 <= found["dear"].high
    assert found["dear"].high / found["dear"].low < 1.02  # the noise of 20 % is common
    assert found["A/A"].low <= 1 <= found["A/A"].high
    assert flagged(found["dear"], "Noise that is common") == []
    assert not flagged(found["dear"], "Cores differ")
    assert not flagged(found["dear"], "Start order")
    summary = next(s for s in compare(plan, trials).summaries if s.cell.id == base_of(plan))
    assert summary.counts[Status.OK] == summary.values.n == 3 * BLOCKS
    assert summary.repeated == 0


def test_unequal_cores_are_named_and_move_no_cost():
    plan = planned()
    found = rows(plan, trials_of(plan, cost=math.log(1.03), cores_cost=math.log(1.1), noise=0.002))

    (told,) = flagged(found["dear"], "Cores differ")
    assert told.startswith("Cores differ: CPUs 0 against CPUs 1 cost 10 % more")
    assert "20 and 20 pairs" in told
    assert found["dear"].cost == pytest.approx(1.03, abs=0.002)
    (by_cores,) = flagged(found["A/A"], "By cores, the A/A control is not its baseline")
    assert "+10 % on CPUs 0" in by_cores
    assert not flagged(found["dear"], "By cores")


def test_an_effect_of_the_order_of_starting_is_named_and_moves_no_cost():
    plan = planned()
    found = rows(plan, trials_of(plan, cost=math.log(1.03), first_cost=math.log(1.06), noise=0.002))

    (told,) = flagged(found["dear"], "Start order matters")
    assert "costs 6" in told
    assert found["dear"].cost == pytest.approx(1.03, abs=0.002)
    assert not flagged(found["dear"], "Cores differ")


def test_what_is_smaller_than_the_margin_is_not_named():
    plan = planned()
    found = rows(plan, trials_of(plan, cores_cost=0.01, first_cost=0.01, noise=0.001))
    assert not flagged(found["dear"], "Cores")
    assert not flagged(found["dear"], "Start")
    assert not flagged(found["A/A"], "By cores")


def test_noise_that_is_not_common_is_said():
    plan = planned()
    found = rows(plan, trials_of(plan))
    assert flagged(found["dear"], "Noise that is common to both halves is not shown")


def test_halves_that_hardly_ran_together_are_said():
    plan = planned()
    apart = rows(plan, trials_of(plan, cost=math.log(3), run_s=3.0))["dear"]
    (told,) = flagged(apart, "The halves ran together")
    assert "only 33 % of the longer" in told
    assert not flagged(rows(plan, trials_of(plan))["dear"], "The halves ran together")


def test_of_pairs_measured_again_the_last_counts_for_both_halves():
    plan = planned(blocks=8)
    trials = trials_of(plan)
    wrong = [replace(t, samples={"events": 1e6}, status=Status.OK) for t in trials[:2]]
    found = rows(plan, wrong + trials)
    assert found["dear"].cost == pytest.approx(1, abs=0.02)
    assert found["A/A"].cost == pytest.approx(1, abs=0.02)


def test_a_half_that_failed_has_its_pair():
    plan = planned(blocks=8)
    cell = next(c.id for c in plan.cells if c.platform == "dear")
    trials = [
        replace(t, status=Status.FAILED, samples={}) if t.cell == cell and t.block == 3 else t
        for t in trials_of(plan)
    ]
    row = rows(plan, trials)["dear"]
    assert (row.pairs, row.failed, row.left_out) == (8, 1, 0)


def test_trials_without_times_or_cores_have_no_such_findings():
    plan = planned()
    bare = [replace(t, started_at="", cpuset="") for t in trials_of(plan, cores_cost=0.2)]
    found = rows(plan, bare)["dear"]
    assert not flagged(found, "Cores")
    assert not flagged(found, "The halves")


def test_a_decided_platform_leaves_and_the_baseline_stays_for_the_others():
    plan = planned(("dear", "open"), min_blocks=8)
    open_ = next(c.id for c in plan.cells if c.platform == "open")
    trials = [t for t in trials_of(plan, cost=0.2) if t.block < 8]
    random = np.random.default_rng(1)
    trials = [
        replace(t, samples={"events": math.exp(random.normal(0, 0.5))}) if t.cell == open_ else t
        for t in trials
    ]
    assert decided(plan, trials) == {next(c.id for c in plan.cells if c.platform == "dear")}


# Words


def test_a_verdict_of_both_rules_is_established_and_of_looks_alone_likely():
    plan = planned(blocks=20, instances=5)
    row = rows(plan, trials_of(plan, cost=0.2))["dear"]
    assert (row.verdict, row.evidence) == (Verdict.SLOWER, Evidence.ESTABLISHED)
    assert "; established: the e-process" in stop_text(row)

    plan = planned(blocks=8, instances=1)
    sizes = iter([0.2, 0.1, 0.05, 0.04, 0.03, 0.02, 0.01, 0.005])
    dear = next(c.id for c in plan.cells if c.platform == "dear")
    trials = [
        replace(t, samples={"events": math.exp(-next(sizes)) if t.cell == dear else 1.0})
        for t in trials_of(plan)
    ]
    row = rows(plan, trials)["dear"]
    assert (row.verdict, row.evidence) == (Verdict.SLOWER, Evidence.LIKELY)
    assert "; likely: it can be the luck of so few instances (1)" in stop_text(row)
    assert "; likely: the e-process" in stop_text(replace(row, instances=8, holm_p=0.01))


def test_that_two_are_the_same_is_established_where_neither_end_of_the_margin_is_possible():
    plan = planned(blocks=20, instances=5)
    row = rows(plan, trials_of(plan, noise=0.002))["dear"]
    assert (row.verdict, row.evidence) == (Verdict.SAME, Evidence.ESTABLISHED)


def test_what_is_undecided_has_no_evidence():
    plan = planned(blocks=8, instances=1)
    row = rows(plan, trials_of(plan, noise=0.2))["dear"]
    assert (row.verdict, row.evidence) == (Verdict.UNDECIDED, None)
    assert stop_text(row) == "all planned blocks were run"


# Whole studies, by the real runner on simulated machines


@pytest.fixture
def two_cpus():
    """Two equal CPUs, which the runner looks for on this very host."""
    host = SimpleNamespace(everything=sorted(os.sched_getaffinity(0)))
    host.cpus = partial(Session.cpus, host)
    if len(host.everything) < 2:
        pytest.skip("this host has one CPU")
    return [str(host.cpus(1, number)[0]) for number in cores.numbers(host, 1)]


def declared(lab, platforms, blocks=8, **repetition):
    rule = {"min_blocks": blocks, "max_blocks": blocks, "instances": 2, "design": "duet"}
    return lab.text(platforms, repetition=rule | repetition)


def test_a_known_cost_is_found_by_a_duet(lab, two_cpus):
    sim = {"noise": 0.01}
    text = declared(lab, {"base": {"sim": sim}, "dear": {"sim": {**sim, "cost": 1.1}}}, blocks=20)
    results = lab.run(text)
    found = rows(results.plan, results.trials)

    assert found["dear"].low <= 1.1 <= found["dear"].high
    assert found["A/A"].low <= 1.0 <= found["A/A"].high
    measured = [t for t in results.trials if t.kind is Kind.MEASURED]
    planned_halves = [half for pair in places(results.plan) for half in pair]
    assert Counter((t.block, t.cell, t.partner) for t in measured) == Counter(
        (half.block, half.cell, half.partner) for half in planned_halves
    )
    assert {(half.block, half.slot): two_cpus[half.cores] for half in planned_halves} == {
        (t.block, t.slot): t.cpuset for t in measured
    }
    lines = (results.folder / "trials.jsonl").read_text().splitlines()
    assert len(lines) == len(results.plan.slots) + sum(
        t.kind is Kind.WARMUP for t in results.trials
    )
    warm = [t for t in results.trials if t.kind is Kind.WARMUP]
    assert {t.partner for t in warm} == {""}
    for cell in results.plan.cells:
        assert {t.instance.partition("-")[2] for t in warm if t.cell == cell.id} <= set("01")
    assert results.facts.cpuset == " and ".join(two_cpus)


def test_unequal_cores_cost_nothing_and_are_seen(lab, scripted, two_cpus):
    def plot(instance, verb, argv):
        if verb != "run" or argv[-1:] != ("run",):
            return None
        slow = 1.2 if instance.site.cpuset == two_cpus[0] else 1.0
        dear = 1.05 if instance.machine.simulated.cost > 1 else 1.0
        wobble = 1 + 0.001 * instance.machine.simulated.random.random()
        stdout, took_s = answer(argv, 1 / slow / dear / wobble)
        return Completed(tuple(argv), 0, stdout, b"", took_s)

    scripted.plot = plot
    both = {"base": {"stack": "host/scripted"},
            "dear": {"stack": "host/scripted", "scripted": {"cost": 1.05}}}  # fmt: skip
    results = lab.run(declared(lab, both, blocks=20))
    found = rows(results.plan, results.trials)

    assert found["dear"].cost == pytest.approx(1.05, abs=0.005)
    (told,) = flagged(found["dear"], "Cores differ")
    slower = f"CPUs {two_cpus[0]} against CPUs {two_cpus[1]} cost 20 % more"
    faster = f"CPUs {two_cpus[1]} against CPUs {two_cpus[0]} cost 20 % less"
    assert slower in told or faster in told


def of(results, name):
    cells = results.plan.cells_by_id
    return [t for t in results.trials if cells[t.cell].platform == name
            and t.kind is Kind.MEASURED and not cells[t.cell].replica]  # fmt: skip


@pytest.fixture
def pair_of(lab, scripted, two_cpus):
    return lambda **more: declared(
        lab, {"base": {"sim": {}}, "scripted": {"stack": "host/scripted"}}, **more
    )


def test_a_half_that_fails_leaves_the_other_its_trial(lab, scripted, pair_of):
    runs = Counter()

    def plot(instance, verb, argv):
        if verb != "run" or argv[-1:] != ("run",):
            return None
        runs[instance.path] += 1
        # The first of an instance is its warm-up.
        is_broken = (instance.path, runs[instance.path]) == (next(iter(runs)), 2)
        return Completed(("x",), 1, b"", b"out of frobs", 1.0) if is_broken else None

    scripted.plot = plot
    results = lab.run(pair_of())

    (failed,) = (t for t in of(results, "scripted") if t.status is Status.FAILED)
    assert "out of frobs" in failed.reason
    beside = [t for t in of(results, "base") if t.partner == failed.cell]
    assert [t.status for t in beside] == [Status.OK] * 8
    assert rows(results.plan, results.trials)["scripted"].failed == 1


def test_a_half_that_cannot_be_woken_leaves_the_other_measured_alone(lab, scripted, pair_of):
    calls = Counter()

    def plot(instance, verb, argv):
        calls[verb] += 1
        if verb == "resume" and calls[verb] == 1:
            raise LayerError("it does not wake")

    scripted.plot = plot
    results = lab.run(pair_of())

    (lost,) = [t for t in of(results, "scripted") if t.status is Status.FAILED]
    assert "it does not wake" in lost.reason
    (other,) = [t for t in of(results, "base") if t.block == lost.block and t.partner == lost.cell]
    assert other.status is Status.OK
    assert "measured alone: the other half of its pair was lost" in other.warnings
    assert rows(results.plan, results.trials)["scripted"].pairs == 8
    assert lab.leftovers() == []


def test_a_half_whose_layer_raises_in_its_trial_leaves_the_other_its_own(lab, scripted, pair_of):
    runs = Counter()

    def plot(instance, verb, argv):
        if verb != "run" or argv[-1:] != ("run",):
            return
        runs[instance.path] += 1
        # The first of an instance is its warm-up.
        if (instance.path, runs[instance.path]) == (next(iter(runs)), 2):
            raise LayerError("its engine went away")

    scripted.plot = plot
    results = lab.run(pair_of())

    (failed,) = [t for t in of(results, "scripted") if t.status is Status.FAILED]
    assert failed.reason == "its engine went away"
    beside = [t for t in of(results, "base") if t.partner == failed.cell]
    assert [t.status for t in beside] == [Status.OK] * 8
    (alone,) = [t for t in beside if t.block == failed.block]
    assert "measured alone: the other half of its pair was lost" in alone.warnings
    assert rows(results.plan, results.trials)["scripted"].failed == 1


def test_a_half_that_is_lost_before_its_command_leaves_the_other_its_trial(
    lab, pair_of, monkeypatch
):
    made, lost = Counter(), []

    def begin(run, placed, *others):
        made[placed.instance, placed.part] += 1
        if placed.part == "subject" and made[placed.instance, placed.part] == 2 and not lost:
            lost.append(placed)
            raise LayerError("its engine went away")
        return init(run, placed, *others)

    init = measure.CommandRun.__init__
    monkeypatch.setattr(measure.CommandRun, "__init__", begin)
    results = lab.run(pair_of())

    (failed,) = [t for t in results.trials if t.status is Status.FAILED]
    assert failed.reason == "its engine went away"
    (other,) = [
        t for t in results.trials if (t.block, t.partner) == (failed.block, failed.cell)
        and t.kind is Kind.MEASURED
    ]  # fmt: skip
    assert other.status is Status.OK
    assert "measured alone: the other half of its pair was lost" in other.warnings


def test_what_warm_ups_took_one_after_another_is_of_the_budget(lab, two_cpus):
    text = declared(lab, {"base": {"sim": {}}, "dear": {"sim": {}}}, budget="50s")
    study, plan, folder = lab.begin(text)
    with pytest.raises(Killed):
        runner.run(study, plan, folder, Ending(2))
    path = folder / "trials.jsonl"
    stored = [json.loads(line) for line in path.read_text().splitlines()]
    assert [one["kind"] for one in stored] == ["warmup", "warmup"]
    lines = [json.dumps({**one, "phases_s": {"command": 30.0}}) for one in stored]
    path.write_text("".join(f"{line}\n" for line in lines))

    assert runner.run(study, plan, folder, runner.Silent()).startswith("the budget of 50 s was")


def test_the_time_left_is_by_the_trials_of_both_halves(lab, monkeypatch):
    plan = planned(blocks=10)
    tally = Tally(lab.folder)
    now = iter([100.0, 130.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(now))
    tally.begins(plan, 0)
    tally.block(0, 0, 1)
    for trial in trials_of(plan)[: len(plan.slots)]:  # of half the slots, both halves
        tally.ended(plan.cells_by_id[trial.cell], trial)

    assert tally.left() == "at most 30 s left"


def test_a_platform_that_does_not_open_ends_only_its_pairs(lab, scripted, pair_of):
    scripted.plot = lambda instance, verb, argv: _refuse() if verb == "probe" else None
    results = lab.run(pair_of())

    assert [t.status for t in of(results, "scripted")] == [Status.UNAVAILABLE]
    assert results.run.stop == "nothing is left to compare"


def _refuse():
    raise Unavailable("no frobs", "get some")


def test_without_its_baseline_a_duet_has_nothing_to_compare(lab, scripted, two_cpus):
    scripted.plot = lambda instance, verb, argv: _refuse() if verb == "probe" else None
    text = declared(lab, {"base": {"stack": "host/scripted"}, "dear": {"sim": {}}})
    results = lab.run(text)

    assert results.run.stop == "nothing is left to compare"
    assert of(results, "dear") == []


class Killed(BaseException):
    """Ends a run as an interrupt does."""


class Ending(runner.Silent):
    """Ends the run when so many trials are stored."""

    def __init__(self, at):
        self.left = at

    def ended(self, cell, trial):
        self.left -= 1
        if self.left == 0:
            raise Killed


def test_a_duet_that_was_ended_anywhere_is_completed_with_whole_pairs(lab, two_cpus):
    text = declared(lab, {"base": {"sim": {}}, "dear": {"sim": {"cost": 1.1}}}, blocks=3)
    for at in range(1, 20, 2):
        study, plan, folder = lab.begin(text)
        with pytest.raises(Killed):
            runner.run(study, plan, folder, Ending(at))
        assert lab.leftovers() == [], at

        runner.run(study, plan, folder, runner.Silent())

        results = load(folder)
        measured = [t for t in results.trials if t.kind is Kind.MEASURED]
        last = {(t.block, t.cell, t.partner): t for t in measured}
        assert last.keys() == {
            (half.block, half.cell, half.partner) for pair in places(plan) for half in pair
        }, at
        for (block, cell, partner), trial in last.items():
            other = last[block, partner, cell]
            assert trial.instance.partition("-")[0] == other.instance.partition("-")[0], at


def test_a_duet_of_the_second_format_that_was_killed_within_a_pair_is_completed(lab, two_cpus):
    study, plan, folder = lab.begin(declared(lab, {"base": {"sim": {}}, "dear": {"sim": {}}}))
    with pytest.raises(Killed):
        runner.run(study, plan, folder, Ending(24))
    lines = as_second_format(folder, plan)
    assert json.loads(lines[-1])["partner"]
    (folder / "trials.jsonl").write_text("".join(lines[:-1]))
    half = load(folder).trials[-1]

    assert runner.run(study, read_plan(folder / "plan.json"), folder, runner.Silent())

    results = load(folder)
    assert results.plan.slots == plan.slots
    last = {(t.block, t.cell, t.partner): t for t in results.trials if t.kind is Kind.MEASURED}
    assert last.keys() == {
        (half.block, half.cell, half.partner) for pair in places(plan) for half in pair
    }
    again = last[half.block, half.cell, half.partner]
    assert again.session == last[half.block, half.partner, half.cell].session != half.session
    assert rows(results.plan, results.trials)["dear"].pairs == 8


def as_second_format(folder, plan):
    """Write a duet's plan as it was in the second format; gives the lines of its trials in that."""
    known = json.loads((folder / "plan.json").read_text())
    slots = [
        {**slot, "slot": slot["slot"] + number, "cell": half["cell"],
         "partner": slot["placements"][1 - number]["cell"],
         "placements": [{**half, "cell": "", "part": ""}]}
        for slot in known["slots"] for number, half in enumerate(slot["placements"])
    ]  # fmt: skip
    for one in slots:
        del one["placements"][0]["cell"]
    (folder / "plan.json").write_text(json.dumps({**known, "format": 2, "slots": slots}))
    assert len(slots) == 2 * len(plan.slots)
    lines = []
    for line in (folder / "trials.jsonl").read_text().splitlines():
        whole = json.loads(line) | {"format": 2}
        parts = whole.pop("parts")
        for number, part in enumerate(parts):
            own = {name: part[name] for name in part.keys() & whole.keys()}
            slot = whole["slot"] + number
            own |= {"cell": part["cell"], "slot": slot, "partner": parts[1 - number]["cell"]}
            lines.append(json.dumps({**whole, **own}, separators=(",", ":")) + "\n")
        if not parts:
            lines.append(json.dumps(whole, separators=(",", ":")) + "\n")
    return lines


def test_a_host_with_too_few_cpus_says_so_for_every_cell(lab):
    too_many = len(os.sched_getaffinity(0))
    rule = {"min_blocks": 8, "max_blocks": 8, "instances": 1, "design": "duet"}
    text = lab.text({"base": {"sim": {}}, "dear": {"sim": {}}}, repetition=rule,
                    limits={"cpus": too_many, "memory": "1GiB"})  # fmt: skip
    results = lab.run(text)

    assert {t.status for t in results.trials} == {Status.UNAVAILABLE}
    assert all(f"needs {2 * too_many}" in t.reason for t in results.trials)


def test_the_facts_say_where_both_halves_take_all_cpus(lab, two_cpus):
    results = lab.run(declared(lab, {"base": {"sim": {}}, "dear": {"sim": {}}}))
    told = any("two halves of the duet take all CPUs" in one for one in results.facts.noise)
    first = min(map(int, two_cpus))
    assert told == (first == min(os.sched_getaffinity(0)))


def test_how_far_apart_the_halves_started_is_one_row_of_both(lab, scripted, pair_of):
    results = lab.run(pair_of())

    rows_of = {row["platform"]: row for row in start_rows(describe(results))}
    row = rows_of["base and scripted"]
    pairs = [one for one in of(results, "scripted") if one.kind is Kind.MEASURED]
    assert (row["parts"], row["trials"], row["missing"]) == (2, len(pairs), 0)
    assert 0 < row["median_s"] <= row["most_s"]
