"""One trial: run the command, watch the host meanwhile, understand what came out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from sys import intern

from tare.compare.conditions import LEAST_BYTES, claim
from tare.errors import OutputNotUnderstood
from tare.home import home
from tare.machine import NOT_FOUND, Completed
from tare.model import DiskCache, HostCost, Status, Variant
from tare.monitors import disk, noise
from tare.monitors.perf import WARM_UPS_ONLY, Counters, uncounted
from tare.monitors.reader import Reader
from tare.monitors.series import LAYER, MACHINE, PER_WORK, Series
from tare.monitors.threads import Sampler
from tare.monitors.timeline import Timeline
from tare.runner.outside import Command
from tare.runner.service import Ended
from tare.stack import Stack
from tare.workload import Output, Workload

NOT_IN_USERLAND = (NOT_FOUND, 126)
CLOCK_RATIO, CLOCK_SLACK_S = 1.01, 0.02
"""What a tool may claim to have run longer than the host's clock saw: rounding, and slewing."""
MOVED_SHARE = 0.1
"""Part of the O_DIRECT bytes claimed below which the rate says nothing of any disk.

Between this and ``compare.conditions.DIRECT_SHARE`` the number stands, and the doubt beside it.
"""
TIMELINE_HZ = 1.0
WORK = "work"
"""The source of series that the workload's own output holds; their time is the tool's."""
MIB = 2**20


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run of a command came to."""

    status: Status
    reason: str
    completed: Completed
    started_at: str
    samples: dict[str, float]
    host: HostCost | None
    warnings: tuple[str, ...]
    phases_s: dict[str, float]
    noise: dict[str, float] = field(default_factory=dict)
    timeline: Timeline | None = None
    courses: tuple[Series, ...] = ()

    def readings(self) -> tuple[dict[str, float], tuple[Series, ...]]:
        """Give what the platform took, and all that was read; it takes its time.

        Of the host that is what grows with the work; the rest is in the readings alone. Trials stay
        in memory, and share the names.
        """
        if self.timeline is None:
            return {}, self.courses
        own = (LAYER, MACHINE, "monitor_")
        taken = {
            intern(name): value
            for name, value in self.timeline.metrics.items()
            if name.startswith(own) or name in PER_WORK
        }
        return taken, (*self.timeline.series, *self.courses)


def measure(  # noqa: PLR0913 - five things make a trial, the other two have defaults
    stack: Stack,
    workload: Workload,
    command: Command,
    cpus: Sequence[int],
    deadline_s: float,
    variant: Variant = Variant.WALL,
    at_start: Callable[[], None] = lambda: None,
    closely: bool = False,
    reader: Reader | None = None,
) -> Outcome:
    """Run a workload once in a started stack; what goes wrong there is an outcome, not an error.

    ``command`` is what is run, and where: in the stack, or outside of it where the stack serves.
    ``variant`` is what the study's verdicts rest on; only in that of wall time is a trial suspect
    for the CPU time that other work took. ``at_start`` is called right before the command is.
    ``closely`` asks for counters that slow down what they count: not where time is compared.
    ``reader`` is that of the machine inside, where this has a kernel of its own.
    """
    begin = time.perf_counter()
    started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
    threads = stack.threads()
    sampler = Sampler(threads) if threads is not None else None
    # What is not measured on this host moves other disks than this host's.
    has_disk = threads is not None and workload.disk_bytes() > 0 and disk.is_counted(home())
    outside = command.outside
    apart = Sampler(outside.threads()) if outside is not None else None
    timeline = Timeline(threads, cpus, TIMELINE_HZ, reader=reader) if threads is not None else None
    counters = Counters(threads.cgroup) if threads is not None and closely else None
    # First the timeline: what it costs to start the reader inside is no work of the trial.
    with timeline or nullcontext(), counters or nullcontext():
        disk_before = disk.read() if has_disk else None
        before = noise.read(cpus)
        with sampler or nullcontext(), apart or nullcontext():
            at_start()
            start = time.perf_counter()
            done = command.machine.run(command.argv, timeout_s=deadline_s)
        end = time.perf_counter()
        after = noise.read(cpus)
        disk_after = disk.read() if has_disk else None
    status, reason, samples = _understand(done, workload, deadline_s)
    courses = _courses(done, workload) if status is Status.OK else ()
    if command.server is not None:
        status, reason = _served(command.server.end(), status, reason)
    cost = None
    if timeline is not None and sampler is not None:
        _add_counts(timeline, sampler, counters)
    if sampler is not None:
        busy_s = after.busy_s - before.busy_s
        cost = sampler.beside(busy_s, len(cpus), samples.get("tool_duration"))
    seen: dict[str, float] = {}
    complaints: list[str] = []
    if threads is not None:  # else the work is not done here, and this host says nothing about it
        seen = noise.between(before, after, done.duration_s, len(cpus), cost)
        counts = variant is Variant.WALL
        complaints = noise.complaints(seen, done.duration_s, len(cpus), foreign_counts=counts)
        seen |= disk.between(disk_before, disk_after)
    if outside is not None and apart is not None and apart.cost is not None:
        # A tool's start is no load, and would make a busy machine look half idle.
        lasted_s = samples.get("tool_duration", done.duration_s)
        used = outside.use(apart.cost, apart.busiest_s, lasted_s)
        seen |= used
        complaints += outside.complaints(used, spins=workload.spins)
    if status is Status.OK and (reason := _too_fast(stack, workload, samples, seen, done)):
        status = Status.FAILED
    if status is Status.OK and complaints:
        status, reason = Status.SUSPECT, "; ".join(complaints)
    phases = {
        "setup": start - begin,
        "command": done.duration_s,
        "parse": time.perf_counter() - end,
    }
    warnings = tuple(complaints)
    return Outcome(
        status, reason, done, started_at, samples, cost, warnings, phases, seen, timeline, courses
    )


def _served(ended: Ended, status: Status, reason: str) -> tuple[Status, str]:
    """Judge a trial by its service too: what it asked may have been answered only in part."""
    if status is Status.OK and not ended.lived:
        status, reason = Status.FAILED, "the service ended while it was measured"
    if status is not Status.OK and ended.said:
        reason += f"; the service said: {ended.said}"
    return status, reason


def _add_counts(timeline: Timeline, sampler: Sampler, counters: Counters | None) -> None:
    """Put beside the readings what was counted in other ways, or why it was not."""
    timeline.add([sampler.timeslices])
    if counters is None:
        timeline.add(uncounted(WARM_UPS_ONLY))
        return
    used_s = sampler.cost.all_cpu_s if sampler.cost is not None else None
    timeline.add(counters.series(used_s), counters.cost_s)


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
        samples = {sample.metric.name: sample.value for sample in workload.parse(_output(done))}
    except OutputNotUnderstood as error:
        return Status.FAILED, str(error), {}
    impossible = [name for name, value in samples.items() if not math.isfinite(value) or value < 0]
    if impossible:
        return Status.FAILED, f"impossible values of {', '.join(impossible)}", samples
    claimed_s = samples.get("tool_duration", 0.0)
    if claimed_s > CLOCK_RATIO * done.duration_s + CLOCK_SLACK_S:
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


def _courses(done: Completed, workload: Workload) -> tuple[Series, ...]:
    """Make series of what the tool said over its time; why there is none is a series too."""
    reason = ""
    try:
        found = tuple(workload.courses(_output(done)))
    except OutputNotUnderstood as error:
        found, reason = (), str(error)
    values = [value for one in found for value in one.values]
    if not all(math.isfinite(value) and value >= 0 for value in values):
        found, reason = (), "impossible values over the tool's time"
    if reason:
        primary = workload.metrics[0].name
        return (Series(source=WORK, name=primary, is_counter=False, reason=reason),)
    return tuple(
        Series(WORK, one.metric.name, one.times_s, one.values, is_counter=False) for one in found
    )


def _too_fast(
    stack: Stack,
    workload: Workload,
    samples: Mapping[str, float],
    seen: Mapping[str, float],
    done: Completed,
) -> str:
    """Say why O_DIRECT I/O cannot have happened at the rate that a tool claims; mostly nothing."""
    known = claim(samples, seen, done.duration_s, workload.metrics)
    # Not every workload has such a parameter.
    if getattr(workload, "direct", False) is not True or known is None:
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
    text = (done.stderr or done.stdout).decode(errors="replace").strip()
    return text[-300:] or "nothing was printed"
