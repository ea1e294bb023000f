"""The duet design: measure a platform and its baseline at the same moment, on separate CPUs.

What disturbs both sets of CPUs alike (stolen time, frequency, the hypervisor below) then falls on
both halves of a pair (Bulej et al., ICPE 2020). What differs between the sets, or between the one
who starts first and the one who starts second, must not look like a cost; so the sets are swapped
and the order of starting is too: in every two blocks of a comparison each once, in every four each
with each.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from random import Random
from typing import NamedTuple, TypeVar

from tare.core.model import CpuLimit, Design, Limits, Repetition
from tare.experiment.scenario import Scenario
from tare.experiment.study.declaration import FixedWorkload
from tare.work.workload import Measured

T = TypeVar("T")

ASSUMES = (
    "two equal sets of CPUs: no SMT siblings of each other, one NUMA node, one maximum frequency",
    "no device that both halves use: they disturb each other on the disk and on the network",
    "caches and memory bandwidth that both halves share cost the two alike",
    "noise that is common to both sets: what is not is as large as between trials in turn",
)
"""What must hold for a duet; the first two are checked before a run, the rest from its data."""

WAYS = (((0, False), (1, True)), ((0, True), (1, False)))
"""(the set of CPUs that the platform has, whether it is started first): all there are, in twos that
have both sets and both orders, so that a two is balanced and a four is in every respect."""

SUBJECT, REFERENCE = "subject", "reference"
"""The names of the two parts of a duet's trial."""

BLOCKS_IN_TURN = 2
"""An instance serves a two, so that no set of CPUs and no order can look like its luck."""


def objections(
    repetition: Repetition,
    name: str,
    scenario: Scenario[Measured],
    workloads: Sequence[FixedWorkload],
) -> Iterator[str]:
    """List why a study of the scenario of this name cannot be a duet; nothing where it is none."""
    if repetition.design is not Design.DUET:
        if repetition.shared_devices:
            yield "shared_devices is only for the design duet; leave it out"
        return
    parts = max((len(scenario.parts(one.made)) for one in workloads), default=1)
    if not scenario.can_be_together or (
        parts > 1 and not any(one.made.roles() for one in workloads)
    ):
        yield f"a {name} study cannot be a duet; expected the design {Design.INTERLEAVED}"
        return
    served = [chosen.name for chosen in workloads if chosen.made.roles()]
    if served:
        yield (
            f"one peer would serve both halves of a duet in "
            f"{', '.join(dict.fromkeys(served))}; expected the design {Design.INTERLEAVED}"
        )
    on_disk = [chosen.name for chosen in workloads if chosen.made.disk_bytes() > 0]
    if on_disk and not repetition.shared_devices:
        yield (
            "both halves of a duet would use the same disk in "
            f"{', '.join(dict.fromkeys(on_disk))}; expected the design {Design.INTERLEAVED}; "
            "to measure it nevertheless: shared_devices: true"
        )


def objection_to(limits: Limits) -> str:
    """Return why the platforms of a duet cannot have some limits; empty where they can."""
    if limits.is_pinned:
        return ""
    return (
        f"cpu_limit: {limits.cpu_limit} was given, and the halves of a duet have CPUs of their "
        f"own; expected {CpuLimit.CPUSET}, or the design {Design.INTERLEAVED}"
    )


class Half(NamedTuple):
    """One part of a duet's trial: its name, its cell, and which of the two sets of CPUs it has."""

    part: str
    cell: str
    cores: int


class Pairing:
    """Gives the pairs of a block, balanced over every four blocks; draws from ``random``.

    ``baselines`` are the ids of the baseline cells, one in each group of cells that are compared.
    """

    def __init__(self, baselines: Collection[str], random: Random) -> None:
        self._baselines, self._random = baselines, random
        self._left: dict[str, list[tuple[int, bool]]] = {}

    def pairs(self, group: Sequence[str]) -> Iterator[tuple[str, tuple[Half, Half]]]:
        """Pair each cell of a group with its baseline: the cell, and both in order of starting."""
        base = next(cell for cell in group if cell in self._baselines)
        for cell in group:
            if cell != base:
                cores, is_first = self._way(cell)
                subject, reference = Half(SUBJECT, cell, cores), Half(REFERENCE, base, 1 - cores)
                yield cell, (subject, reference) if is_first else (reference, subject)

    def _way(self, cell: str) -> tuple[int, bool]:
        if not self._left.get(cell):
            self._left[cell] = [way for two in self._shuffled(WAYS) for way in self._shuffled(two)]
        return self._left[cell].pop()

    def _shuffled(self, items: Sequence[T]) -> list[T]:
        """Shuffle as the planner does: only ``random()`` is the same forever."""
        return sorted(items, key=lambda _: self._random.random())
