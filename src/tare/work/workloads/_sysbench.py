"""What all sysbench workloads share: parsing the report and the line of each second.

A thread of sysbench's own prints the lines. It reads counters that the workers keep anyway, so
asking for them changes nothing of what is measured.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal

from tare.core.errors import OutputNotUnderstood
from tare.core.model import Better, Metric, Sample, Unit
from tare.work.parsing import CLOCKS_S, Latencies, agree, number, rows
from tare.work.workload import TOOL_DURATION, Course

LATENCY_MEAN = Metric("latency_mean", Unit.SECOND, Better.LOWER)
LATENCY_P95 = Metric("latency_p95", Unit.SECOND, Better.LOWER)
LATENCY_MAX = Metric("latency_max", Unit.SECOND, Better.LOWER)
EVERY_SECOND = "--report-interval=1"
LEAST_S = 2.0
SHORTEST_S = 0.005
"""sysbench prints its time to 0.1 ms, of which half is 1 % of this."""
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

    Up to ``uncounted`` operations of the rate may be missing in the total of events.
    """
    duration_s = number(TOTAL_TIME, text)
    events = number(TOTAL_EVENTS, text)
    if not is_done(events, events_per_s, duration_s, uncounted):
        raise OutputNotUnderstood("total of events that agrees with rate and time", text)
    # The printed mean has 0.01 ms; the sum gives more. What follows it shows that it is whole.
    latency_sum_s = number(r"sum:\s+([\d.]+)\s+Threads fairness", text) / 1000
    mean_s, p95_s, max_s = (
        latency_sum_s / events,
        *(number(rf"{label}:\s+([\d.]+)$", text) / 1000 for label in ("95th percentile", "max")),
    )
    _check_threads(text, events, latency_sum_s, duration_s)
    # 0.00 means below the tool's resolution, not nothing. A percentile is the end of a class of
    # latencies, of which each is 1.8 % wide; half of the last printed decimal is 5 us.
    Latencies(
        requests=events,
        mean_s=mean_s,
        quantiles_s={95: p95_s} if p95_s else {},
        most_s=max_s,
        relative=0.02,
        absolute_s=5.1e-6,
    ).check(text)
    yield Sample(LATENCY_MEAN, mean_s)
    for metric, latency_s in ((LATENCY_P95, p95_s), (LATENCY_MAX, max_s)):
        if latency_s:
            yield Sample(metric, latency_s)
    yield Sample(TOOL_DURATION, duration_s)


def per_second(metric: Metric, text: str, each: float = 1.0) -> Iterator[Sample]:
    """Make a rate of the total of events and the whole time, each of them worth so much.

    The rate that sysbench prints rests on a later reading of its clock, and only confirms.
    """
    events, duration_s = number(TOTAL_EVENTS, text), number(TOTAL_TIME, text)
    if not events or duration_s < SHORTEST_S:
        wanted = f"events for {SHORTEST_S} s or more, which takes more of them"
        raise OutputNotUnderstood(wanted, text)
    yield Sample(metric, events * each / duration_s)


def is_done(events: float, events_per_s: float, duration_s: float, uncounted: int = 0) -> bool:
    """Return whether a total of events agrees with rate and time.

    sysbench reads its clock for the rate after it has stopped the one for the total, so that the
    rate is lower. A thread that has to wait for its CPU in between is milliseconds late: of a run
    of a tenth of a second that is several per cent.
    """
    done = events_per_s * duration_s
    late = events_per_s * CLOCKS_S
    return 0 < events <= (done + late) / 0.95 and done <= 1.05 * (events + uncounted)


def _check_threads(text: str, events: float, latency_sum_s: float, duration_s: float) -> None:
    """Raise OutputNotUnderstood where what each thread did is not the whole."""
    threads = number(r"^Number of threads: (\d+)$", text)
    each = number(r"events \(avg/stddev\):\s+([\d.]+)/[\d.]+$", text)
    busy_s = number(r"execution time \(avg/stddev\):\s+([\d.]+)/[\d.]+$", text)
    # Four decimals of a thread's; the sum has two of a millisecond.
    is_sum = agree(latency_sum_s, threads, busy_s, apart_s=0.6e-4)
    is_total = agree(events, threads, each, apart_s=1e-4 + 0.5 / threads if threads else 0.0)
    # A thread is busy within the run, by one clock.
    if not is_sum or not is_total or busy_s > 1.05 * duration_s + CLOCKS_S:
        raise OutputNotUnderstood("threads that agree with events, latencies and time", text)


def seconds(text: str, pattern: str) -> list[tuple[float, ...]]:
    """Read the line of each second: when it ended, and the numbers of the pattern's groups.

    A run of less than two seconds may end before the first line; of a longer one, and of lines of
    another form, raises OutputNotUnderstood.
    """
    begun = re.findall(r"^\[ \d+s \] ", text, re.MULTILINE)
    found, duration_s = rows(rf"^\[ (\d+)s \] {pattern}\n", text), number(TOTAL_TIME, text)
    if len(found) != len(begun) or (not found and duration_s >= LEAST_S):
        raise OutputNotUnderstood("line for each second of the run", text)
    times_s = [row[0] for row in found]
    # A line's time is rounded to the whole second.
    is_within = not times_s or (times_s[0] > 0 and times_s[-1] <= duration_s + 0.5 + CLOCKS_S)
    if times_s != sorted(times_s) or not is_within:
        raise OutputNotUnderstood("seconds that follow each other within the run", text)
    # A line that comes late, at 2.6 s, is of the same whole second as the next, at 3.0 s. Like the
    # rest of a second at a run's end, the interval between them is cut short, and left out.
    return [row for row, before in zip(found, [0.0, *times_s], strict=False) if row[0] > before]


def course(metric: Metric, points: Iterable[tuple[float, float]]) -> Iterator[Course]:
    """Make a course of times and values; a latency of 0 is below what sysbench prints, and none."""
    is_time = metric.unit is Unit.SECOND
    known = [(time_s, value) for time_s, value in points if value or not is_time]
    if known:
        times_s, values = zip(*known, strict=True)
        yield Course(metric=metric, times_s=times_s, values=values)
