"""What holds for the plan of any study."""

from collections import Counter
from dataclasses import replace
from itertools import groupby, pairwise

from hypothesis import given
from hypothesis import strategies as st

from tare.core.model import ContrastKind, Design
from tare.core.model.group import group
from tare.experiment.design import make_plan
from tare.experiment.study.duet import REFERENCE, SUBJECT
from unit.experiment.test_plan import study
from unit.properties import PROPERTY

PLATFORMS = ["host", *(f"host/{name}" for name in ("docker", "gvisor", "kvm", "lxc"))]
SEEDS = st.integers(0, 2**64)


@st.composite
def studies(draw, design=Design.INTERLEAVED):
    platforms = ["host", *draw(st.lists(st.sampled_from(PLATFORMS[1:]), unique=True))]
    of_some = draw(st.dictionaries(st.sampled_from(platforms), st.integers(1, 6)))
    return study(
        platforms=draw(st.permutations(platforms)),
        threads=draw(st.lists(st.integers(1, 64), min_size=1, max_size=3, unique=True)),
        limits=draw(st.integers(1, 3)),
        min_blocks=1,
        max_blocks=draw(st.integers(1, 12)),
        instances=draw(st.integers(1, 5)),
        instances_of_platforms=tuple(of_some.items()),
        design=design,
    )


def blocks(plan):
    return [list(slots) for _, slots in groupby(plan.slots, key=lambda slot: slot.block)]


@PROPERTY
@given(studies(), SEEDS)
def test_every_block_has_every_cell_once_and_those_compared_back_to_back(made, seed):
    plan = make_plan(made, seed)

    assert len(blocks(plan)) == made.repetition.max_blocks
    for number, slots in enumerate(blocks(plan)):
        assert [(one.block, one.slot) for one in slots] == [(number, n) for n in range(len(slots))]
        assert Counter(one.cell for one in slots) == Counter(list(plan.cells_by_id))
        groups = [group(plan.cells_by_id[one.cell]) for one in slots]
        changes = sum(early != late for early, late in pairwise(groups))
        assert changes == len(set(groups)) - 1


@PROPERTY
@given(studies(), SEEDS)
def test_every_cell_but_the_references_is_compared_once_with_its_reference(made, seed):
    plan = make_plan(made, seed)
    references = {group(cell): cell for cell in plan.cells if cell.id in plan.references}

    assert len(references) == len(plan.references) == len(made.workloads) * len(made.limits)
    assert {cell.platform for cell in references.values()} == {made.baseline}
    assert Counter(one.cell for one in plan.contrasts) == Counter(
        cell.id for cell in plan.cells if cell.id not in plan.references
    )
    for contrast in plan.contrasts:
        cell = plan.cells_by_id[contrast.cell]
        assert references[group(cell)].id == contrast.reference
        assert (contrast.kind is ContrastKind.CONTROL) == bool(cell.replica)


@PROPERTY
@given(studies(), SEEDS)
def test_a_slot_names_an_instance_that_its_platform_has_and_all_are_used_in_turn(made, seed):
    plan = make_plan(made, seed)
    used = {cell: [] for cell in plan.cells_by_id}
    for slot in plan.slots:
        used[slot.cell].append(slot.instance)

    most = max(made.repetition.instances_of(one.name) for one in made.platforms)
    for cell, instances in used.items():
        own = made.repetition.instances_of(plan.cells_by_id[cell].platform)
        assert instances == [block % most % own for block in range(len(instances))]


@PROPERTY
@given(studies(), SEEDS, SEEDS)
def test_a_seed_gives_one_plan_and_changes_nothing_but_the_order(made, seed, other):
    plan, again = make_plan(made, seed), make_plan(made, seed)

    assert plan == again
    assert replace(make_plan(made, other), seed=seed, slots=plan.slots) == plan


@PROPERTY
@given(studies(Design.DUET), SEEDS)
def test_a_duet_runs_each_cell_with_its_reference_in_both_orders_on_both_sets_of_cpus(made, seed):
    plan = make_plan(made, seed)
    references = {one.cell: one.reference for one in plan.contrasts}
    ways = {cell: [] for cell in references}
    for slots in blocks(plan):
        assert Counter(one.cell for one in slots) == Counter(list(references))
        for slot in slots:
            assert set(slot.cells) == {slot.cell, references[slot.cell]}
            halves = {one.part: one for one in slot.placements}
            subject, reference = halves[SUBJECT], halves[REFERENCE]
            assert {subject.cores, reference.cores} == {0, 1}
            ways[slot.cell].append((subject.cores, slot.placements[0] is subject))
    for way in ways.values():
        for at in range(0, len(way) - 3, 4):
            assert len(set(way[at : at + 4])) == 4
