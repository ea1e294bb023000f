"""Which workloads have the next block, and with which cells; instances by platform."""

import math
from dataclasses import replace

import pytest

from tare.core.errors import ConfigError
from tare.core.model import Design, Kind, Placement, Slot
from tare.experiment.design import make_plan as plan_of
from tare.experiment.run.allocation import Allocation
from tare.experiment.run.progress import differs
from tare.experiment.run.recycling import Links
from tare.experiment.study import read_study
from tare.present.view.flags import flag_texts
from tare.results.compare.instances import instance_pairs
from tare.results.compare.pairing import histories
from tare.results.questions.allocation import Standing
from tare.results.stats.sequential import Verdict
from tare.results.store import load
from tare.results.study import compare
from unit.makers import make_cell, make_plan, make_trial

WORKLOADS = ("cpu", "disk")
BASE, CONTROL, DOCKER, QEMU = (
    {
        workload: make_cell(platform, workload=workload, replica=int(control))
        for workload in WORKLOADS
    }
    for platform, control in (
        ("host", False),
        ("host", True),
        ("host/docker", False),
        ("host/qemu", False),
    )
)
CELLS = [kind[workload] for workload in WORKLOADS for kind in (BASE, CONTROL, DOCKER, QEMU)]


def planned(blocks=27, **repetition):
    slots = tuple(
        Slot(block=block, slot=n, cell=cell.id, placements=(Placement(instance=0),))
        for block in range(blocks)
        for n, cell in enumerate(CELLS)
    )
    return make_plan(*CELLS, slots=slots, max_blocks=blocks, **repetition)


def standing(pairs=0, *, decided=False, rests=False, needed=8.0, width=None, cost=1.0):
    verdict = Verdict.SLOWER if decided else Verdict.UNDECIDED
    return Standing(
        pairs=pairs,
        decided=decided,
        rests=rests,
        needed=needed,
        half_width=width,
        verdict=verdict,
        cost=cost,
    )


def all_at(default, **others):
    """Standings of all compared cells; others are named <platform>_<workload>."""
    named = {"docker": DOCKER, "qemu": QEMU}
    return {
        cells[workload].id: others.get(f"{name}_{workload}", default)
        for workload in WORKLOADS
        for name, cells in named.items()
    }


def at_block(allocation, block):
    allocation.next_block = dict.fromkeys(allocation.next_block, block)
    return allocation


def names(chosen):
    return {
        (cell.workload, cell.platform + ("'" if cell.replica else ""))
        for cell in CELLS
        if cell.id in chosen.cells
    }


def of(workload, *platforms):
    return {(workload, platform) for platform in platforms}


EVERYTHING = ("host", "host'", "host/docker", "host/qemu")


def test_all_workloads_have_their_first_eight_blocks_together():
    allocation = Allocation(planned(), [])
    for block in range(8):
        chosen = allocation.choose(all_at(standing(block)), set(), narrow=False)
        assert chosen.block == block
        assert names(chosen) == of("cpu", *EVERYTHING) | of("disk", *EVERYTHING)
        allocation.ran(chosen)

    chosen = allocation.choose(all_at(standing(8)), set(), narrow=False)
    assert len(chosen.groups) == 1


def test_fixed_numbers_of_blocks_are_run_together_to_their_end():
    allocation = at_block(Allocation(planned(min_blocks=20), []), 19)
    chosen = allocation.choose(all_at(standing(19)), set(), narrow=False)
    assert len(chosen.groups) == 2


def test_what_rests_is_left_out_and_baseline_and_control_stay():
    rests = standing(5, decided=True, rests=True)
    allocation = at_block(Allocation(planned(), []), 5)
    known = all_at(standing(5), qemu_cpu=rests, qemu_disk=rests, docker_disk=rests)
    chosen = allocation.choose(known, set(), narrow=False)
    assert names(chosen) == of("cpu", "host", "host'", "host/docker")


def test_the_cheapest_decision_comes_first():
    allocation = at_block(Allocation(planned(), []), 8)
    far, near = standing(8, needed=27), standing(8, needed=11)
    known = all_at(far, docker_disk=near)
    assert names(allocation.choose(known, set(), narrow=False)) == of("disk", *EVERYTHING)
    # As many pairs, of fewer cells at once, take less.
    rests = standing(8, decided=True, rests=True)
    known = all_at(near, qemu_cpu=rests)
    chosen = allocation.choose(known, set(), narrow=False)
    assert names(chosen) == of("cpu", "host", "host'", "host/docker")


def test_a_prediction_that_is_always_near_does_not_keep_the_others_waiting():
    # A decision falls at a look: from 15 pairs on the next is at 20, and 8 are nearer to 11.
    allocation = at_block(Allocation(planned(), []), 15)
    hog, waiting = standing(15, needed=16), standing(8, needed=9)
    known = all_at(waiting, docker_cpu=hog, qemu_cpu=hog)
    assert names(allocation.choose(known, set(), narrow=False)) == of("disk", *EVERYTHING)


def test_each_workload_counts_its_blocks_by_itself():
    allocation = at_block(Allocation(planned(), []), 8)
    known = all_at(standing(8, needed=27), docker_disk=standing(8, needed=9))
    for block in (8, 9, 10):
        chosen = allocation.choose(known, set(), narrow=False)
        assert (chosen.block, len(chosen.groups)) == (block, 1)
        allocation.ran(chosen)
    assert sorted(allocation.next_block.values()) == [8, 11]


def test_a_budget_that_is_left_narrows_the_widest_interval():
    def rest(width):
        return standing(8, decided=True, rests=True, width=width)

    allocation = at_block(Allocation(planned(), []), 8)
    known = all_at(rest(0.1), qemu_disk=rest(0.3), docker_cpu=rest(math.inf), qemu_cpu=rest(None))
    assert allocation.choose(known, set(), narrow=False) is None
    chosen = allocation.choose(known, set(), narrow=True)
    assert names(chosen) == of("disk", "host", "host'", "host/qemu")
    assert names(allocation.choose(known, {QEMU["disk"].id}, narrow=True)) == of(
        "disk", "host", "host'", "host/docker"
    )
    # Narrower than the margin nothing is gained that the study calls a difference.
    assert allocation.choose(all_at(rest(0.019)), set(), narrow=True) is None


def test_what_was_given_up_is_in_no_round():
    gone = {QEMU["cpu"].id, CONTROL["disk"].id}
    chosen = Allocation(planned(), []).choose(all_at(standing()), gone, narrow=False)
    assert names(chosen) == of("cpu", "host", "host'", "host/docker") | of(
        "disk", "host", "host/docker", "host/qemu"
    )


def test_nothing_is_left_when_every_block_was_run():
    allocation = at_block(Allocation(planned(), []), 27)
    assert allocation.choose(all_at(standing(27)), set(), narrow=True) is None
    assert allocation.has_reached_the_end(all_at(standing(27)), set())
    assert not at_block(allocation, 26).has_reached_the_end(all_at(standing(27)), set())
    # Of what is decided the blocks that were left out are none that are missing.
    allocation.next_block = dict(zip(allocation.groups, (8, 27), strict=True))
    decided = standing(8, decided=True, rests=True)
    known = all_at(decided, docker_disk=standing(27, rests=True))
    assert allocation.has_reached_the_end(known, set())
    assert not allocation.has_reached_the_end(all_at(decided), set())
    assert not allocation.has_reached_the_end(known, set(known))


def test_in_a_duet_nothing_is_run_without_the_baseline():
    plan = planned()
    plan = replace(plan, repetition=replace(plan.repetition, design=Design.DUET))
    chosen = Allocation(plan, []).choose(all_at(standing()), {BASE["cpu"].id}, narrow=False)
    assert {workload for workload, _ in names(chosen)} == {"disk"}


def test_a_study_goes_on_at_the_last_block_of_each_workload():
    trials = [make_trial(BASE["cpu"], 12), make_trial(BASE["disk"], 9)]
    allocation = Allocation(planned(), trials)
    assert sorted(allocation.next_block.values()) == [9, 12]


def test_what_an_earlier_session_could_not_run_is_tried_again():
    gone = standing(0, rests=True)
    allocation = Allocation(planned(), [])
    known = all_at(standing(8, decided=True, rests=True), docker_cpu=gone)
    for _ in range(3):  # a look at three pairs would have shown some
        chosen = allocation.choose(known, set(), narrow=False)
        assert DOCKER["cpu"].id in chosen.cells
        allocation.ran(chosen)
    assert allocation.choose(known, set(), narrow=False) is None


@pytest.mark.parametrize(
    ("pairs", "more", "due"),
    [(0, 1, False), (0, 2, False), (0, 3, True), (4, 1, True), (7, 1, True), (8, 1, False),
     (8, 2, False), (8, 3, True), (11, 0, False)],
)  # fmt: skip
def test_looks_are_taken_where_the_schedule_has_one(pairs, more, due):
    allocation = Allocation(planned(), [])
    known = all_at(standing(pairs))
    for _ in range(more):
        allocation.ran(allocation.choose(known, set(), narrow=False))
    assert allocation.is_look_due(known) is due
    allocation.looked()
    assert not allocation.is_look_due(known)


def test_of_comparisons_only_what_is_new_is_reported():
    undecided, decided = standing(3, width=0.3), standing(4, decided=True, width=0.2)
    assert not differs(None, standing(2))
    assert differs(standing(2), undecided)
    assert not differs(undecided, replace(undecided, pairs=4, half_width=0.2))
    assert differs(undecided, decided)


@pytest.mark.parametrize(
    ("counts", "linked", "fewest"),
    [
        ({5}, [(0,), (1,), (2,), (3,), (4,)], 1),
        ({5, 2}, [(0, 2, 4), (1, 3)], 1),
        ({4, 2}, [(0, 2), (1, 3)], 1),
        ({5, 1}, [(0, 1, 2, 3, 4)], 1),
        ({5, 3, 2}, [(0, 1, 2, 3, 4)], 2),
    ],
)
def test_places_that_share_an_instance_are_linked(counts, linked, fewest):
    links = Links(counts)
    assert list(dict.fromkeys(links.of(place) for place in range(max(counts)))) == linked
    assert links.count == len(linked)
    assert links.fewest(linked[0]) == fewest


STUDY = """
name: few
platforms:
  - host
  - {stack: host/docker, instances: 3}
  - {stack: host/qemu-tcg, instances: 2, qemu-tcg: {cpu: [max, qemu64]}}
limits: {cpus: 1, memory: 1GiB}
workloads: [fio]
repetition: {max_blocks: 12}
"""


def test_instances_of_a_platform_are_in_the_plan_and_in_no_cell():
    plan = plan_of(read_study(STUDY, "few.yaml"), 1)
    bare = plan_of(read_study(STUDY.replace("instances: 3", "name: host/docker"), "few.yaml"), 1)
    rule = plan.repetition
    assert [rule.instances_of(name) for name in ("host", "host/docker")] == [5, 3]
    assert rule.instances_of("host", "host/docker") == 3
    assert [count for _, count in rule.instances_of_platforms] == [3, 2, 2]
    assert plan.cells == bare.cells


def test_blocks_take_the_instances_of_each_platform_in_turn():
    plan = plan_of(read_study(STUDY, "few.yaml"), 1)
    used = {}
    for slot in plan.slots:
        cell = plan.cells_by_id[slot.cell]
        used.setdefault((cell.platform, cell.replica), []).append(slot.instance)
    host = [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1]
    assert used["host", False] == used["host", True] == host
    assert used["host/docker", False] == [number % 3 for number in host]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("0", "few.yaml:5:26: platforms[1].instances: 0 was given; expected 1 or more"),
        ("[1, 2]", "few.yaml:5:26: platforms[1].instances: found a list; expected a single value"),
        ("some", "few.yaml:5:26: platforms[1].instances: "),
    ],
)
def test_wrong_instances_of_a_platform_are_refused_with_their_place(wrong, said):
    with pytest.raises(ConfigError) as raised:
        read_study(STUDY.replace("instances: 3", f"instances: {wrong}"), "few.yaml")
    assert str(raised.value).startswith(said)


def test_established_verdicts_need_enough_instances_of_every_platform():
    text = STUDY.replace("max_blocks: 12", "max_blocks: 12, evidence: established")
    with pytest.raises(ConfigError, match=r"host/docker has instances: 3; expected 5 or more"):
        read_study(text, "few.yaml")


def test_an_older_plan_has_the_one_number_for_all(tmp_path):
    assert planned(instances=4).repetition.instances_of("host", "host/docker") == 4


def simulated(lab, instances, **repetition):
    """A study of a base with five instances and another with fewer."""
    shared = {"noise": 0.01, "seed": 2}
    platforms = {
        "base": {"sim": shared},
        "other": {"instances": instances, "sim": {**shared, "cost": 2.0}},
        "twin": {"sim": {**shared, "noise": 0.05}},
    }
    return lab.run(lab.text(platforms, repetition={"instances": 5, **repetition}))


def test_pairs_that_share_an_instance_are_those_of_the_platform_with_fewer(lab):
    results = simulated(lab, 2, min_blocks=10, max_blocks=10)
    plan = results.plan
    found = histories(plan, results.trials)
    cells = {(cell.platform, cell.replica): cell for cell in plan.cells}
    other, base = cells["other", False], cells["base", False]
    linked = instance_pairs(found[other.id], found[base.id], range(10))
    assert linked == (0, 1, 0, 1, 0, 0, 1, 0, 1, 0)
    rows = {row.cell.platform: row for row in compare(plan, results.trials).comparisons
            if row.primary and not row.is_control}  # fmt: skip
    assert (rows["other"].instances, rows["twin"].instances) == (2, 5)
    flags = [
        flag
        for flag in flag_texts(rows["other"].flags)
        if flag.startswith("Measured in 2 instances")
    ]
    assert len(flags) == 1
    assert not any(flag.startswith("Measured in") for flag in flag_texts(rows["twin"].flags))


def test_instances_that_are_linked_are_replaced_together(lab):
    results = simulated(lab, 2, min_blocks=20, max_blocks=20, blocks_per_instance=3)
    plan = results.plan
    found = histories(plan, results.trials)
    cells = {(cell.platform, cell.replica): cell for cell in plan.cells}
    other, base = cells["other", False], cells["base", False]
    linked = instance_pairs(found[other.id], found[base.id], range(20))
    sizes = [linked.count(first) for first in sorted(set(linked))]
    assert len(sizes) == 7
    assert max(sizes) == 3
    facts = results.run.sessions[-1]
    # Of base, its control and twin two or three instances each, of the other one.
    assert facts.replaced_instances == 3 * (3 * 3 + 1) + 2 * (3 * 2 + 1)


def test_what_is_decided_rests_and_what_is_open_goes_on(lab):
    results = simulated(lab, 5, min_blocks=8, max_blocks=15, margin="0.1%")
    count = {}
    for trial in results.trials:
        name = results.plan.cells_by_id[trial.cell].platform
        count[name] = count.get(name, 0) + (trial.kind is Kind.MEASURED)
    assert count["other"] <= 8
    assert count["twin"] > count["other"]
    assert load(results.folder).plan == results.plan
