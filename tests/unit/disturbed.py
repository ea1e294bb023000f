"""Studies of neighbours with invented values, in which every degradation is known."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from tare.core.model import NO_FACTS, Contrast, ContrastKind, Neighbour, Run, Status
from tare.results.store import Results
from unit.invented import EVENTS
from unit.makers import make_cell, make_plan, make_trial

DOSES = (0.25, 0.5, 0.75, 1.0)


def dialled(stressor="cpu", doses=DOSES):
    """Neighbours of one stressor at some intensities."""
    return [Neighbour(stressor=stressor, intensity=dose) for dose in doses]


def disturbed(costs, *, blocks=20, noise=0.01, seed=5, workloads=("spin",), change=None):
    """A study in which each platform has a cost next to each neighbour, or a status.

    ``costs`` maps a platform to costs by neighbour. ``change`` makes another trial of each, given
    its neighbour, which is None for the workload alone.
    """
    rng = np.random.default_rng(seed)
    change = change or (lambda trial, _: trial)
    cells, contrasts, trials = [], [], []
    for workload in workloads:
        reference = None
        for platform, own in costs.items():
            alone = make_cell(platform, workload=workload)
            reference = reference or alone
            some = {None: (alone, 1.0)}
            for neighbour, cost in own.items():
                cell = make_cell(platform, workload=workload, params=neighbour.params)
                some[neighbour] = cell, cost
                contrasts.append(
                    Contrast(cell=cell.id, reference=alone.id, kind=ContrastKind.ISOLATION)
                )
            for neighbour, (cell, cost) in some.items():
                cells.append(cell)
                for block in range(blocks):
                    given = (
                        {"status": cost, "reason": "did not end within 60 s"}
                        if isinstance(cost, Status)
                        else {"samples": {"events": 100 / cost * math.exp(rng.normal(0, noise))}}
                    )
                    trial = make_trial(cell, block, instance=f"a-{block}", duration_s=1.0, **given)
                    trials.append(change(trial, neighbour))
    plan = make_plan(*cells, metrics=dict.fromkeys(workloads, (EVENTS,)), max_blocks=blocks)
    plan = replace(plan, contrasts=tuple(contrasts))
    run = Run(stop="all blocks were run")
    return Results(Path("results"), "name: made\n", plan, NO_FACTS, run, tuple(trials))
