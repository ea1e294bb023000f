"""Run the slots of a plan: prepare, warm up, measure and store each trial; handle failures.

A slot has one cell, or several that are measured at the same moment: each is woken, warmed up and
prepared by itself, so that one that fails there leaves the others their trial.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from tare.core.errors import LayerError, ResultsError, TareError
from tare.core.model import (
    Cell,
    Entry,
    Kind,
    Measurement,
    Part,
    Plan,
    Slot,
    Status,
    Trial,
    recorded,
)
from tare.experiment import scenario
from tare.experiment.run.cell_run import CellRun
from tare.experiment.run.contexts import Contexts
from tare.experiment.run.guest_overhead import measure_guest_overhead
from tare.experiment.run.idle_gate import IdleGate, jitter_s
from tare.experiment.run.instance_set import InstanceSet, Member, key
from tare.experiment.run.peers import Peers
from tare.experiment.run.pool import Pool
from tare.experiment.run.recycling import Recycling
from tare.experiment.run.repeats import may_repeat
from tare.experiment.run.replacement import replace_dead
from tare.experiment.run.reservations import Reservations
from tare.experiment.run.resolved_study import ResolvedStudy
from tare.experiment.run.stored_trials import StoredTrials
from tare.experiment.scenario import TrialContext
from tare.experiment.trial.calibrations import Calibrations
from tare.experiment.trial.measure import GOOD, Outcome, status_of
from tare.experiment.trial.rendezvous import combined
from tare.results.store import Writer
from tare.work.workload import Measured

GIVE_UP_AFTER = 3
"""Failures of a cell in a row after which it is skipped: the next would fail too."""
GAP_S = 0.002
"""How much later the second cell of a trial is started: the order is the plan's, not the kernel's.
"""
ALONE = "measured alone: the other half of its pair was lost"


class Slots:
    """Runs slots on the instances of a pool.

    ``given_up`` are cells that are skipped from now on.
    """

    def __init__(self, resolved: ResolvedStudy, plan: Plan, writer: Writer, pool: Pool) -> None:
        study = resolved.study
        self.study, self.plan, self.pool = study, plan, pool
        self.session, self.progress = pool.session, pool.progress
        self.scenario = scenario.load(study.scenario)
        self.stored = StoredTrials(plan, writer, pool.progress)
        self.failures: Counter[str] = Counter()
        self.given_up: set[str] = set()
        self.peers = Peers(study, pool.session)
        self.gate = IdleGate()
        self.recycling = Recycling(plan, pool)
        self.contexts = Contexts(resolved, plan, pool, self.peers, Calibrations(writer.folder))
        self.reservations = Reservations(plan, pool.session, writer)

    def close(self) -> None:
        """End what lasted for the session and write the last samples, or raise ResultsError."""
        self.peers.close()
        self.stored.close()

    def is_open(self, slot: Slot) -> bool:
        """Return whether a slot has yet to be run; where it has several cells all have to stand."""
        return not self.stored.has(slot)

    @property
    def trials(self) -> Sequence[Trial]:
        """All trials that are stored, those of earlier sessions too."""
        return self.stored.trials

    def give_up_closed(self) -> None:
        """Skip the cells of every platform that could not be opened."""
        for cell in self.plan.cells:
            for instances in self.pool.of(cell):
                if instances.status is not Status.OK:
                    self._give_up(
                        cell, Slot(block=0, slot=0, cell=cell.id, placements=()), instances
                    )

    def run(self, slot: Slot, following: Slot | None = None) -> None:
        """Run a slot, unless one of its cells is given up; ``following`` is what comes next."""
        runs = [self._running(slot, number) for number in range(len(slot.cells))]
        for one in runs:
            if one.cell.id not in self.given_up and one.closed is not None:
                self._give_up(one.cell, slot, one.closed)
        if any(one.cell.id in self.given_up for one in runs):
            return
        contexts = []
        try:
            cells = self.plan.cells_by_id
            next_cells = [cells[cell] for cell in following.cells] if following else []
            self.progress.trial([one.cell for one in runs], next_cells)
            for one in runs:
                try:
                    self._wake(slot, one)
                    contexts.append(self._before(one, Kind.MEASURED))
                except ResultsError:
                    raise
                except TareError as error:
                    one.error = error
            last = self._measured(slot, runs, contexts)
        finally:
            for one in runs:
                one.rest()
        for one, trial in zip(runs, last, strict=True):
            self._see_to(one, trial)

    def _wake(self, slot: Slot, one: CellRun) -> None:
        """Wake the instances of a cell, prepared, held to its reservation and warm."""
        held = self.scenario.held_parts(self.contexts.made(one.cell))
        alone, maximum = partial(self._measure_alone, slot), partial(self._maximum, slot)
        self.reservations.derive(one, held, alone, maximum)
        # What was measured alone for it may have lost an instance that it has as well.
        now = self._running(slot, slot.cells.index(one.cell.id))
        if now.closed is not None:
            raise LayerError(f"{now.closed.platform.name} was closed: {now.closed.reason}")
        one.members = now.members
        one.wake()
        if one.is_new:
            self._prepare(one)
        ceiling = self.scenario.process_ceiling(self.contexts.made(one.cell))
        self.reservations.hold(one, held, ceiling)
        if one.is_new:
            self._warm(slot, one)

    def _running(self, slot: Slot, number: int) -> CellRun:
        """Find the instances of one of a slot's cells."""
        cell = self.plan.cells_by_id[slot.cells[number]]
        placements = slot.of(cell.id)
        cores = placements[0].cores if len(slot.cells) > 1 else None
        homes = [self.pool.instance_sets[key(cell, cores, one.platform)] for one in placements]
        most = self.plan.most_parts
        found = [
            home.placed(one.instance, most) for one, home in zip(placements, homes, strict=True)
        ]
        members = [one for one in found if one is not None]
        members = members if len(members) == len(placements) else []
        return CellRun(cell, slot.slot + number, placements, homes, members)

    def _measured(
        self, slot: Slot, runs: Sequence[CellRun], contexts: Sequence[TrialContext[Measured]]
    ) -> Sequence[Trial]:
        """Measure what is ready, once more if it is suspect; returns the last trial by its cells.

        What an error keeps from being measured is stored as what the error says; one of the second
        measurement leaves the first.
        """
        ready = [one for one in runs if one.error is None]
        last: Sequence[Trial] = ()
        try:
            last = self._trial(slot, runs, contexts, Kind.MEASURED)
            found = {trial.status for trial in last}
            if Status.SUSPECT in found and found <= set(GOOD) and may_repeat(self.trials):
                again = [self._before(one, Kind.MEASURED) for one in ready]
                last = self._trial(slot, runs, again, Kind.MEASURED, repeat=1)
        except ResultsError:
            raise
        except TareError as error:
            if last:
                for one in ready:
                    one.is_lost = True
                return last
            for one in ready:
                one.error = error
            last = self._trial(slot, runs, (), Kind.MEASURED)
        return last

    def _see_to(self, one: CellRun, trial: Trial) -> None:
        """Replace the instances of a failed cell if they are dead, or skip the cell from now on."""
        cell = one.cell.id
        is_good = trial.status in GOOD
        self.failures[cell] = 0 if is_good else self.failures[cell] + 1
        if is_good and not one.is_lost:
            return
        is_impossible = not self._has_replaced(one) and trial.status is Status.UNAVAILABLE
        if is_impossible or self.failures[cell] >= GIVE_UP_AFTER:
            self.given_up.add(cell)

    def _has_replaced(self, one: CellRun) -> bool:
        """Replace the instances of a cell that are dead; return whether any was, or the peer."""
        is_replaced = replace_dead(self.pool, one.homes, one.members)
        return self._has_lost_peer() or is_replaced

    def _prepare(self, one: CellRun) -> None:
        """Prepare a cell in instances that it has not been run in."""
        fresh = partial(self.contexts.fresh, one.cell, one.members[0])
        measure_guest_overhead(self.pool.headroom, one.cell, one.members[0].stack, fresh)
        self.scenario.prepare(self.contexts.of(one, Kind.WARMUP))

    def _warm(self, slot: Slot, one: CellRun) -> None:
        """Run the warm-ups of a cell in instances that it has not been run in."""
        for number in range(self.recycling.warmups(one.cell)):
            context = self._before(one, Kind.WARMUP)
            (came,) = self._trial(slot, [one], [context], Kind.WARMUP, repeat=number)
            if came.status not in GOOD:
                self._has_lost_peer()
        for member in one.members:
            member.warmed.add(one.cell.id)

    def _measure_alone(self, slot: Slot, cell: Cell) -> None:
        """Run a trial of a cell before its turn in a slot's block, as a warm-up."""
        own = next(
            one for one in self.plan.slots if one.block == slot.block and cell.id in one.cells
        )
        run = self._running(own, own.cells.index(cell.id))
        is_good = False
        try:
            run.wake()
            if run.is_new:
                self._prepare(run)
                self._warm(own, run)
                is_good = True
                return
            context = self._before(run, Kind.WARMUP)
            instance = self.contexts.instance(run.members[0])
            before = sum(
                (one.cell, one.instance, one.kind) == (cell.id, instance, Kind.WARMUP)
                for one in self.trials
            )
            (came,) = self._trial(own, [run], [context], Kind.WARMUP, repeat=before)
            is_good = came.status in GOOD
        finally:
            run.rest()
            if run.is_lost or not is_good:
                self._has_replaced(run)

    def _maximum(self, slot: Slot, cell: Cell) -> float:
        """Prepare a cell whose neighbour is calibrated; return the most its resource gives.

        It is prepared without its reservation, and once more when it is measured.
        """
        run = self._running(slot, slot.cells.index(cell.id))
        try:
            run.wake()
            self._prepare(run)
            found = self.contexts.of(run, Kind.WARMUP).calibrations.of(cell)
        finally:
            run.rest()
        if found is None:
            raise LayerError(f"nothing measured how much this host gives {cell.id} at most")
        return found.maximum

    def _before(self, one: CellRun, kind: Kind) -> TrialContext[Measured]:
        """Prepare each trial of a cell."""
        context = self.contexts.of(one, kind)
        self.stored.settle()
        self.scenario.before(context)
        return context

    def _settle(
        self, slot: Slot, members: Sequence[Member]
    ) -> tuple[tuple[str, ...], dict[str, float]]:
        """Wait until the host is idle, then pause at random; return warnings and how long it took.

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
        self,
        slot: Slot,
        runs: Sequence[CellRun],
        contexts: Sequence[TrialContext[Measured]],
        kind: Kind,
        *,
        repeat: int = 0,
    ) -> Sequence[Trial]:
        """Run one trial of what is ready and store it; returns it by its cells.

        ``contexts`` are those of the cells without an error, in their order.
        """
        ready = [one for one in runs if one.error is None]
        members = [member for one in ready for member in one.members]
        warnings, settled_s = self._settle(slot, members) if ready else ((), {})
        measured = iter(self._outcomes(contexts))
        outcomes = [
            next(measured) if one.error is None else self._missed(one, one.error) for one in runs
        ]
        if len(runs) > 1:
            is_whole = all(outcome.completed is not None for outcome in outcomes)
            warnings = warnings if is_whole else (*warnings, ALONE)
            outcomes = [
                replace(
                    outcome,
                    name=one.placements[0].part,
                    cell=one.cell.id,
                    warnings=() if outcome.completed is None else (*warnings, *outcome.warnings),
                )
                for one, outcome in zip(runs, outcomes, strict=True)
            ]
            subject = next(one for one in outcomes if one.cell == slot.cell)
            whole = combined(outcomes, subject.samples)
        else:
            whole = replace(outcomes[0], warnings=(*warnings, *outcomes[0].warnings))
        whole, series = whole.read()
        resume = {"resume": 0.0 if repeat else sum(one.resumed_s for one in ready)}
        around_s = {**resume, **settled_s, **whole.phases_s, "store": self.stored.took_s}
        trial = Trial(
            **recorded(whole, Measurement) | {"phases_s": around_s if ready else {}},
            cell=slot.cell if len(runs) > 1 else runs[0].cell.id,
            block=slot.block,
            slot=runs[0].slot,
            kind=kind,
            repeat=repeat,
            entry=self._entry,
            session=self.session.id,
            parts=tuple(Part(**recorded(part, Part)) for part in whole.parts),
        )
        stored = self.stored.add(trial, [one.completed for one in outcomes], series)
        if len(runs) == 1:
            self.reservations.note(trial, series)
        return stored

    def _outcomes(self, contexts: Sequence[TrialContext[Measured]]) -> Sequence[Outcome]:
        if len(contexts) > 1:
            return self.scenario.measure_together(contexts, GAP_S)
        return [self.scenario.measure(context) for context in contexts]

    def _missed(self, one: CellRun, error: TareError) -> Outcome:
        """Return what becomes of a cell that could not be measured."""
        return Outcome(
            instance=self.contexts.instance(one.members[0]) if one.members else "",
            status=status_of(error),
            reason=str(error),
            started_at=_now(),
        )

    @property
    def _entry(self) -> Entry:
        """How commands get into their machines; where not by agents, by the layers' own clients."""
        return self.pool.entry if self.scenario.by_agent else Entry.ANEW

    def _give_up(self, cell: Cell, slot: Slot, instances: InstanceSet) -> None:
        """Skip a cell whose platform is missing, with one trial that says why.

        So is the platform of its neighbours.
        """
        self.given_up.add(cell.id)
        name, reason = instances.platform.name, instances.reason
        if name != cell.platform:
            reason = f"its neighbours cannot run in {name}: {reason}"
        known = any(t.cell == cell.id and t.reason == reason for t in self.trials)
        if not known:
            trial = Trial(
                cell=cell.id,
                block=slot.block,
                slot=slot.slot,
                kind=Kind.MEASURED,
                instance="",
                status=instances.status,
                reason=reason,
                started_at=_now(),
                entry=self._entry,
                session=self.session.id,
            )
            self.stored.add(trial, (None,))

    def _has_lost_peer(self) -> bool:
        """Return whether a peer no longer answers, and report that."""
        lost = self.peers.drop_dead()
        if lost:
            self.progress.says(f"the peer {self.study.peer.name} no longer answers")
        return lost


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
