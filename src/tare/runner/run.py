"""Runs a plan, block by block, until every comparison is decided or the repetition rule ends it."""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from errno import EDQUOT, ENOSPC
from importlib.metadata import version
from pathlib import Path
from platform import python_version

from tare import compare, detection
from tare.errors import LayerError, LayerTimedOut, ResultsError, TareError, Unavailable
from tare.facts import host_facts, noise
from tare.home import home
from tare.machine import Completed
from tare.model import Cell, Kind, Plan, Slot, Status, Trial
from tare.runner.lifecycle import measure as measure_lifecycle
from tare.runner.packages import packages_of
from tare.runner.pool import (
    Fleet,
    Key,
    Member,
    Pool,
    key,
    load_layers,
    running,
    status_of,
    takes_userland,
)
from tare.runner.progress import Progress
from tare.runner.session import Session
from tare.runner.trial import NOT_IN_USERLAND, Outcome, in_directory, measure
from tare.stats import looks
from tare.store import Writer
from tare.store.reader import read_trials
from tare.study import Platform, Study, lifecycle

GIVE_UP_AFTER = 3
"""Failures of a cell in a row after which it is left out: the next would fail too."""
ALIVE_S = 20.0
SAME_HOST = ("kernel", "cpu_model", "cpus")
"""The facts that must not have changed for results to be continued."""


def run(study: Study, plan: Plan, folder: Path, progress: Progress) -> str:
    """Run what of the plan has no trial yet; returns the reason for stopping.

    Raises ResultsError where results cannot be written or the host is not the one that began,
    Unavailable where this host cannot run anything. Whatever is raised, nothing stays behind.
    """
    packages, nested = packages_of(study)
    try:
        with (
            Session(folder, "bookworm", packages, nested) as session,
            closing(Writer(folder)) as writer,
        ):
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
        self.study, self.plan, self.writer = study, plan, writer
        self.session, self.progress = session, progress
        around = study.scenario == lifecycle.NAME
        self.pool = Pool(session, study.deadlines.start_s, progress, around=around)
        self.workloads = {(w.name, w.params): w.made for w in study.workloads}
        self.trials = list(read_trials(writer.folder / "trials.jsonl"))
        self.done = {(t.block, t.cell) for t in self.trials if t.kind is Kind.MEASURED}
        self.failures: Counter[str] = Counter()
        self.given_up: set[str] = set()
        self.decided: set[str] = set()
        self.store_s = 0.0
        self.lives = 0
        self.begun = False
        self.started_at = datetime.now(UTC).isoformat(timespec="seconds")
        self.stop = "the session was ended before the study was"

    def run(self) -> None:
        """Open the platforms and run the blocks."""
        known = _stored(self.writer.folder, "facts.json")
        facts = {**known, **self._facts()}
        self.begun = True
        self.progress.begins(self.plan, len(self.done))
        self.writer.facts(facts)
        platforms = {platform.name: platform for platform in self.study.platforms}
        wanted: dict[Key, Platform] = {
            key(cell): platforms[cell.platform] for cell in self.plan.cells
        }
        self.session.step_aside(max(limits.cpus for limits in self.study.limits))
        self.pool.open_all(wanted, self.plan.repetition.instances)
        opened = self._platform_facts()
        self._refuse_other_userland(known.get("userland"), opened["userland"])
        self.writer.facts(facts | opened)
        for cell in self.plan.cells:
            fleet = self.pool.fleets[key(cell)]
            if fleet.status is not Status.OK:
                self._give_up(cell, Slot(block=0, slot=0, cell=cell.id, instance=0), fleet)
        self.stop = self._blocks()
        self.writer.facts(facts | self._platform_facts())
        self.note_end()

    def finish(self) -> None:
        """Close the platforms."""
        for fleet in self.pool.fleets.values():
            fleet.close(Status.OK, "")

    def note_end(self) -> None:
        """Write down how the session ended, unless it was refused before it began."""
        if not self.begun:
            return
        previous = _sessions(self.writer.folder)
        session = {
            "id": self.session.id,
            "started": self.started_at,
            "ended": datetime.now(UTC).isoformat(timespec="seconds"),
            "reason": self.stop,
        }
        self.writer.run({"sessions": [*previous, session], "stop": self.stop})

    def _blocks(self) -> str:
        slots: dict[int, list[Slot]] = {}
        for slot in self.plan.slots:
            slots.setdefault(slot.block, []).append(slot)
        rule = self.plan.repetition
        begin = time.monotonic()
        spent = sum(sum(trial.phases_s.values()) for trial in self.trials)
        at_looks = set(looks(rule.max_blocks))
        others = [cell for cell in self.plan.cells if cell.platform != self.plan.baseline]
        # Where there is nothing but the baseline, its A/A control is what is compared with it.
        compared = {c.id for c in others or [c for c in self.plan.cells if c.control]}
        for block in sorted(slots):
            if block in at_looks:
                self.decided = compare.decided(self.plan, self.trials)
            closed = self.decided | self.given_up
            if compared <= closed:
                some = compared & self.decided
                return "every comparison is decided" if some else "nothing is left to compare"
            if rule.budget_s is not None and spent + time.monotonic() - begin >= rule.budget_s:
                return f"the budget of {rule.budget_s:.0f} s was spent after {block} blocks"
            self.progress.block(block, len(compared & closed), len(compared))
            for slot in slots[block]:
                if slot.cell not in closed and (block, slot.cell) not in self.done:
                    self._slot(slot)
        return f"the maximum of {rule.max_blocks} blocks was reached"

    def _slot(self, slot: Slot) -> None:
        cell = self.plan.cells_by_id[slot.cell]
        fleet = self.pool.fleets[key(cell)]
        if cell.id in self.given_up:
            return
        if fleet.status is not Status.OK:
            self._give_up(cell, slot, fleet)
            return
        member = fleet.members[slot.instance % len(fleet.members)]
        self.progress.trial(cell)
        last, lost = None, False
        try:
            begin = time.perf_counter()
            with running(member):
                resumed_s = time.perf_counter() - begin
                if cell.id not in member.warmed:
                    self._prepare(cell, member)
                    self._trial(slot, cell, member, Kind.WARMUP, resumed_s)
                    member.warmed.add(cell.id)
                last = self._trial(slot, cell, member, Kind.MEASURED, resumed_s)
        except ResultsError:
            raise
        except TareError as error:
            if last is None:
                missed = self._lost(slot, cell, member, status_of(error), str(error))
                last = self._store(missed, None)
            else:  # the trial stands; only its instance could not be paused afterwards
                lost = True
        is_good = last.status in (Status.OK, Status.SUSPECT)
        self.failures[cell.id] = 0 if is_good else self.failures[cell.id] + 1
        if is_good and not lost:
            return
        replaced = self._replace_dead(fleet, member)
        is_impossible = last.status is Status.UNAVAILABLE and not replaced
        if is_impossible or self.failures[cell.id] >= GIVE_UP_AFTER:
            self.given_up.add(cell.id)

    def _prepare(self, cell: Cell, member: Member) -> None:
        workload = self.workloads[cell.workload, cell.params]
        if isinstance(workload, lifecycle.Lifecycle):
            return
        directory = f"{member.stack.workdir}/{cell.id}"
        deadline_s = self.study.deadlines.for_trial(workload.expected_s())
        commands = []
        if not member.warmed:  # all at once: a command can take a second in a nested stack
            mine = [other.id for other in self.plan.cells if key(other) == key(cell)]
            commands.append(["mkdir", "-p", *(f"{member.stack.workdir}/{name}" for name in mine)])
        prepare = workload.prepare()
        if prepare is not None:
            commands.append(in_directory(directory, prepare))
        for argv in commands:
            done = member.stack.machine.run(argv, timeout_s=deadline_s)
            what = f"preparing {cell.workload}"
            why = (done.stderr or done.stdout).decode(errors="replace").strip()[-300:]
            if done.timed_out:
                raise LayerTimedOut(f"{what} did not end within {deadline_s:.0f} s")
            if done.returncode in NOT_IN_USERLAND:
                raise Unavailable(f"{what}: {why}; the machine inside lacks the tool")
            if done.returncode != 0:
                raise LayerError(f"{what} failed: {why or f'exit status {done.returncode}'}")

    def _trial(self, slot: Slot, cell: Cell, member: Member, kind: Kind, resumed_s: float) -> Trial:
        workload = self.workloads[cell.workload, cell.params]
        cpus = self.session.cpus(cell.limits.cpus)
        if isinstance(workload, lifecycle.Lifecycle):
            outcome = self._lifecycle(cell, member, workload, cpus)
        else:
            directory = f"{member.stack.workdir}/{cell.id}"
            deadline_s = self.study.deadlines.for_trial(workload.expected_s())
            outcome = measure(member.stack, workload, directory, cpus, deadline_s)
        trial = Trial(
            cell=cell.id,
            block=slot.block,
            slot=slot.slot,
            kind=kind,
            instance=self._instance(member),
            status=outcome.status,
            reason=outcome.reason,
            started_at=outcome.started_at,
            duration_s=outcome.completed.duration_s,
            samples=outcome.samples,
            host=outcome.host,
            phases_s={"resume": resumed_s, **outcome.phases_s, "store": self.store_s},
            warnings=outcome.warnings,
        )
        return self._store(trial, outcome.completed)

    def _lifecycle(
        self, cell: Cell, member: Member, what: lifecycle.Lifecycle, cpus: Sequence[int]
    ) -> Outcome:
        fleet = self.pool.fleets[key(cell)]
        self.lives += 1
        instances = []
        for number in range(what.count):
            name = f"{fleet.name}-{member.label}-{self.lives}-{number}"
            site = self.session.site(name, cell.limits, self.study.deadlines.start_s)
            site = replace(site, cpuset=member.stack.cpuset or site.cpuset)
            instances.append((load_layers(fleet.platform)[-1], site))
        host, outer = self.session.host, member.stack.machine
        return measure_lifecycle(host, outer, instances, what, cpus)

    def _store(self, trial: Trial, completed: Completed | None) -> Trial:
        begin = time.perf_counter()
        self.writer.trial(trial, completed)
        self.trials.append(trial)
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
        )

    def _give_up(self, cell: Cell, slot: Slot, fleet: Fleet) -> None:
        """Leave out a cell whose platform is not there, with one trial that says why."""
        self.given_up.add(cell.id)
        known = any(t.cell == cell.id and t.reason == fleet.reason for t in self.trials)
        if not known:
            self._store(self._lost(slot, cell, None, fleet.status, fleet.reason), None)

    def _replace_dead(self, fleet: Fleet, member: Member) -> bool:
        """Replace an instance if it no longer answers, and all others that went down with it."""
        if _answers(member):
            return False
        self.progress.says(f"{fleet.platform.name} no longer answers and is started again")
        others = [other for other in fleet.members if other is not member]
        self.pool.reopen(fleet, member)
        for other in others:
            if fleet.status is Status.OK and not _answers(other):
                self.pool.reopen(fleet, other)
        return True

    def _instance(self, member: Member) -> str:
        return f"{self.session.id}-{member.label}"

    def _facts(self) -> dict[str, object]:
        host = host_facts(self.session.host)
        known = _stored(self.writer.folder, "facts.json").get("host")
        if self.done and isinstance(known, dict):
            changed = [name for name in SAME_HOST if known.get(name) != host.get(name)]
            if changed:
                raise ResultsError(
                    f"{self.writer.folder} was measured on another host or after a change of it: "
                    f"{', '.join(changed)} differ; start a new study instead"
                )
        most = max(limits.cpus for limits in self.study.limits)
        cpus = min(most, len(self.session.everything))
        return {
            "host": {**host, "detected": detection.table(self.pool.outside)},
            "noise": [advice.what for advice in noise(host)],
            "tare": {"version": version("tare"), "python": python_version()},
            "session": {
                "cpuset": ",".join(map(str, self.session.cpus(cpus))),
                "seed": self.plan.seed,
                "disk_free_bytes": shutil.disk_usage(self.writer.folder).free,
            },
        }

    def _refuse_other_userland(self, known: object, now: object) -> None:
        """Refuse to go on with other packages; a guest that was not built yet had no kernel."""
        if not (self.done and isinstance(known, dict) and isinstance(now, dict)):
            return
        if any(known.get(name) and known.get(name) != now.get(name) for name in ("id", "kernel")):
            raise ResultsError(
                f"{self.writer.folder} was measured with other packages in the userland; "
                "start a new study instead"
            )

    def _platform_facts(self) -> dict[str, object]:
        platforms: dict[str, object] = {}
        for (name, control, _), fleet in self.pool.fleets.items():
            if control:
                continue
            known = platforms.get(name)
            if isinstance(known, dict):  # the same platform under other limits
                known["warnings"] += fleet.warnings
                continue
            platforms[name] = {
                "stack": fleet.platform.stack,
                "settings": dict(fleet.platform.settings),
                "probe": dict(fleet.probe),
                "inside": asdict(fleet.inside) if fleet.inside else {},
                "detected": detection.table(fleet.detected or ()),
                "start_s": [round(member.start_s, 3) for member in fleet.members],
                "warnings": list(fleet.warnings),
                **({"unavailable": fleet.reason} if fleet.reason else {}),
            }
        userland: dict[str, object] = {}
        if any(takes_userland(platform) for platform in self.study.platforms):
            source = self.session.userland
            userland = {
                "id": source.id,
                "suite": source.suite,
                "versions": dict(source.versions),
                "kernel": source.kernel_version or "",
            }
        return {"platforms": platforms, "userland": userland}


def _answers(member: Member) -> bool:
    try:
        with running(member) as stack:
            return stack.machine.run(["true"], timeout_s=ALIVE_S).returncode == 0
    except TareError:
        return False


def _sessions(folder: Path) -> list[object]:
    sessions = _stored(folder, "run.json").get("sessions", [])
    return list(sessions) if isinstance(sessions, list) else []


def _stored(folder: Path, name: str) -> Mapping[str, object]:
    path = folder / name
    content: Mapping[str, object] = json.loads(path.read_text()) if path.exists() else {}
    return content
