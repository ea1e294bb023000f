"""Parse fio's JSON reports: metrics, consistency checks, and values over time.

Defined by fio 3.33 (HOWTO.rst). Everything that runs in one group is in one entry of the report.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isclose

from tare.core.errors import OutputNotUnderstood
from tare.core.model import Better, Metric, Sample, Unit
from tare.work.parsing import JsonPart, Latencies, agree, document_at
from tare.work.workload import TOOL_DURATION, Course

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
METRICS = (THROUGHPUT, REQUESTS, *MEAN.values(), *P99.values(), TOOL_DURATION)

REPORT = (
    # clat begins after submission, which is where a sandbox or a guest's driver may spend it.
    *("--clat_percentiles=0", "--lat_percentiles=1", "--percentile_list=99"),
    # How busy a disk seems from inside cannot be compared between stacks.
    *("--group_reporting", "--disk_util=0", "--eta=never", "--output-format=json"),
)

LEAST_S = 0.1
"""fio gives times in whole milliseconds: one is 1 % of this."""

BEFORE = "\n{\n"
"""What a report begins with; nothing inside of one is so far to the left."""


@dataclass(frozen=True, slots=True)
class Queue:
    """How many requests of how many bytes all jobs together have outstanding at a time."""

    depth: int
    block_bytes: int

    def check(self, sides: Sequence[_Side], duration_s: float, text: str) -> None:
        """Raise OutputNotUnderstood where bytes, requests and latencies are not of this queue."""
        known = [(side, side.latencies) for side in sides if side.latencies is not None]
        counts = [
            *((side.total_ios, side.total_bytes / self.block_bytes) for side in sides),
            *((side.total_ios, each.requests) for side, each in known),
        ]
        # Requests count when they are made, bytes and latencies when they are done; what is
        # outstanding at the end is waited for, unless the run is cut.
        if any(abs(made - done) > 0.01 * made + self.depth for made, done in counts):
            raise OutputNotUnderstood("requests that agree with bytes and latencies", text)
        # Little's law: no more were waiting than fit the queue. fio has the runtime, which is that
        # of the longest job, in whole milliseconds.
        waited_s = sum(each.requests * each.mean_s for _, each in known)
        if waited_s > self.depth * (1.02 * duration_s + 0.002):
            raise OutputNotUnderstood("latencies that agree with the depth and the time", text)


def reports(time_s: float) -> int:
    """Return how many reports a run of this length makes before it ends: about one a second."""
    return int(time_s - 0.5)


def about_each_second(time_s: float) -> list[str]:
    """Build the words that ask for these reports; none where the run is too short for one.

    A thread of fio's own makes them, of counters that the jobs keep anyway. It waits for each job's
    next request, and a job that ends meanwhile waits for the report: so a run ends in the middle
    between two of them.
    """
    count = reports(time_s)
    return [f"--status-interval={1000 * time_s / (count + 0.5):.0f}ms"] if count > 0 else []


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a run was asked for, and has to have done.

    ``sides`` are of "read" and "write"; None takes what it did. ``least_s`` is how long it has to
    have run, ``whole_bytes`` what it has to have moved, where that is fixed, and ``queue`` what was
    outstanding at a time, where that is known. Requests that are not ``timed`` have no latencies.
    """

    sides: Sequence[str] | None = None
    least_s: float = 0
    queue: Queue | None = None
    whole_bytes: int | None = None
    timed: bool = True


def samples(text: str, asked: Asked) -> Iterator[Sample]:
    """Read the last report, of one group, or raise OutputNotUnderstood.

    Rates are over the time of the longer side: the other then rests.
    """
    # Warnings may stand before it.
    group, _ = _group(text, f"\n{text}".rfind(BEFORE), "whole report of one fio job")
    if error := group.count("error"):
        raise OutputNotUnderstood(f"job without error (fio says {error})", text)
    sides = asked.sides
    if sides is None:
        sides = [side for side in MEAN if group.count(side, "io_bytes")]
    found = [_Side(side, group.at(side), timed=asked.timed) for side in sides]
    if not found:
        raise OutputNotUnderstood("bytes that were read or written", text)
    duration_s = max(side.duration_s for side in found)
    # fio that is interrupted reports what it has, in the same form.
    if duration_s < asked.least_s or not all(side.agrees() for side in found):
        wanted = f"bytes that agree with rate and {asked.least_s:g} s or more"
        raise OutputNotUnderstood(wanted, text)
    for side in found:
        side.check(text)
    if asked.queue is not None:
        asked.queue.check(found, duration_s, text)
    total_bytes = sum(side.total_bytes for side in found)
    if asked.whole_bytes is not None and total_bytes != asked.whole_bytes:
        wanted = f"bytes that agree with the {asked.whole_bytes} of all files"
        raise OutputNotUnderstood(wanted, text)
    yield Sample(THROUGHPUT, total_bytes / duration_s)
    yield Sample(REQUESTS, sum(side.requests for side in found) / duration_s)
    for side in found:
        if side.latencies is not None:
            yield Sample(MEAN[side.name], side.latencies.mean_s)
            yield Sample(P99[side.name], side.latencies.quantiles_s[99])
    yield Sample(TOOL_DURATION, duration_s)


def courses(text: str, sides: Sequence[str], time_s: float) -> Iterator[Course]:
    """Read what happened between the reports, each of which counts from the run's begin.

    Requests are left out: of blocks of one size they would be the throughput once more. fio reads
    latencies after each job's next request and bytes before it, so one that stalls is in a latency
    earlier than in the throughput. Raises OutputNotUnderstood where a run that was long enough has
    no reports before the last.
    """
    # The run's end cuts the last interval short.
    every = [_Reading.of(group, sides) for group in _groups(text)][:-1]
    # Before the first request is done fio gives no time.
    known = [_Reading(0.0, 0.0, dict.fromkeys(sides, (0.0, 0.0))), *(r for r in every if r.time_s)]
    # All are counters from the run's begin on.
    grows = all(before.precedes(after) for before, after in pairwise(known))
    if not grows or (not every and reports(time_s) > 0):
        raise OutputNotUnderstood("reports of a run's seconds that follow each other", text)
    both = list(pairwise(known))
    if both:
        rates = [
            (after.total_bytes - before.total_bytes) / (after.time_s - before.time_s)
            for before, after in both
        ]
        times_s = [after.time_s for _, after in both]
        yield Course(metric=THROUGHPUT, times_s=times_s, values=rates)
    for side in sides:
        some = {
            after.time_s: _mean_s(before.done[side], after.done[side]) for before, after in both
        }
        points = {end_s: mean_s for end_s, mean_s in some.items() if mean_s is not None}
        if points:
            yield Course(metric=MEAN[side], times_s=[*points], values=[*points.values()])


def _groups(text: str) -> Iterator[JsonPart]:
    """Read each report's only group, from the first on."""
    from_its_line = f"\n{text}"
    start = from_its_line.find(BEFORE)
    while start >= 0:
        group, end = _group(text, start, "whole reports of a run's seconds")
        yield group
        start = from_its_line.find(BEFORE, end)


def _group(text: str, start: int, wanted: str) -> tuple[JsonPart, int]:
    """Read the only group of the report that begins at a place, and where the report ends."""
    if start < 0:
        raise OutputNotUnderstood(wanted, text)
    report, end = document_at(text, start, wanted)
    groups = report.parts("jobs")
    if len(groups) != 1:
        raise OutputNotUnderstood(wanted, text)
    return groups[0], end


def _mean_s(before: tuple[float, float], after: tuple[float, float]) -> float | None:
    """Return the mean latency of the requests between two readings; of none there is none."""
    requests, latency_s = (late - early for early, late in zip(before, after, strict=True))
    return latency_s / requests if requests else None


@dataclass(frozen=True, slots=True)
class _Reading:
    """Counters at a moment: bytes of all sides; how many requests of each are done, and in all."""

    time_s: float
    total_bytes: float
    done: Mapping[str, tuple[float, float]]

    def precedes(self, other: _Reading) -> bool:
        """Return whether another reading may be a later one; what was done took some time."""
        return (
            self.time_s < other.time_s
            and self.total_bytes <= other.total_bytes
            and all(
                done == other.done[side]
                or (done[0] < other.done[side][0] and done[1] < other.done[side][1])
                for side, done in self.done.items()
            )
        )

    @classmethod
    def of(cls, group: JsonPart, sides: Sequence[str]) -> _Reading:
        """Read them out of a report."""
        some = {side: group.at(side) for side in sides}
        done = {side: float(one.count("lat_ns", "N")) for side, one in some.items()}
        return cls(
            time_s=max(one.number("runtime") for one in some.values()) / 1000,
            total_bytes=float(sum(one.count("io_bytes") for one in some.values())),
            done={
                side: (done[side], done[side] * one.number("lat_ns", "mean") / 1e9)
                for side, one in some.items()
            },
        )


CLASSES = 1 / 64
"""Of fio's classes of latencies: each is so wide, and a percentile is the middle of its class."""


class _Side:
    """The reading or the writing half of fio's report."""

    def __init__(self, name: str, report: JsonPart, *, timed: bool) -> None:
        self.name = name
        self.total_bytes = report.count("io_bytes")
        self.bytes_per_s = report.number("bw_bytes")
        self.duration_s = report.number("runtime") / 1000
        self.total_ios = report.count("total_ios")
        self.ios_per_s = report.number("iops")
        self.requests = self.ios_per_s * self.duration_s
        self.latencies = _latencies(report.at("lat_ns")) if timed else None

    def agrees(self) -> bool:
        """Return whether it did anything, and its total is its rate times its duration.

        Both are made of one duration in whole milliseconds; the rate has no decimals.
        """
        product = self.bytes_per_s * self.duration_s
        is_total = isclose(self.total_bytes, product, rel_tol=0.01, abs_tol=self.duration_s)
        return self.total_bytes > 0 and is_total

    def check(self, text: str) -> None:
        """Raise OutputNotUnderstood where requests or latencies contradict the rest."""
        # The rate is made of this total and duration, and has six decimals.
        if not agree(self.total_ios, self.ios_per_s, self.duration_s):
            raise OutputNotUnderstood("requests that agree with rate and time", text)
        # A request moves a byte or more.
        if self.total_ios > self.total_bytes:
            raise OutputNotUnderstood("requests that agree with the bytes", text)
        if self.latencies is not None:
            self.latencies.check(text)


def _latencies(report: JsonPart) -> Latencies:
    least_s, mean_s, most_s = (report.number(key) / 1e9 for key in ("min", "mean", "max"))
    return Latencies(
        requests=report.count("N"),
        mean_s=mean_s,
        quantiles_s={99: report.number("percentile", "99.000000") / 1e9},
        least_s=least_s,
        most_s=most_s,
        relative=CLASSES,
    )
