"""The archive format of an initial RAM disk ("newc", Documentation/driver-api/early-userspace)."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import PurePosixPath


def archive(files: Mapping[str, bytes]) -> bytes:
    """Return executable files, with their directories, as a compressed archive."""
    folders = dict.fromkeys(
        str(parent) for name in files for parent in reversed(PurePosixPath(name).parents[:-1])
    )
    parts = [_member(name, 0o040755, b"", number) for number, name in enumerate(folders, 1)]
    start = len(folders) + 1
    parts += [
        _member(name, 0o100755, data, start + i) for i, (name, data) in enumerate(files.items())
    ]
    return gzip.compress(b"".join([*parts, _member("TRAILER!!!", 0, b"", 0)]), mtime=0)


def _member(name: str, mode: int, data: bytes, inode: int) -> bytes:
    fields = (inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
    header = b"070701" + b"".join(b"%08X" % value for value in fields) + name.encode() + b"\0"
    return _padded(header) + _padded(data)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
