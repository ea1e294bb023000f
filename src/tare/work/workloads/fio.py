"""fio: reads or writes blocks of files, in order or at random, at a fixed queue depth.

Defined by fio 3.33 (HOWTO.rst). Every job is a process with a file of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tare.core.model import FileAccess, Sample
from tare.work import workload
from tare.work.workload import Course
from tare.work.workloads import at_least, one_of
from tare.work.workloads._fio import (
    LEAST_S,
    METRICS,
    REPORT,
    Asked,
    Queue,
    about_each_second,
    courses,
    samples,
)

Pattern = Literal["randread", "randwrite", "randrw", "read", "write"]
Engine = Literal["libaio", "io_uring", "psync"]

SIDES: Mapping[Pattern, Sequence[str]] = {
    "randread": ["read"],
    "randwrite": ["write"],
    "randrw": ["read", "write"],
    "read": ["read"],
    "write": ["write"],
}


@dataclass(frozen=True, kw_only=True)
class Workload(workload.Workload):
    """Read or write prepared files at a queue depth for a number of seconds, or once.

    Throughput (reads and writes together) is primary, for it compares with any other disk
    workload; with blocks of one size its ratios are those of the requests. The patterns are
    those of huang2019, which ran them with ``engine`` psync, 20 ``jobs`` of 2 GB and blocks of
    32 KiB, directly. ``size_bytes``, ``depth`` are of each job. Latency runs from submission to
    completion. ``read_percent`` is the part of a mix that reads; half is fio's own.

    With ``time`` none a trial ends when each job has been through its file once: every block is
    read or written once, at random in an order that is drawn. So did aspernas2016, with 4 GB, a
    depth of 64, mixes of 75 % reads and ``gtod_reduce``, under which fio asks for the time less
    often and measures no latencies.
    """

    pattern: Pattern = "randread"
    read_percent: int = 50
    engine: Engine = "libaio"
    depth: int = 64
    jobs: int = 1
    block_bytes: int = 4096
    size_bytes: int = 2**30
    direct: bool = True
    time_s: float | Literal["none"] = 30
    # None is no parameter of a cell, so that studies that are older than the parameter can be
    # resumed.
    gtod_reduce: bool | None = None

    metrics = METRICS
    packages = ("fio",)
    recorded = {"fio": "3.33"}

    def __post_init__(self) -> None:
        one_of(self, pattern=Pattern, engine=Engine)
        at_least(self, depth=1, jobs=1, block_bytes=1, size_bytes=self.block_bytes)
        if self.time_s != "none" and self.time_s < LEAST_S:
            raise ValueError(
                f"time_s: {self.time_s} was given; expected {LEAST_S} or more, or none"
            )
        if self.time_s == "none" and self.size_bytes % self.block_bytes:
            raise ValueError(
                f"size_bytes: {self.size_bytes} was given; without time it expects whole blocks of "
                f"{self.block_bytes}"
            )
        if not 0 < self.read_percent < 100:
            raise ValueError(f"read_percent: {self.read_percent} was given; expected 1 to 99")
        if self.pattern != "randrw" and self.read_percent != Workload.read_percent:
            raise ValueError(f"read_percent: {self.read_percent} was given; expected with randrw")
        if self.engine == "psync" and self.depth > 1:
            # fio would cap it and continue, and the cell would be named after a depth it never had.
            raise ValueError(f"depth: {self.depth} was given; the engine psync expects 1")
        if self.direct and self.block_bytes % 512:
            raise ValueError(
                f"block_bytes: {self.block_bytes} was given; direct expects a multiple of 512"
            )

    def prepare(self) -> Sequence[str]:
        """See Workload.prepare."""
        # Files for reading are written out in full, those for writing would only be reserved: the
        # first writes would then pay for allocating.
        return ["fio", *self._files(), "--rw=read", "--create_only=1"]

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        how = [f"--rw={self.pattern}", f"--bs={self.block_bytes}", f"--direct={self.direct:d}"]
        if self.pattern == "randrw":
            how += [f"--rwmixread={self.read_percent}"]
        queue = [f"--ioengine={self.engine}", f"--iodepth={self.depth}"]
        if self.time_s == "none":
            # Nothing is asked over time: a job that ends waits for the report.
            bound, reports = ["--loops=1"], []
        else:
            bound = ["--time_based", f"--runtime={self.time_s * 1000:.0f}ms"]
            reports = about_each_second(self.time_s)
        clock = ["--gtod_reduce=1"] if self.gtod_reduce else []
        # Missing files are an error, not something to lay while the clock runs.
        files = ["--overwrite=1", "--allow_file_create=0"]
        # With fio's fixed seed every trial would ask for the same blocks, which a cache below has.
        draw = "--randrepeat=0"
        report = [*clock, *REPORT, *reports]
        return ["fio", *self._files(), *how, *queue, *bound, *files, draw, *report]

    def parse(self, output: workload.Output) -> Iterator[Sample]:
        """See Workload.parse."""
        is_whole = self.time_s == "none"
        asked = Asked(
            sides=SIDES[self.pattern],
            least_s=LEAST_S if self.time_s == "none" else 0.9 * self.time_s,
            queue=Queue(self.depth * self.jobs, self.block_bytes),
            whole_bytes=self.disk_bytes() if is_whole else None,
            timed=not self.gtod_reduce,
        )
        yield from samples(output.stdout, asked)

    def courses(self, output: workload.Output) -> Iterator[Course]:
        """See Workload.courses."""
        if self.time_s != "none":
            yield from courses(output.stdout, SIDES[self.pattern], self.time_s)

    def expected_s(self) -> float:
        """See Workload.expected_s."""
        if self.time_s == "none":
            slow_requests_per_s, slow_bytes_per_s = 20_000, 200 * 2**20
            requests = self.disk_bytes() / self.block_bytes
            return 2.0 + requests / slow_requests_per_s + self.disk_bytes() / slow_bytes_per_s
        return self.time_s + 2.0

    def file_access(self) -> FileAccess:
        """See Workload.file_access."""
        return FileAccess.DIRECT if self.direct else FileAccess.CACHED

    def disk_bytes(self) -> int:
        """See Workload.disk_bytes."""
        return self.size_bytes * self.jobs

    def _files(self) -> list[str]:
        return ["--name=tare", f"--size={self.size_bytes}", f"--numjobs={self.jobs}"]
