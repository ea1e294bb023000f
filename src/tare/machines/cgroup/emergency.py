"""Kill everything in a control group of this host at once, without starting a process.

On a host that is out of memory or processes nothing can be started to end what took them.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from tare.core.errors import LayerError
from tare.machines.cgroup import freezer

ROOT = Path("/sys/fs/cgroup")
CONTROLLERS = ("freezer", "pids", "cpuacct", "memory")
"""Of v1: the first hierarchy that has the group says what is in it."""
TIMEOUT_S = 5.0
WAIT_S = 0.005


def kill_all(path: str, root: Path = ROOT) -> None:
    """Kill all processes in a group and below, and return once they are gone.

    Raises LayerError where some are still there after ``TIMEOUT_S``. A group that is not there
    holds nothing.
    """
    folder = _folder(path, root)
    if folder is None:
        return
    if (folder / "cgroup.kill").exists():
        with contextlib.suppress(FileNotFoundError):
            (folder / "cgroup.kill").write_text("1")
    deadline = time.monotonic() + TIMEOUT_S
    while left := list(_processes(folder)):
        if time.monotonic() > deadline:
            raise LayerError(f"cgroup {path}: {len(left)} processes are still there after a kill")
        _kill(path, left, root)
        time.sleep(WAIT_S)


def _kill(path: str, processes: list[int], root: Path) -> None:
    """Kill some processes, frozen so that none of them starts another one meanwhile."""
    can_freeze = freezer.is_there(path, root)
    with contextlib.suppress(LayerError):
        if can_freeze:
            freezer.switch(path, frozen=True, root=root)
    for pid in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(LayerError):
        if can_freeze:  # a frozen process does not die of a signal
            freezer.switch(path, frozen=False, root=root)


def _folder(path: str, root: Path) -> Path | None:
    """Find a group's folder; None where there is none."""
    roots = [root] if (root / "cgroup.controllers").exists() else [root / c for c in CONTROLLERS]
    return next((one / path for one in roots if (one / path).is_dir()), None)


def _processes(folder: Path) -> Iterator[int]:
    """List the processes in a group and below that are not yet dead."""
    for one, _, _ in os.walk(folder):
        with contextlib.suppress(OSError):  # it is gone
            for pid in (Path(one) / "cgroup.procs").read_text().split():
                if not _is_dead(int(pid)):
                    yield int(pid)


def _is_dead(pid: int) -> bool:
    """Whether a process is a zombie, which stays in its group until its parent has seen it."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return True
    return stat.rpartition(b") ")[2][:1] in (b"Z", b"X")
