"""The reservations of a session: what a workload takes alone, and what its neighbours are left."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial

from tare.core.model import (
    Cell,
    Limits,
    Plan,
    Reservation,
    Result,
    Source,
    Status,
    Trial,
    neighbour_of,
)
from tare.core.model.group import Group, group
from tare.core.model.reservation import CPUS, DerivedLimit, given
from tare.experiment.run.cell_run import CellRun
from tare.experiment.run.derivation import DISK_BYTES, both_ways, derive, rates
from tare.experiment.run.holding import holding, lacks
from tare.experiment.run.instance_set import Member
from tare.experiment.run.session import Session
from tare.experiment.trial.measure import GOOD, SeriesOfParts
from tare.results.store import Writer, read_facts
from tare.results.store.facts import RESERVATIONS, checked_reservations
from tare.work import stressor
from tare.work.stressor import StressedResource

PROCESSES = "processes"
CEILINGS = "process_ceilings"
"""The part of the facts with the most processes that a neighbour's instance had, for the host's
sake: by its platform and its stressor."""
ENOUGH_SECONDS = 5
"""The fewest seconds of a workload alone that a reservation is derived from."""
MOST_TIMES = 10.0
"""The most by which the use is raised of a trial that other work disturbed."""
MOST_TRIALS = 5
"""After this number of trials alone fewer seconds must do."""

Workload = tuple[str, Group]
"""A workload with its parameters, under limits, on a platform."""
SecondsOfParts = dict[str, list[float]]
"""How many CPUs each part of a trial took, in each of its seconds."""


@dataclass(frozen=True, slots=True)
class Alone:
    """What a workload took in a trial alone: of the CPUs, and of the disks of the host."""

    status: Status
    cpus: SecondsOfParts = field(default_factory=dict)
    disk_bytes: Sequence[float] = ()
    """Bytes a second that were read and written, in each second; of everything on the host."""

    def seconds(self, resource: str) -> int:
        """Return in how many seconds the use of a resource was read.

        Of a trial with several parts the shortest: their seconds are those of one time.
        """
        if resource == DISK_BYTES:
            return len(self.disk_bytes)
        return min(map(len, self.cpus.values()), default=0)


class Reservations:
    """What neighbours are held to: the limits that a study names, or those derived in its session.

    What an earlier session of the same results derived is used again, so that a cell is always one
    thing.
    """

    def __init__(self, plan: Plan, session: Session, writer: Writer) -> None:
        self._plan, self._session, self._writer = plan, session, writer
        self._uses: dict[Workload, list[Alone]] = {}
        # Of others nothing is derived, and a long study would keep the seconds of all its trials.
        self._wanted = {_workload(cell) for cell in plan.cells if _derives(cell)}
        stored = checked_reservations(read_facts(writer.folder), writer.folder / "facts.json")
        self._ceilings: dict[str, dict[str, int]] = {}
        self.derived = {cell: limits for cell, limits in stored.items() if limits}

    def note(self, trial: Trial, series: SeriesOfParts) -> None:
        """Note what a workload took of the host in each second of a trial alone."""
        if not self._wanted:
            return
        cell = self._plan.cells_by_id[trial.cell]
        is_alone = neighbour_of(cell.params) is None
        if trial.status not in GOOD or not is_alone or _workload(cell) not in self._wanted:
            return
        parts: dict[str, tuple[str, Result]] = {
            part.instance: (part.name, part) for part in trial.parts
        }
        parts = parts or {trial.instance: ("", trial)}
        seconds: SecondsOfParts = {}
        for (_, instance), read in series.items():
            for one in read:
                is_cpu_time = (one.source, one.name) == (Source.LAYER, "cpu_s")
                if is_cpu_time and instance in parts and not one.reason:
                    name, result = parts[instance]
                    times = _undisturbed(result)
                    seconds[name] = [times * rate for rate in rates(one.times_s, one.values)]
        taken = Alone(trial.status, seconds, disk_bytes_per_s(series))
        self._uses.setdefault(_workload(cell), []).append(taken)

    def derive(
        self,
        one: CellRun,
        parts: Sequence[str],
        measure_alone: Callable[[Cell], None],
        measure_maximum: Callable[[Cell], float],
    ) -> None:
        """Derive what the parts of a cell that are its neighbour's are left, if it is to be.

        ``measure_alone`` runs a trial of the cell that has the workload alone, and
        ``measure_maximum`` returns the most bytes a second that the host's disk gives in a cell.
        Raises Unavailable where nothing can be derived, or another TareError where a trial cannot
        be run.
        """
        reservation = _reservation(one.cell)
        if reservation is None or reservation.derived is None or one.cell.id in self.derived:
            return
        which = _workload(one.cell)
        alone = next(
            cell
            for cell in self._plan.cells
            if neighbour_of(cell.params) is None and not cell.replica and _workload(cell) == which
        )
        resource = DISK_BYTES if is_of_disk(one.cell) else CPUS
        for _ in range(MOST_TRIALS):
            known = self._uses.get(which, ())
            if sum(trial.seconds(resource) for trial in known) >= ENOUGH_SECONDS:
                break
            measure_alone(alone)
        held = one.of(parts)
        if resource == DISK_BYTES:
            maximum = partial(measure_maximum, one.cell)
            limits = self._limits_of_disk(one.cell, len(held), reservation, maximum)
        else:
            limits = self._limits(one, held, reservation)
        self.derived[one.cell.id] = limits
        self._writer.facts({**read_facts(self._writer.folder), **self.facts})

    def hold(self, one: CellRun, parts: Sequence[str], process_ceiling: int | None = None) -> None:
        """Hold the parts of a cell that are its neighbour's, until the cell rests.

        To its reservation; and to a number of processes for the host's sake, where nothing else
        limits them and the platform can. Raises Unavailable or LayerError where that cannot be.
        """
        reservation = _reservation(one.cell)
        limits = dict(reservation.limits) if reservation else {}
        if reservation is not None and reservation.derived is not None:
            limits = {limit.resource: limit.each for limit in self.derived[one.cell.id]}
        if process_ceiling is not None and _takes_ceiling(one, parts, limits, process_ceiling):
            limits[PROCESSES] = process_ceiling
            self._note_ceiling(one, parts, process_ceiling)
        if not limits:
            return
        layers = one.platform_of(parts).made
        held = holding(one.of(parts), layers, one.cell.limits, given(limits))
        one.awake.enter_context(held)

    def _note_ceiling(self, one: CellRun, parts: Sequence[str], processes: int) -> None:
        """Store a ceiling by the platform and the stressor that it held."""
        neighbour = neighbour_of(one.cell.params)
        of_platform = self._ceilings.setdefault(one.platform_of(parts).name, {})
        if neighbour is not None and of_platform.get(neighbour.stressor) != processes:
            of_platform[neighbour.stressor] = processes
            self._writer.facts({**read_facts(self._writer.folder), **self.facts})

    @property
    def facts(self) -> dict[str, object]:
        """What was derived, as it is stored with the results."""
        found = {cell: [asdict(one) for one in limits] for cell, limits in self.derived.items()}
        facts = {RESERVATIONS: found, CEILINGS: self._ceilings}
        return {name: part for name, part in facts.items() if part}

    def _limits(
        self, one: CellRun, held: Sequence[Member], reservation: Reservation
    ) -> tuple[DerivedLimit, ...]:
        """Derive what each of a cell's neighbours is left of the CPUs that they have in common."""
        limits = one.cell.limits
        cpus = {member.index: self._cpus(limits, member) for member in one.members}
        common = cpus[held[0].index]
        sharing = [
            placement.part
            for placement, member in zip(one.placements, one.members, strict=True)
            if member not in held and common & cpus[member.index]
        ]
        together = []
        for trial in self._trusted(one.cell, CPUS):
            # A workload that has but one part alone has it without a name.
            taken = trial.cpus
            seconds = [taken[part] for part in sharing if part in taken] or [*taken.values()]
            together += [sum(each) for each in zip(*seconds, strict=False)]
        found = derive(reservation, {CPUS: together}, {CPUS: float(len(common))}, len(held))
        return tuple(replace(each, each=min(each.each, float(limits.cpus))) for each in found)

    def _limits_of_disk(
        self,
        cell: Cell,
        neighbours: int,
        reservation: Reservation,
        measure_maximum: Callable[[], float],
    ) -> tuple[DerivedLimit, ...]:
        """Derive what each of a cell's neighbours is left of the host's disk, in both directions.

        A limit of the study's own is not raised.
        """
        trials = self._trusted(cell, DISK_BYTES)
        seconds = [taken for trial in trials for taken in trial.disk_bytes]
        # Without any the reservation is unavailable, whatever the maximum.
        capacity = measure_maximum() if seconds else 0.0
        uses = {DISK_BYTES: seconds}
        (together,) = derive(reservation, uses, {DISK_BYTES: capacity}, neighbours)
        own = dict(cell.limits.optional)
        return tuple(
            replace(limit, each=min(limit.each, float(own.get(limit.resource, math.inf))))
            for limit in both_ways(together)
        )

    def _trusted(self, cell: Cell, resource: str) -> Sequence[Alone]:
        """Return the trials of a cell's workload alone in which its use of a resource was read.

        Suspect ones where there are no others: others may have kept it from taking what it wanted.
        """
        known = [t for t in self._uses.get(_workload(cell), ()) if t.seconds(resource)]
        return [trial for trial in known if trial.status is Status.OK] or known

    def _cpus(self, limits: Limits, member: Member) -> frozenset[int]:
        return frozenset(self._session.cpus_under(limits, member.number))


def disk_bytes_per_s(series: SeriesOfParts) -> list[float]:
    """Return what the host's disks read and wrote together in each second of a trial.

    Each part of a trial has the readings of the whole host: those of one are taken. Empty where
    any of them is missing or ended early.
    """
    for read in series.values():
        counters = [one for one in read if one.source == Source.HOST and one.name in DISK_BYTES_OF]
        if {one.name for one in counters} != {*DISK_BYTES_OF}:
            continue
        if any(one.reason or not one.times_s for one in counters):
            continue
        each = [rates(one.times_s, one.values) for one in counters]
        return [math.fsum(second) for second in zip(*each, strict=False)]
    return []


DISK_BYTES_OF = ("disk_read_bytes", "disk_written_bytes")
"""The counters of the bytes that were read and written."""


def is_of_disk(cell: Cell) -> bool:
    """Return whether a cell's neighbour is to be left what its workload leaves of the disk."""
    neighbour = neighbour_of(cell.params)
    if neighbour is None or not _derives(cell):
        return False
    return stressor.kind(neighbour.stressor).resource is StressedResource.DISK


def _undisturbed(result: Result) -> float:
    """Return by how much more it would have taken without the time that other work took from it."""
    delay_s = (result.host.foreign_delay_s if result.host else None) or 0.0
    left_s = result.duration_s - delay_s
    return min(MOST_TIMES, result.duration_s / left_s) if left_s > 0 else MOST_TIMES


def _reservation(cell: Cell) -> Reservation | None:
    neighbour = neighbour_of(cell.params)
    return neighbour.reservation if neighbour else None


def _takes_ceiling(
    one: CellRun, parts: Sequence[str], limits: Mapping[str, float], processes: int
) -> bool:
    """Return whether nothing limits the processes of some parts as far, and their platform can.

    A machine with a kernel of its own keeps its processes inside.
    """
    if PROCESSES in limits or one.cell.limits.processes is not None:
        return False
    layers = one.platform_of(parts).made
    if lacks(layers, one.cell.limits, given({PROCESSES: processes})):
        return False
    held = [member.stack.held() for member in one.of(parts)]
    return all(each is not None and (each.processes or math.inf) > processes for each in held)


def _derives(cell: Cell) -> bool:
    reservation = _reservation(cell)
    return reservation is not None and reservation.derived is not None


def _workload(cell: Cell) -> Workload:
    return cell.platform, group(cell)
