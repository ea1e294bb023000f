"""The plan of a study: trials in order, rules of repetition, comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Literal

from tare.core.model.cell import (
    NO_KEY,
    Cell,
    Contrast,
    ContrastKind,
    Limits,
    Replicates,
)
from tare.core.model.metric import Metric

ADDED = (
    ContrastKind.CONTROL,
    ContrastKind.INJECTED,
    ContrastKind.ISOLATION,
    ContrastKind.SCALING,
)
"""What contrasts ask of cells that are another one repeated, or with something added."""

CpuSet = int | str
"""A set of CPUs in a plan, which is made on any host: a number, each set of which is another one as
far as there are CPUs, or what its CPUs have in common with those of the set 0 (NeighbourCpus)."""


class Evidence(StrEnum):
    """What a verdict rests on."""

    LIKELY = "likely"
    """The rule of looks: of equal platforms, one comparison in twenty is a false alarm."""
    ESTABLISHED = "established"
    """The e-process as well and, over all comparisons of a study together, Holm's p."""


class Design(StrEnum):
    """How the two halves of a pair are measured (METHOD.md 3.4)."""

    INTERLEAVED = "interleaved"
    """One after the other, in random order, on the same CPUs."""
    DUET = "duet"
    """At the same moment, each on CPUs of its own, which are swapped between blocks."""


class Variant(StrEnum):
    """Which time of a trial is compared (METHOD.md 2.7)."""

    WALL = "wall"
    """Wall time: what a user waits."""
    CORRECTED = "corrected"
    """Wall time minus foreign delay: what the platform takes when it gets a CPU."""
    HOST_CPU = "host_cpu"
    """The CPU time of everything that the platform ran on the host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """When to stop repeating (METHOD.md 2.4).

    ``margin`` and ``precision`` are ratios minus one: 0.02 is 2 %. Looks are taken at
    ``tare.results.stats.schedule.all_looks`` up to ``max_blocks`` and decide nothing before
    ``min_blocks``; ``budget_s`` ends the measuring, None is no budget. ``shared_devices`` allows a
    duet of workloads that use one device, such as the disk. ``variant`` of the primary metric is
    what verdicts, stopping and Holm's family rest on. A comparison continues until its verdict has
    the ``evidence`` that is asked for.

    Each platform has ``instances`` instances at once, or the number that ``instances_of_platforms``
    has with its name; one is replaced by a fresh one after ``blocks_per_instance``, or "auto":
    where instances differ, when that is the better buy. ``warmup`` trials of each cell begin an
    instance; "auto" is one, and more in later instances where trials still became faster after it.
    """

    min_blocks: int = 3
    max_blocks: int = 100
    margin: float = 0.02
    precision: float | None = None
    budget_s: float | None = None
    instances: int = 5
    variant: Variant = Variant.WALL
    evidence: Evidence = Evidence.LIKELY
    design: Design = Design.INTERLEAVED
    shared_devices: bool = False
    blocks_per_instance: int | Literal["auto"] = "auto"
    warmup: int | Literal["auto"] = "auto"
    instances_of_platforms: tuple[tuple[str, int], ...] = field(default=(), metadata={NO_KEY: True})

    def instances_of(self, *platforms: str) -> int:
        """Return how many instances each of some platforms has; of several, the fewest."""
        own = dict(self.instances_of_platforms)
        return min(own.get(platform, self.instances) for platform in platforms)

    @property
    def warmups(self) -> int:
        """How many warm-up trials a cell has in an instance, as declared."""
        return 1 if self.warmup == "auto" else self.warmup


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where one part of a trial is run: on which of its platform's instances.

    ``part`` is its name, as the scenario calls it; empty is the only one. ``cores`` is which of a
    duet's two sets of CPUs it has. ``cell`` is the id of the cell that it is a part of; empty is
    the slot's own. ``platform`` is the name of its platform; empty is its cell's.
    """

    instance: int
    part: str = ""
    cores: int = 0
    cell: str = ""
    platform: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One trial of the plan: which cell is run when, and where each of its parts runs.

    Parts are started in the order of ``placements``. They may be of several cells, which are then
    measured at the same moment, as a duet does with a cell and its reference. Slots of a block are
    numbered so that each cell has a number: that of its slot, counted on from its first cell.
    """

    block: int
    slot: int
    cell: str
    placements: tuple[Placement, ...]

    @property
    def instance(self) -> int:
        """The instance of its first part."""
        return self.placements[0].instance

    @property
    def cells(self) -> tuple[str, ...]:
        """The ids of the cells that are measured in it, in the order in which they are started."""
        if len(self.placements) == 1:
            return (self.placements[0].cell or self.cell,)
        return tuple(dict.fromkeys(one.cell or self.cell for one in self.placements))

    def of(self, cell: str) -> tuple[Placement, ...]:
        """Return the placements of one of its cells."""
        return tuple(one for one in self.placements if (one.cell or self.cell) == cell)


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderSwitch:
    """One switch of a ladder, and the two platforms in which it alone is turned.

    ``without`` is the default with this switch off, ``only`` the bare end with this switch on;
    ``on`` and ``off`` are the two positions in words. ``shows`` names what is read inside that the
    two positions differ in, where the switch has an effect on this host.
    """

    name: str
    about: str
    on: str
    off: str
    without: str
    only: str
    shows: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ladder:
    """A platform from ``default`` (all switches on) to ``bare`` (all off), to attribute its cost.

    The two differ in all the switches; all names are those of platforms in the plan's cells.
    """

    default: str
    bare: str
    switches: tuple[LadderSwitch, ...]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All trials in order, written before the first one runs.

    ``contrasts`` say which cells are compared. All but those of attribution are what the plan
    decides by; of these a cell has one at the most, and they stand in the order of the cells.
    ``metrics`` maps a workload, by the name in its cells, to its metrics, the primary one first.
    Slots of a block stand in the order of execution. ``ladders`` says which platforms take one
    apart, ``replicates`` what is repeated. ``cpu_sets`` says which set of CPUs each of the
    instances has that a trial uses at once; empty: each has one of its own.
    """

    study: str
    seed: int
    cells: tuple[Cell, ...]
    contrasts: tuple[Contrast, ...]
    metrics: Mapping[str, tuple[Metric, ...]]
    repetition: Repetition
    slots: tuple[Slot, ...]
    ladders: tuple[Ladder, ...] = ()
    replicates: Replicates = Replicates.INSTANCES
    cpu_sets: tuple[CpuSet, ...] = ()

    @cached_property
    def cells_by_id(self) -> Mapping[str, Cell]:
        """The cells by their ids."""
        return {cell.id: cell for cell in self.cells}

    @cached_property
    def most_parts(self) -> int:
        """The largest number of parts of a cell in any trial: the size of a set of instances."""
        if self.cpu_sets:
            return len(self.cpu_sets)
        return max((len(slot.of(cell)) for slot in self.slots for cell in slot.cells), default=1)

    @property
    def sets_of_parts(self) -> tuple[CpuSet, ...]:
        """Which set of CPUs each instance of a set of instances has, of the largest set."""
        return self.cpu_sets or tuple(range(self.most_parts))

    def cpu_sets_of(self, cell: Cell) -> tuple[CpuSet, ...]:
        """Return which set of CPUs each instance has of those that a cell's trials run on.

        Cells of one platform share them, a repeated one has its own: as many as any of them uses.
        """
        return self.sets_of_parts[: self._used[cell.platform, cell.replica, cell.limits]]

    @cached_property
    def _used(self) -> Mapping[tuple[str, int, Limits], int]:
        """How many instances of a set the cells use that share it."""
        used = {(one.platform, one.replica, one.limits): 1 for one in self.cells}
        if self.most_parts == 1:
            return used
        for slot in self.slots:
            if slot.block != self.slots[0].block:  # each block has the same cells
                break
            for cell in (self.cells_by_id[one] for one in slot.cells):
                for one in slot.of(cell.id):
                    other = (one.platform, 0, cell.limits) if one.platform else None
                    which = other or (cell.platform, cell.replica, cell.limits)
                    last = one.instance % self.most_parts
                    used[which] = max(used.get(which, 1), last + 1)
        return used

    @cached_property
    def decided_by(self) -> Mapping[str, Contrast]:
        """The contrasts that the plan decides by, by the id of their cell."""
        attributed = ContrastKind.ATTRIBUTION
        return {one.cell: one for one in self.contrasts if one.kind is not attributed}

    @cached_property
    def controls(self) -> Mapping[str, Cell]:
        """The A/A controls, by the id of the cell that they repeat."""
        return {
            one.reference: self.cells_by_id[one.cell]
            for one in self.contrasts
            if one.kind is ContrastKind.CONTROL
        }

    @cached_property
    def control_ids(self) -> frozenset[str]:
        """The ids of the A/A controls."""
        return frozenset(cell.id for cell in self.controls.values())

    @cached_property
    def references(self) -> frozenset[str]:
        """The ids of the cells that others are decided against."""
        return frozenset(one.reference for one in self.decided_by.values())

    @property
    def reference(self) -> str:
        """The name of the platform that the others are decided against; empty if there is none."""
        known = (one.reference for one in self.decided_by.values())
        return next((self.cells_by_id[cell].platform for cell in known), "")

    @cached_property
    def platform_cells(self) -> tuple[Cell, ...]:
        """The cells that stand for a platform as declared: not repeated, nothing added to them."""
        added = {one.cell for one in self.contrasts if one.kind in ADDED}
        return tuple(cell for cell in self.cells if cell.id not in added)
