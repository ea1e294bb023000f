"""What sysbench prints the same for every test: its report, and a line for each second.

A thread of sysbench's own prints the lines. It reads counters that the workers keep anyway, so
asking for them changes nothing of what is measured.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal

from tare.errors import OutputNotUnderstood
from tare.model import Better, Metric, Sample, Unit
from tare.workload import TOOL_DURATION, Course, number

LATENCY_MEAN = Metric("latency_mean", Unit.SECOND, Better.LOWER)
LATENCY_P95 = Metric("latency_p95", Unit.SECOND, Better.LOWER)
LATENCY_MAX = Metric("latency_max", Unit.SECOND, Better.LOWER)
EVERY_SECOND = "--report-interval=1"
LEAST_S = 2.0
TOTAL_EVENTS = r"total number of events:\s+(\d+)$"
TOTAL_TIME = r"total time:\s+([\d.]+)s$"

GENERAL = (LATENCY_MEAN, LATENCY_P95, LATENCY_MAX, TOOL_DURATION)

Time = int | Literal["none"]
"""After how many seconds a run ends; with "none" it ends when a fixed amount of work is done."""


def results(metrics: tuple[Metric, ...], time_s: Time) -> tuple[Metric, ...]:
    """Return the metrics of a run, the primary one first: of fixed work that is its duration."""
    if time_s != "none":
        return metrics
    return (TOOL_DURATION, *(metric for metric in metrics if metric is not TOOL_DURATION))


def check_time(time_s: Time) -> None:
    """Raise ValueError unless a run's time is a whole second or more, or none."""
    if time_s != "none" and time_s < 1:
        raise ValueError(f"time_s: {time_s} was given; expected 1 or more, or none")


def bounds(threads: int, time_s: Time, events: int | None = None) -> list[str]:
    """Build the words that say when a run ends; 0 events are no bound, and None no word."""
    # 0 is sysbench's word for no bound by time.
    seconds = 0 if time_s == "none" else time_s
    until = [] if events is None else [f"--events={events}"]
    return [f"--threads={threads}", f"--time={seconds}", *until]


def check_work(text: str, events: int) -> None:
    """Raise OutputNotUnderstood where a run of fixed work did not do all of it, or more."""
    if number(TOTAL_EVENTS, text) != events:
        raise OutputNotUnderstood(f"total that agrees with the {events} events asked for", text)


def general(text: str, events_per_s: float, uncounted: int = 0) -> Iterator[Sample]:
    """Read latencies and duration; raise OutputNotUnderstood where totals and rate disagree.

    At most so many operations that the rate has are ``uncounted`` in the total of events.
    """
    duration_s = number(TOTAL_TIME, text)
    events = number(TOTAL_EVENTS, text)
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


def seconds(text: str, pattern: str) -> list[tuple[float, ...]]:
    """Read the line of each second: when it ended, and the numbers of the pattern's groups.

    A run of less than two seconds may end before the first line; of a longer one, and of lines of
    another form, raises OutputNotUnderstood.
    """
    begun = re.findall(r"^\[ \d+s \] ", text, re.MULTILINE)
    rows = re.findall(rf"^\[ (\d+)s \] {pattern}\n", text, re.MULTILINE)
    if len(rows) != len(begun) or (not rows and number(TOTAL_TIME, text) >= LEAST_S):
        raise OutputNotUnderstood("line for each second of the run", text)
    return [tuple(map(float, row)) for row in rows]


def course(metric: Metric, points: Iterable[tuple[float, float]]) -> Iterator[Course]:
    """Make a course of times and values; a latency of 0 is below what sysbench prints, and none."""
    is_time = metric.unit is Unit.SECOND
    known = [(time_s, value) for time_s, value in points if value or not is_time]
    if known:
        times_s, values = zip(*known, strict=True)
        yield Course(metric=metric, times_s=times_s, values=values)
