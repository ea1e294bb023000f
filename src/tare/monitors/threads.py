"""CPU time and run-queue delay of the threads that do a trial's work, read on the host.

Threads that live longer than a trial (a hypervisor's virtual CPUs) are read before and after it.
Threads that begin and end within one (a benchmark in a container) are read while they live: what
they did after the last reading is lost, and ``HostCost.coverage`` says how much CPU time that was.
The group's own CPU counter misses nothing and gives the bill (METHOD.md 2.7).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

from tare.layer import Threads
from tare.model import HostCost

ROOT = Path("/sys/fs/cgroup")
EVERY_S = 0.05
NS = 1e9


class Sampler:
    """Reads the threads of a group while the ``with`` block runs; ``cost`` is there afterwards."""

    def __init__(self, threads: Threads, root: Path = ROOT) -> None:
        self._comm = threads.comm.encode()
        is_v2 = (root / "cgroup.controllers").exists()
        tree = root if is_v2 else root / "cpuacct"
        self._group = tree / threads.cgroup
        self._usage = "cpu.stat" if is_v2 else "cpuacct.usage"
        # A trial makes no groups of its own, so that the tree is walked only once.
        tasks = "cgroup.threads" if is_v2 else "tasks"
        self._lists = [f"{folder}/{tasks}" for folder, _, _ in os.walk(self._group)]
        self._files: dict[str, int] = {}
        self._others: set[str] = set()
        self._first: dict[str, tuple[int, int]] = {}
        self._last: dict[str, tuple[int, int]] = {}
        self._stop = Event()
        self._thread = Thread(target=self._loop, daemon=True)
        self.cost: HostCost | None = None

    def __enter__(self) -> Sampler:
        self._read(at_start=True)
        self._used = self._group_cpu_ns()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._read(at_start=False)
        # A group that is gone took its counter along: then what was seen is all that is known.
        ended = self._group_cpu_ns()
        for file in self._files.values():
            os.close(file)
        deltas = [
            (cpu - self._first.get(tid, (0, 0))[0], delay - self._first.get(tid, (0, 0))[1])
            for tid, (cpu, delay) in self._last.items()
        ]
        worked = [(cpu, delay) for cpu, delay in deltas if cpu > 0]
        seen = sum(cpu for cpu, _ in worked) / NS
        used = seen if ended is None or self._used is None else (ended - self._used) / NS
        # With a name given, the named threads are measured in full and the rest are helpers.
        self.cost = HostCost(
            cpu_s=seen,
            run_delay_s=sum(delay for _, delay in worked) / NS,
            all_cpu_s=used,
            coverage=1.0 if self._comm or used <= 0 else min(1.0, seen / used),
            threads=len(worked),
        )

    def _loop(self) -> None:
        while not self._stop.wait(EVERY_S):
            self._read(at_start=False)

    def _read(self, *, at_start: bool) -> None:
        for tid in self._tids():
            try:
                cpu, delay, _ = os.pread(self._file(tid), 64, 0).split()
            except (OSError, ValueError):  # it ended between listing and reading
                continue
            if at_start:
                self._first[tid] = (int(cpu), int(delay))
            self._last[tid] = (int(cpu), int(delay))

    def _file(self, tid: str) -> int:
        if tid not in self._files:
            self._files[tid] = os.open(f"/proc/{tid}/schedstat", os.O_RDONLY)
        return self._files[tid]

    def _tids(self) -> Iterator[str]:
        for path in self._lists:
            try:
                with open(path) as file:  # noqa: PTH123 - many times a second: Path costs more
                    tids = file.read().split()
            except OSError:  # the group is gone
                continue
            yield from (tid for tid in tids if self._is_measured(tid))

    def _is_measured(self, tid: str) -> bool:
        if not self._comm or tid in self._files:
            return True
        if tid in self._others:
            return False
        try:
            if Path(f"/proc/{tid}/comm").read_bytes().startswith(self._comm):
                return True
        except OSError:
            return False
        self._others.add(tid)
        return False

    def _group_cpu_ns(self) -> int | None:
        try:
            content = (self._group / self._usage).read_text()
        except OSError:
            return None
        if self._usage == "cpu.stat":
            return 1000 * int(content.split("usage_usec", 1)[1].split()[0])
        return int(content)
