"""Which counters moved with a degradation, on trials in which that is known."""

import math
from dataclasses import replace

import numpy as np
import pytest

from tare.core.model import Better, Design, Kind, Metric, MetricRole, Status, Unit, resource_of
from tare.present.view.reasons import reason_text
from tare.results.questions.counters import Pace, work_of
from tare.results.questions.explanation import MAX_NAMED, explanations
from tare.results.stats.sequential import Verdict
from tare.results.study import compare
from tare.work.workload import TOOL_DURATION
from unit.makers import RATE, TIME, again, make_cell, make_plan, make_trial

HOST, DOCKER = make_cell("host"), make_cell("host/docker")
NOISE = 0.02
QUIET = {f"layer_counter_{number}": (10.0**number, 1.0) for number in range(12)}


def values(counters, blocks, seed):
    """Give the counters of a run on both sides, by block: those of the baseline, and times more."""
    rng = np.random.default_rng(seed)
    for block in range(blocks):
        yield (
            block,
            [
                {
                    name: base * (factor if other else 1.0) * math.exp(rng.normal(0, NOISE))
                    for name, (base, factor) in counters.items()
                }
                for other in (False, True)
            ],
        )


def study(counters, *, blocks=20, cost=2.0, seed=1, instances=0, change=lambda one: one):
    """Trials of a fixed work that takes ``cost`` times as long on the one platform."""
    rng = np.random.default_rng(seed + 1000)
    trials = []
    for block, sides in values(counters, blocks, seed):
        label = str(block % instances if instances else block)
        for cell, taken, factor in zip((HOST, DOCKER), sides, (1.0, cost), strict=True):
            lasted_s = factor * math.exp(rng.normal(0, 0.005))
            trials.append(
                make_trial(cell, block, instance=label, samples={"time": lasted_s}, resources=taken)
            )
    return [change(one) for one in trials]


def explained(plan, trials):
    found = compare(plan, trials)
    return explanations(found.estimates, found.comparisons)


def explain(trials, metrics=(TIME,), **repetition):
    plan = make_plan(HOST, DOCKER, metrics=metrics, **{"max_blocks": 20} | repetition)
    (found,) = explained(plan, trials)
    return found


def names(movements):
    return [one.resource.name for one in movements]


def of(found, name):
    return next(one for one in found.movements if one.resource.name == name)


def without(name, when):
    """Take a counter out of the trials for which that is wanted."""

    def change(one):
        kept = {key: value for key, value in one.resources.items() if key != name}
        return replace(one, resources=kept) if when(one) else one

    return change


def test_what_did_not_move_is_not_named():
    found = explain(study(QUIET))
    assert found.is_slower
    assert len(found.movements) == len(QUIET)
    assert not any(one.moved for one in found.movements)
    assert all(one.pairs == 20 and 0.95 < one.ratio < 1.05 for one in found.movements)
    assert found.named == ()


def test_what_moved_is_named_with_its_ratio_and_first():
    found = explain(study({**QUIET, "layer_page_faults": (400.0, 5.0)}))
    assert names(found.named) == ["layer_page_faults"]
    first = found.movements[0]
    assert first is found.named[0]
    assert first.low < 5.0 < first.high
    assert first.high / first.low < 1.1
    assert first.baseline == pytest.approx(400, rel=0.05)
    assert first.own == pytest.approx(2000, rel=0.05)
    assert first.pace is Pace.MORE


def test_those_that_moved_most_surely_come_first_and_three_are_named():
    factors = {"a": 3.0, "b": 1.5, "c": 8.0, "d": 2.0, "e": 1.01}
    counters = {f"layer_{name}": (100.0, factor) for name, factor in factors.items()}
    found = explain(study(counters))
    assert names(one for one in found.movements if one.moved) == [
        *("layer_c", "layer_a", "layer_d", "layer_b")
    ]
    assert names(found.named) == ["layer_c", "layer_a", "layer_d"]
    assert len(found.named) == MAX_NAMED
    paces = {one.resource.name: one.pace for one in found.movements}
    assert paces["layer_d"] is Pace.WITH
    assert paces["layer_b"] is paces["layer_e"] is Pace.LESS


def test_eight_pairs_are_enough_although_ranks_cannot_pass_holm():
    found = explain(study({**QUIET, "layer_page_faults": (400.0, 5.0)}, blocks=8), max_blocks=8)
    assert names(found.named) == ["layer_page_faults"]
    assert of(found, "layer_page_faults").holm_p < 1e-6


@pytest.mark.parametrize("blocks", [8, 20])
def test_of_many_noisy_counters_few_cells_name_any(blocks):
    """At most one cell in twenty, although each has 12 counters and the margin is none."""
    runs = 60
    alarms = 0
    for seed in range(runs):
        found = explain(study(QUIET, blocks=blocks, seed=seed), max_blocks=blocks, margin=0.0)
        assert found.is_slower
        alarms += any(one.moved for one in found.movements)
    assert alarms <= 0.05 * runs


def test_luck_of_instances_is_not_taken_for_the_platform():
    """Instances scatter by 20 %, their trials by 2 %: blocks alone would alarm in most studies."""
    alarms = 0
    runs = 40
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        luck = {
            (cell.id, str(i)): math.exp(rng.normal(0, 0.2))
            for cell in (HOST, DOCKER)
            for i in range(5)
        }

        def lucky(one, luck=luck):
            factor = luck[one.cell, one.instance]
            return replace(one, resources={k: v * factor for k, v in one.resources.items()})

        trials = study({"layer_page_faults": (400.0, 1.0)}, seed=seed, instances=5, change=lucky)
        alarms += explain(trials).movements[0].moved
    assert alarms <= 0.1 * runs


@pytest.mark.parametrize("cost", [1.0, 0.5])
def test_where_the_platform_is_no_slower_nothing_has_moved_with_it(cost):
    found = explain(study({"layer_page_faults": (400.0, 5.0)}, cost=cost))
    assert found.row.verdict in (Verdict.SAME, Verdict.FASTER)
    assert not found.is_slower
    assert found.named == ()
    assert of(found, "layer_page_faults").ratio == pytest.approx(5.0, rel=0.05)


def test_of_very_many_pairs_a_hundred_are_drawn_always_the_same():
    trials = study({"layer_page_faults": (400.0, 5.0)}, blocks=150)
    found = explain(trials, max_blocks=150)
    assert found.row.pairs == 150
    assert found.movements[0].pairs == 100
    assert found == explain(trials, max_blocks=150)


def test_what_fell_is_not_named():
    found = explain(study({"layer_page_faults": (400.0, 0.2)}))
    assert found.movements[0].holm_p < 0.001
    assert found.named == ()


def test_trials_without_a_counter_are_left_out_of_its_pairs():
    change = without("layer_page_faults", lambda one: one.block % 4 == 0 and one.cell == HOST.id)
    found = explain(study({**QUIET, "layer_page_faults": (400.0, 5.0)}, change=change))
    assert of(found, "layer_page_faults").pairs == 15
    assert of(found, "layer_counter_3").pairs == 20
    assert names(found.named) == ["layer_page_faults"]


@pytest.mark.parametrize(
    ("lacks", "reason", "known"),
    [
        (lambda one: one.cell == HOST.id, "not read on the baseline", "own"),
        (lambda one: one.cell == DOCKER.id, "not read here", "baseline"),
        (
            lambda one: (one.cell == HOST.id) == (one.block < 10),
            "not read on both in the same block",
            "own",
        ),
    ],
)
def test_a_counter_of_one_side_has_no_ratio_and_says_why(lacks, reason, known):
    counters = {**QUIET, "layer_page_faults": (400.0, 5.0)}
    found = explain(study(counters, change=without("layer_page_faults", lacks)))
    one = of(found, "layer_page_faults")
    assert (one.ratio, one.p, one.pairs, reason_text(one.reason)) == (None, None, 0, reason)
    assert getattr(one, known) > 0
    assert found.named == ()


def test_what_is_0_on_the_baseline_has_no_ratio_and_is_named_all_the_same():
    found = explain(
        study({**QUIET, "layer_guest_exits": (0.0, 1.0)}, blocks=8, change=exits), max_blocks=8
    )
    one = of(found, "layer_guest_exits")
    assert (one.baseline, one.own, one.ratio, one.low) == (0.0, 123.0, None, math.inf)
    assert names(found.named) == ["layer_guest_exits"]


def exits(one):
    many = 123.0 if one.cell == DOCKER.id else 0.0
    return replace(one, resources={**one.resources, "layer_guest_exits": many})


def test_what_is_0_on_both_sides_says_nothing():
    found = explain(study({"layer_major_faults": (0.0, 1.0)}))
    assert reason_text(of(found, "layer_major_faults").reason) == "0 on both sides"
    assert of(found, "layer_major_faults").p is None


def test_zeros_now_and_then_on_both_sides_are_no_sign():
    def rare(one):
        seen = float(np.random.default_rng([one.block, one.cell == HOST.id]).integers(0, 2))
        return replace(one, resources={"layer_major_faults": seen})

    found = explain(study({}, change=rare))
    assert found.movements[0].pairs == 20
    assert found.movements[0].holm_p > 0.05
    assert found.named == ()


@pytest.mark.parametrize("value", [math.inf, math.nan, -1.0])
def test_what_is_no_count_is_not_there(value):
    def broken(one):
        return replace(one, resources={**one.resources, "layer_page_faults": value})

    found = explain(study(QUIET, change=broken))
    assert "layer_page_faults" not in names(found.movements)
    assert len(found.movements) == len(QUIET)


def test_failed_trials_make_no_pair():
    def fail(one):
        if one.block < 3 and one.cell == DOCKER.id:
            return replace(one, status=Status.FAILED, samples={})
        return one

    found = explain(study({"layer_page_faults": (400.0, 5.0)}, change=fail))
    assert found.movements[0].pairs == 17
    assert names(found.named) == ["layer_page_faults"]


def test_a_platform_alone_has_nothing_to_explain():
    plan = make_plan(HOST)
    trials = [one for one in study(QUIET) if one.cell == HOST.id]
    assert explained(plan, trials) == ()


def test_a_control_is_not_explained():
    control = again(HOST)
    plan = make_plan(HOST, control)
    assert explained(plan, ()) == ()


def test_without_trials_or_counters_it_says_so():
    assert reason_text(explain([]).reason) == "no two trials of a block say what they did"
    assert reason_text(explain(study({})).reason) == "no trial has stored counters"


RATIO = Metric("loss", Unit.RATIO, Better.LOWER, MetricRole.LOSS)
CAPACITY = Metric("most", Unit.PER_SECOND, Better.HIGHER, MetricRole.SEARCHED)
BYTES = Metric("throughput", Unit.BYTE_PER_SECOND, Better.HIGHER)
RETRANSMITS = Metric("retransmits", Unit.PER_SECOND, Better.LOWER)


@pytest.mark.parametrize(
    ("metrics", "rate"),
    [
        ((RATE, TIME), RATE),
        ((BYTES, RATE), BYTES),
        ((TIME, RETRANSMITS, RATE), RATE),
        ((TIME, RETRANSMITS), None),
    ],
)
def test_work_is_counted_by_a_rate_or_else_a_run(metrics, rate):
    assert work_of(metrics).rate == rate


@pytest.mark.parametrize("metrics", [(RATIO, RATE), (CAPACITY, RATE)])
def test_what_does_not_say_how_much_was_done_explains_nothing(metrics):
    found = explain(study(QUIET), metrics=metrics)
    assert found.work is None
    assert found.reason
    assert found.movements == ()


def test_a_rate_is_counted_over_the_time_of_the_tool():
    trial = make_trial(HOST, samples={"rate": 50.0, "tool_duration": 4.0}, duration_s=5.0)
    work = work_of((RATE, TOOL_DURATION))
    assert work.of(trial) == 200
    assert work_of((RATE,)).of(trial) == 250
    assert work.of(replace(trial, samples={"rate": 50.0})) == 250
    assert work.of(replace(trial, samples={"rate": 0.0})) is None
    assert work.of(replace(trial, samples={})) is None
    assert work.of(replace(trial, status=Status.DNR)) is None


def test_of_a_trial_of_fixed_time_counters_are_taken_per_unit_of_work():
    """As many faults in a second, and half the work: twice as many for each unit of it."""

    def timed(one):
        return replace(one, samples={"rate": 100 / one.samples["time"], "tool_duration": 1.0})

    found = explain(
        study({"layer_page_faults": (400.0, 1.0)}, change=timed), metrics=(RATE, TOOL_DURATION)
    )
    assert found.is_slower
    assert found.typical == pytest.approx(100, rel=0.02)
    one = found.movements[0]
    assert one.ratio == pytest.approx(2.0, rel=0.03)
    assert one.baseline == pytest.approx(4.0, rel=0.03)
    assert one.pace is Pace.WITH


@pytest.mark.parametrize(
    ("name", "total"),
    [
        ("layer_cpu_s", True),
        ("host_disk_writes", True),
        ("machine_disk_read_bytes", True),
        ("layer_memory_byte_seconds", True),
        ("layer_memory_peak_bytes", False),
        ("layer_memory_bytes_mean", False),
        ("layer_pss_bytes", False),
        ("layer_pids_most", False),
        ("monitor_cpu_s", False),
    ],
)
def test_levels_and_what_watching_took_are_no_counters_of_work(name, total):
    assert resource_of(name).is_total is total
    assert resource_of(name).name == name


def named_of(**factors):
    return names(explain(study({name: (100.0, factor) for name, factor in factors.items()})).named)


def test_cpu_time_that_moved_as_the_cost_did_is_named_by_its_parts_or_not_at_all():
    assert named_of(layer_cpu_s=2.0) == []
    assert named_of(layer_cpu_s=2.0, layer_cycles=2.0) == []
    split = {"layer_cpu_s": 2.0, "layer_cpu_user_s": 1.0, "layer_cpu_system_s": 9.0}
    assert named_of(**split) == ["layer_cpu_system_s"]
    assert named_of(**split | {"layer_cpu_s": 4.0}) == ["layer_cpu_system_s"]
    assert named_of(layer_cpu_s=4.0) == ["layer_cpu_s"]


def test_kernel_time_that_grew_from_next_to_nothing_to_next_to_nothing_is_not_named():
    little = {"layer_cpu_user_s": (10.0, 1.0), "layer_cpu_system_s": (0.01, 9.0)}
    found = explain(study(little))
    assert of(found, "layer_cpu_system_s").holm_p < 0.001
    assert found.named == ()


def test_memory_that_is_held_explains_no_time():
    assert named_of(layer_memory_byte_seconds=50.0) == []


def test_the_whole_host_is_named_where_it_moved_more_than_the_cost_and_the_layer_does_not_tell():
    assert named_of(host_context_switches=2.0) == []
    assert named_of(host_context_switches=6.0) == ["host_context_switches"]
    assert named_of(host_page_faults=6.0, layer_page_faults=4.0) == ["layer_page_faults"]
    assert named_of(layer_disk_reads=6.0, layer_disk_read_bytes=4.0) == ["layer_disk_reads"]


def warmups(name, mine, theirs):
    """One warm-up of each instance, with a counter that measured trials do not have."""
    return [
        make_trial(
            cell, kind=Kind.WARMUP, instance=str(at), samples={"time": 1.0}, resources={name: one}
        )
        for cell, some in ((DOCKER, mine), (HOST, theirs))
        for at, one in enumerate(some)
    ]


def test_what_only_warmups_count_is_not_paired_and_says_so():
    calls = warmups("layer_system_calls", [800.0, 820, 790, 810, 805], [200.0, 201, 199, 202, 198])
    found = explain([*calls, *study(QUIET)])
    one = of(found, "layer_system_calls")
    assert one.in_warmups
    assert one.pairs == 0
    assert one.ratio == pytest.approx(4.0, rel=0.05)
    assert one.low < 4.0 < one.high
    assert names(found.named) == ["layer_system_calls"]
    assert not any(one.in_warmups for one in found.movements if one.resource.name in QUIET)


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ([800.0, 150, 300, 90, 500], [200.0, 700, 90, 310, 140]),
        ([800.0], [200.0]),
        ([800.0] * 5, []),
        ([800.0, 0, 810, 800, 790], [200.0] * 5),
        ([0.0] * 5, [0.0] * 5),
    ],
)
def test_warmups_that_are_few_or_scatter_name_nothing(mine, theirs):
    found = explain([*warmups("layer_system_calls", mine, theirs), *study(QUIET)])
    assert found.named == ()
    assert of(found, "layer_system_calls").own is not None


def test_guest_exits_of_warmups_need_no_ratio():
    exits = warmups("layer_guest_exits", [5000.0, 5100, 4900, 5050, 5020], [0.0] * 5)
    found = explain([*exits, *study({"layer_a": (1.0, 1.0)})])
    one = of(found, "layer_guest_exits")
    assert (one.baseline, one.own, one.ratio) == (0.0, 5020.0, None)
    assert found.named == (one,)


def test_an_instance_with_many_warmups_counts_once():
    one = warmups("layer_system_calls", [800.0], [200.0])
    found = explain([*(one * 20), *study(QUIET)])
    assert of(found, "layer_system_calls").p == 1.0
    assert found.named == ()


def test_operations_of_the_host_stand_beside_those_inside_the_guest():
    def guest(one):
        inside = {"machine_disk_writes": 10.0 * one.block, "machine_disk_written_bytes": 4096.0}
        outside = {"layer_disk_writes": 30.0 * one.block, "host_disk_writes": 99.0}
        outside |= {"host_disk_written_bytes": 8192.0}
        return replace(one, resources={**outside, **(inside if one.cell == DOCKER.id else {})})

    found = explain(study({}, change=guest))
    writes, written = found.inside
    assert (writes.outer.name, writes.inner.name) == ("layer_disk_writes", "machine_disk_writes")
    assert (writes.ratio, writes.trials) == (pytest.approx(3.0), 19)
    assert (written.outer.name, written.ratio) == ("host_disk_written_bytes", pytest.approx(2.0))
    assert reason_text(of(found, "machine_disk_writes").reason) == "not read on the baseline"


def test_the_halves_of_a_duet_share_the_counters_of_the_host():
    def half(one):
        other = HOST if one.cell == DOCKER.id else DOCKER
        return replace(one, partner=other.id)

    counters = {"host_context_switches": (100.0, 6.0), "layer_page_faults": (400.0, 5.0)}
    found = explain(study(counters, change=half), design=Design.DUET)
    assert names(found.movements) == ["layer_page_faults"]
