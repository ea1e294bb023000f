"""Estimate how long a plan will take, from nominal durations."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from tare.core.model import Design, Plan
from tare.experiment.study.declaration import Study
from tare.machines import layer

# Around one command: entering the stack, reading the host's counters, writing the trial.
_AROUND_TRIAL_S = 0.15
# No cell rests with fewer blocks, however soon it is decided (tare.results.questions.allocation).
_RESTS_FROM = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanEstimate:
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

    ``min`` is every cell decided early, which continues to five blocks for its size (METHOD.md
    2.4b), ``max`` none decided before the last block. Trials count warm-ups; ``max`` trials do not
    regard the budget, seconds do. ``starts`` and ``disk_bytes`` are by platform, the control's with
    the baseline's.
    """

    cells: int
    trials_min: int
    trials_max: int
    duration_min_s: float
    duration_max_s: float
    starts: Mapping[str, int]
    disk_bytes: Mapping[str, int]


class _Instances:
    """Counts the instances that are open at once, and those opened for a number of blocks."""

    def __init__(self, plan: Plan, *, by_blocks: bool) -> None:
        self._plan, self._rule, self._by_blocks = plan, plan.repetition, by_blocks
        self._sides = 2 if plan.repetition.design is Design.DUET else 1
        self._sets = {
            (cell.platform, cell.replica, cell.limits): len(plan.cpu_sets_of(cell))
            for cell in plan.cells
        }
        # What was opened last for its facts serves the first block, unless other limits come first.
        self._again = len({limits for _, _, limits in self._sets}) > 1

    def at_once(self, platform: str) -> int:
        """Count the instances of a platform that a cell has open at the same time."""
        return (1 if self._by_blocks else self._places(platform)) * self._sides

    def served(self, platform: str, blocks: int) -> int:
        """Return how many instances of a platform a number of blocks work in, one after another."""
        if self._by_blocks:
            return blocks
        places = self._places(platform)
        declared = self._rule.blocks_per_instance
        each = blocks if declared == "auto" else declared
        served = [math.ceil((blocks - place) / places) for place in range(places)]
        count = sum(math.ceil(max(0, one) / each) for one in served)
        return min(blocks, count * self._sides)

    def started(self, blocks: int) -> Counter[str]:
        """Return how many instances of each platform are started for a number of blocks."""
        starts: Counter[str] = Counter()
        for (platform, _, _), parts in self._sets.items():
            count = (blocks + self._again) * self._sides
            if not self._by_blocks:
                most = self._rule.max_blocks
                count = max(self.at_once(platform), self.served(platform, most))
            starts[platform] += count * parts
        return starts

    def started_first(self, blocks: int) -> Counter[str]:
        """Count those of them that are started before the first block."""
        return self.started(1 - self._again if self._by_blocks else blocks)

    def _places(self, platform: str) -> int:
        return min(self._rule.instances_of(platform), self._rule.max_blocks)


def estimate(plan: Plan, study: Study, *, by_blocks: bool = False) -> PlanEstimate:
    """Estimate what a plan of a study will take.

    ``by_blocks``: its instances do not fit the memory at once
    (``tare.experiment.design.admission``).
    """
    repetition = plan.repetition
    made = {(chosen.name, chosen.params): chosen.made for chosen in study.workloads}
    workloads = [made[cell.workload, cell.params] for cell in plan.cells]
    is_duet = repetition.design is Design.DUET
    instances = _Instances(plan, by_blocks=by_blocks)
    disk_bytes: Counter[str] = Counter()
    for cell, workload in zip(plan.cells, workloads, strict=True):
        disk_bytes[cell.platform] += instances.at_once(cell.platform) * workload.disk_bytes()

    nominal_s = {
        platform.name: sum(layer.kind(name).nominal_start_s for name, _ in platform.layers)
        for platform in study.platforms
    }

    def starts_s(starts: Mapping[str, int]) -> float:
        return sum(count * nominal_s[platform] for platform, count in starts.items())

    pass_s = sum(workload.expected_s() + _AROUND_TRIAL_S for workload in workloads)
    budget_s = float("inf") if repetition.budget_s is None else repetition.budget_s
    # In a duet the baseline runs at the same moment as the others and takes no time of its own.
    parallel = [is_duet and cell.id in plan.references for cell in plan.cells]
    block_s = pass_s - sum(
        workload.expected_s() + _AROUND_TRIAL_S
        for workload, is_parallel in zip(workloads, parallel, strict=True)
        if is_parallel
    )
    in_block = 2 * parallel.count(False) if is_duet else len(plan.cells)

    def trials(blocks: int) -> int:
        warmed = sum(instances.served(cell.platform, blocks) for cell in plan.cells)
        return in_block * blocks + repetition.warmups * warmed

    def seconds(blocks: int) -> float:
        warmups_s = (
            instances.served(cell.platform, blocks) * (workload.expected_s() + _AROUND_TRIAL_S)
            for cell, workload in zip(plan.cells, workloads, strict=True)
        )
        warmup_s = repetition.warmups * sum(warmups_s)
        before_s = starts_s(instances.started_first(blocks))
        meanwhile_s = starts_s(instances.started(blocks)) - before_s
        return before_s + min(budget_s, block_s * blocks + warmup_s + meanwhile_s)

    starts = instances.started(repetition.max_blocks)
    fewest = min(repetition.max_blocks, max(repetition.min_blocks, _RESTS_FROM))
    return PlanEstimate(
        cells=len(plan.cells),
        trials_min=trials(fewest),
        trials_max=trials(repetition.max_blocks),
        duration_min_s=seconds(fewest),
        duration_max_s=seconds(repetition.max_blocks),
        starts={platform.name: starts[platform.name] for platform in study.platforms},
        disk_bytes={platform.name: disk_bytes[platform.name] for platform in study.platforms},
    )
