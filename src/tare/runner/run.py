"""Runs a plan, block by block, until every comparison is decided or the repetition rule ends it."""

from __future__ import annotations

import time
from contextlib import closing, suppress
from datetime import UTC, datetime
from errno import EDQUOT, ENOSPC
from pathlib import Path

from tare import compare
from tare.errors import ResultsError
from tare.home import home
from tare.model import Design, Plan, Slot, Status
from tare.runner import conditions, cores, duet, record
from tare.runner.fleet import Key, key
from tare.runner.packages import has_services, needs_of, packages_of, programs_of
from tare.runner.pool import Pool
from tare.runner.progress import Progress
from tare.runner.repeats import repeats
from tare.runner.same_cells import refuse_other_cells
from tare.runner.session import Session
from tare.runner.slots import Slots
from tare.stats import looks
from tare.store import Writer
from tare.study import Platform, Study, lifecycle


def run(study: Study, plan: Plan, folder: Path, progress: Progress) -> str:
    """Run what of the plan has no trial yet; returns the reason for stopping.

    Raises ResultsError where results cannot be written, or the host or Tare is not the one that
    began; Unavailable where this host cannot run anything. Whatever is raised, nothing stays.
    """
    refuse_other_cells(study, plan, folder)
    packages, nested = packages_of(study)
    try:
        with (
            Session(folder, "bookworm", packages, nested, programs_of(study)) as session,
            closing(Writer(folder)) as writer,
        ):
            session.reached = has_services(study)
            session.userland.lacking |= record.lacking(folder)
            runner = _Runner(study, plan, writer, session, progress)
            try:
                runner.run()
            except BaseException:
                session.host.cancel()
                with suppress(ResultsError):  # what is raised already says more than this would
                    runner.note_end()
                raise
            finally:
                session.host.restore()
                progress.says("removing what was started")
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
        self, study: Study, plan: Plan, writer: Writer, session: Session, progress: Progress
    ) -> None:
        self.study, self.plan, self.folder, self.writer = study, plan, writer.folder, writer
        self.session, self.progress = session, progress
        around = study.scenario == lifecycle.NAME
        self.pool = Pool(
            session,
            study.deadlines.start_s,
            progress,
            around=around,
            tools=conditions.tools(study),
        )
        self.pool.needs = needs_of(study)
        self.slots = Slots(study, plan, writer, self.pool)
        self.begun = False
        self.started_at = datetime.now(UTC).isoformat(timespec="seconds")
        self.stop = "the session was ended before the study was"

    def run(self) -> None:
        """Open the platforms and run the blocks."""
        goes_on = bool(self.slots.done)
        known = record.stored(self.folder, "facts.json")
        facts = {
            **known,
            **record.session_facts(self.study, self.plan, self.pool, self.folder, goes_on=goes_on),
        }
        self.begun = True
        self.progress.begins(self.plan, len(self.slots.done))
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
        self.session.step_aside(cores.kept_free(self.session, self.plan.repetition, limits))
        self.pool.open_all(wanted, self.plan.repetition.instances)
        opened = self._platform_facts()
        if goes_on:
            record.refuse_other_userland(self.folder, known.get("userland"), opened["userland"])
            record.refuse_other_entry(self.folder, self.slots.trials, self.pool)
        self.writer.facts(facts | opened)
        self.slots.give_up_closed()
        self.stop = self._blocks()
        self.pool.watch_clocks()
        self.writer.facts(facts | self._platform_facts())
        self.note_end()

    def finish(self) -> None:
        """Close the platforms, and write the last samples."""
        try:
            for fleet in self.pool.fleets.values():
                fleet.close(Status.OK, "")
        finally:
            self.slots.close()

    def note_end(self) -> None:
        """Write down how the session ended, unless it was refused before it began."""
        if not self.begun:
            return
        session = {
            "id": self.session.id,
            "started": self.started_at,
            "ended": datetime.now(UTC).isoformat(timespec="seconds"),
            "reason": self.stop,
            "repeats": repeats(self.slots.trials),
            **self.slots.recycling.facts(),
        }
        self.writer.run({"sessions": [*record.sessions(self.folder), session], "stop": self.stop})

    def _blocks(self) -> str:
        slots: dict[int, list[Slot]] = {}
        for slot in self.plan.slots:
            slots.setdefault(slot.block, []).append(slot)
        rule = self.plan.repetition
        begin = time.monotonic()
        at_once = 2 if rule.design is Design.DUET else 1
        spent = sum(sum(trial.phases_s.values()) for trial in self.slots.trials) / at_once
        at_looks = set(looks(rule.max_blocks))
        goes_on = bool(self.slots.trials)
        decided: set[str] = set()
        base = self.plan.baseline
        others = [c for c in self.plan.cells if c.platform != base or c.injected is not None]
        # Where there is nothing but the baseline, its A/A control is what is compared with it.
        compared = {c.id for c in others or [c for c in self.plan.cells if c.control]}
        # What is still open of an earlier session's blocks could only be paired with old trials.
        begun = max((trial.block for trial in self.slots.trials), default=0)
        for block in sorted(slots):
            if block < begun:
                continue
            if block in at_looks or block == begun:
                decided = self._decided_before(block)
            closed = decided | self.slots.given_up
            # Without its baseline a cell has no pair in a duet.
            closed |= {s.cell for s in slots[block] if s.partner in closed and s.cell in compared}
            if compared <= closed:
                some = compared & decided
                return "every comparison is decided" if some else "nothing is left to compare"
            if rule.budget_s is not None and spent + time.monotonic() - begin >= rule.budget_s:
                return f"the budget of {rule.budget_s:.0f} s was spent after {block} blocks"
            self.progress.block(block, len(compared & closed), len(compared))
            todo = [
                place
                for place in duet.places(slots[block])
                if closed.isdisjoint(slot.cell for slot in place) and self.slots.is_open(place)
            ]
            if todo and (block in at_looks or goes_on):
                self.slots.recycling.look(self.slots.trials, closed)
                goes_on = False
            if todo:
                self.slots.recycling.before(slots[block][0].instance, closed)
            for place in todo:
                duet.together(place, self.slots.run, self.session.host.cancel)
        return f"the maximum of {rule.max_blocks} blocks was reached"

    def _decided_before(self, block: int) -> set[str]:
        """Look at the blocks until the last look there was: at this block, or before it."""
        look = max((n for n in looks(self.plan.repetition.max_blocks) if n <= block), default=0)
        seen = [trial for trial in self.slots.trials if trial.block < look]
        return compare.decided(self.plan, seen) if look else set()

    def _platform_facts(self) -> dict[str, object]:
        return record.platform_facts(self.study, self.pool)
