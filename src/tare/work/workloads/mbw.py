"""mbw: copies one array to another, both larger than any cache.

Defined by mbw 1.2.2: bytes copied over the time it took, so that the memory moves at least twice
that. ``memcpy`` is libc's, ``dumb`` a loop over words, ``mcblock`` libc's in blocks of 256 KiB.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isclose
from statistics import harmonic_mean
from typing import ClassVar, Literal, get_args

from tare.core.errors import OutputNotUnderstood
from tare.core.model import Better, Metric, Sample, Unit
from tare.work import workload
from tare.work.parsing import agree, number, rows
from tare.work.workloads import at_least, one_of

Method = Literal["memcpy", "dumb", "mcblock"]

BANDWIDTH = Metric("bandwidth", Unit.BYTE_PER_SECOND, Better.HIGHER)

MIB = 2**20


@dataclass(frozen=True, kw_only=True)
class Workload(workload.Workload):
    """Copy an array of ``size_bytes`` a number of times; it takes twice that in memory.

    The methods are those of laine2017, which copied 300 MB ten times; the default of 256 MiB is
    ours. The size should be four times the largest cache. 10 runs are mbw's own default.
    """

    method: Method = "memcpy"
    size_bytes: int = 256 * MIB
    runs: int = 10

    metrics = (BANDWIDTH,)
    packages = ("mbw",)
    recorded: ClassVar[Mapping[str, str]] = {"mbw": "1.2.2"}

    def __post_init__(self) -> None:
        one_of(self, method=Method)
        at_least(self, size_bytes=MIB, runs=1)
        if self.size_bytes % MIB:
            raise ValueError(f"size_bytes: {self.size_bytes} was given; expected whole MiB")

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        # One method a trial: mbw would run all three, and share the trial's host cost among them.
        method = f"-t{get_args(Method).index(self.method)}"
        return ["mbw", "-q", "-n", str(self.runs), method, str(self.size_bytes // MIB)]

    def parse(self, output: workload.Output) -> Iterator[Sample]:
        """See Workload.parse."""
        text = output.stdout
        label = rf"Method: {self.method.upper()}\s"
        runs = [rate for (rate,) in rows(rf"^\d+\s+{label}.*Copy: ([\d.]+) MiB/s$", text)]
        elapsed_s, mib, average = (
            number(rf"^AVG\s+{label}.*{part}", text)
            for part in (r"Elapsed: ([\d.]+)\s", r"MiB: ([\d.]+)\s", r"Copy: ([\d.]+) MiB/s$")
        )
        # The average is over time, hence the harmonic mean of the runs' rates, of three decimals.
        is_average = len(runs) == self.runs and isclose(
            average, harmonic_mean(runs), rel_tol=0.001, abs_tol=0.001
        )
        if not is_average:
            raise OutputNotUnderstood(f"average of {self.runs} runs", text)
        # Of the time five decimals are printed: 10 us, half of which are 2 % of a small array's.
        is_asked = mib * MIB == self.size_bytes
        if not is_asked or not agree(mib, average, elapsed_s, relative=0.001, apart_s=0.51e-5):
            raise OutputNotUnderstood("array that agrees with rate and time", text)
        yield Sample(BANDWIDTH, average * MIB)

    def expected_s(self) -> float:
        """See Workload.expected_s."""
        slow_bytes_per_s = 2**32
        return 1.0 + self.size_bytes * (self.runs + 2) / slow_bytes_per_s
