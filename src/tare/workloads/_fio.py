"""fio's report: its metrics, and whether it agrees with itself; what it said of the time before.

Defined by fio 3.33 (HOWTO.rst). Everything that runs in one group is in one entry of the report.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isclose
from typing import Any

from tare.errors import OutputNotUnderstood
from tare.model import Better, Metric, Sample, Unit
from tare.workload import TOOL_DURATION, Course

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


def reports(time_s: float) -> int:
    """Say how many reports a run of so many seconds makes before it ends: about one a second."""
    return int(time_s - 0.5)


def about_each_second(time_s: float) -> list[str]:
    """Build the words that ask for these reports; none where the run is too short for one.

    A thread of fio's own makes them, of counters that the jobs keep anyway. It waits for each job's
    next request, and a job that ends meanwhile waits for the report: so a run ends in the middle
    between two of them.
    """
    count = reports(time_s)
    return [f"--status-interval={1000 * time_s / (count + 0.5):.0f}ms"] if count > 0 else []


def samples(
    text: str,
    sides: Sequence[str] | None = None,
    least_s: float = 0,
    *,
    whole_bytes: int | None = None,
    timed: bool = True,
) -> Iterator[Sample]:
    """Read the last report, of one group, or raise OutputNotUnderstood.

    ``sides`` are what it must have done, of "read" and "write"; None takes what it did. It must
    have run for ``least_s``, and moved ``whole_bytes`` unless that is None. Requests that were not
    ``timed`` have no latencies. Rates are over the time of the longer side: the other then rests.
    """
    try:
        # Warnings may stand before it.
        (group,) = json.JSONDecoder().raw_decode(text, f"\n{text}".rindex(BEFORE))[0]["jobs"]
        if error := group["error"]:
            raise OutputNotUnderstood(f"job without error (fio says {error})", text)
        if sides is None:
            sides = [side for side in MEAN if group[side]["io_bytes"]]
        found = [_Side(side, group[side], timed) for side in sides]
    except (ValueError, LookupError, TypeError) as error:
        raise OutputNotUnderstood("whole report of one fio job", text) from error
    if not found:
        raise OutputNotUnderstood("bytes that were read or written", text)
    duration_s = max(side.duration_s for side in found)
    # fio that is interrupted reports what it has, in the same form.
    if duration_s < least_s or not all(side.agrees() for side in found):
        raise OutputNotUnderstood(f"bytes that agree with rate and {least_s:g} s or more", text)
    total_bytes = sum(side.total_bytes for side in found)
    if whole_bytes is not None and total_bytes != whole_bytes:
        raise OutputNotUnderstood(f"bytes that agree with the {whole_bytes} of all files", text)
    yield Sample(THROUGHPUT, total_bytes / duration_s)
    yield Sample(REQUESTS, sum(side.requests for side in found) / duration_s)
    for side in found if timed else ():
        yield Sample(MEAN[side.name], side.mean_s)
        yield Sample(P99[side.name], side.p99_s)
    yield Sample(TOOL_DURATION, duration_s)


def courses(text: str, sides: Sequence[str], time_s: float) -> Iterator[Course]:
    """Read what happened between the reports, each of which counts from the run's begin.

    Requests are left out: of blocks of one size they would be the throughput once more. fio reads
    latencies after each job's next request and bytes before it, so one that stalls is in a latency
    earlier than in the throughput. Raises OutputNotUnderstood where a run that was long enough has
    no reports before the last.
    """
    try:
        # The run's end cuts the last interval short.
        every = [_Reading.of(group, sides) for group in _groups(text)][:-1]
    except (ValueError, LookupError, TypeError) as error:
        raise OutputNotUnderstood("whole reports of a run's seconds", text) from error
    # Before the first request is done fio gives no time.
    known = [_Reading(0.0, 0.0, dict.fromkeys(sides, (0.0, 0.0))), *(r for r in every if r.time_s)]
    grows = all(before.time_s < after.time_s for before, after in pairwise(known))
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


def _groups(text: str) -> Iterator[Mapping[str, Any]]:
    """Read each report's only group, from the first on."""
    from_its_line = f"\n{text}"
    start = from_its_line.find(BEFORE)
    while start >= 0:
        report, end = json.JSONDecoder().raw_decode(text, start)
        (group,) = report["jobs"]
        yield group
        start = from_its_line.find(BEFORE, end)


def _mean_s(before: tuple[float, float], after: tuple[float, float]) -> float | None:
    """Give the mean latency of the requests between two readings; of none there is none."""
    requests, latency_s = (late - early for early, late in zip(before, after, strict=True))
    return latency_s / requests if requests else None


@dataclass(frozen=True, slots=True)
class _Reading:
    """Counters at a moment: bytes of all sides; how many requests of each are done, and in all."""

    time_s: float
    total_bytes: float
    done: Mapping[str, tuple[float, float]]

    @classmethod
    def of(cls, group: Mapping[str, Any], sides: Sequence[str]) -> _Reading:
        """Read them out of a report."""
        some = [group[side] for side in sides]
        latencies = {side: group[side]["lat_ns"] for side in sides}
        return cls(
            time_s=max(side["runtime"] for side in some) / 1000,
            total_bytes=float(sum(side["io_bytes"] for side in some)),
            done={
                side: (float(of["N"]), of["N"] * of["mean"] / 1e9) for side, of in latencies.items()
            },
        )


class _Side:
    """The reading or the writing half of fio's report."""

    def __init__(self, name: str, report: Mapping[str, Any], timed: bool) -> None:
        self.name = name
        self.total_bytes = float(report["io_bytes"])
        self.bytes_per_s = float(report["bw_bytes"])
        self.duration_s = report["runtime"] / 1000
        self.requests = float(report["iops"]) * self.duration_s
        if timed:
            self.mean_s = report["lat_ns"]["mean"] / 1e9
            self.p99_s = report["lat_ns"]["percentile"]["99.000000"] / 1e9

    def agrees(self) -> bool:
        """Say whether it did anything, and its total is its rate times its duration."""
        product = self.bytes_per_s * self.duration_s
        return self.total_bytes > 0 and isclose(self.total_bytes, product, rel_tol=0.01)
