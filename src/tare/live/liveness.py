"""Whether a session works on results, as far as this process can see: its ledger is locked.

The kernel lists a lock to those who can see the process that holds it. From another namespace of
processes (a container) or another host (a shared folder) none is seen, whoever holds it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

PROC = Path("/proc")

SILENT_S = 600.0
"""Where a lock cannot be seen, nothing is said of a study without news for so long."""

INITIAL = "pid:[4026531836]"
"""The first namespace of processes, by the number that the kernel gives it: who is in it sees all
processes, and all their locks."""

_SHARED = (
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "fuse",
    "gpfs",
    "lustre",
    "nfs",
    "smb",
    "virtiofs",
)
"""What the names of file systems begin with whose files others may lock too."""


class Locks:
    """The kernel's list of locks at a moment.

    No lock is tried: a session that begins at that moment would be refused.
    """

    def __init__(self, proc: Path = PROC) -> None:
        self._proc = proc
        self._inodes: set[str] = set()
        self._is_whole = False
        try:
            listed = (proc / "locks").read_text()
        except OSError:
            return
        # File systems number their devices in the list in ways of their own: only inodes count.
        for fields in map(str.split, listed.splitlines()):
            if "FLOCK" in fields:
                places = (field.split(":") for field in fields)
                self._inodes |= {place[2] for place in places if len(place) == 3}
        self._is_whole = _sees_all(proc)

    def hold(self, path: Path) -> bool | None:
        """Whether a process holds a lock on a file; None if that cannot be seen from here."""
        try:
            about = path.stat()
        except OSError:
            return False
        if str(about.st_ino) in self._inodes:
            return True
        is_known = self._is_whole and not _is_shared(about.st_dev, self._proc)
        return False if is_known else None


def has_news(written_ns: Sequence[int], ended_ns: int | None) -> bool:
    """Guess whether a session lives by when it last wrote, and when one wrote that it ended."""
    last = max(written_ns, default=0)
    has_ended = ended_ns is not None and ended_ns >= last
    return bool(last) and not has_ended and time.time() - last / 1e9 < SILENT_S


@lru_cache
def _sees_all(proc: Path) -> bool:
    try:
        return str((proc / "self/ns/pid").readlink()) == INITIAL
    except OSError:
        return False


@lru_cache
def _is_shared(device: int, proc: Path) -> bool:
    """Whether a device is that of a file system which other hosts may write to."""
    number = f"{os.major(device)}:{os.minor(device)}"
    try:
        mounts = (proc / "self/mountinfo").read_text().splitlines()
    except OSError:
        return False
    kinds = [line.rpartition(" - ")[2] for line in mounts if line.split()[2:3] == [number]]
    return any(kind.startswith(_SHARED) for kind in kinds)
