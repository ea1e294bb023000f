"""fio: reads or writes blocks of files, in order or at random, at a fixed queue depth.

Defined by fio 3.33 (HOWTO.rst). Every job is a process with a file of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isclose
from typing import Any, Literal

from tare import workload
from tare.errors import OutputNotUnderstood
from tare.model import Better, Metric, Sample, Unit
from tare.workloads import at_least, one_of

Pattern = Literal["randread", "randwrite", "randrw", "read", "write"]
Engine = Literal["libaio", "io_uring", "psync"]

SIDES: Mapping[Pattern, Sequence[str]] = {
    "randread": ["read"],
    "randwrite": ["write"],
    "randrw": ["read", "write"],
    "read": ["read"],
    "write": ["write"],
}

THROUGHPUT = Metric("throughput", Unit.BYTE_PER_SECOND, Better.HIGHER)
REQUESTS = Metric("requests", Unit.PER_SECOND, Better.HIGHER)
MEAN = {
    "read": Metric("read_latency_mean", Unit.SECOND, Better.LOWER),
    "write": Metric("write_latency_mean", Unit.SECOND, Better.LOWER),
}
P99 = {
    "read": Metric("read_latency_p99", Unit.SECOND, Better.LOWER),
    "write": Metric("write_latency_p99", Unit.SECOND, Better.LOWER),
}
TOOL_DURATION = Metric("tool_duration", Unit.SECOND, Better.LOWER)


@dataclass(frozen=True, kw_only=True)
class Workload(workload.Workload):
    """Read or write prepared files at a queue depth for a number of seconds.

    Throughput (reads and writes together) is primary, for it compares with any other disk
    workload; with blocks of one size its ratios are those of the requests. The patterns are
    those of huang2019, whose tables give neither sizes nor depth: those are ours. ``size_bytes``,
    ``depth`` are of each job. Latency runs from submission to completion.
    """

    pattern: Pattern = "randread"
    engine: Engine = "libaio"
    depth: int = 64
    jobs: int = 1
    block_bytes: int = 4096
    size_bytes: int = 2**30
    direct: bool = True
    time_s: float = 30

    metrics = (THROUGHPUT, REQUESTS, *MEAN.values(), *P99.values(), TOOL_DURATION)
    packages = ("fio",)

    def __post_init__(self) -> None:
        one_of(self, pattern=Pattern, engine=Engine)
        at_least(self, depth=1, jobs=1, block_bytes=1, size_bytes=self.block_bytes)
        if self.time_s < 0.1:
            raise ValueError(f"time_s: {self.time_s} was given; expected 0.1 or more")
        if self.engine == "psync" and self.depth > 1:
            # fio would cap it and go on, and the cell would be named after a depth it never had.
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
        queue = [f"--ioengine={self.engine}", f"--iodepth={self.depth}"]
        bound = ["--time_based", f"--runtime={self.time_s * 1000:.0f}ms"]
        # Missing files are an error, not something to lay while the clock runs.
        files = ["--overwrite=1", "--allow_file_create=0"]
        # With fio's fixed seed every trial would ask for the same blocks, which a cache below has.
        draw = "--randrepeat=0"
        # clat begins after submission, which is where a sandbox or a guest's driver may spend it.
        latency = ["--clat_percentiles=0", "--lat_percentiles=1", "--percentile_list=99"]
        # How busy a disk seems from inside cannot be compared between stacks.
        report = ["--group_reporting", "--disk_util=0", "--eta=never", "--output-format=json"]
        return ["fio", *self._files(), *how, *queue, *bound, *files, draw, *latency, *report]

    def parse(self, output: workload.Output) -> Iterator[Sample]:
        """See Workload.parse."""
        text = output.stdout
        try:
            # Warnings may stand before the report.
            start = text.index("{\n")
            (job,) = json.JSONDecoder().raw_decode(text, start)[0]["jobs"]
            if job["error"]:
                raise OutputNotUnderstood(f"job without error (fio says {job['error']})", text)
            sides = [_Side(side, job[side]) for side in SIDES[self.pattern]]
        except (ValueError, LookupError, TypeError) as error:
            raise OutputNotUnderstood("whole report of one fio job", text) from error
        duration_s = max(side.duration_s for side in sides)
        # fio that is interrupted reports what it has, in the same form.
        if duration_s < 0.9 * self.time_s or not all(side.agrees() for side in sides):
            raise OutputNotUnderstood(f"bytes that agree with rate and {self.time_s:g} s", text)
        yield Sample(THROUGHPUT, sum(side.bytes_per_s for side in sides))
        yield Sample(REQUESTS, sum(side.requests_per_s for side in sides))
        for side in sides:
            yield Sample(MEAN[side.name], side.mean_s)
            yield Sample(P99[side.name], side.p99_s)
        yield Sample(TOOL_DURATION, duration_s)

    def expected_s(self) -> float:
        """See Workload.expected_s."""
        return self.time_s + 2.0

    def disk_bytes(self) -> int:
        """See Workload.disk_bytes."""
        return self.size_bytes * self.jobs

    def _files(self) -> list[str]:
        return ["--name=tare", f"--size={self.size_bytes}", f"--numjobs={self.jobs}"]


class _Side:
    """The reading or the writing half of fio's report."""

    def __init__(self, name: str, report: Mapping[str, Any]) -> None:
        self.name = name
        self.total_bytes = float(report["io_bytes"])
        self.bytes_per_s = float(report["bw_bytes"])
        self.requests_per_s = float(report["iops"])
        self.duration_s = report["runtime"] / 1000
        self.mean_s = report["lat_ns"]["mean"] / 1e9
        self.p99_s = report["lat_ns"]["percentile"]["99.000000"] / 1e9

    def agrees(self) -> bool:
        """Say whether it did anything, and its total is its rate times its duration."""
        product = self.bytes_per_s * self.duration_s
        return self.total_bytes > 0 and isclose(self.total_bytes, product, rel_tol=0.01)
