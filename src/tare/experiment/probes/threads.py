"""Read CPU time and run-queue delay of the threads that do a trial's work.

Threads that live longer than a trial (a hypervisor's virtual CPUs) are read before and after it.
Threads that begin and end within one (a benchmark in a container) are read while they live: what
they did after the last reading is lost, and ``HostCost.coverage`` says how much CPU time that was.
The group's own CPU counter misses nothing and gives the bill (METHOD.md 2.7).
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tare.core.model import HostCost
from tare.experiment.probes.delay import Track, closed_delay_s, foreign_delay_s, workers
from tare.experiment.probes.files import content, subtree
from tare.experiment.probes.instruments import Instruments, shared
from tare.experiment.probes.series import LAYER, Series
from tare.machines.instance import Threads

ROOT = Path("/sys/fs/cgroup")
LEAST_S, MOST_S = 0.005, 0.05
"""Bounds of the time between readings."""
ELAPSED_SHARE = 0.04
"""In long trials, the part of the time elapsed that readings may lie apart.

It is what a thread that ends right before the next reading can lose.
"""
READING_SHARE = 0.004
"""The part of one core that reading may cost; what costs more is done less often."""
LEAST_COVERAGE = 0.9
"""Where less of the CPU time was seen thread by thread, the delay is that of some threads only."""
SLICES_COVERAGE = 0.95
"""Where less of the CPU time was seen, too many timeslices of the threads were missed."""
NS = 1e9


class Sampler:
    """Reads the threads of a group while the ``with`` block runs; ``cost`` is there afterwards.

    The influence of other work is added by ``with_foreign_work``. ``busiest_s`` is the CPU
    time of the thread that had the most of it. ``timeslices`` is how often the measured threads got
    a CPU, or why that is not known.
    """

    def __init__(
        self, threads: Threads, root: Path = ROOT, instruments: Instruments | None = None
    ) -> None:
        self._scheduler = (instruments or shared()).scheduler
        self._comm = threads.comm.encode()
        is_v2 = (root / "cgroup.controllers").exists()
        tree = root if is_v2 else root / "cpuacct"
        self._group = tree / threads.cgroup
        self._usage = "cpu.stat" if is_v2 else "cpuacct.usage"
        # A trial makes no groups of its own, so that the trees are walked only once.
        tasks = "cgroup.threads" if is_v2 else "tasks"
        self._lists = [f"{folder}/{tasks}" for folder in subtree(str(self._group))]
        limited = self._group if is_v2 else root / "cpu" / threads.cgroup
        self._quotas = [f"{folder}/cpu.stat" for folder in subtree(str(limited))]
        self._files: dict[str, int] = {}
        self._others: set[str] = set()
        self._tracks: dict[str, Track] = {}
        self._slices: dict[str, tuple[int, int]] = {}
        self._ended = 0
        self._reading_s = 0.0
        self._working: list[Track] = []
        self.cost: HostCost | None = None
        self.busiest_s = 0.0
        self.timeslices = Series(LAYER, "timeslices")
        self._begin_s = 0.0

    def __enter__(self) -> Sampler:
        self._begin_s = time.monotonic()
        self._throttled_s = throttled_s(self._quotas)
        self._read(at_start=True)
        self._used = self._group_cpu_ns()
        self._scheduled = self._scheduler.begin(self._goes_on, LEAST_S)
        return self

    def __exit__(self, *_: object) -> None:
        self._scheduler.end(self._scheduled)
        self._read(at_start=False)
        # A group that is gone took its counter along: then what was seen is all that is known.
        ended = self._group_cpu_ns()
        self._close(list(self._files))
        worked = [track for track in self._tracks.values() if track.cpu_s > 0]
        self._working = workers(worked)
        self.busiest_s = max((track.cpu_s for track in worked), default=0.0)
        seen = sum(track.cpu_s for track in worked)
        used = seen if ended is None or self._used is None else (ended - self._used) / NS
        self.timeslices = self._counted(1.0 if used <= 0 else seen / used)
        # With a name given, the named threads are measured in full and the rest are helpers.
        self.cost = HostCost(
            cpu_s=seen,
            run_delay_s=sum(track.delay_s for track in worked),
            all_cpu_s=used,
            coverage=1.0 if self._comm or used <= 0 else min(1.0, seen / used),
            threads=len(worked),
            workers=len(self._working),
            lasting=any(track.lasting for track in self._working),
            throttled_s=max(0.0, throttled_s(self._quotas) - self._throttled_s),
        )

    def with_foreign_work(
        self, busy_s: float, cpus: int, tool_s: float | None = None
    ) -> HostCost | None:
        """Return the cost with the CPU time of other work, from the time that the trial's CPUs were
        busy.

        ``tool_s`` is how long the tool reports that it worked, if it does.
        """
        cost = self.cost
        if cost is None:
            return None
        foreign_s = max(0.0, busy_s - cost.all_cpu_s)
        unseen_s = max(0.0, cost.all_cpu_s - cost.cpu_s)
        closed_s = closed_delay_s(self._working, unseen_s, tool_s)
        waited_s = closed_s
        if closed_s is None and self._working and cost.coverage >= LEAST_COVERAGE:
            waited_s = sum(one.delay_s for one in self._working) / len(self._working)
        lost_s = None
        if waited_s is not None:
            at_once = min(cost.workers, cpus)
            lost_s = foreign_delay_s(waited_s, cost.throttled_s, foreign_s, at_once)
        return replace(
            cost,
            lasting=cost.lasting and closed_s is None,
            foreign_cpu_s=foreign_s,
            foreign_delay_s=lost_s,
        )

    def _goes_on(self) -> float:
        """Take a reading in the middle of the trial, and return how long to wait for the next."""
        begin_s = time.thread_time()
        self._read(at_start=False)
        took_s = self._scheduled.waiting_s + time.thread_time() - begin_s
        # Half of the last one: the first, which opens files, is soon forgotten.
        self._reading_s = (self._reading_s + took_s) / 2
        return period_s(self._reading_s, time.monotonic() - self._begin_s)

    def _read(self, *, at_start: bool) -> None:
        listed = list(self._tids())
        for tid in listed:
            now = time.perf_counter_ns()
            try:
                cpu, delay, slices = os.pread(self._file(tid), 64, 0).split()
            except (OSError, ValueError):  # it ended between listing and reading
                continue
            count = int(slices)
            first = self._slices[tid][0] if tid in self._slices else count if at_start else 0
            self._slices[tid] = first, count
            track = self._tracks.get(tid)
            if track is None:
                begun = (int(cpu), int(delay)) if at_start else (0, 0)
                track = self._tracks[tid] = Track(at_start, *begun)
            track.read(now, int(cpu), int(delay))
        ended = self._files.keys() - set(listed)
        self._ended += len(ended)
        self._close(ended)

    def _counted(self, coverage: float) -> Series:
        """Add up how often the threads got a CPU: what the kernel calls their timeslices.

        The little CPU time that was not seen is assumed to have had as many. Of named threads that
        one ended is enough to doubt: the bill, which is of all threads, does not say what it did.
        """
        reason = ""
        if self._comm and self._ended:
            reason = f"{self._ended} of the threads ended before they were read for the last time"
        elif not self._comm and coverage < SLICES_COVERAGE:
            reason = f"{coverage:.0%} of the CPU time was seen thread by thread, too little"
        if reason:
            return Series(LAYER, "timeslices", reason=f"not available here: {reason}")
        total = sum(last - first for first, last in self._slices.values())
        whole = total if self._comm else total / min(1.0, coverage)
        lasted_s = time.monotonic() - self._begin_s
        return Series(LAYER, "timeslices", (0.0, lasted_s), (0.0, float(whole)))

    def _close(self, ended: Collection[str]) -> None:
        """Close files of ended threads; a build of thousands of processes would fill the table."""
        for tid in ended:
            os.close(self._files.pop(tid))

    def _file(self, tid: str) -> int:
        if tid not in self._files:
            self._files[tid] = os.open(f"/proc/{tid}/schedstat", os.O_RDONLY)
        return self._files[tid]

    def _tids(self) -> Iterator[str]:
        for path in self._lists:
            try:
                tids = content(path).decode().split()
            except OSError:  # the group is gone
                continue
            yield from (tid for tid in tids if self._is_measured(tid))

    def _is_measured(self, tid: str) -> bool:
        if not self._comm or tid in self._files:
            return True
        if tid in self._others:
            return False
        try:
            if content(f"/proc/{tid}/comm").startswith(self._comm):
                return True
        except OSError:
            return False
        self._others.add(tid)
        return False

    def _group_cpu_ns(self) -> int | None:
        try:
            usage = content(f"{self._group}/{self._usage}")
        except OSError:
            return None
        if self._usage == "cpu.stat":
            return 1000 * int(usage.split(b"usage_usec", 1)[1].split(None, 1)[0])
        return int(usage)


def period_s(reading_s: float, elapsed_s: float) -> float:
    """Choose how long to wait between readings that take so much CPU time each."""
    most_s = max(MOST_S, ELAPSED_SHARE * elapsed_s)
    return min(max(reading_s / READING_SHARE, LEAST_S), most_s)


def throttled_s(quotas: Sequence[str]) -> float:
    """Add up for how long quotas held groups back, from their cpu.stat, v1 (ns) or v2 (us)."""
    total_s = 0.0
    for path in quotas:
        with contextlib.suppress(OSError):  # a group that is gone, or a tree without the controller
            fields = dict(line.split() for line in content(path).splitlines())
            total_s += int(fields.get(b"throttled_time", 0)) / NS
            total_s += int(fields.get(b"throttled_usec", 0)) / 1e6
    return total_s
