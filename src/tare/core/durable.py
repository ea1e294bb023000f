"""Files that are what they were or what they should be, whatever happens in between."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO


def append(file: IO[bytes], content: bytes) -> None:
    """Append to an unbuffered file and return once it is on the disk.

    On an error, which is raised, the file is as it was: a disk that fills up takes a first part.
    """
    at = file.seek(0, os.SEEK_END)
    try:
        rest = content
        while rest:
            rest = rest[os.write(file.fileno(), rest) :]
        os.fsync(file.fileno())
    except OSError:
        os.ftruncate(file.fileno(), at)
        raise


def write(path: str, content: bytes) -> None:
    """Write a file anew, as the system writes it to the disk when it has time; raises OSError.

    Of many small ones: a file object takes as long again.
    """
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(file, rest) :]
    finally:
        os.close(file)


def replace(path: Path, content: str | bytes) -> None:
    """Write a file so that it is found old or new, never in between, or raise OSError."""
    new = path.with_name(f"{path.name}.new")
    try:
        with new.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError:
        new.unlink(missing_ok=True)
        raise


def cut_torn_line(path: Path) -> None:
    """Drop what a kill left of a last line: nobody was told that it was written."""
    with path.open("r+b") as file:
        content = file.read()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            file.truncate(whole)
