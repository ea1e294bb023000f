"""sysbench memory: every thread reads or writes a block of its own, repeatedly.

One operation goes once through the block, a machine word at a time (sysbench 1.0.20,
src/tests/memory/sb_memory.c). A block that fits a cache measures that cache, not the memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isclose
from typing import ClassVar, Literal

from tare.core.errors import OutputNotUnderstood
from tare.core.model import Better, Metric, Sample, Unit
from tare.work import workload
from tare.work.parsing import number
from tare.work.workload import TOOL_DURATION, Course
from tare.work.workloads import at_least, one_of
from tare.work.workloads._sysbench import (
    EVERY_SECOND,
    Time,
    bounds,
    check_time,
    check_work,
    course,
    is_done,
    per_second,
    results,
    seconds,
)

Oper = Literal["read", "write"]
Access = Literal["seq", "rnd"]

BANDWIDTH = Metric("bandwidth", Unit.BYTE_PER_SECOND, Better.HIGHER)

MIB = 2**20


@dataclass(frozen=True, kw_only=True)
class Workload(workload.Workload):
    """Read or write memory with a number of threads for a number of seconds, or of bytes.

    No published study at hand says how it ran this one; the defaults are Tare's. ``total_bytes``
    ends it earlier where a stack is fast, 0 does not. With ``time`` none it ends at ``total_bytes``
    alone, of which each thread has an equal part, and the time that they took is the primary
    metric.
    """

    block_bytes: int = MIB
    oper: Oper = "write"
    access: Access = "seq"
    threads: int = 1
    time_s: Time = 30
    total_bytes: int = 0

    packages = ("sysbench",)
    recorded: ClassVar[Mapping[str, str]] = {"sysbench": "1.0.20"}

    def __post_init__(self) -> None:
        one_of(self, oper=Oper, access=Access)
        check_time(self.time_s)
        at_least(self, block_bytes=8, threads=1, total_bytes=0)
        if self.block_bytes.bit_count() != 1:
            raise ValueError(f"block_bytes: {self.block_bytes} was given; expected a power of two")
        in_turn = self.block_bytes * self.threads
        if self.time_s == "none" and (not self.total_bytes or self.total_bytes % in_turn):
            # sysbench would leave out what does not divide.
            raise ValueError(
                f"total_bytes: {self.total_bytes} was given; without time it expects a multiple of "
                f"{in_turn}, a block of each thread"
            )

    @property
    def metrics(self) -> tuple[Metric, ...]:  # type: ignore[override]  # which is first depends
        """See Workload.metrics."""
        return results((BANDWIDTH, TOOL_DURATION), self.time_s)

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        block = f"--memory-block-size={self.block_bytes}"
        kind = [f"--memory-oper={self.oper}", f"--memory-access-mode={self.access}"]
        # In one block shared by all threads, writers would measure how CPUs pass cache lines on.
        scope = "--memory-scope=local"
        # 2**60 bytes are never reached, so that time alone ends the run.
        total = self.total_bytes or "1048576T"
        # The test counts its bytes itself, and has no other bound by events.
        until = [f"--memory-total-size={total}", *bounds(self.threads, self.time_s), EVERY_SECOND]
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
        if self.time_s == "none":
            check_work(text, self.total_bytes // self.block_bytes)
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
        if self.time_s == "none":
            slow_bytes_per_s = 500 * MIB
            return 1.0 + self.total_bytes / slow_bytes_per_s
        return self.time_s + 1.0
