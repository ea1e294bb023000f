"""multiuser: many users who all do the same mix of jobs at once, after AIM's suite VII.

AIM7 is not in Debian; the mix is made of classes of stress-ng 0.15.06 (disk files, directories,
processes, virtual memory, pipes, semaphores, arithmetic), so compare it with itself only. AIM's
jobs per minute are ``jobs`` times 60.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isclose
from typing import ClassVar

from tare.core.errors import OutputNotUnderstood
from tare.core.model import Better, Metric, Sample, Unit
from tare.work import workload
from tare.work.parsing import CLOCKS_S, number, numeral
from tare.work.workload import TOOL_DURATION
from tare.work.workloads import at_least

JOBS = Metric("jobs", Unit.PER_SECOND, Better.HIGHER)

LEAST_S = 0.5
"""The tool prints its time to 0.01 s, of which half is 1 % of this."""
FILE_BYTES, VM_BYTES = 4 * 2**20, 4 * 2**20
JOB_OPS: Mapping[str, int] = {
    "hdd": 200,
    "dir": 20,
    "fork": 20,
    "vm": 15,
    "pipe": 4000,
    "sem-sysv": 800,
    "cpu": 20,
}
"""Bogo operations in one job of each class: each takes about 10 ms on one CPU of an EPYC 9004."""
OF_CLASS = {
    name: Metric(f"{name.replace('-', '_')}_jobs", Unit.PER_SECOND, Better.HIGHER)
    for name in JOB_OPS
}


@dataclass(frozen=True, kw_only=True)
class Workload(workload.Workload):
    """Let ``users`` each do ``user_jobs`` jobs of each of seven classes, all at the same time.

    ``jobs`` are all jobs over the time until the last user is done; those of a class are over that
    class's own time. A user is a process of each class, with a file and a mapping of 4 MiB each.
    No study at hand gives its numbers of jobs; these are Tare's.
    """

    users: int = 4
    user_jobs: int = 100

    metrics = (JOBS, *OF_CLASS.values(), TOOL_DURATION)
    packages = ("stress-ng",)
    recorded: ClassVar[Mapping[str, str]] = {"stress-ng": "0.15.06"}

    def __post_init__(self) -> None:
        at_least(self, users=1, user_jobs=1)

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        # stress-ng divides operations and bytes among the processes of a class. An option that does
        # not stand right behind its class is ignored without a word.
        fixed: Mapping[str, Sequence[str]] = {
            "hdd": [f"--hdd-bytes={FILE_BYTES * self.users}"],
            # By default these go through all methods in turn, and their jobs differ in size.
            "vm": [f"--vm-bytes={VM_BYTES * self.users}", "--vm-method=write64"],
            "cpu": ["--cpu-method=int64double"],
        }
        classes: list[str] = []
        for name, ops in JOB_OPS.items():
            classes += [f"--{name}={self.users}", f"--{name}-ops={ops * self._each}"]
            classes += fixed.get(name, [])
        # Else a job that runs out of memory is started repeatedly, and the run ends with status 0.
        ends = ["--oomable", "--abort"]
        return ["stress-ng", "--no-rand-seed", *ends, "--metrics", "--times", *classes]

    def parse(self, output: workload.Output) -> Iterator[Sample]:
        """See Workload.parse."""
        text = output.stderr
        done = {name: self._class(name, text) for name in JOB_OPS}
        duration_s = number(r"for a ([\d.]+)s run time:$", text)
        # It comes last, and calls a run that failed unsuccessful.
        again_s = number(r"\] successful run completed in ([\d.]+)s(?: \(.*\))?\n", text)
        # It is one number, printed twice: at most rounded differently.
        if not isclose(duration_s, again_s, abs_tol=0.02):
            raise OutputNotUnderstood("run times that agree", text)
        if duration_s < LEAST_S:
            raise OutputNotUnderstood(f"run of {LEAST_S} s or more, which takes more jobs", text)
        # Every class is inside the whole run; its processes read their clocks themselves.
        if max(real_s for _, real_s in done.values()) > 1.01 * duration_s + CLOCKS_S:
            raise OutputNotUnderstood("times of the classes that agree with the run's", text)
        yield Sample(JOBS, len(JOB_OPS) * self._each / duration_s)
        for name, (ops_per_s, _) in done.items():
            yield Sample(OF_CLASS[name], ops_per_s / JOB_OPS[name])
        yield Sample(TOOL_DURATION, duration_s)

    def expected_s(self) -> float:
        """See Workload.expected_s."""
        return 1.0 + 0.01 * len(JOB_OPS) * self._each

    def disk_bytes(self) -> int:
        """See Workload.disk_bytes; nothing is prepared, every user lays its file in the run."""
        return FILE_BYTES * self.users

    @property
    def _each(self) -> int:
        return self.users * self.user_jobs

    def _class(self, name: str, text: str) -> tuple[float, float]:
        """Read the operations a second of a class that did all it was asked for, and its time."""
        row = rf"metrc: \[\d+\] {name} +(\d+) +([\d.]+) +[\d.]+ +[\d.]+ +([\d.]+) "
        found = re.search(row, text)
        asked = JOB_OPS[name] * self._each
        wanted = f"all {asked} operations of {name}"
        ops, real_s, ops_per_s = (
            numeral(part, wanted, text) for part in (found.groups() if found else (None,) * 3)
        )
        if ops < asked:
            raise OutputNotUnderstood(wanted, text)
        # Both are printed with two decimals, and either may be the small one.
        if abs(ops - real_s * ops_per_s) > 0.006 * (ops_per_s + real_s):
            raise OutputNotUnderstood(f"operations of {name} that agree with rate and time", text)
        return ops_per_s, real_s
