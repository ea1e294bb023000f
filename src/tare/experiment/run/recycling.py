"""Decide when instances are replaced by fresh ones, and how often a fresh one is warmed up."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from statistics import median

from tare.core.model import Cell, EndedSession, Kind, Plan, Status, Trial
from tare.core.model.group import Group, group
from tare.experiment.run.instance_set import InstanceSet, Member
from tare.experiment.run.pool import Pool
from tare.results.checks.warmup import unsteady
from tare.results.questions.replicates import blocks_per_instance, scatters


class Recycling:
    """Replaces the instances of a place by fresh ones when they have served long enough.

    Block after block takes the next place; of each platform it has one instance, that of a platform
    with few instances in several places. All that is linked so is replaced together, for instances
    are compared in pairs: a fresh one paired with an old one would still share the old one's luck.
    ``every`` is after how many blocks, None is never.
    """

    def __init__(self, plan: Plan, pool: Pool) -> None:
        self.plan, self.pool = plan, pool
        declared = plan.repetition.blocks_per_instance
        self.every = None if declared == "auto" else declared
        rule = plan.repetition
        self.links = Links({rule.instances_of(cell.platform) for cell in plan.cells})
        self.served: Counter[tuple[int, Group]] = Counter()
        self.replaced = 0
        self.extra_warmups: dict[Group, int] = {}

    def warmups(self, cell: Cell) -> int:
        """Return how many warm-up trials a cell has in an instance that is fresh now."""
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

    def before(self, place: int, closed: Iterable[str], groups: Iterable[Group]) -> None:
        """Open fresh instances for a block of some workloads if those in this place are due.

        They have when any workload had ``every`` blocks in them.
        """
        linked, groups = self.links.of(place), tuple(groups)
        first = linked[0]
        most = max(self.served[first, which] for which in groups)
        if self.every is not None and most >= self.every * self.links.fewest(linked):
            self._replace(linked, set(closed))
            self.served = Counter({key: n for key, n in self.served.items() if key[0] != first})
        self.served.update((first, which) for which in groups)

    def noted(self, session: EndedSession) -> EndedSession:
        """Add what was chosen to what is stored of a session."""
        warmups = {cell.workload: self.warmups(cell) for cell in self.plan.cells}
        for cell in self.plan.cells:  # of several cells of a workload the one that needs most
            warmups[cell.workload] = max(warmups[cell.workload], self.warmups(cell))
        return replace(
            session,
            blocks_per_instance=self.every,
            replaced_instances=self.replaced,
            warmups=warmups,
        )

    def _costs(self, trials: Sequence[Trial], wanted: set[str]) -> tuple[float, float]:
        """Return the seconds that fresh instances of all platforms take, and those of a block."""
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
        starts = [
            [member.start_s for member in instances.members]
            for instances in self._instance_sets(wanted)
        ]
        at_once = [median(some) * len(some) / self.links.count for some in starts if some]
        return warmup_s + math.fsum(at_once), block_s

    def _instance_sets(self, wanted: set[str]) -> list[InstanceSet]:
        """List the instance sets that wanted cells run on, each once."""
        cells = [cell for cell in self.plan.cells if cell.id in wanted]
        instance_sets = {
            id(instances): instances for cell in cells for instances in self.pool.of(cell)
        }
        return [instances for instances in instance_sets.values() if instances.status is Status.OK]

    def _replace(self, places: Sequence[int], closed: set[str]) -> None:
        jobs: list[tuple[InstanceSet, list[Member]]] = [
            (instances, instances.sets(places))
            for instances in self._instance_sets({cell.id for cell in self.plan.cells} - closed)
        ]
        count = sum(len(members) for _, members in jobs)
        listed = ", ".join(str(place + 1) for place in places)
        self.pool.progress.says(f"opening {count} fresh instances in place of {listed}")

        def reopen(job: tuple[InstanceSet, list[Member]]) -> None:
            instances, members = job  # one after another: they change places in the list
            for member in members:
                if instances.status is Status.OK:
                    self.pool.reopen(instances, member)

        with ThreadPoolExecutor(max_workers=len(self.pool.session.everything)) as workers:
            try:
                list(workers.map(reopen, jobs))
            except BaseException:
                workers.shutdown(wait=False, cancel_futures=True)
                self.pool.session.host.cancel()
                raise
        self.replaced += count


class Links:
    """Which places share an instance of any platform, by the numbers of instances there are."""

    def __init__(self, counts: Collection[int]) -> None:
        self._counts = counts
        self._first = list(range(max(counts)))
        for count in counts:
            for place in range(len(self._first)):
                one, other = sorted((self._first[place], self._first[place % count]))
                self._first = [one if first == other else first for first in self._first]

    @property
    def count(self) -> int:
        """How many sets of places there are that share nothing."""
        return len(set(self._first))

    def of(self, place: int) -> tuple[int, ...]:
        """List the places that are linked with one, itself too."""
        first = self._first[place]
        return tuple(other for other, its in enumerate(self._first) if its == first)

    def fewest(self, places: Sequence[int]) -> int:
        """Return how many instances the platform with fewest has in some places."""
        return min(len({place % count for place in places}) for count in self._counts)
