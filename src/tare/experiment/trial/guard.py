"""Watch the host while neighbours stress it, and end them where it comes into danger itself."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from tare.experiment.probes.files import KeptFiles
from tare.experiment.probes.instruments import shared
from tare.experiment.probes.scheduler import Scheduler
from tare.machines.cgroup.emergency import kill_all

PERIOD_S = 0.2
LEAST_BYTES = 2**28
"""Half of what a plan leaves to the host: less is left where something took more than it had."""
MOST_TASKS = 0.9
"""Share of the processes and threads that the kernel allows at a time."""
LATE_S = 1.0
"""So late the controller must not be when it looks: ``tare run`` can hardly be stopped then."""
MOST_LATE = 2
"""Looks in a row that may come so late: a host that was itself suspended has one."""
MIB = 2**20


@dataclass(frozen=True, slots=True)
class Limits:
    """Where danger begins."""

    available_bytes: int = LEAST_BYTES
    tasks: float = MOST_TASKS
    late_s: float = LATE_S


class Guard:
    """Kills all that is in some control groups of this host once the host is in danger.

    A context: it looks as long as the ``with`` block runs. ``danger`` says afterwards what was
    seen, and is empty if nothing was. ``groups`` are paths below the root of every hierarchy;
    ``kill`` kills all that is in some of them, and returns what failed.
    """

    def __init__(
        self,
        groups: Sequence[str],
        limits: Limits | None = None,
        proc: Path = Path("/proc"),
        scheduler: Scheduler | None = None,
        kill: Callable[[Sequence[str]], Sequence[str]] = kill_all,
    ) -> None:
        self._groups, self._limits, self._proc = groups, limits or Limits(), proc
        self._scheduler, self._kill = scheduler or shared().scheduler, kill
        self._due_s, self._late = 0.0, 0
        # They stay open: on a host in danger no file may be opened any more.
        self._files = KeptFiles()
        self.danger = ""
        self.least_bytes = sys.maxsize
        """The least memory of the host that was available when it looked."""
        self.ended = threading.Event()
        """Set once the groups have been killed."""

    def __enter__(self) -> Guard:
        kernel = self._proc / "sys/kernel"
        limits = ((kernel / name).read_text() for name in ("pid_max", "threads-max"))
        self._most_tasks = min(map(int, limits))
        self._seen(0.0)
        self._due_s = time.monotonic() + PERIOD_S
        self._scheduled = self._scheduler.begin(self._look, PERIOD_S)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._scheduler.end(self._scheduled)
        self._files.close()

    def _look(self) -> float:
        """Look once; return when to look again."""
        late_s = time.monotonic() - self._due_s
        if not self.danger:
            try:
                danger = self._seen(late_s)
            except OSError as error:
                danger = f"Tare could not look at the host any more ({error.strerror})"
            if danger:
                self._files.close()  # where a process may open no more, the kill needs their places
                self.danger = "; ".join([danger, *self._kill(self._groups)])
                self.ended.set()
        self._due_s = time.monotonic() + PERIOD_S
        return PERIOD_S

    def _seen(self, late_s: float) -> str:
        """Return which danger the host is in; mostly none. Raises OSError."""
        limits = self._limits
        self._late = self._late + 1 if late_s > limits.late_s else 0
        if self._late >= MOST_LATE:
            return f"Tare itself had to wait {late_s:.1f} s for a CPU"
        available = self._available_bytes()
        self.least_bytes = min(self.least_bytes, available)
        if available < limits.available_bytes:
            return (
                f"{available / MIB:.0f} MiB of the host's memory were left, less than "
                f"{limits.available_bytes / MIB:.0f} MiB"
            )
        # proc(5): running of all, such as 2/400.
        loads = self._files.content(f"{self._proc}/loadavg").split()
        tasks = int(loads[3].partition(b"/")[2])
        if tasks > limits.tasks * self._most_tasks:
            return f"{tasks} processes and threads ran on the host, of at most {self._most_tasks}"
        return ""

    def _available_bytes(self) -> int:
        content = self._files.content(f"{self._proc}/meminfo")
        _, found, rest = content.partition(b"MemAvailable:")
        return 1024 * int(rest.split(None, 1)[0]) if found else sys.maxsize
