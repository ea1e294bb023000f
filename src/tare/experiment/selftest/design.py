"""The study and the plan of a self-test on one stack."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from tare.core.model import Cell, Contrast, ContrastKind, Plan
from tare.experiment.design import make_plan
from tare.experiment.selftest.injected_work import NAME, Work
from tare.experiment.study import FixedWorkload, Study, read_study
from tare.experiment.study.combinations import params_of

ARMS = (0.0, 0.01, 0.03, 0.10)
"""The injected parts that are compared with the baseline; the first is the A/A."""

STAGES = 5
"""How many stages a stack has at most, each with twice the blocks of the one before."""


ROUNDS = 1800
"""About 0.3 s on a CPU of today, and little more where every instruction is translated.

A host's speed drifts over seconds, so a large number of short trials resolves more than few long
ones, whose pairs lie further apart: in an emulated guest three times the work scattered as much.
"""
BLOCKS = 36
"""The number of blocks in the first stage."""

STUDY = """\
# Made by tare selftest. Its arms (the baseline, the same again, 1, 3 and 10 % more work) are made
# in code: one workload stands here for all five, so this file does not run the self-test again.
name: selftest
question: Does an overhead of known size come out as it went in?
platforms: [{stack}]
baseline: {stack}
limits: {{cpus: 1, memory: 512MiB}}
workloads:
  - integer_loop
repetition:
  min_blocks: {blocks}
  max_blocks: {blocks}
  instances: {instances}
  variant: corrected
deadlines: {{start: 300 s}}
"""


def declare(stack: str, instances: int = 2) -> Study:
    """Declare the self-test of a stack, such as ``host/docker``."""
    text = STUDY.format(stack=stack, blocks=BLOCKS * 2 ** (STAGES - 1), instances=instances)
    works = [Work(rounds=ROUNDS), *(Work(rounds=ROUNDS, injected=part) for part in ARMS)]
    chosen = tuple(FixedWorkload(name=NAME, params=params_of(work), made=work) for work in works)
    return replace(read_study(text, "selftest"), workloads=chosen)


def order(study: Study, seed: int) -> Plan:
    """Return the plan: every arm once in each block, in random order, all on the same instance.

    Instances differ, and the truth is about the work alone. So the A/A is an arm like the others,
    not a control with instances of its own.
    """
    plan = make_plan(study, seed)
    cells = tuple(cell for cell in plan.cells if cell.id not in plan.control_ids)
    random = Random(seed)  # noqa: S311 - a design must be repeatable, not secret
    kept = {cell.id for cell in cells}
    blocks: dict[int, list[int]] = {}
    for place, slot in enumerate(plan.slots):
        if slot.cell in kept:
            blocks.setdefault(slot.block, []).append(place)
    slots = []
    for places in blocks.values():
        shuffled = sorted(places, key=lambda _: random.random())
        slots += [replace(plan.slots[at], slot=place) for place, at in enumerate(shuffled)]
    baseline, *arms = cells
    contrasts = tuple(
        Contrast(cell=arm.id, reference=baseline.id, kind=ContrastKind.INJECTED, known=part)
        for arm, part in zip(arms, ARMS, strict=True)
    )
    return replace(plan, cells=cells, contrasts=contrasts, slots=tuple(slots))


def until(plan: Plan, stage: int) -> Plan:
    """Cut a plan off at the end of a stage, the first of which is 1."""
    blocks = plan.repetition.max_blocks // 2 ** (STAGES - stage)
    shorter = replace(plan.repetition, min_blocks=blocks, max_blocks=blocks)
    slots = tuple(slot for slot in plan.slots if slot.block < blocks)
    return replace(plan, repetition=shorter, slots=slots)


def baseline_of(plan: Plan) -> Cell:
    """Find the arm with nothing injected that the others are compared with."""
    return plan.cells_by_id[plan.contrasts[0].reference]
