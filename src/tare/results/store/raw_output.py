"""Raw output on disk: a folder a trial, and an index of what is in them all.

``raw/<trial>/`` holds ``command.json``, ``stdout`` and, where there is any, ``stderr``; a line of
``raw/index.jsonl`` says which of them a trial has, and its argv. A large study has a hundred
thousand folders: to look into each takes 20 s where the disk has to be asked, the index half a
second.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from pydantic_core import from_json

from tare.core import durable
from tare.core.completed import Completed
from tare.core.model import Kind, Trial
from tare.results.store import formats

FOLDER, INDEX = "raw", "index.jsonl"

LOOKED_INTO = 10_000
"""Up to this number of folders are looked into; of more, the index is believed."""

Stored = tuple[tuple[str, ...], str]
"""The files of a trial, and its command as one types it; "" where that is not understood."""


class RawOutput:
    """The raw output in a results directory that is being filled by one session."""

    def __init__(self, results: Path) -> None:
        """Go on where an earlier session ended, or raise OSError."""
        self._folder = results / FOLDER
        self._folder.mkdir(parents=True, exist_ok=True)
        index = self._folder / INDEX
        index.touch()
        durable.cut_torn_line(index)
        self._index = index.open("ab", buffering=0)

    def add(self, trial: Trial, completed: Completed) -> None:
        """Keep what the command of a trial was and printed, or raise OSError."""
        name = raw_name(trial)
        folder = f"{self._folder}/{name}"
        files = {"stdout": completed.stdout}
        if completed.stderr:
            files["stderr"] = completed.stderr
        command = {
            "format": formats.RAW,
            "argv": completed.argv,
            "status": completed.returncode,
            "timed_out": completed.timed_out,
            "duration_s": completed.duration_s,
        }
        files["command.json"] = json.dumps(command).encode()
        is_new = _make(folder)
        for file, content in files.items():
            durable.write(f"{folder}/{file}", content)
        names = sorted(files) if is_new else _names(folder)
        about = {"format": formats.RAW, "name": name, "files": names, "argv": completed.argv}
        # Not synced: whose line a lost power takes away is found by looking into its folder.
        self._index.write(f"{json.dumps(about)}\n".encode())

    def drop(self, trial: Trial) -> None:
        """Remove what is kept of a trial; its line in the index then means nothing."""
        shutil.rmtree(self._folder / raw_name(trial), ignore_errors=True)

    def close(self) -> None:
        """Close the index."""
        self._index.close()


def raw_name(trial: Trial) -> str:
    """Name the folder of a trial's raw output."""
    again = "-again" if trial.repeat else ""
    if trial.repeat and trial.kind is Kind.WARMUP:
        again = f"-{trial.repeat + 1}"
    return f"{trial.block:04d}-{trial.slot:04d}-{trial.kind}-{trial.instance}{again}"


def read_raw(results: Path) -> Mapping[str, Stored]:
    """Read what a results directory holds, by the names of its folders (``raw_name``).

    Of very many folders the index is believed: files that were removed since are still named. What
    is not in it, as older folders are not, is looked into; a folder that is gone is not stored.
    """
    there = set(_names(results / FOLDER)) - {INDEX}
    # Trials of a cell have the same files and the same command: each is kept once.
    once: dict[Stored, Stored] = {}
    found = {}
    for name, one in _indexed(results / FOLDER / INDEX) if len(there) > LOOKED_INTO else ():
        if name in there:
            found[name] = once.setdefault(one, one)
    for name in there.difference(found):
        one = raw_of(results, name)
        found[name] = once.setdefault(one, one)
    return found


def raw_of(results: Path, name: str) -> Stored:
    """Look what is stored of one trial, which may be nothing; ResultsError if by a newer Tare."""
    own = results / FOLDER / name
    try:
        stored = from_json((own / "command.json").read_bytes())
    except (OSError, ValueError):
        stored = None
    if isinstance(stored, dict):
        formats.refuse_newer(stored, formats.RAW, own / "command.json")
    return tuple(_names(own)), _command(stored)


def _indexed(index: Path) -> Iterator[tuple[str, Stored]]:
    """Read the lines of an index; of a trial that was run anew the last one is right.

    Those that are not understood, such as the last one of a killed session, say nothing.
    """
    with contextlib.suppress(OSError), index.open("rb") as lines:
        for line in lines:
            with contextlib.suppress(ValueError, TypeError, KeyError):
                about = from_json(line)
                if isinstance(about, dict):
                    formats.refuse_newer(about, formats.RAW, index)
                files = tuple(map(_file_name, about["files"]))
                if files and isinstance(about["files"], list):
                    yield str(about["name"]), (files, _command(about))


def _file_name(name: str) -> str:
    """Return the name of a file in a folder, or raise ValueError where it leads elsewhere."""
    if not str.isprintable(name) or "/" in name or name in (".", ".."):
        raise ValueError(f"{name!r} is no file of a folder")
    return name


def _command(stored: object) -> str:
    """Write a command as one types it; exactly what it was is in its file."""
    argv = stored.get("argv") if isinstance(stored, dict) else None
    return _typed(tuple(map(str, argv))) if isinstance(argv, list) else ""


@lru_cache(maxsize=1024)
def _typed(argv: tuple[str, ...]) -> str:
    return shlex.join(argv)


def _make(folder: str) -> bool:
    """Make a folder; False where it is there, as that of a trial that is run anew."""
    try:
        os.mkdir(folder)  # noqa: PTH102 - after every trial: Path costs more
    except FileExistsError:
        return False
    return True


def _names(folder: Path | str) -> list[str]:
    """List what is in a folder that may be gone, as far as a link can name it."""
    try:
        found = os.listdir(folder)  # noqa: PTH208 - a hundred thousand of these
    except (OSError, ValueError):  # a name with a zero in it names nothing
        return []
    return sorted(name for name in found if name.isprintable())
