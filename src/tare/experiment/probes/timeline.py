"""Record the resources of host, layer and machine a few times a second during a trial.

One thread (``scheduler``) reads everything, and asks the machine inside (see ``inside``). Counters
are kept as they are, with the monotonic time of each reading, so that nothing is lost between two
of them; rates are made of them later. What cannot be read is reported as such, never as a zero.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tare.core.errors import ConfigError
from tare.experiment.probes import _parsers as readings
from tare.experiment.probes._file_series import FileSeries
from tare.experiment.probes._sources import of_group, of_host
from tare.experiment.probes.files import KeptFiles, content, subtree
from tare.experiment.probes.inner_machine import AnyReader, Listener
from tare.experiment.probes.instruments import Instruments, shared
from tare.experiment.probes.kvm_exits import of_guests
from tare.experiment.probes.series import HOST, LAYER, Series, summary
from tare.experiment.probes.threads import ROOT
from tare.machines.instance import Threads

SLOWEST_HZ, FASTEST_HZ = 1.0, 10.0


@dataclass(frozen=True, slots=True)
class Places:
    """The folders of the kernel that are read."""

    proc: Path = Path("/proc")
    sys: Path = Path("/sys")
    groups: Path = ROOT


class Timeline:
    """Reads host and layer while the ``with`` block runs; ``series`` are there afterwards.

    The first reading is taken when the block begins and the last when it has ended, so that every
    trial has two, however short it is. Without ``threads`` the host alone is read. ``cpus`` are
    those whose clock rate is read, ``reader`` that of the machine inside, where this has a kernel
    of its own. ``instruments`` are those that the next trial has too; without them files are closed
    at the end. ``cost_s`` is the CPU time that all of it took on the host. Raises ConfigError for a
    rate that is not from 1 to 10.
    """

    def __init__(  # noqa: PLR0913 - what is read, how often, from where and with what
        self,
        threads: Threads | None,
        cpus: Sequence[int],
        hertz: float = 1.0,
        places: Places | None = None,
        reader: AnyReader | None = None,
        instruments: Instruments | None = None,
    ) -> None:
        if not SLOWEST_HZ <= hertz <= FASTEST_HZ:
            raise ConfigError(
                f"a timeline takes {SLOWEST_HZ:g} to {FASTEST_HZ:g} readings a second, not {hertz}"
            )
        self._group = threads.cgroup if threads is not None else None
        self._places = places or Places()
        self._cpus, self._period_s = cpus, 1 / hertz
        self._own = KeptFiles()
        self._host_files = instruments.files if instruments is not None else self._own
        self._scheduler = (instruments or shared()).scheduler
        self._files: list[_File] = []
        self._others: list[Series] = []
        self._inside = Listener(reader) if reader is not None else None
        self._begin_s = 0.0
        self._tick = 0
        self.cost_s = 0.0

    def __enter__(self) -> Timeline:
        with self._counted():
            if self._inside is not None:
                self._inside.open()
            at = self._places
            host = of_host(self._cpus, at.proc, at.sys)
            group = (
                [
                    *of_group(self._group, at.groups, at.sys),
                    *of_guests(self._group, at.groups, at.sys),
                ]
                if self._group is not None
                else []
            )
            self._files = [
                *(_File(HOST, source, self._host_files) for source in host),
                *(_File(LAYER, source, self._own) for source in group),
            ]
            self._begin_s = time.monotonic()
            # Before the host, and at the end after it: what it costs is then no work of the trial.
            if self._inside is not None:
                self._inside.first(self._begin_s)
            self._read()
        self._scheduled = self._scheduler.begin(self._goes_on, self._wait_s())
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._scheduler.end(self._scheduled)
        with self._counted():
            self._read()
            self._own.close()
            if self._inside is not None and kind is None:  # an interrupt waits for no machine
                self._inside.last()

    def add(self, series: Iterable[Series], cost_s: float = 0.0) -> None:
        """Add what another monitor counted in this trial, and the CPU time that this took."""
        self._others += series
        self.cost_s += cost_s

    @cached_property
    def series(self) -> tuple[Series, ...]:
        """The series that were read; first used when nothing is measured any more.

        It walks the page tables of the layer's processes then, which takes its time.
        """
        with self._counted():
            read = [one for file in self._files for one in file.series()]
            pss = self._pss(self._group) if self._group is not None else ()
            # The last, for its answer may still be on the way.
            inside = self._inside.series() if self._inside is not None else ()
            return (*read, *pss, *self._others, *inside)

    @property
    def metrics(self) -> dict[str, float]:
        """Return the totals of the series, and the cost of reading them.

        ``monitor_cpu_s`` is that on the host, ``monitor_machine_cpu_s`` that in the machine inside.
        """
        found = {**summary(self.series), "monitor_cpu_s": self.cost_s}
        if self._inside is not None:
            found["monitor_cpu_s"] += self._inside.cost_s
            found |= self._inside.metrics
        return found

    def _goes_on(self) -> float:
        """Take a reading in the middle of the trial, and return how long to wait for the next."""
        with self._counted():
            self._read()
            for file in self._files:
                file.settle()
            if self._inside is not None:
                self._inside.tick()
        return self._wait_s()

    def _wait_s(self) -> float:
        elapsed_s = time.monotonic() - self._begin_s
        self._tick = next_tick(self._tick, elapsed_s, self._period_s)
        return max(0.0, self._tick * self._period_s - elapsed_s)

    def _read(self) -> None:
        for file in self._files:
            file.read(self._begin_s)

    @contextlib.contextmanager
    def _counted(self) -> Iterator[None]:
        begin_s = time.thread_time()
        yield
        self.cost_s += time.thread_time() - begin_s

    def _pss(self, group: str) -> tuple[Series, ...]:
        """Add up the layer's memory by process; it walks their page tables, so only once."""
        at = self._places
        is_v2 = (at.groups / "cgroup.controllers").exists()
        tree = (at.groups if is_v2 else at.groups / "cpuacct") / group
        sizes = []
        for folder in subtree(str(tree)):
            with contextlib.suppress(OSError, ValueError):  # the group is gone
                pids = content(f"{folder}/cgroup.procs").decode().split()
                sizes += [size for size in map(self._pss_of, pids) if size is not None]
        if not sizes:
            reason = "not available here: no process of the layer was left when the trial ended"
            return (Series(LAYER, "pss_bytes", is_counter=False, reason=reason),)
        elapsed_s = time.monotonic() - self._begin_s
        return (Series(LAYER, "pss_bytes", (elapsed_s,), (float(sum(sizes)),), is_counter=False),)

    def _pss_of(self, pid: str) -> int | None:
        # It has ended meanwhile, or has no memory of its own (a thread of the kernel).
        with contextlib.suppress(OSError, ValueError):
            return readings.pss_bytes(content(f"{self._places.proc}/{pid}/smaps_rollup"))
        return None


class _File(FileSeries):
    """A file that is read repeatedly, until it fails.

    A reading is only held, so that nothing else waits for it to be understood.
    """

    def __init__(self, side: str, source: readings.Source, files: KeptFiles) -> None:
        super().__init__(side, source)
        self._path, self._files = str(source.path), files
        if source.resets:
            # Older kernels take no write; the peak is then that of the group's life.
            with contextlib.suppress(OSError):
                files.reset(self._path)

    def read(self, begin_s: float) -> None:
        """Take a reading; one that fails ends these series, and nothing else."""
        if self.has_failed:
            return
        now_s = time.monotonic() - begin_s
        try:
            self.hold(now_s, self._files.content(self._path))
            if self._source.looks_further:
                self.settle()
        except OSError as error:  # a group that is gone, a feature that is switched off
            self.fail(f"{self._path}: {error.strerror}")


def next_tick(tick: int, elapsed_s: float, period_s: float) -> int:
    """Return the number of the next reading: missed ones are skipped, and none is taken twice."""
    return max(tick, math.floor(elapsed_s / period_s)) + 1
