"""sysbench memory: every thread reads or writes a block of its own, again and again.

One operation goes once through the block, a machine word at a time (sysbench 1.0.20,
src/tests/memory/sb_memory.c). A block that fits a cache measures that cache, not the memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isclose
from typing import ClassVar, Literal

from tare import workload
from tare.errors import OutputNotUnderstood
from tare.model import Better, Metric, Sample, Unit
from tare.workload import TOOL_DURATION, Course, number
from tare.workloads import at_least, one_of
from tare.workloads._sysbench import EVERY_SECOND, course, is_done, per_second, seconds

Oper = Literal["read", "write"]
Access = Literal["seq", "rnd"]

BANDWIDTH = Metric("bandwidth", Unit.BYTE_PER_SECOND, Better.HIGHER)

MIB = 2**20


@dataclass(frozen=True, kw_only=True)
class Workload(workload.Workload):
    """Read or write memory with a number of threads for a number of seconds.

    No published study at hand says how it ran this one; the defaults are ours. ``total_bytes`` ends
    it earlier where a stack is fast, 0 does not.
    """

    block_bytes: int = MIB
    oper: Oper = "write"
    access: Access = "seq"
    threads: int = 1
    time_s: int = 30
    total_bytes: int = 0

    metrics = (BANDWIDTH, TOOL_DURATION)
    packages = ("sysbench",)
    recorded: ClassVar[Mapping[str, str]] = {"sysbench": "1.0.20"}

    def __post_init__(self) -> None:
        one_of(self, oper=Oper, access=Access)
        at_least(self, block_bytes=8, threads=1, time_s=1, total_bytes=0)
        if self.block_bytes.bit_count() != 1:
            raise ValueError(f"block_bytes: {self.block_bytes} was given; expected a power of two")

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        block = f"--memory-block-size={self.block_bytes}"
        kind = [f"--memory-oper={self.oper}", f"--memory-access-mode={self.access}"]
        # In one block shared by all threads, writers would measure how CPUs pass cache lines on.
        scope = "--memory-scope=local"
        # 2**60 bytes are never reached, so that time alone ends the run.
        total = self.total_bytes or "1048576T"
        bound = [f"--memory-total-size={total}", f"--threads={self.threads}"]
        until = [*bound, f"--time={self.time_s}", EVERY_SECOND]
        return ["sysbench", "memory", block, *kind, scope, *until, "run"]

    def parse(self, output: workload.Output) -> Iterator[Sample]:
        """See Workload.parse."""
        text = output.stdout
        rate = number(r"transferred \(([\d.]+) MiB/sec\)$", text) * MIB
        moved = number(r"^([\d.]+) MiB transferred \(", text) * MIB
        duration_s = number(r"total time:\s+([\d.]+)s$", text)
        total_bytes = number(r"total number of events:\s+(\d+)$", text) * self.block_bytes
        # The total is printed with two decimals of a MiB.
        is_moved = isclose(moved, total_bytes, rel_tol=1e-3, abs_tol=0.01 * MIB)
        if not is_moved or not is_done(total_bytes, rate, duration_s):
            raise OutputNotUnderstood("total of events that agrees with rate and time", text)
        # The last line shows that the output is whole. Its latencies are of one block: 0.00 ms.
        number(r"execution time \(avg/stddev\):\s+([\d.]+)/[\d.]+$", text)
        yield from per_second(BANDWIDTH, text, self.block_bytes)
        yield Sample(TOOL_DURATION, duration_s)

    def courses(self, output: workload.Output) -> Iterator[Course]:
        """See Workload.courses."""
        rows = seconds(output.stdout, r"([\d.]+) MiB/sec")
        yield from course(BANDWIDTH, ((second, rate * MIB) for second, rate in rows))

    def expected_s(self) -> float:
        """See Workload.expected_s."""
        return self.time_s + 1.0
