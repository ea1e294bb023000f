"""Start commands in several machines at the same moment: arm each, then release all.

Where an agent is in a machine its command is started and held right before its program; the release
is then one short message to each. Elsewhere a command is started anew at the same moment, and its
layer's own client decides how late it is.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Barrier, BrokenBarrierError, Event

from tare.core.completed import Completed
from tare.core.errors import TareError
from tare.core.model import Complaint, ComplaintKind, Status
from tare.experiment.trial.measure import GOOD, CommandRun, Outcome, lost
from tare.machines.agent import AgentMachine, release
from tare.machines.agent import Command as Armed
from tare.machines.agent.client import GONE

OFFSET_TRIES = 3
WORST_FIRST = (Status.FAILED, Status.DNR, Status.UNAVAILABLE, Status.SUSPECT, Status.OK)


@dataclass
class _Start:
    """How one part is started: armed before, or anew; ``at_s`` is when, by the host's clock.

    ``lost`` says why it cannot be. It begins ``gap_s`` later than the one that it is ``after``, or
    with all others where it is after none; ``begun`` is set when its own time is past, whether it
    was started or not, and ``dropped`` says that nobody may be started after it any more. ``error``
    is what it raised.
    """

    after: _Start | None = None
    gap_s: float = 0.0
    begun: Event = field(default_factory=Event)
    dropped: bool = False
    has_met: bool = False
    error: TareError | None = None
    armed: Armed | None = None
    lost: str = ""
    at_s: float | None = None
    offset_s: float = 0.0

    def arm(self, run: CommandRun) -> None:
        """Arm the command in its machine, if an agent is there."""
        command = run.command
        machine = command.machine
        if not isinstance(machine, AgentMachine) or machine.entered_anew:
            return
        try:
            if run.placed.own_clock:
                self.offset_s = machine.clock_offset_ns(OFFSET_TRIES)[0] / 1e9
            self.armed = machine.arm(command.argv, timeout_s=run.deadline_s)
            self.armed.await_armed()
        except (OSError, ValueError) as error:  # also words that no process can have
            self.armed, self.lost = None, str(error)

    def execute(self, run: CommandRun, meeting: Barrier) -> Completed:
        """Wait for all others, and then for the command's end."""
        command = run.command
        self.meet(meeting)
        if self.after is not None:
            self.after.begun.wait()
            if self.after.dropped:
                raise BrokenBarrierError
            time.sleep(self.gap_s)
            if self.armed is not None:
                release([self.armed])
        self.at_s = time.monotonic()
        self.begun.set()
        if self.lost:
            self.at_s = None
            return Completed(tuple(command.argv), GONE, b"", self.lost.encode(), 0.0)
        if self.armed is None:
            return command.machine.run(command.argv, timeout_s=run.deadline_s)
        done = self.armed.wait()
        self.at_s = None if done.usage is None else done.usage.start_ns / 1e9 - self.offset_s
        return done

    def meet(self, meeting: Barrier) -> None:
        """Wait for all others."""
        meeting.wait()
        self.has_met = True

    def fail(self, error: TareError) -> None:
        """Note what it raised; the others continue without it."""
        self._end_held()
        self.armed, self.at_s, self.error = None, None, error
        self.begun.set()

    def drop(self) -> None:
        """End the command if it is still held, and do not let any begin that waits for it."""
        self._end_held()
        if not self.begun.is_set():
            self.dropped = True
            self.begun.set()

    def _end_held(self) -> None:
        if self.armed is not None and not self.armed.has_ended:
            self.armed.kill()
            self.armed.abandon()


def run_together(
    runs: Sequence[CommandRun], cancel: Callable[[], None], gap_s: float = 0.0
) -> tuple[Outcome, ...]:
    """Start all parts at the same moment, run each to its end, and return their outcomes.

    With ``gap_s`` each is started so much later than the one before: the order is then the
    caller's, and not the scheduler's. One that fails, or cannot be started, fails alone; what
    becomes of the others is for the scenario to judge. CPU time that a part takes on CPUs which it
    shares with others is the trial's own. ``cancel`` ends all commands at an interrupt of this
    thread. A TareError that a part raises is what becomes of it; what else one raises is raised
    when those that had begun have ended.
    """
    starts: list[_Start] = []
    for _ in runs:
        starts.append(_Start(starts[-1] if starts and gap_s else None, gap_s))

    def go() -> None:
        release([one.armed for one in starts if one.armed is not None and one.after is None])

    meeting = Barrier(len(runs), action=go)

    def one(run: CommandRun, start: _Start) -> None:
        try:
            try:
                start.arm(run)
                run.go(lambda: start.execute(run, meeting))
            except TareError as error:
                start.fail(error)
                if not start.has_met:
                    start.meet(meeting)
        except BaseException:
            meeting.abort()  # or the others would wait for it forever
            start.drop()
            raise

    with ThreadPoolExecutor(max_workers=len(runs)) as threads:
        try:
            asked = [threads.submit(one, *both) for both in zip(runs, starts, strict=True)]
            failures = [error for future in asked if (error := future.exception()) is not None]
        except BaseException:  # an interrupt of the waiting thread: all others must stop
            meeting.abort()
            cancel()
            raise
    for error in failures:
        if not isinstance(
            error, BrokenBarrierError
        ):  # raised in parts that waited for the failed one
            raise error
    known = [start.at_s for start in starts if start.at_s is not None]
    first_s = min(known, default=0.0)
    return tuple(
        lost(run.placed, start.error)
        if start.error is not None
        else replace(
            run.outcome(_others_s(run, runs)),
            late_s=None if start.at_s is None else start.at_s - first_s,
        )
        for run, start in zip(runs, starts, strict=True)
    )


def each_once(warnings: Sequence[str | Complaint]) -> tuple[str | Complaint, ...]:
    """Return texts once each, and of each kind of complaint the worst one."""
    texts = dict.fromkeys(one for one in warnings if isinstance(one, str))
    kinds: dict[ComplaintKind, Complaint] = {}
    for one in warnings:
        if isinstance(one, Complaint):
            known = kinds.get(one.kind, one)
            kinds[one.kind] = max(known, one, key=lambda it: sum(it.values.values()))
    return (*texts, *kinds.values())


def _longest(parts: Sequence[Outcome]) -> dict[str, float]:
    """Return for each step around the commands what it took in the part where it took longest."""
    names = dict.fromkeys(name for part in parts for name in part.phases_s)
    return {name: max(part.phases_s.get(name, 0.0) for part in parts) for name in names}


def _others_s(run: CommandRun, runs: Sequence[CommandRun]) -> float:
    """Add up the CPU time of the other runs that may have been on a run's CPUs."""
    mine = set(run.placed.how.cpus)
    return sum(one.cpu_s for one in runs if one is not run and mine & set(one.placed.how.cpus))


def combined(parts: Sequence[Outcome], samples: Mapping[str, float]) -> Outcome:
    """Return one outcome of all parts, with the worst status, and ``samples`` if none failed.

    It lasted from the first start to the last end; what each printed is kept by the part's name.
    """
    first, worst = parts[0], min(parts, key=lambda part: WORST_FIRST.index(part.status))
    reason = worst.reason
    if worst.status is not Status.OK and len(parts) > 1:
        reason = f"{worst.name or worst.instance}: {reason}"
    printed = {
        part.name or part.instance: {
            "argv": part.completed.argv,
            "status": part.completed.returncode,
            "stdout": part.completed.stdout.decode(errors="replace"),
            "stderr": part.completed.stderr.decode(errors="replace"),
        }
        for part in parts
        if part.completed is not None
    }
    lasted_s = max(part.duration_s + (part.late_s or 0.0) for part in parts)
    return Outcome(
        instance=first.instance,
        status=worst.status,
        reason=reason,
        started_at=min(part.started_at for part in parts),
        duration_s=lasted_s,
        samples=dict(samples) if worst.status in GOOD else {},
        phases_s=_longest(parts),
        warnings=each_once([one for part in parts for one in part.warnings]),
        noise=worst.noise,
        cpuset=first.cpuset,
        completed=Completed(
            ("together",), 0, json.dumps(printed, indent=1).encode(), b"", lasted_s
        ),
        parts=tuple(parts),
    )
