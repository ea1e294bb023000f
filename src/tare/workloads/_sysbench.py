"""The part of its report that sysbench prints the same for every test."""

from __future__ import annotations

from collections.abc import Iterator

from tare.errors import OutputNotUnderstood
from tare.model import Better, Metric, Sample, Unit
from tare.workload import number

LATENCY_MEAN = Metric("latency_mean", Unit.SECOND, Better.LOWER)
LATENCY_P95 = Metric("latency_p95", Unit.SECOND, Better.LOWER)
LATENCY_MAX = Metric("latency_max", Unit.SECOND, Better.LOWER)
TOOL_DURATION = Metric("tool_duration", Unit.SECOND, Better.LOWER)
GENERAL = (LATENCY_MEAN, LATENCY_P95, LATENCY_MAX, TOOL_DURATION)


def general(text: str, events_per_s: float, uncounted: int = 0) -> Iterator[Sample]:
    """Read latencies and duration; raise OutputNotUnderstood where totals and rate disagree.

    At most so many operations that the rate has are ``uncounted`` in the total of events.
    """
    duration_s = number(r"total time:\s+([\d.]+)s$", text)
    events = number(r"total number of events:\s+(\d+)$", text)
    # sysbench reads the clock for the rate and for the total at different moments.
    done = events_per_s * duration_s
    if not events or not 0.95 * events <= done <= 1.05 * (events + uncounted):
        raise OutputNotUnderstood("total of events that agrees with rate and time", text)
    # The printed mean has 0.01 ms; the sum gives more. What follows it shows that it is whole.
    latency_sum_ms = number(r"sum:\s+([\d.]+)\s+Threads fairness", text)
    yield Sample(LATENCY_MEAN, latency_sum_ms / events / 1000)
    for metric, label in ((LATENCY_P95, "95th percentile"), (LATENCY_MAX, "max")):
        # 0.00 means below the tool's resolution, not nothing.
        if latency_ms := number(rf"{label}:\s+([\d.]+)$", text):
            yield Sample(metric, latency_ms / 1000)
    yield Sample(TOOL_DURATION, duration_s)
