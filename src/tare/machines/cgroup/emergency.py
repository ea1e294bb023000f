"""Kill everything in some control groups of this host at once, without starting a process.

On a host that is out of memory or processes nothing can be started to end what took them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tare.core.errors import LayerError
from tare.machines.cgroup import freezer

ROOT = Path("/sys/fs/cgroup")
CONTROLLERS = ("freezer", "pids", "cpuacct", "memory")
"""Of v1: the first hierarchy that has the group says what is in it."""
TIMEOUT_S = 5.0
WAIT_S = 0.005
GONE = (errno.ENOENT, errno.ESRCH, errno.ENODEV)
"""What the kernel answers about a group or a process that is no longer there."""


def kill_all(paths: Sequence[str], root: Path = ROOT) -> list[str]:
    """Kill all processes in groups and below, and return once they are gone.

    All of them get the signal before any is waited for. Returns what failed, group by group. A
    group that is not there holds nothing. One that has no name, which is all of the host, and one
    that this process is in are refused.
    """
    failed: dict[str, str] = {}
    left = {path: folder for path in paths if (folder := _folder(path, root)) is not None}
    for path, folder in left.items():
        with _noted(path, failed):
            _refuse_own(path, folder)
            _signal(folder)
    deadline = time.monotonic() + TIMEOUT_S
    while left := {path: one for path, one in left.items() if path not in failed}:
        for path, folder in list(left.items()):
            with _noted(path, failed):
                if not list(_processes(folder)):
                    del left[path]
                elif time.monotonic() > deadline:
                    raise LayerError("there are still processes in it after a kill")
                else:
                    _signal_frozen(path, folder, root)
        time.sleep(WAIT_S)
    return [f"cgroup {path or '/'}: {why}" for path, why in failed.items()]


@contextlib.contextmanager
def _noted(path: str, failed: dict[str, str]) -> Iterator[None]:
    """Note what fails about a group, so that the others get their turn."""
    try:
        yield
    except (OSError, LayerError) as error:
        failed[path] = str(error)


def _refuse_own(path: str, folder: Path) -> None:
    if not path.strip("/") or os.getpid() in _processes(folder):
        raise LayerError("it is not that of neighbours alone, so nothing in it is killed")


def _signal(folder: Path) -> None:
    """Send all processes the signal, as they are."""
    at_once = folder / "cgroup.kill"
    if at_once.exists():
        with _suppressed():
            at_once.write_text("1")
        return
    for pid in _processes(folder):
        with _suppressed():
            os.kill(pid, signal.SIGKILL)


def _signal_frozen(path: str, folder: Path, root: Path) -> None:
    """Send them the signal while none of them can start another one, if the group can be frozen."""
    can_freeze = freezer.is_there(path, root)
    if can_freeze:
        with contextlib.suppress(LayerError):  # then as they are
            freezer.switch(path, frozen=True, root=root)
    try:
        _signal(folder)
    finally:
        if can_freeze:  # a frozen process does not die of a signal
            freezer.switch(path, frozen=False, root=root)


def _folder(path: str, root: Path) -> Path | None:
    """Find a group's folder; None where there is none."""
    roots = [root] if (root / "cgroup.controllers").exists() else [root / c for c in CONTROLLERS]
    return next((one / path for one in roots if (one / path).is_dir()), None)


def _processes(folder: Path) -> Iterator[int]:
    """List the processes in a group and below that are not yet dead; raises OSError."""
    for one, _, _ in os.walk(folder, onerror=_raise_unless_gone):
        with _suppressed():
            for pid in (Path(one) / "cgroup.procs").read_text().split():
                if not _is_dead(int(pid)):
                    yield int(pid)


def _is_dead(pid: int) -> bool:
    """Whether a process is a zombie, which stays in its group until its parent has seen it."""
    with _suppressed():
        stat = Path(f"/proc/{pid}/stat").read_bytes()
        return stat.rpartition(b") ")[2][:1] in (b"Z", b"X")
    return True


@contextlib.contextmanager
def _suppressed() -> Iterator[None]:
    """Suppress what the kernel says of that which is gone."""
    try:
        yield
    except OSError as error:
        _raise_unless_gone(error)


def _raise_unless_gone(error: OSError) -> None:
    if error.errno not in GONE:
        raise error
