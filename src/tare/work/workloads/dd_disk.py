"""dd: reads or writes one file from its beginning to its end.

Defined by coreutils 9.1. What is written are zeros, as dd is always used: storage that compresses
writes less. fio says more; dd is kept because so much has been published with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tare.core.errors import OutputNotUnderstood
from tare.core.model import Better, FileAccess, Metric, Sample, Unit
from tare.work import workload
from tare.work.parsing import agree, count, numeral
from tare.work.workload import TOOL_DURATION
from tare.work.workloads import at_least, one_of

Oper = Literal["read", "write"]

THROUGHPUT = Metric("throughput", Unit.BYTE_PER_SECOND, Better.HIGHER)

MIB = 2**20

# What the page cache still holds of the file, of laying it or of the trial before, is dropped; the
# clock is that of the second dd.
DROP_AND_COPY = 'dd if=dd.dat iflag=nocache count=0 status=none && exec dd "$@" 2>&1'
REPORT = re.compile(
    r"(?P<read>\d+)\+0 records in\n"
    r"(?P<written>\d+)\+0 records out\n"
    r"(?P<bytes>\d+) bytes(?: \(.+\))? copied, (?P<time_s>[\d.e-]+) s, "
    r"(?P<rate>[\d.]+) (?P<prefix>[kMGT]?)B/s$"
)
PREFIXES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


@dataclass(frozen=True, kw_only=True)
class Workload(workload.Workload):
    """Copy a file of ``size_bytes`` to nowhere, or zeros over it, in blocks.

    Without ``direct`` writes are those to the page cache and the sync at the end, reads those from
    the disk through the page cache, if the machine inside drops it when it is asked to. Whether it
    is direct alone makes a multiple of the rate, and no study says. laine2017 moved 256,000 blocks
    of 16 KiB; the defaults are Tare's.
    """

    oper: Oper = "write"
    size_bytes: int = 1024 * MIB
    block_bytes: int = MIB
    direct: bool = True

    metrics = (THROUGHPUT, TOOL_DURATION)
    packages = ("coreutils",)
    recorded = {"coreutils": "9.1"}

    def __post_init__(self) -> None:
        one_of(self, oper=Oper)
        at_least(self, block_bytes=1, size_bytes=self.block_bytes)
        if self.size_bytes % self.block_bytes:
            raise ValueError(
                f"size_bytes: {self.size_bytes} was given; expected whole blocks of "
                f"{self.block_bytes}"
            )
        if self.direct and self.block_bytes % 512:
            raise ValueError(
                f"block_bytes: {self.block_bytes} was given; direct expects a multiple of 512"
            )

    def prepare(self) -> Sequence[str]:
        """See Workload.prepare."""
        # Random bytes, lest storage below keep a file of zeros as a hole and read it from nowhere.
        how = ["iflag=fullblock", "conv=fsync", "status=none"]
        return ["dd", "if=/dev/urandom", "of=dd.dat", *self._blocks(), *how]

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        if self.oper == "read":
            copy = ["if=dd.dat", "of=/dev/null", *(["iflag=direct"] if self.direct else [])]
        else:
            # The file is overwritten and not cut: allocating would be timed.
            how = ["oflag=direct", "conv=notrunc"] if self.direct else ["conv=notrunc,fdatasync"]
            copy = ["if=/dev/zero", "of=dd.dat", *how]
        return ["sh", "-c", DROP_AND_COPY, "sh", *copy, *self._blocks()]

    def parse(self, output: workload.Output) -> Iterator[Sample]:
        """See Workload.parse."""
        text = output.stdout
        found = REPORT.match(text)
        if found is None:
            raise OutputNotUnderstood("report of dd on whole blocks", text)
        blocks = self.size_bytes // self.block_bytes
        moved = [count(found[name], name, text) for name in ("read", "written", "bytes")]
        if moved != [blocks, blocks, self.size_bytes]:
            raise OutputNotUnderstood(f"blocks and bytes that agree with {self.size_bytes}", text)
        # The rate is of the same clock and printed to two digits, 5 % of 1.0; it only confirms.
        duration_s = numeral(found["time_s"], "time", text)
        rate = numeral(found["rate"], "rate", text) * PREFIXES[found["prefix"]]
        if not agree(self.size_bytes, rate, duration_s, relative=0.06):
            raise OutputNotUnderstood("rate that agrees with bytes and time", text)
        yield Sample(THROUGHPUT, self.size_bytes / duration_s)
        yield Sample(TOOL_DURATION, duration_s)

    def expected_s(self) -> float:
        """See Workload.expected_s."""
        slow_bytes_per_s = 200 * MIB
        return 1.0 + self.size_bytes / slow_bytes_per_s

    def file_access(self) -> FileAccess:
        """See Workload.file_access."""
        return FileAccess.DIRECT if self.direct else FileAccess.CACHED

    def disk_bytes(self) -> int:
        """See Workload.disk_bytes."""
        return self.size_bytes

    def _blocks(self) -> list[str]:
        return [f"bs={self.block_bytes}", f"count={self.size_bytes // self.block_bytes}"]
