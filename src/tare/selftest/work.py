"""Work whose amount is known: a fixed number of sysbench's events, and a part more of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tare import workload
from tare.errors import OutputNotUnderstood
from tare.model import Sample
from tare.workload import number
from tare.workloads._sysbench import TOOL_DURATION

NAME = "injected_work"
AT_MOST_S = 60


@dataclass(frozen=True, kw_only=True)
class Work(workload.Workload):
    """One thread tests numbers up to ``max_prime`` for being prime, ``events`` times.

    ``injected`` is the part by which it does more of that; None marks the baseline. The primary
    metric is the time that all of it takes, so that the truth is the injected part itself.
    """

    events: int
    max_prime: int = 10_000
    injected: float | None = None

    metrics = (TOOL_DURATION,)
    # Those of the default study: its userland and guest, which take a minute to build, serve both.
    packages = ("fio", "sysbench")

    @property
    def total(self) -> int:
        """How many events there are in all."""
        return round(self.events * (1 + (self.injected or 0.0)))

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        bound = [f"--time={AT_MOST_S}", f"--events={self.total}", "--threads=1"]
        return ["sysbench", "cpu", f"--cpu-max-prime={self.max_prime}", *bound, "run"]

    def parse(self, output: workload.Output) -> Iterator[Sample]:
        """See Workload.parse; a run that ended before its last event is none."""
        text = output.stdout
        if number(r"total number of events:\s+(\d+)$", text) != self.total:
            raise OutputNotUnderstood(f"all of {self.total} events", text)
        yield Sample(TOOL_DURATION, number(r"total time:\s+([\d.]+)s$", text))

    def expected_s(self) -> float:
        """See Workload.expected_s."""
        return 5.0
