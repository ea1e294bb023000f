"""What is stored and compared: plain frozen data, no I/O, no clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Literal

Scalar = str | int | float | bool
Params = tuple[tuple[str, Scalar], ...]
"""Named values in the order in which they were declared."""

NO_KEY = "no key"
"""Metadata of a field that a study file does not give by the field's name."""

INJECTED = "injected"
"""The parameter of a workload to which work was added: cells that differ in it share the rest."""


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


class MetricRole(StrEnum):
    """What the numbers of a metric are used for, beside being compared."""

    PLAIN = "plain"
    """Nothing else."""
    TOOL_DURATION = "tool_duration"
    """How long the tool worked, by its own account and without its start and end; in seconds."""
    LOSS = "loss"
    """The share of what was sent that did not arrive."""
    FAILED = "failed"
    """The share of requests that failed."""
    SEARCHED = "searched"
    """The highest rate that a trial found by working at others: no account of the work it did."""


UNITS_OF_ROLES = {
    MetricRole.TOOL_DURATION: (Unit.SECOND,),
    MetricRole.LOSS: (Unit.RATIO,),
    MetricRole.FAILED: (Unit.RATIO,),
    MetricRole.SEARCHED: (Unit.PER_SECOND, Unit.BYTE_PER_SECOND),
}
"""The units that a metric of a role may have; any, where a role is not named."""


@dataclass(frozen=True, slots=True)
class Metric:
    """What a number means. Raises ValueError if its unit is none of its role."""

    name: str
    unit: Unit
    better: Better
    role: MetricRole = MetricRole.PLAIN

    def __post_init__(self) -> None:
        """Check the unit."""
        units = UNITS_OF_ROLES.get(self.role, tuple(Unit))
        if self.unit not in units:
            expected = " or ".join(units)
            raise ValueError(
                f"metric {self.name}: its unit is {self.unit}; expected {expected}, because its "
                f"role is {self.role}"
            )


def metric_of(metrics: Iterable[Metric], role: MetricRole) -> Metric | None:
    """Return the first of a workload's metrics that has a role, or None."""
    return next((metric for metric in metrics if metric.role is role), None)


def tool_duration_s(samples: Mapping[str, float], metrics: Iterable[Metric]) -> float | None:
    """Return how long a workload's tool took by its own account, or None if it did not say."""
    metric = metric_of(metrics, MetricRole.TOOL_DURATION)
    return None if metric is None else samples.get(metric.name)


@dataclass(frozen=True, slots=True)
class Sample:
    """One number for one metric."""

    metric: Metric
    value: float


class DiskCache(StrEnum):
    """Whether a layer with a disk of its own may keep that disk's pages in the host's memory."""

    NONE = "none"
    WRITEBACK = "writeback"


class FileAccess(StrEnum):
    """How the file I/O that a workload measures reaches the disks."""

    NONE = "none"
    """It measures no file I/O."""
    CACHED = "cached"
    """Through the kernel's page cache, which may serve it."""
    DIRECT = "direct"
    """By O_DIRECT, which bypasses the page cache of the kernel that it runs on."""


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

    ``id`` is its name in trials and files; nothing is computed from it, nor it from a stored cell.
    ``platform`` is the name people read; ``stack`` and ``settings`` are what it stands for, with
    settings named ``<layer>.<key>``. ``replica`` says on which set of the platform's instances it
    is measured: 0 is that of all its cells, another is one that repeats a measurement, as the A/A
    control does. ``file_access`` is what the workload says of itself with these parameters.
    """

    id: str
    platform: str
    stack: str
    settings: Params
    workload: str
    params: Params
    limits: Limits
    replica: int = 0
    file_access: FileAccess = FileAccess.NONE

    @property
    def path(self) -> tuple[str, ...]:
        """The stack's words from the outside in: the place that it starts from, and its layers."""
        return tuple(self.stack.split("/"))


class ContrastKind(StrEnum):
    """What a contrast asks."""

    OVERHEAD = "overhead"
    """What does a platform cost beside the baseline?"""
    CONTROL = "control"
    """How far apart are equal things here? The reference, measured a second time (A/A)."""
    INJECTED = "injected"
    """Is work that was added on purpose found again?"""
    ATTRIBUTION = "attribution"
    """What does one switch or layer cost, between two platforms that differ in it?"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """Two cells that are compared, by their ids: is the first worse than its reference?

    ``known`` is what is known beforehand of the answer, as a ratio minus one: the share of work
    that was added.
    """

    cell: str
    reference: str
    kind: ContrastKind
    known: float | None = None


class Replicates(StrEnum):
    """What the trials of a cell repeat: of that a comparison rests on as many as there are."""

    INSTANCES = "instances"
    """Instances, which several trials of a cell share."""
    TRIALS = "trials"
    """The trials themselves: each makes instances of its own, and shares only what is around."""


class Kind(StrEnum):
    """What a trial is for."""

    WARMUP = "warmup"
    """The first trials of a cell in an instance: stored, shown, never part of a comparison."""
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


class Entry(StrEnum):
    """How a trial's command got into its machine; the two are never mixed within a comparison.

    What entering a container anew takes is charged to the container: 24 ms of CPU time in Docker.
    """

    ANEW = "anew"
    """By the layers' own clients, for each command; so were all trials before there were agents."""
    AGENT = "agent"
    """It was started by an agent that had been put into the machine before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCost:
    """What a trial cost, read on the host, over the threads that did the work (METHOD.md 2.7).

    ``cpu_s`` and ``run_delay_s`` are sums over those threads of time on a CPU and of time runnable
    but waiting for one. ``all_cpu_s`` is the CPU time of everything the platform ran on the host
    (I/O threads and helpers too). ``coverage`` is the part of the measured threads' CPU time that
    was seen thread by thread, 0 to 1: threads that ended unseen have a delay nobody knows.

    ``workers`` are those measured threads that used at least a tenth as much CPU time as the
    busiest; ``lasting`` says that they were there before the trial (virtual CPUs), and that their
    delay is that of the whole command and not of the tool in it. ``throttled_s`` is for
    how long quotas of the platform's own groups held it back. ``foreign_cpu_s`` is the CPU time
    that other work took on the trial's CPUs, ``foreign_delay_s`` what of the trial's wall time may
    be laid to it; None is not known.
    """

    cpu_s: float
    run_delay_s: float
    all_cpu_s: float
    coverage: float
    threads: int
    workers: int = 0
    lasting: bool = False
    throttled_s: float = 0.0
    foreign_cpu_s: float = 0.0
    foreign_delay_s: float | None = None


class ComplaintKind(StrEnum):
    """What makes the number of a trial suspect, and what the one value of a complaint is named."""

    STOLEN = "stolen"
    """``share`` of its CPUs' time that a hypervisor below took."""
    FOREIGN = "foreign"
    """``share`` of its CPUs' time that other work on the host took."""
    MEMORY = "memory"
    """``share`` of its duration in which the host was short of memory."""
    SWAPPED = "swapped"
    """``pages`` that the host swapped."""
    HEAT = "heat"
    """``times`` that heat throttled its CPUs."""
    SLOW_CLOCK = "slow_clock"
    """``ratio`` of its CPUs' clock rate to the base rate."""
    OUTSIDE_BUSY = "outside_busy"
    """``share`` of the time in which the machine outside, or one thread of it, was busy."""
    OUTSIDE_SHARED = "outside_shared"
    """The machine outside had the trial's CPUs; it has no value."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """One thing that makes a trial's number suspect, with its numbers by name.

    ``tare.complaints`` words it; what is to be known of it is asked of its kind.
    """

    kind: ComplaintKind
    values: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one of several parts of a trial came to; fields that a trial has too mean the same.

    ``late_s`` is how much later than the first part it started, as far as that was seen: at its
    release, by the host's clock; None where it was not started.
    """

    name: str
    instance: str
    status: Status
    reason: str = ""
    duration_s: float = 0.0
    samples: Mapping[str, float] = field(default_factory=dict)
    host: HostCost | None = None
    noise: Mapping[str, float] = field(default_factory=dict)
    resources: Mapping[str, float] = field(default_factory=dict)
    cpuset: str = ""
    late_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One measured run of one cell in one block, and everything recorded about it.

    ``session`` names the one that measured it, ``instance`` what it was measured in.
    ``started_at`` is UTC in ISO 8601; ``duration_s`` is the wall time of the command by the host's
    monotonic clock. ``samples`` maps a metric's name to its value in the metric's base unit; the
    plan says what the names mean. ``cpuset`` lists the host's CPUs it was held to. ``partner`` is
    the cell that was measured at the same moment, in a duet; the lower slot was started first.
    ``noise`` is what else the host did meanwhile, by the names of
    ``tare.monitors.noise.between``; ``resources`` is what the platform took of it, by those of
    ``tare.monitors.series.summary``. ``repeat`` is 1 for a trial that was run again at once
    because the one before it was suspect; of a warm-up it is how many went before it in the
    instance. ``reason`` is a sentence for people; ``warnings`` are complaints, and texts of tools
    and engines. ``parts`` are those of a trial that has several, in the order of their placements.
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
    warnings: tuple[str | Complaint, ...] = ()
    noise: Mapping[str, float] = field(default_factory=dict)
    resources: Mapping[str, float] = field(default_factory=dict)
    repeat: int = 0
    cpuset: str = ""
    partner: str = ""
    entry: Entry = Entry.ANEW
    session: str = ""
    parts: tuple[Part, ...] = ()

    @property
    def complaints(self) -> tuple[Complaint, ...]:
        """What makes its number suspect; a trial that failed may have some as well."""
        return tuple(one for one in self.warnings if isinstance(one, Complaint))

    def lasted_s(self, tool_duration: Metric | None) -> float:
        """Return how long the tool took by its own account, or else how long the command took.

        ``tool_duration`` is that metric of the trial's workload, if it has one.
        """
        told_s = None if tool_duration is None else self.samples.get(tool_duration.name)
        return self.duration_s if told_s is None else told_s


class Evidence(StrEnum):
    """What a verdict rests on."""

    LIKELY = "likely"
    """The rule of looks: of equal platforms, one comparison in twenty is told apart by luck."""
    ESTABLISHED = "established"
    """The e-process as well and, over all comparisons of a study together, Holm's p."""


class Design(StrEnum):
    """How the two halves of a pair are measured (METHOD.md 3.4)."""

    INTERLEAVED = "interleaved"
    """One after the other, in random order, on the same CPUs."""
    DUET = "duet"
    """At the same moment, each on CPUs of its own, which are swapped between blocks."""


class Variant(StrEnum):
    """Which time of a trial a comparison rests on (METHOD.md 2.7)."""

    WALL = "wall"
    """All of it: what the user felt."""
    CORRECTED = "corrected"
    """Wall time less foreign delay: what the platform takes when it gets a CPU."""
    HOST_CPU = "host_cpu"
    """The CPU time of everything the platform ran on the host: the bill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """When to stop repeating (METHOD.md 2.4).

    ``margin`` and ``precision`` are ratios minus one: 0.02 is 2 %. Looks are taken at
    ``tare.stats.schedule.all_looks`` up to ``max_blocks`` and decide nothing before ``min_blocks``;
    ``budget_s`` ends the measuring, None is no budget.
    ``shared_devices`` allows a duet of workloads that use one device, such as the disk.
    ``variant`` of the primary metric is what verdicts, stopping and Holm's family rest on.
    A comparison goes on until its verdict has the ``evidence`` that is asked for.

    Each platform has so many ``instances`` at once, or as many as ``instances_of_platforms`` has
    with its name; one is replaced by a fresh one after ``blocks_per_instance``, or "auto": where
    instances differ, when that is the better buy.
    ``warmup`` trials of each cell begin an instance; "auto" is one, and more in later instances
    where trials still became faster after it.
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
    duet's two sets of CPUs it has.
    """

    instance: int
    part: str = ""
    cores: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A place in the plan: which cell is run when, and where each of its parts.

    In a duet two slots that follow each other are one pair, the first of them is started first;
    ``partner`` is the cell of the other half.
    """

    block: int
    slot: int
    cell: str
    placements: tuple[Placement, ...]
    partner: str = ""

    @property
    def instance(self) -> int:
        """The instance of its first part."""
        return self.placements[0].instance

    @property
    def cores(self) -> int:
        """Which of a duet's two sets of CPUs it has."""
        return self.placements[0].cores


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
    """One platform taken apart: the platforms ``default`` (all switches on) and ``bare`` (all off).

    The two differ in all the switches; all names are those of platforms in the plan's cells.
    """

    default: str
    bare: str
    switches: tuple[LadderSwitch, ...]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What will be run, in order, written before the first trial.

    ``contrasts`` say which cells are compared. All but those of attribution are what the plan
    decides by; of these a cell has one at the most, and they stand in the order of the cells.
    ``metrics`` maps a workload, by the name in its cells, to
    its metrics, the primary one first. Slots of a block stand in the
    order of execution. ``ladders`` says which platforms take one apart, ``replicates`` what is
    repeated.
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

    @cached_property
    def cells_by_id(self) -> Mapping[str, Cell]:
        """The cells by their ids."""
        return {cell.id: cell for cell in self.cells}

    @cached_property
    def most_parts(self) -> int:
        """The most parts of any trial: so many instances of a platform are one set of them."""
        return max((len(slot.placements) for slot in self.slots), default=1)

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
        """The cells that stand for a platform as declared: neither repeated nor with work added."""
        others = (ContrastKind.CONTROL, ContrastKind.INJECTED)
        added = {one.cell for one in self.contrasts if one.kind in others}
        return tuple(cell for cell in self.cells if cell.id not in added)
