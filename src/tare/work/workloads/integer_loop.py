"""An integer loop of a shell, timed from inside by the shell's own ``time``.

laine2017 has such a loop. Every step is interpreted; nothing is called and no file is read, so that
next to no time is spent in the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tare.core.errors import OutputNotUnderstood
from tare.core.model import Better, Metric, Sample, Unit
from tare.work import workload
from tare.work.parsing import number
from tare.work.workload import TOOL_DURATION
from tare.work.workloads import at_least

REAL = Metric("real", Unit.SECOND, Better.LOWER)
USER = Metric("user", Unit.SECOND, Better.LOWER)
SYSTEM = Metric("system", Unit.SECOND, Better.LOWER)

# bash, for dash's ``times`` has only hundredths of a second.
SCRIPT = """
TIMEFORMAT='real %3R user %3U system %3S'
i=0
{ time while ((i < $0)); do ((i += 1)); done; } 2>&1
echo "counted $i"
"""


@dataclass(frozen=True, kw_only=True)
class Workload(workload.Workload):
    """Count to ``iterations`` in bash.

    laine2017 counted from 0 to 9,999,999; the default of two million is Tare's. bash prints whole
    milliseconds: fewer than 100,000 steps could not be distinguished to 1 %. A time of no
    millisecond is not reported.
    """

    iterations: int = 2_000_000

    metrics = (REAL, USER, SYSTEM, TOOL_DURATION)
    packages = ("bash",)
    recorded = {"bash": "5.2.15"}

    def __post_init__(self) -> None:
        at_least(self, iterations=100_000)

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        return ["bash", "-c", SCRIPT, str(self.iterations)]

    def parse(self, output: workload.Output) -> Iterator[Sample]:
        """See Workload.parse."""
        text = output.stdout
        if number(r"^counted (\d+)\n", text) != self.iterations:
            raise OutputNotUnderstood(f"count of {self.iterations}", text)
        real_s = number(r"^real (\d+\.\d+) user ", text)
        user_s = number(r"^real .* user (\d+\.\d+) system ", text)
        system_s = number(r"^real .* system (\d+\.\d+)$", text)
        # One thread; a kernel may count its time on the CPU in ticks of 10 ms.
        if not real_s or user_s + system_s > 1.05 * real_s + 0.02:
            raise OutputNotUnderstood("time on the CPU that agrees with real time", text)
        yield Sample(REAL, real_s)
        for metric, value_s in ((USER, user_s), (SYSTEM, system_s)):
            if value_s:
                yield Sample(metric, value_s)
        yield Sample(TOOL_DURATION, real_s)

    def expected_s(self) -> float:
        """See Workload.expected_s."""
        slow_steps_per_s = 300_000
        return 1.0 + self.iterations / slow_steps_per_s
