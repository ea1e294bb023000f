"""fio with a job file of the user's own: whatever its jobs do together.

Defined by fio 3.33 (HOWTO.rst). All jobs are one group, which starts at once and is reported as
one; of that only what would leave the directory, or make the numbers mean something else, is
refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tare import workload
from tare.errors import OutputNotUnderstood
from tare.model import Sample
from tare.workloads import at_least
from tare.workloads._fio import METRICS, REPORT, samples

RANDOM_MIX = """\
[random-mix]
ioengine=psync
rw=randrw
bs=32k
numjobs=20
size=64m
time_based
runtime=30
"""

REFUSED: Mapping[str, str] = {
    "exec_prerun|exec_postrun|program": "that the job runs no program",
    "include.*": "the whole job here, not in other files",
    "stonewall|wait_for.*|startdelay|new_group|group_reporting": "jobs that run together",
    "cgroup.*|ioscheduler": "that the job leaves limits and devices to the layers",
    "buffered": "direct=0 or direct=1",
}
"""What is expected in place of an option."""
ENGINES = "sync|psync|vsync|pvsync|pvsync2|libaio|io_uring|posixaio|mmap"

WRITE_AND_LAY = 'printf %s "$1" > jobs.fio && shift && exec fio "$@" jobs.fio'


@dataclass(frozen=True, kw_only=True)
class Workload(workload.Workload):
    """Run the jobs of a text together; ``job`` is what would stand in a job file.

    The default is the random mix of huang2019, whose sizes are not given: 64 MiB are ours. Files
    are laid before. ``direct`` holds for every job that does not say it itself, and may not be
    contradicted. ``size_bytes`` and ``time_s`` are not read from the jobs: they say, for plans and
    deadlines, what all files and one run take. Throughput is the bytes of all jobs over the time
    of the longest.
    """

    job: str = RANDOM_MIX
    direct: bool = True
    size_bytes: int = 20 * 64 * 2**20
    time_s: float = 30

    metrics = METRICS
    packages = ("fio",)
    recorded = {"fio": "3.33"}

    def __post_init__(self) -> None:
        at_least(self, size_bytes=1, time_s=1)
        # What fio makes of $ depends on the machine, and it asks a shell to find out.
        if found := re.search(r"[$`\\]", self.job):
            raise ValueError(f"job: {found[0]!r} was given; expected plain words and numbers")
        for key, value in _options(self.job):
            line = f"{key}={value}" if value else key
            for names, expected in REFUSED.items():
                if re.fullmatch(names, key):
                    raise ValueError(f"job: {line!r} was given; expected {expected}")
            if re.search(r"(^|[:,|])\s*/|\.\.", value):
                raise ValueError(f"job: {line!r} was given; expected files in the cell's directory")
            if key == "ioengine" and not re.fullmatch(ENGINES, value):
                raise ValueError(f"job: {line!r} was given; expected one of {ENGINES}")
            if key == "direct" and value != f"{self.direct:d}":
                raise ValueError(f"job: {line!r} was given; direct expects direct={self.direct:d}")

    def prepare(self) -> Sequence[str]:
        """See Workload.prepare."""
        # With overwrite, files for writing are written out in full as well.
        lay = ["--overwrite=1", "--create_only=1"]
        return ["sh", "-c", WRITE_AND_LAY, "sh", self.job, *lay]

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        # Options before a job file hold for all its jobs, unless one says otherwise. Missing files
        # are an error, and with a fixed seed every trial would ask for the same blocks.
        files = ["--overwrite=1", "--allow_file_create=0", "--randrepeat=0"]
        return ["fio", f"--direct={self.direct:d}", *files, *REPORT, "jobs.fio"]

    def parse(self, output: workload.Output) -> Iterator[Sample]:
        """See Workload.parse."""
        # How long the jobs should have run is not known, so fio's own word for it is needed.
        if "fio: terminating on signal" in output.stdout:
            raise OutputNotUnderstood("jobs that ran to their end", output.stdout)
        yield from samples(output.stdout)

    def expected_s(self) -> float:
        """See Workload.expected_s."""
        return self.time_s + 2.0

    def disk_bytes(self) -> int:
        """See Workload.disk_bytes."""
        return self.size_bytes


def _options(job: str) -> Iterator[tuple[str, str]]:
    """Give the options of a job file in order, those without a value with an empty one."""
    for line in map(str.strip, job.splitlines()):
        if line and line[0] not in "#;[":
            key, _, value = line.partition("=")
            yield key.strip(), value.strip()
