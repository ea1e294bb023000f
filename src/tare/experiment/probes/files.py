"""Read files of /proc and /sys quickly: kept open, or opened without Python's file objects.

``pathlib`` and text files take ten times as long as the reading itself does.
"""

from __future__ import annotations

import os
from threading import Lock

_CHUNK = 2**16

_SURELY_LAST = 2048
"""A piece that leaves half of the kernel's buffer, a page, empty had room for one more line."""


class KeptFiles:
    """Files that stay open from one reading to the next, by path; for any number of threads."""

    def __init__(self) -> None:
        self._open: dict[str, int] = {}
        self._lock = Lock()

    def content(self, path: str) -> bytes:
        """Return all of what a file says now, or raise OSError; then it is opened anew next time.

        A file that could not be opened is tried again at every reading.
        """
        file = self._open.get(path)
        if file is None:
            with self._lock:
                file = self._open.get(path)
                if file is None:
                    file = self._open[path] = os.open(path, os.O_RDONLY)
        try:
            return _content(file)
        except OSError:
            self._close(path)
            raise

    def reset(self, path: str) -> None:
        """Write 0 into a file that is read by the same descriptor then, or raise OSError."""
        file = os.open(path, os.O_RDWR)
        try:
            os.write(file, b"0\n")
        except OSError:
            os.close(file)
            raise
        self._close(path)
        self._open[path] = file

    def close(self) -> None:
        """Close them all; what is read again is opened again."""
        for path in tuple(self._open):
            self._close(path)

    def _close(self, path: str) -> None:
        with self._lock:
            file = self._open.pop(path, None)
            if file is not None:
                os.close(file)


def content(path: str) -> bytes:
    """Return all of what a file says that is read once, or raise OSError.

    What cgroup v1 lists in an open file may be a second old.
    """
    file = os.open(path, os.O_RDONLY)
    try:
        return _content(file)
    finally:
        os.close(file)


def subtree(folder: str) -> list[str]:
    """List a folder of the kernel and all folders below; none where it is gone.

    A folder without any below, as most groups are, is not looked into: it has two links.
    """
    try:
        if os.stat(folder).st_nlink == 2:  # noqa: PTH116 - before every trial
            return [folder]
        with os.scandir(folder) as entries:
            below = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return [folder, *(each for one in below for each in subtree(one))]


def _content(file: int) -> bytes:
    """Read all of a file: the kernel gives a long one in pieces, by lines."""
    read = piece = os.pread(file, _CHUNK, 0)
    while len(piece) > _SURELY_LAST:
        piece = os.pread(file, _CHUNK, len(read))
        read += piece
    return read
