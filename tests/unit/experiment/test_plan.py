"""Plans: randomized complete blocks, the same everywhere for a seed, and what they will take."""

import time
from collections import Counter
from dataclasses import dataclass, replace
from itertools import groupby

import pytest

from tare.core.model import Better, FileAccess, Limits, Metric, Placement, Repetition, Unit
from tare.experiment.design import estimate, make_plan
from tare.experiment.study import Deadlines, FixedWorkload, Platform, Study
from tare.experiment.study.combinations import params_of
from tare.work.roles import OWN, Main, Roles

RATE = Metric("rate", Unit.PER_SECOND, Better.HIGHER)


@dataclass(frozen=True, kw_only=True)
class Spin:
    threads: int = 1

    metrics = (RATE,)

    def expected_s(self):
        return 2.0

    def file_access(self):
        return FileAccess.CACHED

    def disk_bytes(self):
        return 1000 * self.threads

    def all_roles(self):
        return Roles(Main(OWN, ["spin"]))


def study(platforms=("host", "host/docker", "host/kvm"), threads=(1, 2), limits=2, **repetition):
    return Study(
        name="small",
        question="",
        scenario="solo",
        platforms=tuple(
            Platform(name=name, stack=name, layers=((name.rpartition("/")[2], (("a", 1),)),))
            for name in platforms
        ),
        baseline="host",
        limits=tuple(Limits(cpus=cpus, memory_bytes=2**30) for cpus in range(1, limits + 1)),
        workloads=tuple(
            FixedWorkload(name="spin", params=params_of(made), made=made)
            for made in (Spin(threads=number) for number in threads)
        ),
        repetition=Repetition(**{"min_blocks": 2, "max_blocks": 6, "instances": 4} | repetition),
        deadlines=Deadlines(),
        seed=None,
        source="",
    )


@pytest.fixture
def plan():
    return make_plan(study(), seed=1)


def blocks(plan):
    return [list(slots) for _, slots in groupby(plan.slots, key=lambda slot: slot.block)]


def test_the_cells_are_all_combinations_and_a_control_for_each_of_the_baseline(plan):
    assert len(plan.cells) == (3 + 1) * 2 * 2
    assert len(plan.cells_by_id) == len(plan.cells)
    controls = [cell for cell in plan.cells if cell.replica]
    assert {cell.platform for cell in controls} == {"host"}
    assert {replace(plan.controls[one], replica=0, id=one) for one in plan.controls} == {
        cell for cell in plan.cells if cell.platform == "host" and not cell.replica
    }


def test_a_cell_holds_the_settings_and_parameters_of_all_it_stands_for(plan):
    cell = next(cell for cell in plan.cells if cell.platform == "host/docker")
    assert cell.settings == (("docker.a", 1),)
    assert cell.params == (("threads", 1),)


def test_every_block_has_every_cell_once_in_slots_counted_from_0(plan):
    assert [block[0].block for block in blocks(plan)] == list(range(6))
    for block in blocks(plan):
        assert [slot.slot for slot in block] == list(range(len(plan.cells)))
        assert {slot.cell for slot in block} == set(plan.cells_by_id)


def test_cells_that_are_compared_stand_back_to_back(plan):
    for block in blocks(plan):
        cells = [plan.cells_by_id[slot.cell] for slot in block]
        runs = [list(run) for _, run in groupby(cells, key=lambda c: (c.params, c.limits))]
        assert [len(run) for run in runs] == [4, 4, 4, 4]


def test_blocks_take_the_instances_in_turn(plan):
    assert [block[0].instance for block in blocks(plan)] == [0, 1, 2, 3, 0, 1]
    assert all(len({slot.instance for slot in block}) == 1 for block in blocks(plan))


def test_the_order_is_the_same_for_a_seed_and_another_for_another():
    assert make_plan(study(), seed=1) == make_plan(study(), seed=1)
    assert make_plan(study(), seed=1).slots != make_plan(study(), seed=2).slots


def test_the_order_of_a_seed_never_changes():
    # A published seed must give the published order, on every version of Python and of Tare.
    plan = make_plan(study(threads=(1,), limits=1, max_blocks=3), seed=7)
    names = [plan.cells.index(plan.cells_by_id[slot.cell]) for slot in plan.slots]
    assert names == [2, 0, 3, 1, 2, 0, 3, 1, 0, 3, 1, 2]


def test_each_cell_is_equally_often_in_each_place():
    plan = make_plan(study(threads=(1,), limits=1, max_blocks=4000), seed=3)
    counts = Counter((slot.cell, slot.slot) for slot in plan.slots)
    assert len(counts) == 16
    # 1,000 expected in each of 16 places, standard deviation 27.
    assert all(850 < count < 1150 for count in counts.values())


def test_the_plan_repeats_what_was_declared(plan):
    assert (plan.study, plan.seed, plan.reference) == ("small", 1, "host")
    assert plan.metrics == {"spin": (RATE,)}
    assert plan.repetition == study().repetition


def test_a_large_plan_is_made_at_once():
    large = study(
        platforms=("host", *(f"host/{number}" for number in range(99))), threads=range(10), limits=1
    )
    began = time.process_time()
    plan = make_plan(replace(large, repetition=Repetition(max_blocks=100)), seed=1)
    assert time.process_time() - began < 2
    assert len(plan.slots) == 101_000


def test_an_estimate_counts_trials_with_warm_ups_starts_and_disk():
    small = study(threads=(1, 2), limits=1)
    found = estimate(make_plan(small, seed=1), small)
    assert found.cells == 8
    # Not fewer than 5 blocks, for a decided cell goes on until then; an instance each of 4.
    assert found.trials_min == 8 * (5 + 4)
    assert found.trials_max == 8 * (6 + 4)
    # 4 instances each, and 4 of the control beside those of the baseline.
    assert found.starts == {"host": 8, "host/docker": 4, "host/kvm": 4}
    assert found.disk_bytes == {"host": 24_000, "host/docker": 12_000, "host/kvm": 12_000}
    starts_s = 4 * 1 + 4 * 10
    assert found.duration_min_s == pytest.approx(starts_s + 72 * 2.15)
    assert found.duration_max_s == pytest.approx(starts_s + 80 * 2.15)


def test_instances_are_started_once_for_each_set_of_limits_but_never_more_than_blocks():
    small = study(threads=(1,), limits=3, max_blocks=2)
    found = estimate(make_plan(small, seed=1), small)
    assert found.starts == {"host": 12, "host/docker": 6, "host/kvm": 6}


def test_by_blocks_every_block_starts_one_of_each_platform_and_warms_it_up():
    small = study(threads=(1, 2), limits=1)
    found = estimate(make_plan(small, seed=1), small, by_blocks=True)
    # One for each block, and one of the control for each besides those of the baseline.
    assert found.starts == {"host": 12, "host/docker": 6, "host/kvm": 6}
    assert (found.trials_min, found.trials_max) == (8 * (5 + 5), 8 * (6 + 6))
    start_s = 1 + 10
    assert found.duration_min_s == pytest.approx(5 * start_s + 80 * 2.15)
    assert found.duration_max_s == pytest.approx(6 * start_s + 96 * 2.15)
    assert found.disk_bytes == {"host": 6_000, "host/docker": 3_000, "host/kvm": 3_000}


def test_by_blocks_several_limits_are_opened_once_more_and_the_budget_ends_starts():
    small = study(threads=(1,), limits=2, max_blocks=6, budget_s=50.0)
    found = estimate(make_plan(small, seed=1), small, by_blocks=True)
    assert found.starts == {"host": 28, "host/docker": 14, "host/kvm": 14}
    assert found.duration_max_s == pytest.approx(2 * 11 + 50)


def test_each_part_of_a_trial_has_instances_that_are_started():
    small = study(threads=(1,), limits=1)
    plan = make_plan(small, seed=1)
    alone = estimate(plan, small)
    two = (Placement(instance=0, part="a"), Placement(instance=1, part="b"))
    parts = replace(plan, slots=tuple(replace(one, placements=two) for one in plan.slots))
    for by_blocks, base in ((False, alone), (True, estimate(plan, small, by_blocks=True))):
        found = estimate(parts, small, by_blocks=by_blocks)
        assert found.starts == {name: 2 * count for name, count in base.starts.items()}
        assert found.duration_max_s > base.duration_max_s


def test_the_budget_ends_the_trials_but_no_start():
    small = study(threads=(1, 2), limits=1, budget_s=160.0)
    found = estimate(make_plan(small, seed=1), small)
    assert found.duration_min_s == pytest.approx(44 + 72 * 2.15)
    assert found.duration_max_s == pytest.approx(44 + 160)


def test_a_limit_that_is_not_declared_leaves_the_ids_of_cells_as_they_were():
    cells = make_plan(study(platforms=("host",), threads=(1,), limits=1), seed=1).cells

    assert [cell.id for cell in cells] == ["8501f553d6", "ed7e986d49"]
