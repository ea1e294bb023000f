"""What a plan will take: an estimate from nominal figures, made before anything is run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from tare import layer
from tare.model import Design, Plan
from tare.study.declaration import Study

# Around one command: entering the stack, reading the host's counters, writing the trial.
_AROUND_TRIAL_S = 0.15
# No cell rests with fewer blocks, however soon it is decided (tare.compare.allocation).
_RESTS_FROM = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a plan will take, roughly; to be shown as an estimate.

    It assumes that a trial takes what its workload expects on every platform, plus 0.15 s; that
    each cell has its warm-up trials (one, where that is left open) more in each instance; that
    every instance of every platform (once for each set of limits, and again for the control) is
    started once, one after another, in each layer's nominal time (a nested layer is slower than
    that); that instances are replaced only where the study says how often; and that the budget
    ends all trials but no start. Preparing files, and building the userland once, are not in it.
    Where instances are opened by blocks, each block starts one of every platform (and, with several
    sets of limits, the first openings are closed before it); the budget ends these starts too.
    In a duet a pair takes as long as one of its two trials, and every platform has its instances
    twice, once on each set of CPUs.

    ``min`` is every cell decided early, which goes on to five blocks for its size (METHOD.md 2.4b),
    ``max`` none decided before the last block. Trials
    count warm-ups; ``max`` trials do not regard the budget, seconds do. ``starts`` and
    ``disk_bytes`` are by platform, the control's with the baseline's.
    """

    cells: int
    trials_min: int
    trials_max: int
    duration_min_s: float
    duration_max_s: float
    starts: Mapping[str, int]
    disk_bytes: Mapping[str, int]


def estimate(plan: Plan, study: Study, *, by_blocks: bool = False) -> Estimate:
    """Estimate what a plan of a study will take.

    ``by_blocks``: its instances do not fit the memory at once (``tare.study.admission``).
    """
    repetition = plan.repetition
    made = {(chosen.name, chosen.params): chosen.made for chosen in study.workloads}
    workloads = [made[cell.workload, cell.params] for cell in plan.cells]
    is_duet = repetition.design is Design.DUET

    def at_once(platform: str) -> int:
        own = min(repetition.instances_of(platform), repetition.max_blocks)
        return (1 if by_blocks else own) * (2 if is_duet else 1)

    def opened(platform: str, blocks: int) -> int:
        """Count the instances of a platform that so many blocks work in, one after another."""
        if by_blocks:
            return blocks
        instances = min(repetition.instances_of(platform), repetition.max_blocks)
        declared = repetition.blocks_per_instance
        each = blocks if declared == "auto" else declared
        served = [math.ceil((blocks - place) / instances) for place in range(instances)]
        count = sum(math.ceil(max(0, one) / each) for one in served)
        return min(blocks, count * (2 if is_duet else 1))

    sets = {(cell.platform, cell.replica, cell.limits) for cell in plan.cells}
    # What was opened last for its facts serves the first block, unless other limits come first.
    again = len({limits for _, _, limits in sets}) > 1

    def started(blocks: int) -> Counter[str]:
        """Count the instances of each platform that are started for so many blocks."""
        starts: Counter[str] = Counter()
        for platform, _, _ in sets:
            if by_blocks:
                count = (blocks + again) * (2 if is_duet else 1)
            else:
                count = max(at_once(platform), opened(platform, repetition.max_blocks))
            starts[platform] += count * plan.most_parts
        return starts

    nominal_s = {
        platform.name: sum(layer.kind(name).nominal_start_s for name, _ in platform.layers)
        for platform in study.platforms
    }

    def starts_s(starts: Mapping[str, int]) -> float:
        return sum(count * nominal_s[platform] for platform, count in starts.items())

    starts = started(repetition.max_blocks)
    disk_bytes: Counter[str] = Counter()
    for cell, workload in zip(plan.cells, workloads, strict=True):
        disk_bytes[cell.platform] += at_once(cell.platform) * workload.disk_bytes()

    pass_s = sum(workload.expected_s() + _AROUND_TRIAL_S for workload in workloads)
    budget_s = float("inf") if repetition.budget_s is None else repetition.budget_s
    # In a duet the baseline is beside each of the others and takes no time of its own.
    beside = [is_duet and cell.id in plan.references for cell in plan.cells]
    block_s = pass_s - sum(
        workload.expected_s() + _AROUND_TRIAL_S
        for workload, is_beside in zip(workloads, beside, strict=True)
        if is_beside
    )
    in_block = 2 * beside.count(False) if is_duet else len(plan.cells)

    def trials(blocks: int) -> int:
        opened_in_all = sum(opened(cell.platform, blocks) for cell in plan.cells)
        return in_block * blocks + repetition.warmups * opened_in_all

    def seconds(blocks: int) -> float:
        warmups_s = (
            opened(cell.platform, blocks) * (workload.expected_s() + _AROUND_TRIAL_S)
            for cell, workload in zip(plan.cells, workloads, strict=True)
        )
        warmup_s = repetition.warmups * sum(warmups_s)
        before_s = starts_s(started(1 - again if by_blocks else blocks))
        meanwhile_s = starts_s(started(blocks)) - before_s
        return before_s + min(budget_s, block_s * blocks + warmup_s + meanwhile_s)

    fewest = min(repetition.max_blocks, max(repetition.min_blocks, _RESTS_FROM))
    return Estimate(
        cells=len(plan.cells),
        trials_min=trials(fewest),
        trials_max=trials(repetition.max_blocks),
        duration_min_s=seconds(fewest),
        duration_max_s=seconds(repetition.max_blocks),
        starts={platform.name: starts[platform.name] for platform in study.platforms},
        disk_bytes={platform.name: disk_bytes[platform.name] for platform in study.platforms},
    )
