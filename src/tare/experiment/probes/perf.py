"""Counters of the kernel and of the CPU for one layer, by perf_event_open(2).

They count for a control group, on every CPU that it may use. That slows the layer down: the kernel
changes counters over whenever the group begins or stops to run on a CPU, and a tracepoint takes its
time at each call. So a layer is counted while it warms up, and in no trial whose time is compared
(docs/decisions/0022).
"""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tare.core.errors import Unavailable
from tare.experiment.probes.kvm_exits import is_readable
from tare.experiment.probes.series import LAYER, Series
from tare.experiment.probes.timeline import Places
from tare.machines.cgroup.cgroup import cpus_of

HARDWARE, SOFTWARE, TRACEPOINT = 0, 1, 2
NUMBERS = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331}
"""Of the system call, by architecture; the C library has no function for it."""

WARM_UPS_ONLY = (
    "not available here: counted in warm-up trials alone, since counting slows down what is counted"
)
MOST_UNSEEN = 0.05
SLACK_S = 0.001
"""How much less CPU time than the layer's own account the counters may have seen."""
SWITCH_S = 50e-6
"""How long a context switch may take at most; the account has it, and the counters do not."""

_FLAGS = 1 << 2 | 1 << 3
"""PERF_FLAG_PID_CGROUP and PERF_FLAG_FD_CLOEXEC."""
_ENABLED_AND_RUNNING = 1 << 0 | 1 << 1
"""What a reading has behind the count: since when it counts, and for how long it really did."""
_ATTRIBUTES = struct.Struct("=IIQQQQQIIQ")
"""The first version of perf_event_attr, which every kernel takes."""
_READING = struct.Struct("=QQQ")
_NS = 1e9
SYS = Places().sys


@dataclass(frozen=True, slots=True)
class Event:
    """What is counted: the kernel's type and number of it, or a tracepoint by its path."""

    name: str
    type: int
    number: int = 0
    tracepoint: str = ""


CPU_CLOCK = Event("cpu_clock_s", SOFTWARE, 0)
"""How long the group ran, as the counters see it; the measure of whether they see all of it."""
EVENTS = (
    Event("context_switches", SOFTWARE, 3),
    Event("migrations", SOFTWARE, 4),
    Event("instructions", HARDWARE, 1),
    Event("cycles", HARDWARE, 0),
    Event("cache_misses", HARDWARE, 3),
    Event("system_calls", TRACEPOINT, tracepoint="raw_syscalls/sys_enter"),
    Event("guest_exits", TRACEPOINT, tracepoint="kvm/kvm_exit"),
)

Open = Callable[[int, int, int, int], int]
"""Opens a counter of a type and number, for the group behind a file and a CPU; raises OSError."""


def events(sys: Path) -> list[Event]:
    """Return what is to be counted; guest exits only where ``guests`` does not read them anyway."""
    is_counted = is_readable(sys)
    return [one for one in EVENTS if one.name != "guest_exits" or not is_counted]


def uncounted(reason: str, sys: Path = SYS) -> list[Series]:
    """Return the series of a trial in which nothing is counted."""
    return [Series(LAYER, one.name, reason=reason) for one in events(sys)]


class Counters:
    """Counts for a layer's group while the ``with`` block runs; ``series`` are there afterwards.

    What cannot be counted is a series with the reason, and no error. ``cost_s`` is the CPU time
    that opening, reading and closing took.
    """

    def __init__(self, group: str, places: Places | None = None, opens: Open | None = None) -> None:
        self._group, self._places = group, places or Places()
        self._opens = opens or perf_event_open
        self._events = events(self._places.sys)
        self._files: dict[str, list[int]] = {}
        self._counts: dict[str, float] = {}
        self._lacks: dict[str, str] = {}
        self._begin_s = self._lasted_s = 0.0
        self.cost_s = 0.0

    def __enter__(self) -> Counters:
        begin_s = time.thread_time()
        self._begin_s = time.monotonic()
        self._open()
        self.cost_s += time.thread_time() - begin_s
        return self

    def __exit__(self, *_: object) -> None:
        begin_s = time.thread_time()
        self._lasted_s = time.monotonic() - self._begin_s
        for name, files in self._files.items():
            try:
                self._counts[name] = sum(counted(os.read(file, _READING.size)) for file in files)
            except (OSError, Unavailable) as error:
                self._lacks[name] = str(error)
            for file in files:
                os.close(file)
        self.cost_s += time.thread_time() - begin_s

    def series(self, used_s: float | None) -> Iterator[Series]:
        """Return what was counted, if it is of the whole layer, which used so much CPU time."""
        doubt = self._doubt(used_s)
        for event in self._events:
            if reason := self._lacks.get(event.name) or doubt:
                yield Series(LAYER, event.name, reason=f"not available here: {reason}")
            else:
                span_s = (0.0, self._lasted_s)
                yield Series(LAYER, event.name, span_s, (0.0, self._counts[event.name]))

    def _open(self) -> None:
        at, wanted = self._places, (CPU_CLOCK, *self._events)
        try:
            cpus = usable_cpus(self._group, at.groups, at.sys)
            folder = os.open(place(self._group, at.groups), os.O_RDONLY | os.O_DIRECTORY)
        except (OSError, Unavailable) as error:
            self._lacks = dict.fromkeys((one.name for one in wanted), str(error))
            return
        try:
            for event in wanted:
                try:
                    self._files[event.name] = self._opened(event, folder, cpus)
                except Unavailable as error:
                    self._lacks[event.name] = str(error)
        finally:
            os.close(folder)

    def _opened(self, event: Event, folder: int, cpus: Sequence[int]) -> list[int]:
        number = _number(event, self._places.sys)
        files: list[int] = []
        try:
            for cpu in cpus:
                files.append(self._opens(event.type, number, folder, cpu))
        except OSError as error:
            for file in files:
                os.close(file)
            raise Unavailable(why(error, event, self._places.proc)) from error
        return files

    def _doubt(self, used_s: float | None) -> str:
        """Return why the counters may have missed a part of the layer; mostly nothing."""
        if reason := self._lacks.get(CPU_CLOCK.name):
            return reason
        if used_s is None:
            return "nothing tells how much CPU time the layer used, so part of it may be uncounted"
        seen_s = self._counts[CPU_CLOCK.name] / _NS
        switching_s = SWITCH_S * self._counts.get("context_switches", 0.0)
        if used_s - seen_s <= max(SLACK_S, MOST_UNSEEN * used_s) + switching_s:
            return ""
        return (
            f"of the {used_s:.3f} s of CPU time that the layer used, {seen_s:.3f} s were in the "
            "control group that is counted"
        )


def place(group: str, groups: Path) -> Path:
    """Find the folder of a group in the hierarchy that counters belong to.

    That is v2 where it stands alone, perf_event of v1 where that is mounted, and else v2 next to
    v1.
    """
    if (groups / "cgroup.controllers").exists():
        return groups / group
    tree = groups / "perf_event"
    if not (tree / "cgroup.procs").exists():
        tree = groups / "unified"
    if not (tree / "cgroup.procs").exists():
        raise Unavailable(f"{groups} has neither perf_event nor a v2 hierarchy, to count by group")
    if not (tree / group).exists():
        raise Unavailable(f"the layer has no control group in {tree}, where counting goes by group")
    return tree / group


def usable_cpus(group: str, groups: Path, sys: Path) -> list[int]:
    """List the CPUs that a group may use, or all where it does not say."""
    cpusets = (f"{group}/cpuset.cpus.effective", f"cpuset/{group}/cpuset.effective_cpus")
    places = [*(groups / one for one in cpusets), sys / "devices/system/cpu/online"]
    for path in places:
        # A group's own list is empty where no cpuset is handed down.
        with contextlib.suppress(OSError, ValueError):
            return cpus_of(path.read_text())
    raise Unavailable(f"{places[-1]} does not say which CPUs there are")


def counted(reading: bytes) -> float:
    """Read a counter; one that shared the CPU's few with others is scaled to its whole time."""
    if len(reading) != _READING.size:
        raise Unavailable("the kernel stopped the counter")
    count, enabled_ns, running_ns = _READING.unpack(reading)
    if enabled_ns and not running_ns:
        raise Unavailable("the CPU had no counter left for it: others count on this host")
    return float(count * enabled_ns / running_ns) if running_ns < enabled_ns else float(count)


def why(error: OSError, event: Event, proc: Path) -> str:
    """Return in words why the kernel refused to count."""
    code = errno.errorcode.get(error.errno or 0, "an error")
    if error.errno in (errno.EACCES, errno.EPERM):
        paranoid = proc / "sys/kernel/perf_event_paranoid"
        level = paranoid.read_text().strip() if paranoid.exists() else "not there"
        return (
            f"perf_event_open was refused ({code}): it takes CAP_PERFMON and a sandbox that lets "
            f"it through, or a {paranoid} of 0 or less, which is {level}"
        )
    if event.type == HARDWARE and error.errno in (errno.ENOENT, errno.ENODEV, errno.EOPNOTSUPP):
        return f"this host shows no such counter of its CPU ({code}), as most virtual machines"
    if error.errno in (errno.ENOSYS, errno.EINVAL):
        return f"this kernel does not count by control group ({code})"
    return f"perf_event_open: {error.strerror} ({code})"


def perf_event_open(kind: int, number: int, group: int, cpu: int) -> int:
    """Open a counter for a control group on one CPU; raises OSError."""
    import ctypes

    system_call = NUMBERS.get(platform.machine())
    if system_call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    content = _ATTRIBUTES.pack(
        kind, _ATTRIBUTES.size, number, 0, 0, _ENABLED_AND_RUNNING, 0, 0, 0, 0
    )
    file = _syscall()(
        ctypes.c_long(system_call),
        ctypes.create_string_buffer(content, len(content)),
        *map(ctypes.c_long, (group, cpu, -1, _FLAGS)),
    )
    if file < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(file)


@cache
def _syscall() -> Callable[..., int]:
    import ctypes

    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    return call


def _number(event: Event, sys: Path) -> int:
    if not event.tracepoint:
        return event.number
    tracing = sys / "kernel/tracing"
    if not (tracing / "events").exists():
        # Below debugfs it would be mounted by looking.
        raise Unavailable(f"no tracefs is mounted on {tracing}: mount -t tracefs tracefs {tracing}")
    path = tracing / "events" / event.tracepoint / "id"
    try:
        return int(path.read_text())
    except (OSError, ValueError) as error:
        raise Unavailable(f"this kernel has no tracepoint {event.tracepoint}: {error}") from error
