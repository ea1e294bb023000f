"""Run a workload's command once, monitor the host meanwhile, and judge its output."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from sys import intern

from tare.core.complaints import texts
from tare.core.completed import Completed
from tare.core.errors import (
    LayerTimedOut,
    OutputNotUnderstood,
    TareError,
    Unavailable,
    WorkloadFault,
    message_of,
)
from tare.core.model import (
    DiskCache,
    FileAccess,
    Measurement,
    Source,
    Status,
    resource_of,
    tool_duration_s,
)
from tare.experiment.probes.series import PER_WORK, Series
from tare.experiment.probes.timeline import Timeline
from tare.experiment.trial.placed_part import PlacedPart
from tare.experiment.trial.role_placement import NOT_IN_USERLAND, PEER_LOST, PlacedCommand
from tare.experiment.trial.service import ProgramEnd
from tare.experiment.trial.watch import Watch
from tare.machines.stack import Stack
from tare.results.checks.conditions import LEAST_BYTES, claim
from tare.work.workload import MOST_POINTS, Course, Output, Workload

log = logging.getLogger(__name__)

GOOD = (Status.OK, Status.SUSPECT)
"""Statuses of a run that has a number."""
CLOCK_RATIO, CLOCK_SLACK_S = 1.01, 0.02
"""What a tool may claim to have run longer than the host's clock saw: rounding, and slewing.

Late readings need no slack: the host reads its clock before and after all others.
"""
MOVED_SHARE = 0.1
"""Part of the O_DIRECT bytes claimed below which the rate says nothing of any disk.

Between this and ``compare.conditions.DIRECT_SHARE`` the number is kept, with a warning.
"""
WORK = "work"
"""The source of series that the workload's own output holds; their time is the tool's."""
MIB = 2**20

SeriesOfParts = dict[tuple[str, str], Sequence[Series]]
"""What was read over time, by the part's cell (empty: the trial's) and instance."""


def status_of(error: TareError) -> Status:
    """Return the status of a trial, or of a whole platform, after an error."""
    if isinstance(error, Unavailable):
        return Status.UNAVAILABLE
    return Status.DNR if isinstance(error, LayerTimedOut) else Status.FAILED


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(Measurement):
    """The result of a run: what is stored of it, with its raw output and time series.

    One that is a part of a trial has a ``name``, and starts ``late_s`` after the first of them:
    None where it was not started with the others. ``cell`` is the id of its cell where the trial
    has several, ``platform`` its platform where that is not its cell's; ``completed`` is None where
    no command was run. ``timeline`` is not read yet; see
    ``read``.
    """

    completed: Completed | None = None
    timeline: Timeline | None = None
    courses: tuple[Series, ...] = ()
    name: str = ""
    late_s: float | None = None
    cell: str = ""
    platform: str = ""
    parts: tuple[Outcome, ...] = ()

    def read(self) -> tuple[Outcome, SeriesOfParts]:
        """Return it with the resources of it and its parts, and all series by cell and instance.

        It takes its time, so it waits until nothing is measured any more. Of the host that is what
        grows with the work; the rest is in the readings alone. Trials stay in memory, and share
        the names.
        """
        own = (Source.LAYER, Source.MACHINE, Source.MONITOR)
        resources = {
            intern(name): value
            for name, value in (self.timeline.metrics if self.timeline else {}).items()
            if resource_of(name).source in own or name in PER_WORK
        }
        readings = self.timeline.series if self.timeline else ()
        series: SeriesOfParts = {(self.cell, self.instance): (*readings, *self.courses)}
        parts = []
        for part, of_part in (one.read() for one in self.parts):
            parts.append(part)
            series |= of_part
        return replace(self, resources=resources, parts=tuple(parts)), series


def lost(placed: PlacedPart, error: TareError) -> Outcome:
    """Return the outcome of a part that an error kept from being measured."""
    return Outcome(
        instance=placed.instance,
        status=status_of(error),
        reason=str(error),
        started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        name=placed.part,
    )


def suspected(outcome: Outcome) -> Outcome:
    """Return an ok outcome as suspect if there are complaints, with these as its reason."""
    if outcome.status is not Status.OK or not outcome.complaints:
        return outcome
    return replace(outcome, status=Status.SUSPECT, reason="; ".join(texts(outcome.complaints)))


class CommandRun:
    """One run of a workload's command in an instance: monitored first, judged afterwards.

    ``command`` is what is run, and where: in the stack, or at the peer where the stack serves.
    """

    def __init__(
        self, placed: PlacedPart, workload: Workload, command: PlacedCommand, deadline_s: float
    ) -> None:
        self.placed, self.workload, self.command = placed, workload, command
        self.deadline_s = deadline_s
        self._watch = Watch(placed.stack, workload, command.peer, placed.how)
        self._done: Completed | None = None

    @property
    def cpu_s(self) -> float:
        """The CPU time that its platform took on the host for it, once it has ended."""
        return self._watch.cpu_s

    def go(self, execute: Callable[[], Completed]) -> None:
        """Execute the command with all monitors running, from right before to right after it."""
        self._begin = time.perf_counter()
        self._started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        with self._watch:
            self._done = execute()
            self._end = time.perf_counter()

    def outcome(self, others_s: float | None = None) -> Outcome:
        """Return the outcome; a failure in the stack is an outcome, not an error.

        ``others_s`` is the CPU time of the trial's other parts on the same CPUs, if it has any.
        """
        done, workload = self._done, self.workload
        assert done is not None  # noqa: S101 - it has gone
        begin = time.perf_counter()
        status, reason, samples = _understand(done, workload, self.deadline_s)
        courses: tuple[Series, ...] = ()
        if status is Status.OK:
            try:
                courses = _courses(done, workload)
            except WorkloadFault as fault:
                status, reason = Status.FAILED, str(fault)
        peer = self.command.peer
        is_lost = status is not Status.OK and peer is not None and not peer.answers()
        status, reason = _served(self.command.conclude(is_lost), status, reason)
        if is_lost:
            reason = f"{PEER_LOST}: {reason}"
        outcome = Outcome(
            instance=self.placed.instance,
            status=status,
            reason=reason,
            started_at=self._started_at,
            duration_s=done.duration_s,
            samples=samples,
            cpuset=self.placed.cpuset,
            completed=done,
            timeline=self._watch.timeline,
            courses=courses,
            name=self.placed.part,
        )
        outcome = self._watch.fill(outcome, others_s)
        too_fast = _too_fast(self.placed.stack, workload, samples, outcome.noise, done)
        if outcome.status is Status.OK and too_fast:
            outcome = replace(outcome, status=Status.FAILED, reason=too_fast)
        outcome = suspected(outcome)
        phases_s = {
            "setup": max(0.0, self._end - self._begin - done.duration_s),
            "command": done.duration_s,
            "parse": time.perf_counter() - begin,
        }
        return replace(outcome, phases_s=phases_s)


def measure(
    placed: PlacedPart, workload: Workload, command: PlacedCommand, deadline_s: float
) -> Outcome:
    """Run a workload once, alone; see Run."""
    run = CommandRun(placed, workload, command, deadline_s)
    run.go(lambda: command.machine.run(command.argv, timeout_s=deadline_s))
    return run.outcome()


def _served(ended: Mapping[str, ProgramEnd], status: Status, reason: str) -> tuple[Status, str]:
    """Judge a trial by its roles too: what it asked may have been answered only in part."""
    gone = " and ".join(f"the role {name}" for name, came in ended.items() if not came.lived)
    if gone:
        why = f"{gone} ended while it was measured"
        reason = why if status is Status.OK else f"{reason}; {why}"
        status = Status.FAILED if status is Status.OK else status
    if status is not Status.OK:
        said = (f"; the role {name} said: {came.said}" for name, came in ended.items() if came.said)
        reason += "".join(said)
    return status, reason


def _understand(
    done: Completed, workload: Workload, deadline_s: float
) -> tuple[Status, str, dict[str, float]]:
    if done.timed_out:
        return Status.DNR, f"did not end within {deadline_s:.0f} s and was ended", {}
    if done.returncode in NOT_IN_USERLAND:
        return Status.UNAVAILABLE, f"{_tail(done)}; the machine inside lacks the tool", {}
    if done.returncode != 0:
        return Status.FAILED, f"exit status {done.returncode}: {_tail(done)}", {}
    try:
        with _faults_of(workload, "parse"):
            samples = {one.metric.name: float(one.value) for one in workload.parse(_output(done))}
    except (OutputNotUnderstood, WorkloadFault) as error:
        return Status.FAILED, str(error), {}
    impossible = [name for name, value in samples.items() if not math.isfinite(value) or value < 0]
    if impossible:
        return Status.FAILED, f"impossible values of {', '.join(impossible)}", samples
    claimed_s = tool_duration_s(samples, workload.metrics)
    if claimed_s is not None and claimed_s > CLOCK_RATIO * done.duration_s + CLOCK_SLACK_S:
        reason = (
            f"the tool says that it ran for {claimed_s:.3f} s, but by the host's clock the whole "
            f"command took {done.duration_s:.3f} s: the clock inside is wrong, and so is every "
            "rate that rests on it"
        )
        return Status.FAILED, reason, samples
    return Status.OK, "", samples


def _output(done: Completed) -> Output:
    return Output(
        done.stdout.decode(errors="replace"),
        done.stderr.decode(errors="replace"),
        done.duration_s,
    )


@contextmanager
def _faults_of(workload: Workload, method: str) -> Iterator[None]:
    """Raise WorkloadFault for any exception that a workload's parser must not raise.

    A plug-in's parser is somebody else's code, and any parser may meet an output that nobody
    thought of. It fails the trial with a reason that names it, and not the session with all others.
    """
    try:
        yield
    except OutputNotUnderstood:
        raise
    except Exception as error:
        name = type(workload).__module__.rpartition(".")[2]
        log.debug("%s of workload %s", method, name, exc_info=True)
        raise WorkloadFault(name, method, error) from error


def _courses(done: Completed, workload: Workload) -> tuple[Series, ...]:
    """Return the tool's own values over time as series; an empty one says why there is none.

    Raises WorkloadFault.
    """
    series: tuple[Series, ...] = ()
    try:
        with _faults_of(workload, "courses"):
            found = tuple(workload.courses(_output(done)))
            reason = _impossible(found)
            series = tuple(
                Series(WORK, one.metric.name, one.times_s, one.values, is_counter=False)
                for one in found
            )
    except OutputNotUnderstood as error:
        reason = str(error)
    if reason:
        primary = workload.metrics[0].name
        return (Series(source=WORK, name=primary, is_counter=False, reason=reason),)
    return series


def _impossible(courses: Sequence[Course]) -> str:
    """Return why courses cannot be stored; mostly nothing."""
    if any(len(one.times_s) > MOST_POINTS for one in courses):
        return f"more than {MOST_POINTS} points over the tool's time"
    if any(len(one.times_s) != len(one.values) for one in courses):
        return "times without values over the tool's time"
    values = (value for one in courses for value in one.values)
    is_possible = all(math.isfinite(value) and value >= 0 for value in values)
    return "" if is_possible else "impossible values over the tool's time"


def _too_fast(
    stack: Stack,
    workload: Workload,
    samples: Mapping[str, float],
    seen: Mapping[str, float],
    done: Completed,
) -> str:
    """Return why O_DIRECT I/O cannot have happened at the rate that a tool claims.

    Mostly nothing.
    """
    known = claim(samples, seen, done.duration_s, workload.metrics)
    if workload.file_access() is not FileAccess.DIRECT or known is None:
        return ""
    claimed, moved = known
    if claimed < LEAST_BYTES or moved >= MOVED_SHARE * claimed:
        return ""
    if any(one.disk_cache() is DiskCache.WRITEBACK for one in stack.instances):
        return ""  # it was asked for: the host's cache may serve it
    return (
        f"the tool claims {claimed / MIB:.0f} MiB of O_DIRECT I/O, but all disks of the host "
        f"together moved {moved / MIB:.0f} MiB meanwhile: a cache served it, or storage that "
        "is not this host's; use direct: false to measure that, or a platform that passes "
        "O_DIRECT on"
    )


def _tail(done: Completed) -> str:
    text = (done.stderr or done.stdout).decode(errors="replace")
    return message_of(text)[-300:] or "nothing was printed"
