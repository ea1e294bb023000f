"""ioping: how long one request to a disk takes, one after the other at random places of a file.

Defined by ioping 1.3 (ioping(1)). Unlike fio it rests between requests, as a disk mostly does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import floor, isclose
from statistics import mean, median, quantiles

from tare import workload
from tare.errors import OutputNotUnderstood
from tare.model import Better, FileAccess, Metric, Sample, Unit
from tare.workload import TOOL_DURATION, Course
from tare.workloads import at_least

MEAN = Metric("latency_mean", Unit.SECOND, Better.LOWER)
P50 = Metric("latency_p50", Unit.SECOND, Better.LOWER)
P99 = Metric("latency_p99", Unit.SECOND, Better.LOWER)
REQUESTS = Metric("requests", Unit.PER_SECOND, Better.HIGHER)
THROUGHPUT = Metric("throughput", Unit.BYTE_PER_SECOND, Better.HIGHER)

MIB = 2**20


@dataclass(frozen=True, kw_only=True)
class Workload(workload.Workload):
    """Make a number of requests of ``block_bytes``, with a rest of ``interval_s`` between them.

    Unless ``cached``, what the page cache holds of a block is dropped before its request, and a
    write is followed by a sync, which is part of its latency. Requests a second and throughput are
    over all the time, rests included: only with ``interval_s`` of 0 do they say what the disk can
    do. aspernas2016 made 10 requests, 1 s apart. All defaults are ours but the block, which is
    ioping's.
    """

    write: bool = False
    direct: bool = True
    cached: bool = False
    requests: int = 1000
    interval_s: float = 0.01
    block_bytes: int = 4096
    size_bytes: int = 256 * MIB

    metrics = (MEAN, P50, P99, REQUESTS, THROUGHPUT, TOOL_DURATION)
    packages = ("ioping",)
    recorded = {"ioping": "1.3"}

    def __post_init__(self) -> None:
        at_least(self, requests=1, interval_s=0, block_bytes=1)
        at_least(self, size_bytes=max(MIB, self.block_bytes))
        if self.size_bytes % MIB:
            raise ValueError(f"size_bytes: {self.size_bytes} was given; expected whole MiB")
        if self.direct and self.cached:
            raise ValueError("cached: True was given; direct expects False")
        if self.direct and self.block_bytes % 512:
            raise ValueError(
                f"block_bytes: {self.block_bytes} was given; direct expects a multiple of 512"
            )

    def prepare(self) -> Sequence[str]:
        """See Workload.prepare."""
        # Random bytes, lest storage below keep a file of zeros as a hole and read it from nowhere.
        lay = ["bs=1M", f"count={self.size_bytes // MIB}", "conv=fsync", "status=none"]
        return ["dd", "if=/dev/urandom", "of=ioping.dat", *lay]

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        flags = {"-D": self.direct, "-C": self.cached, "-WWW": self.write}
        how = [flag for flag, given in flags.items() if given]
        # The first request is not counted: it pays for what the file's opening left undone.
        count = ["-a", "1", "-c", str(self.requests + 1), "-i", f"{self.interval_s * 1e6:.0f}us"]
        what = ["-s", str(self.block_bytes), "-S", str(self.size_bytes)]
        return ["ioping", "-J", *how, *count, *what, "ioping.dat"]

    def parse(self, output: workload.Output) -> Iterator[Sample]:
        """See Workload.parse."""
        text = output.stdout
        try:
            *every, last = json.loads(text[: text.rindex("}]") + 2])
            stat, load = last["stat"], last["load"]
            times_ns = [one["io"]["time"] for one in every if not one["io"]["ignored"]]
            counted = (len(times_ns), stat["count"], load["count"] - 1)
            moved = (stat["size"], load["size"] - self.block_bytes)
            sums = (sum(times_ns), stat["time"])
            duration_s = load["time"] / 1e9
            rates = (load["iops"] * duration_s, load["bps"] * duration_s / self.block_bytes)
        except (ValueError, LookupError, TypeError) as error:
            raise OutputNotUnderstood(
                "whole list of requests and their statistics", text
            ) from error
        if {*counted} != {self.requests} or {*moved} != {self.requests * self.block_bytes}:
            raise OutputNotUnderstood(f"counts that agree with {self.requests} requests", text)
        agree = all(isclose(rate, load["count"], rel_tol=0.01) for rate in rates)
        if not agree or sums[0] != sums[1] or not 0 < sums[0] <= load["time"]:
            raise OutputNotUnderstood("rates and times that agree with the requests", text)
        yield Sample(MEAN, mean(times_ns) / 1e9)
        yield Sample(P50, median(times_ns) / 1e9)
        # Of fewer than a hundred it would only be the greatest.
        if self.requests >= 100:
            yield Sample(P99, quantiles(times_ns, n=100, method="inclusive")[98] / 1e9)
        yield Sample(REQUESTS, load["count"] / duration_s)
        yield Sample(THROUGHPUT, load["size"] / duration_s)
        yield Sample(TOOL_DURATION, duration_s)

    def courses(self, output: workload.Output) -> Iterator[Course]:
        """See Workload.courses; a request is of the second in which it ended."""
        text = output.stdout
        try:
            begin, *every = json.loads(text[: text.rindex("}]") + 2])[:-1]
            ended_s = [one["timestamp"] - begin["timestamp"] for one in every]
            took_s = [one["io"]["time"] / 1e9 for one in every]
        except (ValueError, LookupError, TypeError) as error:
            raise OutputNotUnderstood("list of requests with their moments", text) from error
        # They are the wall clock's, which may be set meanwhile.
        if ended_s != sorted(ended_s) or min(ended_s, default=0.0) < 0:
            raise OutputNotUnderstood("moments of requests that follow each other", text)
        by_second: dict[int, list[float]] = {}
        for end_s, time_s in zip(ended_s, took_s, strict=True):
            by_second.setdefault(floor(end_s), []).append(time_s)
        # The last second is not whole; in one with a stall no request ends, and none has a time.
        ends = range(1, 1 + max(by_second, default=0))
        some = [end for end in ends if end - 1 in by_second]
        if some:
            for metric, middle in ((MEAN, mean), (P50, median)):
                values = [middle(by_second[end - 1]) for end in some]
                yield Course(metric=metric, times_s=some, values=values)
            counts = [len(by_second.get(end - 1, ())) for end in ends]
            yield Course(metric=REQUESTS, times_s=ends, values=counts)

    def expected_s(self) -> float:
        """See Workload.expected_s."""
        slow_request_s = 0.001
        return 1.0 + self.requests * (self.interval_s + slow_request_s)

    def file_access(self) -> FileAccess:
        """See Workload.file_access."""
        return FileAccess.DIRECT if self.direct else FileAccess.CACHED

    def disk_bytes(self) -> int:
        """See Workload.disk_bytes."""
        return self.size_bytes
