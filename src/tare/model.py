"""What is stored and compared: plain frozen data, no I/O, no clock."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import cached_property

Scalar = str | int | float | bool
Params = tuple[tuple[str, Scalar], ...]
"""Named values in the order in which they were declared."""


class Unit(StrEnum):
    """The only units in stored data; the report scales them for the eye."""

    SECOND = "s"
    BYTE = "B"
    PER_SECOND = "1/s"
    BYTE_PER_SECOND = "B/s"
    RATIO = "1"


class Better(StrEnum):
    """Which way a metric improves."""

    HIGHER = "higher"
    LOWER = "lower"


@dataclass(frozen=True, slots=True)
class Metric:
    """What a number means."""

    name: str
    unit: Unit
    better: Better


@dataclass(frozen=True, slots=True)
class Sample:
    """One number for one metric."""

    metric: Metric
    value: float


class DiskCache(StrEnum):
    """Whether a layer with a disk of its own may keep that disk's pages in the host's memory."""

    NONE = "none"
    WRITEBACK = "writeback"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What every stack must give the workload, so that stacks stay comparable.

    The CPUs are a number in the cell; which CPUs of the host they are pinned to is a fact of the
    session, the same for all cells.
    """

    cpus: int
    memory_bytes: int
    disk_cache: DiskCache = DiskCache.NONE


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One combination of all factor levels; equal cells are comparable, others never merge.

    ``platform`` is the name people read; ``stack`` and ``settings`` are what it stands for, with
    settings named ``<layer>.<key>``. ``control`` marks the A/A control: the baseline measured a
    second time, on instances of its own.
    """

    platform: str
    stack: str
    settings: Params
    workload: str
    params: Params
    limits: Limits
    control: bool = False

    @cached_property
    def id(self) -> str:
        """Ten hexadecimal digits that stand for everything in the cell."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:10]


class Kind(StrEnum):
    """What a trial is for."""

    WARMUP = "warmup"
    """The first trial of a cell in an instance: stored, shown, never part of a comparison."""
    MEASURED = "measured"


class Status(StrEnum):
    """How a trial ended."""

    OK = "ok"
    SUSPECT = "suspect"
    """There are numbers, but the host throttled, stole, swapped or was loaded."""
    FAILED = "failed"
    DNR = "dnr"
    """Did not respond: ended at its deadline."""
    UNAVAILABLE = "unavailable"
    """This host cannot do it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCost:
    """What a trial cost, read on the host, over the threads that did the work (METHOD.md 2.7).

    ``cpu_s`` and ``run_delay_s`` are sums over those threads of time on a CPU and of time runnable
    but waiting for one. ``all_cpu_s`` is the CPU time of everything the platform ran on the host
    (I/O threads and helpers too). ``coverage`` is the part of the measured threads' CPU time that
    was seen thread by thread, 0 to 1: threads that ended unseen have a delay nobody knows.
    """

    cpu_s: float
    run_delay_s: float
    all_cpu_s: float
    coverage: float
    threads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One measured run of one cell in one block, and everything recorded about it.

    ``started_at`` is UTC in ISO 8601; ``duration_s`` is the wall time of the command by the host's
    monotonic clock. ``samples`` maps a metric's name to its value in the metric's base unit; the
    plan says what the names mean.
    """

    cell: str
    block: int
    slot: int
    kind: Kind
    instance: str
    status: Status
    reason: str = ""
    started_at: str = ""
    duration_s: float = 0.0
    samples: Mapping[str, float] = field(default_factory=dict)
    host: HostCost | None = None
    phases_s: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """When to stop repeating (METHOD.md 2.4).

    ``margin`` and ``precision`` are ratios minus one: 0.02 is 2 %. Looks are taken at
    ``tare.stats.looks`` up to ``max_blocks``; ``budget_s`` ends the measuring, None is no budget.
    """

    min_blocks: int = 8
    max_blocks: int = 100
    margin: float = 0.02
    precision: float | None = None
    budget_s: float | None = None
    instances: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A place in the plan: which cell is run when, on which of its platform's instances."""

    block: int
    slot: int
    cell: str
    instance: int


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What will be run, in order, written before the first trial.

    ``metrics`` maps a workload to its metrics, the primary one first. Slots of a block stand in the
    order of execution. ``baseline`` is a platform's name.
    """

    study: str
    seed: int
    baseline: str
    cells: tuple[Cell, ...]
    metrics: Mapping[str, tuple[Metric, ...]]
    repetition: Repetition
    slots: tuple[Slot, ...]

    @cached_property
    def cells_by_id(self) -> Mapping[str, Cell]:
        """The cells by their ids."""
        return {cell.id: cell for cell in self.cells}
