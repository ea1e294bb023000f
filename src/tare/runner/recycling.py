"""How long instances live and how they are warmed up, as far as what was measured says."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from statistics import median

from tare.compare.pairing import Group, group
from tare.compare.replicates import blocks_per_instance, scatters
from tare.compare.warmup import unsteady
from tare.model import Cell, Kind, Plan, Status, Trial
from tare.runner.fleet import Fleet, Member
from tare.runner.pool import Pool


class Recycling:
    """Replaces the instances of a place by fresh ones when they have served long enough.

    A place is a number that every platform has an instance for; block after block takes the next.
    All platforms are replaced together, for instances are compared in pairs: a fresh one beside an
    old one would still share the old one's luck. ``every`` is after how many blocks, None is never.
    """

    def __init__(self, plan: Plan, pool: Pool) -> None:
        self.plan, self.pool = plan, pool
        declared = plan.repetition.blocks_per_instance
        self.every = None if declared == "auto" else declared
        self.served: Counter[int] = Counter()
        self.replaced = 0
        self.extra_warmups: dict[Group, int] = {}

    def warmups(self, cell: Cell) -> int:
        """Say how many warm-up trials a cell has in an instance that is fresh now."""
        return self.plan.repetition.warmups + self.extra_warmups.get(group(cell), 0)

    def look(self, trials: Sequence[Trial], closed: Iterable[str]) -> None:
        """Choose anew from all trials so far, where the plan leaves it open."""
        repetition = self.plan.repetition
        if repetition.warmup == "auto":
            for which, found in unsteady(self.plan, trials).items():
                needed = found.warmups - repetition.warmups
                self.extra_warmups[which] = max(needed, self.extra_warmups.get(which, 0))
        if repetition.blocks_per_instance == "auto":
            wanted = {cell.id for cell in self.plan.cells} - set(closed)
            found_apart = list(scatters(self.plan, trials, wanted))
            costs = self._costs(trials, wanted)
            self.every = blocks_per_instance(found_apart, *costs)

    def before(self, place: int, closed: Iterable[str]) -> None:
        """Open fresh instances for a block in this place if those there have served."""
        if self.every is not None and self.served[place] >= self.every:
            self._replace(place, set(closed))
            self.served[place] = 0
        self.served[place] += 1

    def facts(self) -> dict[str, object]:
        """State what was chosen, for run.json."""
        warmups = {cell.workload: self.warmups(cell) for cell in self.plan.cells}
        for cell in self.plan.cells:  # of several cells of a workload the one that needs most
            warmups[cell.workload] = max(warmups[cell.workload], self.warmups(cell))
        return {
            "blocks_per_instance": self.every,
            "replaced_instances": self.replaced,
            "warmups": warmups,
        }

    def _costs(self, trials: Sequence[Trial], wanted: set[str]) -> tuple[float, float]:
        """Give the seconds of one fresh instance of all platforms, and those of a block."""
        took: dict[tuple[str, Kind], list[float]] = {}
        for trial in trials:
            if trial.cell in wanted:
                took.setdefault((trial.cell, trial.kind), []).append(sum(trial.phases_s.values()))
        block_s = sum(median(some) for (_, kind), some in took.items() if kind is Kind.MEASURED)
        warmup_s = sum(
            self.warmups(self.plan.cells_by_id[cell]) * median(some)
            for (cell, kind), some in took.items()
            if kind is Kind.WARMUP
        )
        starts = [[member.start_s for member in fleet.members] for fleet in self._fleets(wanted)]
        return warmup_s + math.fsum(median(some) for some in starts if some), block_s

    def _fleets(self, wanted: set[str]) -> list[Fleet]:
        """List the fleets that wanted cells are run on, each once."""
        cells = [cell for cell in self.plan.cells if cell.id in wanted]
        fleets = {id(fleet): fleet for cell in cells for fleet in self.pool.of(cell)}
        return [fleet for fleet in fleets.values() if fleet.status is Status.OK]

    def _replace(self, place: int, closed: set[str]) -> None:
        jobs: list[tuple[Fleet, Member]] = [
            (fleet, fleet.members[place % len(fleet.members)])
            for fleet in self._fleets({cell.id for cell in self.plan.cells} - closed)
        ]
        self.pool.progress.says(f"opening {len(jobs)} fresh instances in place of {place + 1}")
        with ThreadPoolExecutor(max_workers=len(self.pool.session.everything)) as workers:
            try:
                list(workers.map(lambda job: self.pool.reopen(*job), jobs))
            except BaseException:
                workers.shutdown(wait=False, cancel_futures=True)
                self.pool.session.host.cancel()
                raise
        self.replaced += len(jobs)
