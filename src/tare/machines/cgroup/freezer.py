"""Freeze and thaw a control group of this host directly, without starting a process.

That takes 0.2 ms, where a shell takes 2.5 ms and the client of a container engine 28 ms.
"""

from __future__ import annotations

import contextlib
import os
import select
import time
from pathlib import Path

from tare.core.errors import LayerError

ROOT = Path("/sys/fs/cgroup")
TIMEOUT_S = 5.0
"""A process in an uninterruptible wait, as for a disk, stops only when that is over."""
LEAST_S, MOST_S = 50e-6, 0.005
"""Bounds of the time between readings in v1, which gives no event."""


def is_there(path: str, root: Path = ROOT) -> bool:
    """Return whether a group has a freezer that can be written here."""
    file = "cgroup.freeze" if _is_v2(root) else "freezer.state"
    return os.access(_folder(path, root) / file, os.W_OK)


def switch(path: str, *, frozen: bool, root: Path = ROOT) -> None:
    """Freeze or thaw a group with all groups below and return once that is done.

    Raises LayerError where it is refused, or not done in time; then the group is thawed.
    """
    folder = _folder(path, root)
    is_done = False
    try:
        is_done = _switch_v2(folder, frozen) if _is_v2(root) else _switch_v1(folder, frozen)
    except OSError as error:
        raise LayerError(f"cgroup {path}: {folder} was not switched: {error.strerror}") from error
    finally:
        if frozen and not is_done:
            _thaw(folder)
    if not is_done:
        verb = "freeze" if frozen else "thaw"
        raise LayerError(f"cgroup {path}: {folder} does not {verb} within {TIMEOUT_S:g} s")


def _is_v2(root: Path) -> bool:
    return (root / "cgroup.controllers").exists()


def _folder(path: str, root: Path) -> Path:
    return (root if _is_v2(root) else root / "freezer") / path


def _switch_v1(folder: Path, frozen: bool) -> bool:
    """Write the state until it reads back: one that forks meanwhile may need it once more."""
    state = b"FROZEN\n" if frozen else b"THAWED\n"
    deadline, wait_s = time.monotonic() + TIMEOUT_S, LEAST_S
    file = os.open(folder / "freezer.state", os.O_RDWR)
    try:
        while True:
            os.pwrite(file, state, 0)
            if os.pread(file, 16, 0) == state:
                return True
            if time.monotonic() > deadline:
                return False
            time.sleep(wait_s)
            wait_s = min(2 * wait_s, MOST_S)
    finally:
        os.close(file)


def _switch_v2(folder: Path, frozen: bool) -> bool:
    """Write the state once and wait for the event that says it is reached."""
    deadline = time.monotonic() + TIMEOUT_S
    events = os.open(folder / "cgroup.events", os.O_RDONLY)
    try:
        _write(folder / "cgroup.freeze", b"%d" % frozen)
        changes = select.poll()
        changes.register(events, select.POLLPRI)
        while b"frozen %d" % frozen not in os.pread(events, 4096, 0):
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return False
            changes.poll(1000 * left_s)
        return True
    finally:
        os.close(events)


def _thaw(folder: Path) -> None:
    """Undo what was begun: half a frozen group would block the processes that wait for it."""
    for name, content in (("freezer.state", b"THAWED\n"), ("cgroup.freeze", b"0")):
        with contextlib.suppress(OSError):
            _write(folder / name, content)


def _write(path: Path, content: bytes) -> None:
    file = os.open(path, os.O_WRONLY)
    try:
        os.write(file, content)
    finally:
        os.close(file)
