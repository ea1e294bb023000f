"""dd to a file in memory and from it: kept because a study used it, unreliable as a benchmark.

It is laine2017's "dd RAM read" and "dd RAM write", which found no difference between any stacks.
What it measures is system calls that copy a block between a small buffer, which stays in the CPU's
cache, and pages of the page cache; writing also pays for getting the pages, which the kernel may
have zeroed before or not. The block size decides how much of each. For memory use stream or mbw.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tare.core.errors import OutputNotUnderstood
from tare.core.model import Better, Metric, Sample, Unit
from tare.work import workload
from tare.work.parsing import agree, count, numeral
from tare.work.workload import TOOL_DURATION
from tare.work.workloads import at_least, one_of

Direction = Literal["read", "write"]

BANDWIDTH = Metric("bandwidth", Unit.BYTE_PER_SECOND, Better.HIGHER)

MIB = 2**20

# memfd_create(2) gives a file on a tmpfs of the kernel's own: it needs no privilege to mount one,
# is not bound to the 64 MiB that Docker gives to /dev/shm, and is gone when the processes are.
# No tool makes one; perl, which is in every Debian, can, but needs the call's number.
SCRIPT = r"""
use POSIX ();
my ($direction, $block, $count, $runs) = @ARGV;
my %number = (x86_64 => 319, aarch64 => 279);
my $number = $number{(POSIX::uname())[4]} or die "no number of memfd_create is known here\n";
my $name = "tare";
my $file = syscall($number, $name, 0);
$file >= 0 or die "memfd_create: $!\n";
my @size = ("bs=$block", "count=$count");
my @write = ("dd", "if=/dev/zero", "of=/proc/self/fd/$file", @size);
my @read = ("dd", "if=/proc/self/fd/$file", "of=/dev/null", @size);
open STDERR, ">&STDOUT" or die;
system(@write, "status=none") == 0 or exit 1;
for (1 .. $runs) {
    system($direction eq "write" ? @write : @read) == 0 or exit 1;
}
"""
UNITS = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}


@dataclass(frozen=True, kw_only=True)
class Workload(workload.Workload):
    """Write or read a file in memory of ``size_bytes`` a number of times.

    laine2017 gives no sizes: 256 MiB in blocks of 1 MiB are Tare's. The rate is that of all runs
    together; before them the file is written once, which does not count.
    """

    direction: Direction = "write"
    size_bytes: int = 256 * MIB
    block_bytes: int = MIB
    runs: int = 20

    metrics = (BANDWIDTH, TOOL_DURATION)
    packages = ("coreutils", "perl-base")
    recorded = {"coreutils": "9.1"}

    def __post_init__(self) -> None:
        one_of(self, direction=Direction)
        at_least(self, block_bytes=512, size_bytes=self.block_bytes, runs=1)
        if self.size_bytes % self.block_bytes:
            raise ValueError(
                f"size_bytes: {self.size_bytes} was given; expected whole blocks of "
                f"{self.block_bytes}"
            )

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        sizes = [str(self.block_bytes), str(self.size_bytes // self.block_bytes), str(self.runs)]
        return ["perl", "-e", SCRIPT, self.direction, *sizes]

    def parse(self, output: workload.Output) -> Iterator[Sample]:
        """See Workload.parse."""
        text, blocks = output.stdout, self.size_bytes // self.block_bytes
        report = (
            rf"^{blocks}\+0 records in\n{blocks}\+0 records out\n"
            rf"(\d+) bytes .*copied, (\d[\d.e-]*) s, ([\d.]+) ([kMGT]?B)/s$"
        )
        runs = re.findall(report, text, re.MULTILINE)
        if len(runs) != self.runs:
            raise OutputNotUnderstood(f"{self.runs} runs of {blocks} whole blocks", text)
        sum_s = 0.0
        for moved, seconds, rate, unit in runs:
            # The printed rate has two digits, 5 % of 1.0: good for this, not for a result.
            run_s, rate_per_s = numeral(seconds, "time", text), numeral(rate, "rate", text)
            agrees = agree(self.size_bytes, rate_per_s * UNITS[unit], run_s, relative=0.06)
            if count(moved, "bytes", text) != self.size_bytes or not agrees:
                raise OutputNotUnderstood("bytes that agree with size, rate and time", text)
            sum_s += run_s
        yield Sample(BANDWIDTH, self.size_bytes * self.runs / sum_s)
        yield Sample(TOOL_DURATION, sum_s)

    def expected_s(self) -> float:
        """See Workload.expected_s."""
        slow_bytes_per_s = 2**30
        return 1.0 + self.size_bytes * (self.runs + 1) / slow_bytes_per_s
