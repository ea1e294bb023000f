"""What is stored of each trial's raw output: its files by name, and the command as one types it.

A large study has a hundred thousand folders of it, which are read while the trials are.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from pydantic_core import from_json

RawOutput = tuple[tuple[str, ...], str]
"""The files of a trial, and its command; "" where it is not stored, or not understood."""


def read_raw(folder: Path) -> Mapping[str, RawOutput]:
    """Read what a results directory holds, by the names of its folders (``store.raw_name``)."""
    # Trials of a cell have the same files and the same command: each is kept once.
    once: dict[RawOutput, RawOutput] = {}
    found = {}
    for name in _names(os.fspath(folder / "raw")):
        one = raw_of(folder, name)
        found[name] = once.setdefault(one, one)
    return found


def raw_of(folder: Path, name: str) -> RawOutput:
    """Read what it holds of one trial, which may be nothing."""
    own = f"{folder}/raw/{name}"
    files = tuple(_names(own))
    argv = _argv(f"{own}/command.json") if "command.json" in files else ()
    return files, _typed(argv)


@lru_cache(maxsize=1024)
def _typed(argv: tuple[str, ...]) -> str:
    return shlex.join(argv)


def _argv(path: str) -> tuple[str, ...]:
    """Read a command; exactly what it was is in the file."""
    try:
        # A file object takes three times as long as the file.
        file = os.open(path, os.O_RDONLY)
        try:
            content = b"".join(iter(lambda: os.read(file, 1 << 20), b""))
        finally:
            os.close(file)
        stored = from_json(content)
    except (OSError, ValueError):
        return ()
    argv = stored.get("argv") if isinstance(stored, dict) else None
    return tuple(map(str, argv)) if isinstance(argv, list) else ()


def _names(folder: str) -> list[str]:
    """List what is in a folder that may be gone, as far as a link can name it."""
    try:
        found = os.listdir(folder)  # noqa: PTH208 - a hundred thousand of these
    except OSError:
        return []
    return sorted(name for name in found if name.isprintable())
