"""Write settings of the host, and restore them."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tare.core.errors import Unavailable
from tare.experiment.host.tuning.journal import Journal, JournalEntry
from tare.experiment.host.tuning.plan import Change, value


@dataclass(frozen=True, slots=True)
class Result:
    """The result for one file: its value now, and a problem or a note."""

    path: Path
    now: str
    said: str = ""
    is_problem: bool = False


def apply(changes: Sequence[Change], journal: Journal) -> Iterator[Result]:
    """Write all old values down, then set one file after the other and read it back."""
    journal.add(changes)
    for change in changes:
        yield _set(change.path, change.wanted)


def restore(journal: Journal) -> Iterator[Result]:
    """Restore the old value of every file, unless somebody else has changed it since.

    What could not be written stays in the journal.
    """
    entries = journal.entries()
    for path, entry in list(entries.items()):
        result = _restore(path, entry)
        if not result.is_problem:
            del entries[path]
        yield result
    journal.keep(entries)


@contextmanager
def measuring_stopped(lock: Path) -> Iterator[None]:
    """Prevent sessions from beginning, or raise Unavailable while one runs.

    ``lock`` is that of the runner: trials before and after a change could not be compared.
    """
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        file = lock.open("w")
    except OSError as error:
        raise Unavailable(f"cannot write to {lock}: {error.strerror}", "run as root") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Unavailable(
                "a Tare session is running on this host, and its trials before and after a change "
                "of settings could not be compared",
                "wait for it to end",
            ) from None
        yield


def _restore(path: Path, entry: JournalEntry) -> Result:
    try:
        now = value(path.read_text())
    except OSError as error:
        said = f"is left: it cannot be read any more ({error.strerror}); it was {entry.old}"
        return Result(path, "", said)
    if now == entry.old:  # the kill came before it was set
        return Result(path, now, "is as it was")
    if now != entry.wanted:
        said = (
            f"is left: somebody else has set it to {now} since; before tare tune it was {entry.old}"
        )
        return Result(path, now, said)
    return _set(path, entry.old)


def _set(path: Path, wanted: str) -> Result:
    try:
        path.write_text(f"{wanted}\n")
        now = value(path.read_text())
    except OSError as error:
        return Result(path, "", f"could not be set to {wanted}: {error.strerror}", is_problem=True)
    if now != wanted:
        return Result(path, now, f"was set to {wanted} and is {now}", is_problem=True)
    return Result(path, now)
