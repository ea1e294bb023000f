"""A trial: one measured run of a cell, with status, samples, cost and parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from tare.core.model.metric import Metric


class Kind(StrEnum):
    """What a trial is for."""

    WARMUP = "warmup"
    """The first trials of a cell in an instance: stored, shown, never part of a comparison."""
    MEASURED = "measured"


class Status(StrEnum):
    """How a trial ended."""

    OK = "ok"
    SUSPECT = "suspect"
    """There are numbers, but the host throttled, stole CPU time, swapped or was loaded."""
    FAILED = "failed"
    DNR = "dnr"
    """Did not respond: ended at its deadline."""
    UNAVAILABLE = "unavailable"
    """This host cannot do it."""


class Entry(StrEnum):
    """How a trial's command was started in its machine; never mixed within a comparison.

    What entering a container anew takes is charged to the container: 24 ms of CPU time in Docker.
    """

    ANEW = "anew"
    """By the layer's client (``docker exec``), for each command.

    Always so before there were agents.
    """
    AGENT = "agent"
    """By an agent that had been put into the machine before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCost:
    """What a trial cost, read on the host, over the threads that did the work (METHOD.md 2.7).

    ``cpu_s`` and ``run_delay_s`` are sums over those threads of time on a CPU and of time runnable
    but waiting for one. ``all_cpu_s`` is the CPU time of everything the platform ran on the host
    (I/O threads and helpers too). ``coverage`` is the part of the measured threads' CPU time that
    was seen thread by thread, 0 to 1: threads that ended unseen have a delay nobody knows.

    ``workers`` are those measured threads that used at least a tenth as much CPU time as the
    busiest; ``lasting`` says that they were there before the trial (virtual CPUs), and that their
    delay is that of the whole command and not of the tool in it. ``throttled_s`` is for how long
    quotas of the platform's own groups held it back. ``foreign_cpu_s`` is the CPU time that other
    work took on the trial's CPUs, ``foreign_delay_s`` is the share of the wall time attributable to
    it; None is not known.
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
    """Why a trial is suspect, and the name of the value that says how much."""

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
    PEER_BUSY = "outside_busy"
    """``share`` of the time in which the peer, or one thread of it, was busy."""
    PEER_SHARED = "outside_shared"
    """The peer had the trial's CPUs; it has no value."""
    OFF_LEVEL = "off_level"
    """``share`` of its maximum to which a resource was used, other than the ``target``."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """A reason why a trial is suspect, with its numbers by name.

    ``tare.core.complaints`` words it; what is to be known of it is asked of its kind.
    """

    kind: ComplaintKind
    values: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of the work in one instance: of a trial, and of each of its parts.

    ``instance`` names what it was measured in. ``reason`` is a sentence for people. ``duration_s``
    is the wall time of the command by the host's monotonic clock. ``samples`` maps a metric's name
    to its value in the metric's base unit; the plan says what the names mean. ``noise`` is what
    else the host did meanwhile, by the names of ``tare.experiment.probes.noise.between``;
    ``resources`` is what the platform took of it, by those of
    ``tare.experiment.probes.series.summary``. ``cpuset`` lists the host's CPUs it was held to.
    """

    instance: str
    status: Status
    reason: str = ""
    duration_s: float = 0.0
    samples: Mapping[str, float] = field(default_factory=dict)
    host: HostCost | None = None
    noise: Mapping[str, float] = field(default_factory=dict)
    resources: Mapping[str, float] = field(default_factory=dict)
    cpuset: str = ""

    @property
    def cpu_count(self) -> int:
        """How many CPUs of the host it was held to; 0 where that is not known."""
        ends = (part.split("-") for part in self.cpuset.split(",") if part)
        return sum(int(one[-1]) - int(one[0]) + 1 for one in ends)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(Result):
    """The result of one of several parts of a trial.

    ``late_s`` is how much later than the first part it started, as far as that was seen: at its
    release, by the host's clock; None where it was not started, or was up before, as roles are.
    ``cell`` is the id of the cell that it was measured for where a trial has several; empty is the
    trial's own. ``platform`` is the name of the platform of its instance; empty is its cell's.
    ``warnings`` are those of this part alone.
    """

    name: str
    late_s: float | None = None
    cell: str = ""
    platform: str = ""
    warnings: tuple[str | Complaint, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement(Result):
    """The result of a trial as a whole, before anything says which trial of a plan it is.

    ``started_at`` is UTC in ISO 8601. ``phases_s`` is how long each step around the command took.
    ``warnings`` are complaints, and texts of tools and engines.
    """

    started_at: str = ""
    phases_s: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str | Complaint, ...] = ()

    @property
    def complaints(self) -> tuple[Complaint, ...]:
        """What makes its number suspect; a trial that failed may have some as well."""
        return tuple(one for one in self.warnings if isinstance(one, Complaint))


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial(Measurement):
    """One measured run of one cell in one block, and everything recorded about it.

    ``session`` names the one that measured it. ``repeat`` is 1 for a trial that was run again at
    once because the one before it was suspect; of a warm-up it is how many went before it in the
    instance. ``parts`` are those of a trial that has several, in the order of their placements.

    A trial of several cells is stored as one, and analysed as one of each cell: see ``by_cell``.
    Of these ``partner`` is the cell that was measured at the same moment, and the lower slot was
    started first.
    """

    cell: str
    block: int
    slot: int
    kind: Kind
    repeat: int = 0
    partner: str = ""
    entry: Entry = Entry.ANEW
    session: str = ""
    parts: tuple[Part, ...] = ()

    def by_cell(self) -> tuple[Trial, ...]:
        """Return a trial for each cell that was measured in it, in the order of starting.

        A trial of one cell is returned unchanged. Each has the result of its part, its number in
        the block, and the part's own start and duration; what was done around the commands was done
        for all cells together.
        """
        cells = tuple(dict.fromkeys(part.cell for part in self.parts if part.cell))
        if not cells:
            return (self,)
        return tuple(self._of(cell, place, cells) for place, cell in enumerate(cells))

    def _of(self, cell: str, place: int, cells: Sequence[str]) -> Trial:
        own = [part for part in self.parts if part.cell == cell]
        first = own[0]
        return Trial(
            **recorded(first, Result),
            cell=cell,
            block=self.block,
            slot=self.slot + place,
            kind=self.kind,
            repeat=self.repeat,
            partner=partner_of(cell, cells),
            entry=self.entry,
            session=self.session,
            started_at=_later(self.started_at, first.late_s or 0.0),
            phases_s={**self.phases_s, "command": first.duration_s},
            warnings=first.warnings,
            parts=tuple(own),
        )

    def lasted_s(self, tool_duration: Metric | None) -> float:
        """Return how long the tool reports that it worked, or else how long the command took.

        ``tool_duration`` is that metric of the trial's workload, if it has one.
        """
        reported_s = None if tool_duration is None else self.samples.get(tool_duration.name)
        return self.duration_s if reported_s is None else reported_s


def partner_of(cell: str, cells: Sequence[str]) -> str:
    """Return the first other one of some cells that are measured together; empty: none."""
    return next((other for other in cells if other != cell), "")


def _later(started_at: str, by_s: float) -> str:
    """Return a time in ISO 8601 some seconds later; one that is not understood is unchanged."""
    try:
        start = datetime.fromisoformat(started_at)
    except ValueError:
        return started_at
    return (start + timedelta(seconds=by_s)).isoformat(timespec="milliseconds")


def recorded(result: Result, kind: type[Result]) -> dict[str, Any]:
    """Return the fields of ``kind`` with their values in a result, to make one of that kind."""
    return {one.name: getattr(result, one.name) for one in fields(kind)}
