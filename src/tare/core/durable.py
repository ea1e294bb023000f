"""Write files so that a crash or a full disk leaves the old content or the new, never a part."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO


def append(file: IO[bytes], content: bytes) -> None:
    """Append to an unbuffered file and return once it is on the disk.

    On an error, which is raised, the file is restored: a full disk may have taken the first part.
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
    """Write a file without waiting for the disk; raises OSError.

    Used for many small files: a file object would double the time.
    """
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(file, rest) :]
    finally:
        os.close(file)


def replace(path: Path, content: str | bytes) -> None:
    """Replace a file atomically, or raise OSError."""
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
    """Remove an incomplete last line, left by a kill before its write was reported."""
    with path.open("r+b") as file:
        content = file.read()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            file.truncate(whole)
