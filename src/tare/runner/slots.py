"""One slot of a plan after another: the trial, what prepares it, and what becomes of failures."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from threading import Lock
from types import MappingProxyType

from tare import scenario
from tare.errors import ResultsError, TareError
from tare.layer import Layer, Site
from tare.machine import Completed
from tare.model import (
    Cell,
    Entry,
    Kind,
    Measurement,
    Part,
    Plan,
    Slot,
    Status,
    Trial,
    Variant,
    recorded,
)
from tare.monitors.series import Series
from tare.runner.duet import Alone, Half
from tare.runner.fleet import Fleet, Member, key, running
from tare.runner.peer import Peers
from tare.runner.pool import Pool
from tare.runner.recycling import Recycling
from tare.runner.repeats import may_repeat
from tare.runner.resolved import Resolved
from tare.runner.settle import Gate, jitter_s
from tare.scenario import Turn
from tare.store import Writer, samples
from tare.store.reader import read_trials
from tare.store.samples import Samples
from tare.trial.measure import GOOD, status_of
from tare.trial.seat import Seat
from tare.trial.watch import Watching
from tare.workload import Measured

GIVE_UP_AFTER = 3
"""Failures of a cell in a row after which it is left out: the next would fail too."""
ALIVE_S = 20.0


class Slots:
    """Runs slots on the instances of a pool; ``trials`` are all that are stored.

    ``given_up`` are cells that will not be run any more.
    """

    def __init__(self, resolved: Resolved, plan: Plan, writer: Writer, pool: Pool) -> None:
        study = resolved.study
        self.study, self.plan, self.writer, self.pool = study, plan, writer, pool
        self.session, self.progress = pool.session, pool.progress
        self.measured = resolved.measured
        self.scenario = scenario.load(study.scenario)
        self.trials = list(read_trials(writer.folder / "trials.jsonl"))
        self.done = {(t.block, t.cell, t.partner) for t in self.trials if t.kind is Kind.MEASURED}
        self.failures: Counter[str] = Counter()
        self.given_up: set[str] = set()
        self.peers = Peers(study, pool.session)
        self.gate = Gate()
        self.recycling = Recycling(plan, pool)
        self.store_s = 0.0
        self.lives = 0
        # Those of an earlier session have to be whole: better said now than after the first trial.
        begun = (writer.folder / samples.FOLDER).exists()
        self._samples = Samples(writer.folder) if begun else None
        self._storing = Lock()

    def close(self) -> None:
        """End what lasted for the session and write the last samples, or raise ResultsError."""
        self.peers.close()
        if self._samples is not None:
            self._samples.close()

    def is_open(self, place: Iterable[Slot]) -> bool:
        """Whether a place has yet to be run; of a duet both halves have to stand."""
        return any((slot.block, slot.cell, slot.partner) not in self.done for slot in place)

    def give_up_closed(self) -> None:
        """Leave out the cells of every platform that could not be opened."""
        for cell in self.plan.cells:
            for fleet in self.pool.of(cell):
                if fleet.status is not Status.OK:
                    self._give_up(cell, Slot(block=0, slot=0, cell=cell.id, placements=()), fleet)

    def run(self, slot: Slot, half: Half) -> None:
        """Run a slot whose cell has no trial in its block yet; ``half`` waits for its partner."""
        cell = self.plan.cells_by_id[slot.cell]
        fleet = self.pool.fleets[key(cell, slot.cores if slot.partner else None)]
        if cell.id in self.given_up:
            return
        if fleet.status is not Status.OK:
            self._give_up(cell, slot, fleet)
            return
        members = [fleet.members[one.instance % len(fleet.members)] for one in slot.placements]
        self.progress.trial(cell)
        last, lost = None, False
        try:
            with _awake(members):
                if any(cell.id not in member.warmed for member in members):
                    self._warm(slot, cell, members)
                last = self._trial(slot, members, Kind.MEASURED, half)
                wish = last.status is Status.SUSPECT and may_repeat(self.trials)
                if half.agree(wish if last.status in GOOD else None):
                    last = self._trial(slot, members, Kind.MEASURED, half, repeat=1)
        except ResultsError:
            raise
        except TareError as error:
            if last is None:
                missed = self._lost(slot, cell, members[0], status_of(error), str(error))
                last = self._store(missed, None)
            else:  # the trial stands; only its instance could not be paused afterwards
                lost = True
        is_good = last.status in GOOD
        self.failures[cell.id] = 0 if is_good else self.failures[cell.id] + 1
        if is_good and not lost:
            return
        replaced = [self._replace_dead(fleet, member) for member in members]
        replaced.append(self._has_lost_peer())
        is_impossible = last.status is Status.UNAVAILABLE and not any(replaced)
        if is_impossible or self.failures[cell.id] >= GIVE_UP_AFTER:
            self.given_up.add(cell.id)

    def _warm(self, slot: Slot, cell: Cell, members: Sequence[Member]) -> None:
        """Prepare a cell in instances that it has not been run in, and run its warm-ups."""
        self.scenario.prepare(self._turn(slot, members, Kind.WARMUP, Alone()))
        for number in range(self.recycling.warmups(cell)):
            came = self._trial(slot, members, Kind.WARMUP, Alone(), repeat=number)
            if came.status not in GOOD:
                self._has_lost_peer()
        for member in members:
            member.warmed.add(cell.id)

    def _turn(
        self, slot: Slot, members: Sequence[Member], kind: Kind, half: Half
    ) -> Turn[Measured]:
        """Put together what a scenario needs to run a cell in its instances."""
        cell = self.plan.cells_by_id[slot.cell]
        made = self.measured[cell.workload, cell.params]
        seats = [
            self._seat(cell, placement.part, member, kind)
            for placement, member in zip(slot.placements, members, strict=True)
        ]
        return Turn(
            cell=cell,
            made=made,
            kind=kind,
            host=self.session.host,
            seats=seats,
            peer=self.peers.of(cell.limits, made, len(members)),
            kept=self.peers.kept,
            ledger=self.session.ledger,
            deadline_s=self.study.deadlines.for_trial(made.expected_s()),
            fresh=partial(self._fresh, cell, members[0]),
            at_start=half.start,
        )

    def _seat(self, cell: Cell, part: str, member: Member, kind: Kind) -> Seat:
        is_new = not member.warmed
        return Seat(
            part=part,
            instance=self._instance(member),
            stack=member.stack,
            how=Watching(
                cpus=self.session.cpus_under(cell.limits, member.number),
                hertz=self.study.readings_per_s,
                closely=kind is Kind.WARMUP,
                foreign_counts=self.plan.repetition.variant is Variant.WALL,
                reader=member.reader,
            ),
            first=[one.id for one in self.plan.cells if is_new and key(one) == key(cell)],
            is_cold=cell.id not in member.warmed,
            kept=member.kept,
        )

    def _settle(
        self, slot: Slot, members: Sequence[Member]
    ) -> tuple[tuple[str, ...], dict[str, float]]:
        """Let the host come to rest, then pause at random; gives warnings and how long it took.

        A command that no thread of this host runs does not share its disk, memory and neighbours.
        What takes long keeps step with nothing.
        """
        is_short = self.scenario.settles
        if is_short and all(member.stack.threads() is None for member in members):
            return (), {}
        begin = time.perf_counter()
        warnings = self.gate.wait()
        settle_s = time.perf_counter() - begin
        if not is_short:
            return warnings, {"settle": settle_s}
        pause_s = jitter_s(self.plan.seed, slot.block, slot.slot)
        time.sleep(pause_s)
        return warnings, {"settle": settle_s, "jitter": pause_s}

    def _trial(
        self, slot: Slot, members: Sequence[Member], kind: Kind, half: Half, *, repeat: int = 0
    ) -> Trial:
        cell = self.plan.cells_by_id[slot.cell]
        turn = self._turn(slot, members, kind, half)
        if self._samples is not None:
            self._samples.settle()
        self.scenario.before(turn)
        warnings, settled_s = self._settle(slot, members)
        half.ready()
        outcome = self.scenario.measure(turn)
        half.ended()
        outcome, series = outcome.read()
        if half.is_alone:
            warnings = (*warnings, "measured alone: the other half of its pair was lost")
        resumed_s = sum(member.resumed_s for member in members)
        resume = {"resume": 0.0 if repeat else resumed_s}
        around = {
            "phases_s": {**resume, **settled_s, **outcome.phases_s, "store": self.store_s},
            "warnings": (*warnings, *outcome.warnings),
        }
        trial = Trial(
            **recorded(outcome, Measurement) | around,
            cell=cell.id,
            block=slot.block,
            slot=slot.slot,
            kind=kind,
            repeat=repeat,
            partner=slot.partner if kind is Kind.MEASURED else "",
            entry=self._entry,
            session=self.session.id,
            parts=tuple(Part(**recorded(part, Part)) for part in outcome.parts),
        )
        return self._store(trial, outcome.completed, series)

    def _fresh(self, cell: Cell, member: Member, count: int) -> list[tuple[Layer, Site]]:
        """Give the innermost layer and a site for each of some instances that a trial makes."""
        fleet = self.pool.fleets[key(cell)]
        self.lives += 1
        instances = []
        for number in range(count):
            name = f"{fleet.name}-{member.label}-{self.lives}-{number}"
            site = self.session.site(name, cell.limits, self.study.deadlines.start_s, number)
            cpuset = member.stack.cpuset or site.cpuset
            site = replace(site, cpuset=cpuset, agents=None)
            instances.append((fleet.platform.made[-1], site))
        return instances

    def _store(
        self,
        trial: Trial,
        completed: Completed | None,
        series: Mapping[str, Sequence[Series]] = MappingProxyType({}),
    ) -> Trial:
        """Store a trial, its raw output, and what was read, by the instance it is of."""
        with self._storing:  # by one half of a duet after the other
            begin = time.perf_counter()
            self.writer.trial(trial, completed)
            self.trials.append(trial)
            # Second, so that there are no samples of a trial that is not there.
            for instance, read in series.items():
                if read:
                    self._samples = self._samples or Samples(self.writer.folder)
                    self._samples.add(replace(trial, instance=instance), read)
            self.progress.ended(self.plan.cells_by_id[trial.cell], trial)
            self.store_s = time.perf_counter() - begin
        return trial

    def _lost(
        self, slot: Slot, cell: Cell, member: Member | None, status: Status, reason: str
    ) -> Trial:
        return Trial(
            cell=cell.id,
            block=slot.block,
            slot=slot.slot,
            kind=Kind.MEASURED,
            instance=self._instance(member) if member else "",
            status=status,
            reason=reason,
            started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            partner=slot.partner,
            entry=self._entry,
            session=self.session.id,
        )

    @property
    def _entry(self) -> Entry:
        """How commands get into their machines; where not by agents, by the layers' own clients."""
        return self.pool.entry if self.scenario.by_agent else Entry.ANEW

    def _give_up(self, cell: Cell, slot: Slot, fleet: Fleet) -> None:
        """Leave out a cell whose platform is not there, with one trial that says why."""
        self.given_up.add(cell.id)
        known = any(t.cell == cell.id and t.reason == fleet.reason for t in self.trials)
        if not known:
            self._store(self._lost(slot, cell, None, fleet.status, fleet.reason), None)

    def _replace_dead(self, fleet: Fleet, member: Member) -> bool:
        """Replace an instance if it no longer answers, and all others that went down with it."""
        if member not in fleet.members:  # it went down with another part's, and was seen to
            return True
        if _answers(member):
            return False
        self.progress.says(f"{fleet.platform.name} no longer answers and is started again")
        others = [other for other in fleet.members if other is not member]
        self.pool.reopen(fleet, member)
        for other in others:
            if fleet.status is Status.OK and not _answers(other):
                self.pool.reopen(fleet, other)
        return True

    def _has_lost_peer(self) -> bool:
        """Say whether a peer no longer answers, and tell it."""
        lost = self.peers.drop_dead()
        if lost:
            self.progress.says(f"the peer {self.study.peer.name} no longer answers")
        return lost

    def _instance(self, member: Member) -> str:
        return f"{self.session.id}-{member.label}"


@contextmanager
def _awake(members: Sequence[Member]) -> Iterator[None]:
    """Let some instances have CPU time, and note how long each took to wake."""
    with ExitStack() as awake:
        for member in members:
            begin = time.perf_counter()
            awake.enter_context(running(member))
            member.resumed_s = time.perf_counter() - begin
        yield


def _answers(member: Member) -> bool:
    try:
        with running(member) as stack:
            answers = stack.machine.run(["true"], timeout_s=ALIVE_S).returncode == 0
            return answers and not stack.may_hold_orphans
    except TareError:
        return False
