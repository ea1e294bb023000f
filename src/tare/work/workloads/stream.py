"""STREAM: sustained bandwidth of memory in four loops over arrays much larger than any cache.

Defined by McCalpin (stream.c 5.10): bytes that the loops name, not what a cache reads to write
them; the best time of each loop after the first run; each array at least four times the sum of the
last-level caches used; the arrays checked in the end. The loops are those of our own stream.c.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isclose

from tare.core.errors import OutputNotUnderstood
from tare.core.model import Better, Metric, Sample, Unit
from tare.work import workload
from tare.work.workload import TOOL_DURATION
from tare.work.workloads import _native, at_least

ARRAYS: Mapping[Metric, int] = {
    Metric(name, Unit.BYTE_PER_SECOND, Better.HIGHER): arrays
    for name, arrays in (("triad", 3), ("copy", 2), ("scale", 2), ("add", 3))
}
"""How many arrays each loop reads and writes."""


MIB = 2**20
DOUBLE_BYTES = 8
CACHES = 4
MOST_ERROR = 1e-13


@dataclass(frozen=True, kw_only=True)
class Workload(workload.Workload):
    """Run the four loops ``runs`` times on three arrays of ``array_bytes`` each.

    10 runs are STREAM's own default, as are arrays of 10 million numbers (80 MB), which huang2019
    had with one thread. The size is not taken from the cache that is seen inside: a guest may
    report another one than its host has, and stacks would work on different sizes. A trial whose
    arrays are too small for the caches of its CPUs, where these are known, fails.
    """

    array_bytes: int = 128 * MIB
    threads: int = 1
    runs: int = 10

    metrics = (*ARRAYS, TOOL_DURATION)
    packages = _native.PACKAGES
    recorded = {"gcc": "12.2.0"}

    def __post_init__(self) -> None:
        at_least(self, array_bytes=8 * MIB, threads=1, runs=2)
        if self.array_bytes % DOUBLE_BYTES:
            raise ValueError(
                f"array_bytes: {self.array_bytes} was given; expected a multiple of {DOUBLE_BYTES}"
            )

    def prepare(self) -> Sequence[str]:
        """See Workload.prepare."""
        # Else gcc calls memcpy for the copy loop, which goes another way on another CPU.
        loops = "-fno-tree-loop-distribute-patterns"
        return _native.compiling("stream", "-O3", "-fopenmp", loops, "-lm")

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        return ["./stream", str(self.array_bytes), str(self.threads), str(self.runs)]

    def parse(self, output: workload.Output) -> Iterator[Sample]:
        """See Workload.parse."""
        text = output.stdout
        asked = {"array_bytes": self.array_bytes, "threads": self.threads, "runs": self.runs}
        found = _native.report(output, **asked)
        least_bytes = CACHES * found.count("caches_bytes")
        if least_bytes > self.array_bytes:
            wanted = (
                f"array of at least {least_bytes // MIB} MiB, {CACHES} times the last-level cache "
                "of its CPUs"
            )
            fix = f"array: {least_bytes // MIB}MiB, and memory for the three of them"
            raise OutputNotUnderstood(wanted, text, fix)
        if not found.number("error") < MOST_ERROR:
            raise OutputNotUnderstood("arrays that hold what they must", text)
        for metric, arrays in ARRAYS.items():
            loop, moved = found.at(metric.name), arrays * self.array_bytes
            product = loop.number("bytes_per_s") * loop.number("best_s")
            if loop.count("bytes") != moved or not isclose(product, moved, rel_tol=1e-5):
                raise OutputNotUnderstood(f"bytes of {metric.name} that agree with rate", text)
            yield Sample(metric, loop.number("bytes_per_s"))
        # One clock: the times of the loops are inside the total.
        total_s = found.number("total_s")
        if sum(found.number(metric.name, "best_s") for metric in ARRAYS) * self.runs > total_s:
            raise OutputNotUnderstood("best times that agree with the whole", text)
        yield Sample(TOOL_DURATION, total_s)

    def expected_s(self) -> float:
        """See Workload.expected_s."""
        slow_bytes_per_s = 2**32
        return 1.0 + sum(ARRAYS.values()) * self.array_bytes * (self.runs + 1) / slow_bytes_per_s
