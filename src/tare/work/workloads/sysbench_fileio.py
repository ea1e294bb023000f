"""sysbench fileio: reads or writes blocks in a set of files, in order or at random.

Defined by sysbench 1.0.20, src/tests/fileio/sb_fileio.c. An event is a read, a write or an fsync.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isclose
from typing import Literal

from tare.core.errors import OutputNotUnderstood
from tare.core.model import Better, FileAccess, Metric, Sample, Unit
from tare.work import workload
from tare.work.parsing import number
from tare.work.workload import Course
from tare.work.workloads import at_least, one_of
from tare.work.workloads._sysbench import (
    EVERY_SECOND,
    GENERAL,
    LATENCY_P95,
    Time,
    bounds,
    check_time,
    check_work,
    course,
    general,
    results,
    seconds,
)

Mode = Literal["seqwr", "seqrewr", "rndwr", "seqrd", "rndrd", "rndrw"]

THROUGHPUT = Metric("throughput", Unit.BYTE_PER_SECOND, Better.HIGHER)
FSYNCS = Metric("fsyncs", Unit.PER_SECOND, Better.HIGHER)

IN_ORDER = {"seqwr", "seqrewr", "seqrd"}
"""Modes that go through all blocks before they begin again; the others draw each block."""

MIB = 2**20


@dataclass(frozen=True, kw_only=True)
class Workload(workload.Workload):
    """Read or write prepared files with a number of threads for a number of seconds, or once.

    The defaults are those of cole2022 (64 files, 2 GiB, 4 threads, 30 s), and sysbench's own where
    it is silent. All ``files`` are synced after every ``fsync_every`` writes; 0 syncs at the end
    only. Without ``direct`` reads come from the page cache wherever it holds ``total_bytes``.
    With ``time`` none a sequential mode goes through ``total_bytes`` once, and the time that this
    took is the primary metric; laine2017 had one file (``files`` 1) of 4 GiB.
    """

    mode: Mode = "seqwr"
    total_bytes: int = 2048 * MIB
    files: int = 64
    block_bytes: int = 16384
    fsync_every: int = 100
    direct: bool = False
    threads: int = 4
    time_s: Time = 30

    packages = ("sysbench",)
    recorded = {"sysbench": "1.0.20"}

    def __post_init__(self) -> None:
        one_of(self, mode=Mode)
        check_time(self.time_s)
        at_least(self, files=1, block_bytes=1, fsync_every=0, threads=1)
        at_least(self, total_bytes=self.files * self.block_bytes)
        if self.direct and self.block_bytes % 512:
            raise ValueError(
                f"block_bytes: {self.block_bytes} was given; direct expects a multiple of 512"
            )
        if self.time_s == "none" and self.mode not in IN_ORDER:
            raise ValueError(
                f"mode: {self.mode!r} was given; without time it expects one of "
                f"{', '.join(sorted(IN_ORDER))}"
            )
        if self.time_s == "none" and self.total_bytes % (self.files * self.block_bytes):
            raise ValueError(
                f"total_bytes: {self.total_bytes} was given; without time it expects whole blocks "
                f"of {self.block_bytes} in each file"
            )

    @property
    def metrics(self) -> tuple[Metric, ...]:  # type: ignore[override]  # which is first depends
        """See Workload.metrics."""
        return results((THROUGHPUT, FSYNCS, *GENERAL), self.time_s)

    def prepare(self) -> Sequence[str]:
        """See Workload.prepare."""
        # sysbench syncs every file it lays, so the first trial does not write them back.
        return ["sysbench", "fileio", *self._files(), "prepare"]

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        flags = ["--file-extra-flags=direct"] if self.direct else []
        # The sync at the end is inside the time: else a writer fills memory and calls it a disk.
        sync = [f"--file-fsync-freq={self.fsync_every}", "--file-fsync-end=on"]
        how = [f"--file-test-mode={self.mode}", f"--file-block-size={self.block_bytes}"]
        until = [*bounds(self.threads, self.time_s, self._events()), EVERY_SECOND]
        return ["sysbench", "fileio", *self._files(), *how, *sync, *flags, *until, "run"]

    def parse(self, output: workload.Output) -> Iterator[Sample]:
        """See Workload.parse."""
        text = output.stdout
        requests = sum(number(rf"^ +{name}/s:\s+([\d.]+)$", text) for name in ("reads", "writes"))
        fsyncs = number(r"^ +fsyncs/s:\s+([\d.]+)$", text)
        printed = sum(number(rf"{name}, MiB/s:\s+([\d.]+)$", text) for name in ("read", "written"))
        if not requests:
            raise OutputNotUnderstood("requests that were made", text)
        # Requests a second are printed to more digits than MiB/s, which only confirm them.
        throughput = requests * self.block_bytes
        if not isclose(throughput, printed * MIB, rel_tol=0.01, abs_tol=0.01 * MIB):
            raise OutputNotUnderstood("throughput that agrees with the requests", text)
        yield Sample(THROUGHPUT, throughput)
        if fsyncs:
            yield Sample(FSYNCS, fsyncs)
        if self.time_s == "none":
            check_work(text, self._events())
        # At the end every thread syncs every file, which is no event.
        at_end = self.threads * self.files if fsyncs else 0
        yield from general(text, requests + fsyncs, at_end)

    def courses(self, output: workload.Output) -> Iterator[Course]:
        """See Workload.courses."""
        rates = r"reads: ([\d.]+) MiB/s writes: ([\d.]+) MiB/s fsyncs: ([\d.]+)/s"
        rows = seconds(output.stdout, rf"{rates} latency \(ms,95%\): ([\d.]+)")
        yield from course(THROUGHPUT, ((row[0], (row[1] + row[2]) * MIB) for row in rows))
        yield from course(LATENCY_P95, ((row[0], row[4] / 1000) for row in rows))
        if any(row[3] for row in rows):
            yield from course(FSYNCS, ((row[0], row[3]) for row in rows))

    def expected_s(self) -> float:
        """See Workload.expected_s."""
        if self.time_s == "none":
            slow_bytes_per_s = 100 * MIB
            return 2.0 + self.total_bytes / slow_bytes_per_s
        return self.time_s + 2.0

    def file_access(self) -> FileAccess:
        """See Workload.file_access."""
        return FileAccess.DIRECT if self.direct else FileAccess.CACHED

    def disk_bytes(self) -> int:
        """See Workload.disk_bytes."""
        return self.total_bytes

    def _events(self) -> int:
        """Return how many events go through all blocks once; 0 where time ends the run."""
        if self.time_s != "none":
            return 0
        blocks = self.total_bytes // self.block_bytes
        # A sync of a file is an event too. What would be due after the last block is not reached.
        syncs = (blocks - 1) // self.fsync_every if self.fsync_every and self._writes() else 0
        return blocks + syncs * self.files

    def _writes(self) -> bool:
        return self.mode.endswith("wr")

    def _files(self) -> list[str]:
        return [f"--file-num={self.files}", f"--file-total-size={self.total_bytes}"]
