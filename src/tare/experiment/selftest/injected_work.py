"""The workload of the self-test: a fixed amount of work, and a known share more of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tare.core.errors import OutputNotUnderstood
from tare.core.model import Sample
from tare.work import workload
from tare.work.workload import TOOL_DURATION
from tare.work.workloads import _native

NAME = "injected_work"


@dataclass(frozen=True, kw_only=True)
class Work(workload.Workload):
    """One thread steps through a random sequence, ``rounds`` times 100,000 steps (xorshift.c).

    ``injected`` is the part by which it does more of that; None marks the baseline. The primary
    metric is the time that all of it takes, so that the truth is the injected part itself.
    """

    rounds: int
    injected: float | None = None

    metrics = (TOOL_DURATION,)
    packages = _native.PACKAGES

    @property
    def total(self) -> int:
        """How many rounds there are in all."""
        return round(self.rounds * (1 + (self.injected or 0.0)))

    def prepare(self) -> Sequence[str]:
        """See Workload.prepare."""
        return _native.compiling("xorshift", "-O2")

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        return ["./xorshift", str(self.total)]

    def parse(self, output: workload.Output) -> Iterator[Sample]:
        """See Workload.parse; a run that ended before its last round is none."""
        found = _native.report(output, rounds=self.total)
        seconds = found.number("seconds")
        if not seconds:
            raise OutputNotUnderstood("time that the rounds took", output.stdout)
        yield Sample(TOOL_DURATION, seconds)

    def expected_s(self) -> float:
        """See Workload.expected_s."""
        return 5.0
