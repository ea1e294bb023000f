"""sysbench fileio: reads or writes blocks in a set of files, in order or at random.

Defined by sysbench 1.0.20, src/tests/fileio/sb_fileio.c. An event is a read, a write or an fsync.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isclose
from typing import Literal

from tare import workload
from tare.errors import OutputNotUnderstood
from tare.model import Better, Metric, Sample, Unit
from tare.workload import number
from tare.workloads import at_least, one_of

Mode = Literal["seqwr", "rndwr", "seqrd", "rndrd"]

THROUGHPUT = Metric("throughput", Unit.BYTE_PER_SECOND, Better.HIGHER)
FSYNCS = Metric("fsyncs", Unit.PER_SECOND, Better.HIGHER)
LATENCY_MEAN = Metric("latency_mean", Unit.SECOND, Better.LOWER)
LATENCY_P95 = Metric("latency_p95", Unit.SECOND, Better.LOWER)
LATENCY_MAX = Metric("latency_max", Unit.SECOND, Better.LOWER)
TOOL_DURATION = Metric("tool_duration", Unit.SECOND, Better.LOWER)

MIB = 2**20


@dataclass(frozen=True, kw_only=True)
class Workload(workload.Workload):
    """Read or write prepared files with a number of threads for a number of seconds.

    The defaults are those of cole2022 (64 files, 2 GiB, 4 threads, 30 s), and sysbench's own where
    it is silent. All ``files`` are synced after every ``fsync_every`` writes; 0 syncs at the end
    only. Without ``direct`` reads come from the page cache wherever it holds ``total_bytes``.
    """

    mode: Mode = "seqwr"
    total_bytes: int = 2048 * MIB
    files: int = 64
    block_bytes: int = 16384
    fsync_every: int = 100
    direct: bool = False
    threads: int = 4
    time_s: int = 30

    metrics = (THROUGHPUT, FSYNCS, LATENCY_MEAN, LATENCY_P95, LATENCY_MAX, TOOL_DURATION)
    packages = ("sysbench",)

    def __post_init__(self) -> None:
        one_of(self, mode=Mode)
        at_least(self, files=1, block_bytes=1, fsync_every=0, threads=1, time_s=1)
        at_least(self, total_bytes=self.files * self.block_bytes)
        if self.direct and self.block_bytes % 512:
            raise ValueError(
                f"block_bytes: {self.block_bytes} was given; direct expects a multiple of 512"
            )

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
        bound = [f"--threads={self.threads}", f"--time={self.time_s}", "--events=0"]
        return ["sysbench", "fileio", *self._files(), *how, *sync, *flags, *bound, "run"]

    def parse(self, output: workload.Output) -> Iterator[Sample]:
        """See Workload.parse."""
        text = output.stdout
        requests = sum(number(rf"^ +{name}/s:\s+([\d.]+)$", text) for name in ("reads", "writes"))
        fsyncs = number(r"^ +fsyncs/s:\s+([\d.]+)$", text)
        printed = sum(number(rf"{name}, MiB/s:\s+([\d.]+)$", text) for name in ("read", "written"))
        duration_s = number(r"total time:\s+([\d.]+)s$", text)
        events = number(r"total number of events:\s+(\d+)$", text)
        # sysbench reads the clock for the rate and for the total at different moments.
        if not requests or not isclose(events, (requests + fsyncs) * duration_s, rel_tol=0.05):
            raise OutputNotUnderstood("total of events that agrees with rates and time", text)
        # Requests a second are printed to more digits than MiB/s, which only confirm them.
        throughput = requests * self.block_bytes
        if not isclose(throughput, printed * MIB, rel_tol=0.01, abs_tol=0.01 * MIB):
            raise OutputNotUnderstood("throughput that agrees with the requests", text)
        yield Sample(THROUGHPUT, throughput)
        if fsyncs:
            yield Sample(FSYNCS, fsyncs)
        # The printed mean has 0.01 ms; the sum gives more. What follows it shows that it is whole.
        latency_sum_ms = number(r"sum:\s+([\d.]+)\s+Threads fairness", text)
        yield Sample(LATENCY_MEAN, latency_sum_ms / events / 1000)
        for metric, label in ((LATENCY_P95, "95th percentile"), (LATENCY_MAX, "max")):
            # 0.00 means below the tool's resolution, not nothing.
            if latency_ms := number(rf"{label}:\s+([\d.]+)$", text):
                yield Sample(metric, latency_ms / 1000)
        yield Sample(TOOL_DURATION, duration_s)

    def expected_s(self) -> float:
        """See Workload.expected_s."""
        return self.time_s + 2.0

    def disk_bytes(self) -> int:
        """See Workload.disk_bytes."""
        return self.total_bytes

    def _files(self) -> list[str]:
        return [f"--file-num={self.files}", f"--file-total-size={self.total_bytes}"]
