"""sysbench cpu: prime numbers by trial division; all time is spent in user space, with no I/O.

One event tests every number up to ``max_prime`` (sysbench 1.0.20, src/tests/cpu/sb_cpu.c).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isclose

from tare import workload
from tare.errors import OutputNotUnderstood
from tare.model import Better, Metric, Sample, Unit
from tare.workload import number
from tare.workloads import at_least

EVENTS = Metric("events", Unit.PER_SECOND, Better.HIGHER)
LATENCY_MEAN = Metric("latency_mean", Unit.SECOND, Better.LOWER)
LATENCY_P95 = Metric("latency_p95", Unit.SECOND, Better.LOWER)
LATENCY_MAX = Metric("latency_max", Unit.SECOND, Better.LOWER)
TOOL_DURATION = Metric("tool_duration", Unit.SECOND, Better.LOWER)


@dataclass(frozen=True, kw_only=True)
class Workload(workload.Workload):
    """Find primes with a number of threads for a number of seconds.

    The defaults are those of cole2022, which also used ``max_prime`` 100. Only whole events count:
    a trial should hold some hundreds of them. ``events`` ends it earlier where a stack is fast, 0
    does not.
    """

    max_prime: int = 100_000
    threads: int = 4
    time_s: int = 30
    events: int = 0

    metrics = (EVENTS, LATENCY_MEAN, LATENCY_P95, LATENCY_MAX, TOOL_DURATION)
    packages = ("sysbench",)

    def __post_init__(self) -> None:
        at_least(self, max_prime=3, threads=1, time_s=1, events=0)

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        # Time always bounds it: a slow stack then costs the plan no more time.
        bound = [f"--threads={self.threads}", f"--time={self.time_s}", f"--events={self.events}"]
        return ["sysbench", "cpu", f"--cpu-max-prime={self.max_prime}", *bound, "run"]

    def parse(self, output: workload.Output) -> Iterator[Sample]:
        """See Workload.parse."""
        text = output.stdout
        rate = number(r"events per second:\s+([\d.]+)$", text)
        duration_s = number(r"total time:\s+([\d.]+)s$", text)
        events = number(r"total number of events:\s+(\d+)$", text)
        # sysbench reads the clock for the rate and for the total at different moments.
        if not events or not isclose(events, rate * duration_s, rel_tol=0.05):
            raise OutputNotUnderstood("total of events that agrees with rate and time", text)
        yield Sample(EVENTS, rate)
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
        return self.time_s + 1.0
