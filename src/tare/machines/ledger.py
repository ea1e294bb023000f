"""The ledger: a log of everything Tare creates on machines, so that clean-up finds all of it.

A ledger is a file of JSON lines: ``{"id": 3, "what": "container", "name": ..., "on": ...,
"undo": [argv], ...}`` when something is about to be made, ``{"gone": 3}`` when it was removed. The
undo command is the one that runs on the controlling host, can be run at any time and again, and
succeeds when the thing is not there. The file is locked as long as its session lives.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from tare.core import durable
from tare.core.completed import tail_of
from tare.core.errors import LayerError
from tare.machines.machine import Host, Machine
from tare.machines.ssh import NO_CONNECTION, target

UNDO_S = 60.0
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One thing that was made, and the command that removes it on the machine it is on."""

    id: int
    what: str
    name: str
    machine: Machine
    undo: tuple[str, ...]


class Ledger:
    """The ledger of one session, open for writing and locked."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("ab", buffering=0)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise LayerError(f"{path} is in use by a Tare session that is still running") from None
        durable.cut_torn_line(path)
        # Lines are fewer than ids where a disk was full.
        self._count = max(
            (int(str(line["id"])) for line in _lines(path) if "id" in line), default=0
        )
        self._lock = threading.Lock()
        self._silent: set[tuple[str, ...]] = set()
        """Computers that did not answer: the next command there would wait as long for nothing."""

    def about_to_make(
        self, what: str, name: str, machine: Machine, undo: Sequence[str]
    ) -> LedgerEntry:
        """Write down what is about to be made and how it is removed; returns once it is on disk."""
        with self._lock:
            self._count += 1
            entry = LedgerEntry(self._count, what, name, machine, tuple(undo))
        self._append(
            {
                "id": entry.id,
                "what": what,
                "name": name,
                "on": machine.name,
                "ephemeral": machine.ephemeral,
                "undo": machine.undo_argv(undo),
            }
        )
        return entry

    def remove(self, entry: LedgerEntry) -> None:
        """Remove a thing and record that, or raise LayerError with the reason."""
        what = f"{entry.what} {entry.name} on {entry.machine.name}"
        computer = target(entry.machine.undo_argv(entry.undo))
        if computer in self._silent:
            raise LayerError(f"could not remove {what}: {computer[-1]} did not answer before")
        done = entry.machine.run(entry.undo, timeout_s=UNDO_S)
        if done.returncode != 0:
            if computer and (done.timed_out or done.returncode == NO_CONNECTION):
                self._silent.add(computer)
            why = tail_of(done.stderr) or f"exit {done.returncode}"
            raise LayerError(f"could not remove {what}: {why}")
        self.forget(entry)

    def forget(self, entry: LedgerEntry) -> None:
        """Write down that a thing is gone, because what it was in is gone or it ended by itself.

        A full disk must not end a clean-up: what is not written is only removed a second time.
        """
        with contextlib.suppress(OSError):
            self._append({"gone": entry.id})

    def close(self) -> None:
        """Release the lock."""
        self._file.close()

    def _append(self, line: dict[str, object]) -> None:
        with self._lock:
            durable.append(self._file, f"{json.dumps(line)}\n".encode())


@dataclass
class Scope:
    """What one instance of one layer made, to be removed together, newest first."""

    ledger: Ledger
    entries: list[LedgerEntry] = field(default_factory=list)

    def about_to_make(
        self, what: str, name: str, machine: Machine, undo: Sequence[str]
    ) -> LedgerEntry:
        """See Ledger.about_to_make."""
        entry = self.ledger.about_to_make(what, name, machine, undo)
        self.entries.append(entry)
        return entry

    def remove(self, entry: LedgerEntry) -> None:
        """Remove one thing before the others, or raise LayerError."""
        self.ledger.remove(entry)
        self.entries.remove(entry)

    def close(self) -> None:
        """Remove everything; what fails stays in the ledger and does not keep the rest from it."""
        failures = []
        while self.entries:
            try:
                self.ledger.remove(self.entries.pop())
            except LayerError as error:
                failures.append(str(error))
        if failures:
            raise LayerError("; ".join(failures))

    def forget(self) -> None:
        """Note that everything is gone, because the machine it was on is gone."""
        while self.entries:
            self.ledger.forget(self.entries.pop())


@dataclass
class Service(Generic[T]):
    """Something that instances on one machine share, such as a daemon."""

    value: T
    machine: Machine
    scope: Scope


class Services:
    """What a session's instances share: made by the first that needs it, removed at the end."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._services: dict[tuple[str, int], Service[object]] = {}
        self._lock = threading.Lock()
        # One for each, so that a daemon that starts in one machine does not keep others waiting.
        self._making: dict[tuple[str, int], threading.Lock] = {}

    def once(
        self,
        what: str,
        machine: Machine,
        make: Callable[[Scope], T],
        alive: Callable[[T], bool],
    ) -> T:
        """Return the machine's one service of this name; make it if there is none that is alive.

        What makes it may ask for services of other names.
        """
        key = (what, id(machine))
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        with making:
            known = self._services.get(key)
            if known is not None:
                if alive(known.value):  # type: ignore[arg-type]
                    return known.value  # type: ignore[return-value]
                del self._services[key]
                known.scope.close()
            scope = Scope(self._ledger)
            try:
                value = make(scope)
            except BaseException:
                scope.close()
                raise
            self._services[key] = Service(value, machine, scope)
            return value

    def abandon(self, what: str, machine: Machine) -> None:
        """Forget a service that is gone for now; what it made stays in the ledger."""
        with self._lock:
            self._services.pop((what, id(machine)), None)

    def close(self) -> None:
        """Remove all services; those on machines that are gone by now are gone too."""
        failures = []
        for service in reversed(self._services.values()):
            if service.machine.ephemeral:
                service.scope.forget()
                continue
            try:
                service.scope.close()
            except LayerError as error:
                failures.append(str(error))
        self._services.clear()
        if failures:
            raise LayerError("; ".join(failures))


@dataclass(frozen=True, slots=True)
class Leftover:
    """Something a ledger says was made and does not say was removed."""

    id: int
    what: str
    name: str
    undo: tuple[str, ...]


def leftovers(path: Path) -> list[Leftover]:
    """Read what a session left, newest first; what lay inside a machine of its own is not listed.

    A last line that was cut short by a kill was never acted upon, and is skipped.
    """
    made: dict[int, Leftover] = {}
    for line in _lines(path):
        if "gone" in line:
            made.pop(int(str(line["gone"])), None)
        elif not line["ephemeral"]:
            undo = line["undo"]
            assert isinstance(undo, list)  # noqa: S101 - written by about_to_make above
            made[int(str(line["id"]))] = Leftover(
                int(str(line["id"])), str(line["what"]), str(line["name"]), tuple(map(str, undo))
            )
    return sorted(made.values(), key=lambda left: -left.id)


def is_live(path: Path) -> bool:
    """Return whether the session that writes a ledger still runs."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def clean(path: Path, *, forget: bool = False) -> Iterator[tuple[Leftover, str]]:
    """Remove what a dead session left; yields each thing with "" or why it could not be removed.

    With ``forget`` what cannot be removed is given up. Raises LayerError if the session still
    lives.
    """
    ledger = Ledger(path)
    try:
        for left in leftovers(path):
            entry = LedgerEntry(left.id, left.what, left.name, Host(), left.undo)
            try:
                ledger.remove(entry)
            except LayerError as error:
                if forget:
                    ledger.forget(entry)
                yield left, str(error)
            else:
                yield left, ""
    finally:
        ledger.close()


def _lines(path: Path) -> list[dict[str, object]]:
    lines = []
    for text in path.read_text().splitlines():
        try:
            lines.append(json.loads(text))
        except json.JSONDecodeError:
            continue
    return lines
