"""Reads a results directory while a session writes it: only what is new, and never a lock."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from tare.errors import ResultsError
from tare.live.narrowing import Course, Narrowing
from tare.model import Kind, Plan, Status, Trial

SILENT_S = 600.0
"""Where the kernel does not tell who holds a lock, a study without news for so long is dead."""
LEAST_S, SHARE = 1.0, 0.02
"""Comparisons are made again after this time at least, and so that they take this share of it."""

FILES = ("plan.json", "trials.jsonl", "facts.json", "run.json", "report.html")
Stamp = tuple[int, int, int] | None

_plans, _trials = TypeAdapter(Plan), TypeAdapter(Trial)


class State(StrEnum):
    """What a study is doing."""

    RUNNING = "running"
    ENDED = "ended"
    """A session has written down why it stopped; it may be continued."""
    KILLED = "killed"
    """The last session that stored a trial wrote no end, and lives no more."""
    NOT_BEGUN = "not begun"


@dataclass(frozen=True, eq=False, kw_only=True)
class Glance:
    """What a study is at a moment, as far as counting lines tells.

    ``done`` of ``planned`` slots have a trial; ``bad`` trials are not ok. ``active_at`` is when a
    session last wrote, in seconds since 1970. ``problem`` says why it cannot be read, if so.
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
    problem: str = ""

    @property
    def planned(self) -> int:
        """How many slots the plan has; fewer are run where comparisons are decided early."""
        return len(self.plan.slots) if self.plan else 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Seen:
    """A study at a moment with its trials; what was computed of them may lag behind a little."""

    glance: Glance
    folder: Path
    trials: Sequence[Trial] = ()
    course: Course | None = None


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
            file = self.path.open("rb")
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

    def __init__(self, folder: Path, name: str, root: Path) -> None:
        self.folder, self.name, self.root = folder, name, root
        self._lock = threading.Lock()
        self._stamps: tuple[Stamp, ...] = ()
        self._running: bool | None = None
        self._glance: Glance | None = None
        self._forget()

    def glance(self) -> Glance:
        """Look again; what is given is the same object as before if nothing has changed."""
        with self._lock:
            return self._refresh()

    def _refresh(self) -> Glance:
        stamps = tuple(_stamp(self.folder / name, self.root) for name in FILES)
        running = _is_running(self.folder, stamps)
        if self._glance and (stamps, running) == (self._stamps, self._running):
            return self._glance
        if self._stamps[:1] != stamps[:1]:  # another study under the same name
            self._forget()
        self._stamps, self._running = stamps, running
        try:
            self._read()
            problem = ""
        except (OSError, ValueError, KeyError, TypeError, ResultsError) as error:
            problem = f"{self.folder} cannot be read: {error}"
        self._glance = self._described(running=running, problem=problem)
        return self._glance

    def _forget(self) -> None:
        self._tail = Tail(self.folder / "trials.jsonl")
        self._plan: Plan | None = None
        self._run: Mapping[str, Any] = {}
        self._anew()

    def _anew(self) -> None:
        """Forget all trials."""
        self._count = self._done = self._bad = self._blocks = 0
        self._session = ""

    def _read(self) -> None:
        is_there = dict(zip(FILES, self._stamps, strict=True))
        if not is_there["plan.json"]:
            self._forget()
            raise ResultsError("it has no plan.json (removed, or not begun yet)")
        if self._plan is None:
            self._plan = _plan(self.folder / "plan.json")
        self._run = _run(self.folder / "run.json") if is_there["run.json"] else {}
        lines, anew = self._tail.read() if is_there["trials.jsonl"] else ([], True)
        if anew:
            self._anew()
        for line in lines:
            self._count += 1
            try:
                self._take(line)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                self._tail = Tail(self._tail.path)  # so that it is said again until it is mended
                raise ResultsError(f"trials.jsonl:{self._count} is not a trial") from error

    def _take(self, line: bytes) -> None:
        trial = json.loads(line)
        self._note(
            Kind(trial["kind"]),
            Status(trial["status"]),
            str(trial["instance"]),
            int(trial["block"]),
            int(trial["repeat"]),
        )

    def _note(self, kind: Kind, status: Status, instance: str, block: int, repeat: int) -> None:
        is_measured = kind is Kind.MEASURED
        self._done += is_measured and not repeat
        self._bad += status is not Status.OK
        self._blocks = max(self._blocks, block + 1) if is_measured else self._blocks
        self._session = instance.partition("-")[0] or self._session

    def _described(self, *, running: bool, problem: str) -> Glance:
        stop = self._run.get("stop")
        times = [stamp[2] for stamp in self._stamps[:4] if stamp]
        return Glance(
            name=self.name,
            plan=self._plan,
            state=State.RUNNING if running else self._state_at_rest(),
            stop=stop if isinstance(stop, str) else "",
            done=self._done,
            bad=self._bad,
            blocks=self._blocks,
            active_at=max(times, default=0) / 1e9,
            has_report=self._stamps[FILES.index("report.html")] is not None,
            problem=problem,
        )

    def _state_at_rest(self) -> State:
        """Tell by what it left how a study without a session stands."""
        if self._stamps[FILES.index("facts.json")] is None:
            return State.NOT_BEGUN
        sessions = self._run.get("sessions")
        listed = sessions if isinstance(sessions, list) else []
        known = [one.get("id") for one in listed if isinstance(one, dict)]
        if self._session:
            return State.ENDED if self._session in known else State.KILLED
        return State.ENDED if known else State.KILLED


class Watching(Glancing):
    """A study of which everything is wanted."""

    def __init__(
        self, folder: Path, name: str, root: Path, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._narrowing: Narrowing | None = None
        self._course: Course | None = None
        self._compared: tuple[int, int] = (0, 0)
        self._again_at = 0.0
        self._seen: Seen | None = None
        super().__init__(folder, name, root)

    def seen(self) -> Seen:
        """Look again; what is given is the same object as before if nothing has changed."""
        with self._lock:
            glance = self._refresh()
            before = self._course
            self._compare(running=glance.state is State.RUNNING)
            if self._seen is None or self._seen.glance is not glance or self._course is not before:
                self._seen = Seen(
                    glance=glance,
                    folder=self.folder,
                    trials=tuple(self._trials),
                    course=self._course,
                )
            return self._seen

    def _anew(self) -> None:
        super()._anew()
        self._trials: list[Trial] = []
        self._narrowing = self._course = None
        self._compared, self._again_at = (0, 0), 0.0

    def _take(self, line: bytes) -> None:
        trial = _trials.validate_json(line)
        self._trials.append(trial)
        self._note(trial.kind, trial.status, trial.instance, trial.block, trial.repeat)

    def _compare(self, *, running: bool) -> None:
        """Compare when a block is whole or the session has ended, unless that was just done.

        Within a block only what runs next is new: no look is taken there.
        """
        if self._plan is None:
            return
        self._narrowing = self._narrowing or Narrowing(self._plan)
        known, trials = (self._blocks, 0 if running else len(self._trials)), self._trials
        begin = self._clock()
        if self._course is None or (known != self._compared and begin >= self._again_at):
            self._course, self._compared = self._narrowing.course(trials), known
            end = self._clock()
            self._again_at = end + max(LEAST_S, (end - begin) / SHARE)
        elif self._seen is None or len(self._seen.trials) != len(trials):
            self._course = replace(self._course, next=self._narrowing.next(trials))


def is_inside(path: Path, root: Path) -> bool:
    """Whether a path, all links followed, lies in a folder; the folder is an absolute one."""
    try:
        return path.resolve().is_relative_to(root)
    except (OSError, RuntimeError):  # a loop of links
        return False


def is_locked(path: Path) -> bool | None:
    """Whether a process holds a lock on a file, by the kernel's list; None if it shows none.

    The lock is not tried: a session that begins at that moment would be refused. File systems
    number their devices in the list in ways of their own, so the inode alone is compared.
    """
    try:
        listed = Path("/proc/locks").read_text()
    except OSError:
        return None
    try:
        inode = str(path.stat().st_ino)
    except OSError:
        return False
    fields = (line.split() for line in listed.splitlines())
    return any(
        "FLOCK" in line and any(field.split(":")[2:] == [inode] for field in line)
        for line in fields
    )


def _is_running(folder: Path, stamps: Sequence[Stamp]) -> bool:
    """Whether a session works on these results: it holds its ledger locked as long as it lives."""
    locked = is_locked(folder / "ledger.jsonl")
    if locked is not None:
        return locked
    written = max((stamp[2] for stamp in stamps[1:3] if stamp), default=0)
    ended = stamps[FILES.index("run.json")]
    has_ended = ended is not None and ended[2] >= written
    return bool(written) and not has_ended and time.time() - written / 1e9 < SILENT_S


def _stamp(path: Path, root: Path) -> Stamp:
    """Tell a version of a file from others; None if it is not there, or leads out of the root."""
    if path.is_symlink() and not is_inside(path, root):
        return None
    try:
        about = path.stat()
    except OSError:
        return None
    return about.st_ino, about.st_size, about.st_mtime_ns


def _plan(path: Path) -> Plan:
    try:
        return _plans.validate_json(path.read_bytes())
    except ValidationError as error:
        raise ResultsError(f"plan.json is not understood: {error.error_count()} errors") from error


def _run(path: Path) -> Mapping[str, Any]:
    content = json.loads(path.read_bytes())
    if not isinstance(content, dict):
        raise ResultsError("run.json is not understood: expected an object")
    return content
