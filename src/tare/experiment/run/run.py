"""Run a plan block by block until all comparisons are decided or the budget is spent."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from errno import EDQUOT, ENOSPC
from itertools import pairwise
from pathlib import Path

from tare.core.errors import ResultsError
from tare.core.home import home
from tare.core.model import Design, EndedSession, Plan, Run, Slot, Status
from tare.core.model.group import group
from tare.experiment import scenario
from tare.experiment.design.admission import at_once_of, needs
from tare.experiment.host.facts import available_bytes
from tare.experiment.run import cpu_sets as cores
from tare.experiment.run import record
from tare.experiment.run.allocation import Allocation, Round
from tare.experiment.run.headroom import Headroom
from tare.experiment.run.heartbeat import Heartbeat
from tare.experiment.run.instance_schedule import InstanceSchedule
from tare.experiment.run.instance_set import Key, key
from tare.experiment.run.pool import Pool
from tare.experiment.run.progress import Progress, differs
from tare.experiment.run.repeats import repeats
from tare.experiment.run.resolved_study import ResolvedStudy, resolve
from tare.experiment.run.resume_check import refuse_changed_cells
from tare.experiment.run.session import Session
from tare.experiment.run.slots import Slots
from tare.experiment.study import Platform, Study
from tare.results.questions.allocation import Standing, standings
from tare.results.stats import looks
from tare.results.store import Writer, read_facts, read_run


def run(
    study: Study,
    plan: Plan,
    folder: Path,
    progress: Progress,
    memory: Callable[[], int] = available_bytes,
) -> str:
    """Run the trials that are missing; return the reason for stopping.

    Raises ResultsError where results cannot be written, or the host or Tare is not the one that
    began; Unavailable where this host cannot run anything, or has too little ``memory`` available,
    which is read before anything is started. Whatever is raised, nothing stays.
    """
    refuse_changed_cells(study, plan, folder)
    headroom = Headroom(needs(study, plan), at_once_of(plan), memory)
    resolved = resolve(study)
    try:
        with (
            Session(
                folder, "bookworm", resolved.packages, resolved.nested, resolved.programs
            ) as session,
            closing(Writer(folder)) as writer,
            Heartbeat(progress, folder, session.id) as watched,
        ):
            session.reached = resolved.is_reached
            session.userland.missing |= record.missing_programs(folder)
            runner = _Runner(resolved, plan, writer, session, watched)
            runner.pool.headroom = headroom
            try:
                runner.run()
            except BaseException:
                session.host.cancel()
                with suppress(ResultsError):  # what is raised already says more than this would
                    runner.note_end()
                raise
            finally:
                session.host.restore()
                watched.removes()
                runner.finish()
            return runner.stop
    except OSError as error:
        if error.errno not in (ENOSPC, EDQUOT):
            raise
        raise ResultsError(
            f"{error.strerror} in {folder} or {home()}; all trials are kept: make room, then "
            f"tare run --resume {folder}"
        ) from error


class _Runner:
    """The state of one session over a plan."""

    def __init__(
        self,
        resolved: ResolvedStudy,
        plan: Plan,
        writer: Writer,
        session: Session,
        progress: Progress,
    ) -> None:
        study = resolved.study
        self.study, self.plan, self.folder, self.writer = study, plan, writer.folder, writer
        self.session, self.progress = session, progress
        self.pool = Pool(
            session,
            study.deadlines.start_s,
            progress,
            whole=scenario.load(study.scenario).opens_whole,
            tools=resolved.tools,
        )
        self.pool.measured = resolved.measured
        self.slots = Slots(resolved, plan, writer, self.pool)
        self.turns = InstanceSchedule(plan, self.pool)
        self.begun = False
        self.started_at = datetime.now(UTC).isoformat(timespec="seconds")
        self.stop = "the session was ended before the study was"

    def run(self) -> None:
        """Open the platforms and run the blocks."""
        goes_on = bool(self.slots.stored.before)
        known = read_facts(self.folder)
        facts = {
            **known,
            **record.session_facts(self.study, self.plan, self.pool, self.folder, goes_on=goes_on),
        }
        self.begun = True
        self.progress.begins(self.plan, len(self.slots.stored.before))
        self.writer.facts(facts)
        platforms = {platform.name: platform for platform in self.study.platforms}
        is_duet = self.plan.repetition.design is Design.DUET
        wanted: dict[Key, Platform] = {
            key(cell, side): platforms[cell.platform]
            for side in ((0, 1) if is_duet else (None,))
            for cell in self.plan.cells
        }
        if record.was_entered_anew(self.slots.trials):
            self.session.agents = None
        limits = self.study.limits
        self.session.step_aside(cores.kept_free(self.session, self.plan, limits))
        cpu_sets = {
            key(cell, side): self.plan.cpu_sets_of(cell)
            for side in ((0, 1) if is_duet else (None,))
            for cell in self.plan.cells
        }
        self.pool.open_all(wanted, self.plan.repetition, cpu_sets)
        opened = self._platform_facts()
        if goes_on:
            record.refuse_other_userland(self.folder, known.get("userland"), opened["userland"])
            record.refuse_other_entry(self.folder, self.slots.trials, self.pool)
        self.writer.facts(facts | opened)
        self.slots.give_up_closed()
        self.stop = self._blocks()
        self.pool.watch_clocks()
        self.writer.facts(facts | self._platform_facts() | self.slots.reservations.facts)
        self.note_end()

    def finish(self) -> None:
        """Close the platforms, and write the last samples."""
        try:
            for instances in self.pool.instance_sets.values():
                instances.close(Status.OK, "")
        finally:
            self.slots.close()

    def note_end(self) -> None:
        """Write down how the session ended, unless it was refused before it began."""
        if not self.begun:
            return
        session = EndedSession(
            id=self.session.id,
            started=self.started_at,
            ended=datetime.now(UTC).isoformat(timespec="seconds"),
            reason=self.stop,
            repeats=repeats(self.slots.trials),
        )
        session = self.turns.noted(self.slots.recycling.noted(session))
        before = read_run(self.folder).sessions
        self.writer.run(Run(sessions=(*before, session), stop=self.stop))

    def _blocks(self) -> str:
        """Run blocks until nothing is open or the budget is spent; return why it ended."""
        slots: dict[int, list[Slot]] = {}
        for slot in self.plan.slots:
            slots.setdefault(slot.block, []).append(slot)
        rule = self.plan.repetition
        begin = time.monotonic()
        # What was measured at one moment took its time once; warm-ups are mostly alone.
        spent = sum(
            sum(trial.phases_s.values()) / (2 if trial.partner else 1)
            for trial in self.slots.trials
        )
        at_looks = set(looks(rule.max_blocks))
        goes_on = bool(self.slots.trials)
        allocation = Allocation(self.plan, self.slots.trials)
        known = self._look({})
        while True:
            given_up = self.slots.given_up
            if allocation.is_look_due(known):
                known = self._look(known)
                allocation.looked()
            chosen = allocation.choose(known, given_up, narrow=rule.budget_s is not None)
            decided, of = self._decided(known)
            if chosen is None:
                return self._why_ended(allocation, known)
            if rule.budget_s is not None and spent + time.monotonic() - begin >= rule.budget_s:
                state = f"{decided} of {of} comparisons are decided"
                return f"the budget of {rule.budget_s:.0f} s was spent; {state}"
            todo = self._todo(slots[chosen.block], chosen)
            allocation.ran(chosen, trials=bool(todo))
            if not todo:
                continue
            self.progress.block(chosen.block, decided, of)
            resting = {cell for cell, one in known.items() if one.rests}
            closed = (given_up | resting) - chosen.cells
            if chosen.block in at_looks or goes_on:
                self.slots.recycling.look(self.slots.trials, closed)
                goes_on = False
            turn = max(slot.instance for slot in slots[chosen.block]) // self.plan.most_parts
            if not self.turns.are_needed:
                self.slots.recycling.before(turn, closed, chosen.groups)
            following = dict(pairwise(self.turns.ordered(todo)))
            for slot in self.turns.over(todo, turn):
                self.slots.run(slot, following.get(slot))

    def _todo(self, block: Sequence[Slot], chosen: Round) -> list[Slot]:
        """List the slots of a block that are chosen and have yet to be run, in their order."""
        cells = self.plan.cells_by_id
        return [
            slot
            for slot in block
            if group(cells[slot.cell]) in chosen.groups
            and chosen.cells.issuperset(slot.cells)
            and self.slots.is_open(slot)
        ]

    def _look(self, before: Mapping[str, Standing]) -> Mapping[str, Standing]:
        """Analyse all trials so far, and report each comparison with news."""
        found = standings(self.plan, self.slots.trials)
        for cell, standing in found.items():
            if differs(before.get(cell), standing):
                self.progress.known(self.plan.cells_by_id[cell], standing)
        return found

    def _decided(self, known: Mapping[str, Standing]) -> tuple[int, int]:
        """Count the decided comparisons, and those that can be measured at all."""
        able = [one for cell, one in known.items() if one.pairs or cell not in self.slots.given_up]
        return sum(one.decided for one in able), len(able)

    def _why_ended(self, allocation: Allocation, known: Mapping[str, Standing]) -> str:
        decided, of = self._decided(known)
        if not of:
            return "nothing is left to compare"
        if allocation.has_reached_the_end(known, self.slots.given_up):
            return f"the maximum of {self.plan.repetition.max_blocks} blocks was reached"
        if decided == of:
            return "every comparison is decided"
        if not decided:
            return "nothing is left to compare"
        return f"{decided} of {of} comparisons are decided, and the others cannot be measured"

    def _platform_facts(self) -> dict[str, object]:
        return record.platform_facts(self.study, self.pool)
