"""fio with a job file of the user's own: whatever its jobs do together.

Defined by fio 3.33 (HOWTO.rst). All jobs are one group, which starts at once and is reported as
one. Of fio's options those of the load itself are taken: none that leaves the cell's directory,
runs a program, moves limits, lays files while the clock runs or changes the report.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tare.core.errors import OutputNotUnderstood
from tare.core.model import FileAccess, Sample
from tare.work import workload
from tare.work.workloads import at_least
from tare.work.workloads._fio import LEAST_S, METRICS, REPORT, Asked, samples

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

NAME = r"\w[\w-]*"
"""Of a job and of a file; a job without filename names its files after itself."""
PATTERNS = "read|write|rw|readwrite|randread|randwrite|randrw"
FREE = """
description thread numjobs time_based runtime ramp_time loops number_ios invalidate
bs blocksize bsrange bssplit bs_unaligned bs_is_seq_rand ba blockalign
size filesize io_size nrfiles openfiles file_service_type offset offset_align offset_increment
rwmixread rwmixwrite rw_sequencer percentage_random
random_distribution random_generator norandommap softrandommap
iodepth iodepth_low iodepth_batch iodepth_batch_submit iodepth_batch_complete
iodepth_batch_complete_min iodepth_batch_complete_max
io_submit_mode serialize_overlap hipri fixedbufs registerfiles
sync fsync fdatasync end_fsync fsync_on_close write_barrier fallocate
rate rate_min rate_iops rate_iops_min rate_process
thinktime thinktime_spin thinktime_blocks thinktime_blocks_type
zero_buffers refill_buffers scramble_buffers
buffer_compress_percentage buffer_compress_chunk dedupe_percentage
"""
OPTIONS: Mapping[str, str] = dict.fromkeys(FREE.split(), ".*") | {
    "rw": PATTERNS,
    "readwrite": PATTERNS,
    "ioengine": "sync|psync|vsync|pvsync|pvsync2|libaio|io_uring|posixaio|mmap",
    "filename": rf"{NAME}(:{NAME})*",
}
"""What may stand in a job, with its values; and ``direct``, if it says what the parameter does."""

WRITE_AND_LAY = 'printf %s "$1" > jobs.fio && shift && exec fio "$@" jobs.fio'


@dataclass(frozen=True, kw_only=True)
class Workload(workload.Workload):
    """Run the jobs of a text together; ``job`` is what would stand in a job file.

    The default is the random mix of huang2019, whose 20 jobs had 2 GB each; 64 MiB are Tare's.
    Files are laid before. ``direct`` holds for every job that does not say it itself, and may not
    be contradicted. ``size_bytes`` and ``time_s`` are not read from the jobs: they say, for plans
    and deadlines, what all files and one run take. Throughput is the bytes of all jobs over the
    time of the longest.
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
        if found := re.search(r"[^\n\t -~]|[$`\\]", self.job):
            raise ValueError(f"job: {found[0]!r} was given; expected plain words and numbers")
        for line in map(str.strip, self.job.split("\n")):
            if line and line[0] not in "#;" and (expected := self._expected(line)):
                raise ValueError(f"job: {line!r} was given; expected {expected}")

    def prepare(self) -> Sequence[str]:
        """See Workload.prepare."""
        # With overwrite, files for writing are written out in full as well.
        lay = ["--overwrite=1", "--create_only=1"]
        return ["sh", "-c", WRITE_AND_LAY, "sh", self.job, *lay]

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        # Options before a job file hold for all its jobs, unless one says otherwise. Missing files
        # are an error, and with a fixed seed every trial would ask for the same blocks.
        # Nothing is asked over time: for each report fio waits until every job has done its next
        # request, and those that end meanwhile wait too. Jobs of a user's own may rest for long.
        files = ["--overwrite=1", "--allow_file_create=0", "--randrepeat=0"]
        return ["fio", f"--direct={self.direct:d}", *files, *REPORT, "jobs.fio"]

    def parse(self, output: workload.Output) -> Iterator[Sample]:
        """See Workload.parse."""
        # How long the jobs should have run is not known, so fio's own word for it is needed.
        if "fio: terminating on signal" in output.stdout:
            raise OutputNotUnderstood("jobs that ran to their end", output.stdout)
        yield from samples(output.stdout, Asked(least_s=LEAST_S))

    def expected_s(self) -> float:
        """See Workload.expected_s."""
        return self.time_s + 2.0

    def file_access(self) -> FileAccess:
        """See Workload.file_access."""
        return FileAccess.DIRECT if self.direct else FileAccess.CACHED

    def disk_bytes(self) -> int:
        """See Workload.disk_bytes."""
        return self.size_bytes

    def _expected(self, line: str) -> str | None:
        """Return what is expected in place of a line, or None where it may stand."""
        if line.startswith("["):
            is_name = re.fullmatch(rf"\[{NAME}\]", line, re.ASCII)
            return None if is_name else "a job's name of letters, digits, _ and -"
        key, _, value = map(str.strip, line.partition("="))
        values = {**OPTIONS, "direct": f"{self.direct:d}"}.get(key)
        if values is None:
            return f"only the options {', '.join(OPTIONS)}"
        return None if re.fullmatch(values, value, re.ASCII) else f"{key}={values}"
