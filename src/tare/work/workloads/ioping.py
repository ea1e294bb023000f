"""ioping: how long one request to a disk takes, one after the other at random places of a file.

Defined by ioping 1.3 (ioping(1)). Unlike fio it rests between requests, as a disk mostly does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import floor
from statistics import mean, median, quantiles

from tare.core.errors import OutputNotUnderstood
from tare.core.model import Better, FileAccess, Metric, Sample, Unit
from tare.work import workload
from tare.work.parsing import CLOCKS_S, JsonPart, agree, document
from tare.work.workload import MOST_POINTS, TOOL_DURATION, Course
from tare.work.workloads import at_least

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
    do. aspernas2016 made 10 requests, 1 s apart. All defaults are Tare's but the block, which is
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
        requests, last = _listed(text, "whole list of requests and their statistics")
        stat, load = last.at("stat"), last.at("load")
        times_ns = [one.count("io", "time") for one in requests if not one.truth("io", "ignored")]
        counted = (len(times_ns), stat.count("count"), load.count("count") - 1)
        moved = (stat.count("size"), load.count("size") - self.block_bytes)
        duration_s = load.number("time") / 1e9
        if {*counted} != {self.requests} or {*moved} != {self.requests * self.block_bytes}:
            raise OutputNotUnderstood(f"counts that agree with {self.requests} requests", text)
        # One clock, to nanoseconds; of the rates bytes a second are whole.
        totals = (
            (load.count("count"), load.number("iops")),
            (load.count("size"), load.number("bps")),
        )
        agrees = all(agree(total, rate, duration_s) for total, rate in totals)
        if not agrees or sum(times_ns) != stat.count("time") or sum(times_ns) > load.count("time"):
            raise OutputNotUnderstood("rates and times that agree with the requests", text)
        # What its statistics say of the same times; a request that took none was not made.
        ends = [min(times_ns), max(times_ns)]
        if ends != [stat.count("min"), stat.count("max")] or not ends[0]:
            raise OutputNotUnderstood("latencies above 0 that agree with their statistics", text)
        yield Sample(MEAN, mean(times_ns) / 1e9)
        yield Sample(P50, median(times_ns) / 1e9)
        # Of fewer than a hundred it would only be the greatest.
        if self.requests >= 100:
            yield Sample(P99, quantiles(times_ns, n=100, method="inclusive")[98] / 1e9)
        yield Sample(REQUESTS, load.count("count") / duration_s)
        yield Sample(THROUGHPUT, load.count("size") / duration_s)
        yield Sample(TOOL_DURATION, duration_s)

    def courses(self, output: workload.Output) -> Iterator[Course]:
        """See Workload.courses; a request is of the second in which it ended."""
        text = output.stdout
        requests, last = _listed(text, "list of requests with their moments")
        begin_s, *moments_s = (one.number("timestamp") for one in requests)
        ended_s = [moment_s - begin_s for moment_s in moments_s]
        first_s, *took_s = (one.number("io", "time") / 1e9 for one in requests)
        if not all(took_s):
            raise OutputNotUnderstood("latencies of requests above 0", text)
        # They are the wall clock's, which may be set meanwhile.
        if ended_s != sorted(ended_s) or min(ended_s, default=0.0) < 0:
            raise OutputNotUnderstood("moments of requests that follow each other", text)
        # The duration is not: it counts from before the first request to the end of the last.
        duration_s, span_s = last.number("load", "time") / 1e9, first_s + max(ended_s, default=0.0)
        # Both clocks are slewed by 0.05 % at most; the rest is how far apart they are read.
        if abs(span_s - duration_s) > 0.01 * duration_s + CLOCKS_S or span_s > MOST_POINTS:
            raise OutputNotUnderstood(
                f"moments that agree with a run of {duration_s:.3f} s (the clock was set)", text
            )
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


def _listed(text: str, wanted: str) -> tuple[list[JsonPart], JsonPart]:
    """Read the list of all requests, the first one too, and what stands behind it."""
    whole, end, _ = text.rpartition("}]")
    every = document(whole + end, wanted, text).parts()
    if len(every) < 2:
        raise OutputNotUnderstood(wanted, text)
    return every[:-1], every[-1]
