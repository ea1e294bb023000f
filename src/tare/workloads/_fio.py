"""fio's report: its metrics, and whether it agrees with itself.

Defined by fio 3.33 (HOWTO.rst). Everything that runs in one group is in one entry of the report.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from math import isclose
from typing import Any

from tare.errors import OutputNotUnderstood
from tare.model import Better, Metric, Sample, Unit

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
METRICS = (THROUGHPUT, REQUESTS, *MEAN.values(), *P99.values(), TOOL_DURATION)

REPORT = (
    # clat begins after submission, which is where a sandbox or a guest's driver may spend it.
    *("--clat_percentiles=0", "--lat_percentiles=1", "--percentile_list=99"),
    # How busy a disk seems from inside cannot be compared between stacks.
    *("--group_reporting", "--disk_util=0", "--eta=never", "--output-format=json"),
)


def samples(text: str, sides: Sequence[str] | None = None, least_s: float = 0) -> Iterator[Sample]:
    """Read a report of one group, or raise OutputNotUnderstood.

    ``sides`` are what it must have done, of "read" and "write"; None takes what it did. It must
    have run for ``least_s``. Rates are over the time of the longer side: the other then rests.
    """
    try:
        # Warnings may stand before the report.
        start = text.index("{\n")
        (group,) = json.JSONDecoder().raw_decode(text, start)[0]["jobs"]
        if error := group["error"]:
            raise OutputNotUnderstood(f"job without error (fio says {error})", text)
        if sides is None:
            sides = [side for side in MEAN if group[side]["io_bytes"]]
        found = [_Side(side, group[side]) for side in sides]
    except (ValueError, LookupError, TypeError) as error:
        raise OutputNotUnderstood("whole report of one fio job", text) from error
    if not found:
        raise OutputNotUnderstood("bytes that were read or written", text)
    duration_s = max(side.duration_s for side in found)
    # fio that is interrupted reports what it has, in the same form.
    if duration_s < least_s or not all(side.agrees() for side in found):
        raise OutputNotUnderstood(f"bytes that agree with rate and {least_s:g} s or more", text)
    yield Sample(THROUGHPUT, sum(side.total_bytes for side in found) / duration_s)
    yield Sample(REQUESTS, sum(side.requests for side in found) / duration_s)
    for side in found:
        yield Sample(MEAN[side.name], side.mean_s)
        yield Sample(P99[side.name], side.p99_s)
    yield Sample(TOOL_DURATION, duration_s)


class _Side:
    """The reading or the writing half of fio's report."""

    def __init__(self, name: str, report: Mapping[str, Any]) -> None:
        self.name = name
        self.total_bytes = float(report["io_bytes"])
        self.bytes_per_s = float(report["bw_bytes"])
        self.duration_s = report["runtime"] / 1000
        self.requests = float(report["iops"]) * self.duration_s
        self.mean_s = report["lat_ns"]["mean"] / 1e9
        self.p99_s = report["lat_ns"]["percentile"]["99.000000"] / 1e9

    def agrees(self) -> bool:
        """Say whether it did anything, and its total is its rate times its duration."""
        product = self.bytes_per_s * self.duration_s
        return self.total_bytes > 0 and isclose(self.total_bytes, product, rel_tol=0.01)
