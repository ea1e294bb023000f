"""Reads the state of a results directory while a session writes it: only what is new."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from stat import S_ISLNK, S_ISREG
from typing import BinaryIO

from pydantic import TypeAdapter, ValidationError

from tare.errors import ResultsError
from tare.live.liveness import PROC, Locks, has_news
from tare.model import NO_RUN, Kind, Plan, Run, Status, Trial
from tare.store import formats
from tare.store.reader import first_of, plan_of
from tare.store.run import run_of

FILES = ("plan.json", "trials.jsonl", "facts.json", "run.json", "report.html")
Stamp = tuple[int, int, int] | None

TRIALS = TypeAdapter(Trial)


class State(StrEnum):
    """What a study is doing."""

    RUNNING = "running"
    ENDED = "ended"
    """A session has written down why it stopped; it may be continued."""
    KILLED = "killed"
    """The last session that stored a trial wrote no end, and lives no more."""
    SILENT = "silent"
    """It wrote no end and has not written for long; from here nobody can see whether it lives."""
    NOT_BEGUN = "not begun"
    REMOVED = "removed"
    """It was there, and its plan is no more."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Glance:
    """What a study is at a moment, as far as counting lines tells.

    ``done`` of ``planned`` slots have a trial; ``bad`` trials are not ok. ``active_at`` is when a
    session last wrote, in seconds since 1970. ``is_guess`` says that the state is told by the age
    of the files alone. ``problem`` says why it cannot be read, if so.
    """

    name: str
    plan: Plan | None
    state: State
    stop: str
    done: int
    bad: int
    blocks: int
    active_at: float
    has_report: bool
    is_guess: bool = False
    problem: str = ""

    @property
    def planned(self) -> int:
        """How many slots the plan has; fewer are run where comparisons are decided early."""
        return len(self.plan.slots) if self.plan else 0


class Tail:
    """The whole lines of a file that is appended to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._inode = self._offset = 0

    def read(self) -> tuple[list[bytes], bool]:
        """Give the lines since the last reading, and whether they begin the file (anew).

        A last line without its end is being written, or was cut by a kill; it is left for later.
        """
        try:
            file = opened(self.path)
        except FileNotFoundError:
            self._inode = self._offset = 0
            return [], True
        with file:
            about = os.fstat(file.fileno())
            anew = about.st_ino != self._inode or about.st_size < self._offset
            if anew:
                self._inode, self._offset = about.st_ino, 0
            file.seek(self._offset)
            content = file.read()
        whole = content.rfind(b"\n") + 1
        self._offset += whole
        return content[:whole].split(b"\n")[:-1], anew


class Glancing:
    """A study of which only the state and the numbers of trials are wanted."""

    def __init__(self, folder: Path, name: str, root: Path, proc: Path = PROC) -> None:
        self.folder, self.name, self.root = folder, name, root
        self._paths, self._ledger = [folder / name for name in FILES], folder / "ledger.jsonl"
        self._proc = proc
        self._lock = threading.Lock()
        self._stamps: tuple[Stamp, ...] = ()
        self._locked: bool | None = None
        self._running: bool | None = None
        self._glance: Glance | None = None
        self._forget()

    def glance(self, locks: Locks | None = None) -> Glance:
        """Look again; what is given is the same object as before if nothing has changed.

        ``locks`` are those of this moment, where they were already read.
        """
        with self._lock:
            return self._refresh(locks or Locks(self._proc))

    def _refresh(self, locks: Locks) -> Glance:
        stamps = tuple(stamp(path, self.root) for path in self._paths)
        locked = locks.hold(self._ledger)
        running = locked
        if locked is None:
            _, trials, facts, run, _ = (one[2] if one else None for one in stamps)
            running = has_news([at for at in (trials, facts) if at is not None], run)
        known = (self._stamps, self._locked, self._running)
        if self._glance and (stamps, locked, running) == known:
            return self._glance
        if self._stamps[:1] != stamps[:1]:  # another study under the same name
            self._forget()
        self._stamps, self._locked, self._running = stamps, locked, running
        try:
            self._read()
            problem = ""
        except (OSError, ValueError, KeyError, TypeError, ResultsError) as error:
            problem = f"{self.folder} cannot be read: {error}"
        self._glance = self._described(problem)
        return self._glance

    def _forget(self) -> None:
        self._tail = Tail(self.folder / "trials.jsonl")
        self._plan: Plan | None = None
        self._run = NO_RUN
        self._anew()

    def _anew(self) -> None:
        """Forget all trials."""
        self._count = self._done = self._bad = self._blocks = 0
        self._session = ""

    def _read(self) -> None:
        is_there = dict(zip(FILES, self._stamps, strict=True))
        if not is_there["plan.json"]:
            self._forget()
            raise ResultsError("its plan.json was removed, or is a link that leads elsewhere")
        if self._plan is None:
            self._plan = _plan(self.folder / "plan.json")
        self._run = _run(self.folder / "run.json") if is_there["run.json"] else NO_RUN
        lines, anew = self._tail.read() if is_there["trials.jsonl"] else ([], True)
        if anew:
            self._anew()
        for line in lines:
            self._count += 1
            try:
                self._take(line)
            except ResultsError:
                self._tail = Tail(self._tail.path)  # so that it is said again until it is mended
                raise
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                self._tail = Tail(self._tail.path)  # so that it is said again until it is mended
                raise ResultsError(
                    f"trials.jsonl:{self._count} is not a trial ({_why(line)}); restore the file "
                    "from a copy, or delete the line, which gives its trial up"
                ) from error

    def _take(self, line: bytes) -> None:
        trial = json.loads(self._todays(line))
        self._note(
            Kind(trial["kind"]),
            Status(trial["status"]),
            str(trial["session"]),
            int(trial["block"]),
            int(trial["repeat"]),
        )

    def _todays(self, line: bytes) -> bytes:
        return formats.todays_trial(line, f"trials.jsonl:{self._count}")

    def _note(self, kind: Kind, status: Status, session: str, block: int, repeat: int) -> None:
        is_measured = kind is Kind.MEASURED
        self._done += is_measured and not repeat
        self._bad += status is not Status.OK
        self._blocks = max(self._blocks, block + 1) if is_measured else self._blocks
        self._session = session or self._session

    def _described(self, problem: str) -> Glance:
        times = [one[2] for one in self._stamps[:4] if one]
        state = State.RUNNING if self._running else self._state_at_rest()
        return Glance(
            name=self.name,
            plan=self._plan,
            state=state,
            stop=self._run.stop or "",
            done=self._done,
            bad=self._bad,
            blocks=self._blocks,
            active_at=max(times, default=0) / 1e9,
            has_report=self._stamps[FILES.index("report.html")] is not None,
            is_guess=self._locked is None and state in (State.RUNNING, State.SILENT),
            problem=problem,
        )

    def _state_at_rest(self) -> State:
        """Tell by what it left how a study without a session stands."""
        if self._stamps[FILES.index("plan.json")] is None:
            return State.REMOVED
        if self._stamps[FILES.index("facts.json")] is None:
            return State.NOT_BEGUN
        known = [one.id for one in self._run.sessions]
        if self._session in known or (known and not self._session):
            return State.ENDED
        return State.SILENT if self._locked is None else State.KILLED


def is_inside(path: Path, root: Path) -> bool:
    """Whether a path, all links followed, lies in a folder; the folder is an absolute one."""
    try:
        return path.resolve().is_relative_to(root)
    except (OSError, RuntimeError):  # a loop of links
        return False


def stamp(path: Path, root: Path) -> Stamp:
    """Tell a version of a file from others; None if it is not there, or leads out of the root."""
    try:
        about = path.lstat()
        if S_ISLNK(about.st_mode):
            about = path.stat()
            if not is_inside(path, root):
                return None
    except OSError:
        return None
    return about.st_ino, about.st_size, about.st_mtime_ns


def opened(path: Path) -> BinaryIO:
    """Open a file to read it, or raise OSError: reading a FIFO, say, might never end."""
    if not S_ISREG(path.stat().st_mode):
        raise OSError(f"{path.name} is no regular file")
    return path.open("rb")


def _why(line: bytes) -> str:
    """Say what is wrong with a line that is not a trial."""
    try:
        TRIALS.validate_json(line)
    except ValidationError as error:
        return first_of(error)
    return "it is not understood"


def _plan(path: Path) -> Plan:
    try:
        with opened(path) as file:
            return plan_of(file.read(), path.name)
    except ValidationError as error:
        raise ResultsError(f"plan.json is not understood: {error.error_count()} errors") from error


def _run(path: Path) -> Run:
    with opened(path) as file:
        content = json.load(file)
    if not isinstance(content, dict):
        raise ResultsError("run.json is not understood: expected an object")
    formats.refuse_newer(content, formats.RUN, path.name)
    return run_of(content)
