"""sysbench cpu: prime numbers by trial division; all time is spent in user space, with no I/O.

One event tests every number up to ``max_prime`` (sysbench 1.0.20, src/tests/cpu/sb_cpu.c).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

from tare.core.model import Better, Metric, Sample, Unit
from tare.work import workload
from tare.work.parsing import number
from tare.work.workload import Course
from tare.work.workloads import at_least
from tare.work.workloads._sysbench import (
    EVERY_SECOND,
    GENERAL,
    LATENCY_P95,
    Time,
    bounds,
    check_time,
    check_work,
    course,
    general,
    per_second,
    results,
    seconds,
)

EVENTS = Metric("events", Unit.PER_SECOND, Better.HIGHER)


@dataclass(frozen=True, kw_only=True)
class Workload(workload.Workload):
    """Find primes with a number of threads for a number of seconds, or a number of times.

    The defaults are those of cole2022, which also used ``max_prime`` 100. Only whole events count:
    a trial should hold some hundreds of them. ``events`` ends it earlier where a stack is fast, 0
    does not. With ``time`` none it ends at ``events`` alone, and the time that they took is the
    primary metric: so did laine2017 (``max_prime`` 9999, 4 threads), which does not say how many
    events, and hpe2016.
    """

    max_prime: int = 100_000
    threads: int = 4
    time_s: Time = 30
    events: int = 0

    packages = ("sysbench",)
    recorded: ClassVar[Mapping[str, str]] = {"sysbench": "1.0.20"}

    def __post_init__(self) -> None:
        check_time(self.time_s)
        at_least(self, max_prime=3, threads=1, events=1 if self.time_s == "none" else 0)

    @property
    def metrics(self) -> tuple[Metric, ...]:  # type: ignore[override]  # which is first depends
        """See Workload.metrics."""
        return results((EVENTS, *GENERAL), self.time_s)

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        bound = bounds(self.threads, self.time_s, self.events)
        return ["sysbench", "cpu", f"--cpu-max-prime={self.max_prime}", *bound, EVERY_SECOND, "run"]

    def parse(self, output: workload.Output) -> Iterator[Sample]:
        """See Workload.parse."""
        text = output.stdout
        rate = number(r"events per second:\s+([\d.]+)$", text)
        yield from per_second(EVENTS, text)
        if self.time_s == "none":
            check_work(text, self.events)
        yield from general(text, rate)

    def courses(self, output: workload.Output) -> Iterator[Course]:
        """See Workload.courses."""
        rows = seconds(output.stdout, r"thds: \d+ eps: ([\d.]+) lat \(ms,95%\): ([\d.]+)")
        yield from course(EVENTS, ((second, rate) for second, rate, _ in rows))
        yield from course(LATENCY_P95, ((second, p95_ms / 1000) for second, _, p95_ms in rows))

    def expected_s(self) -> float:
        """See Workload.expected_s."""
        if self.time_s == "none":
            # Trial division goes up to the root; one CPU may have to do it all.
            event_s = 5e-10 * self.max_prime * sqrt(self.max_prime)
            return 1.0 + self.events * event_s
        return self.time_s + 1.0
