"""Reads the state of a results directory while a session writes it: only what is new."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from stat import S_ISLNK

from tare.core.errors import ResultsError
from tare.core.model import NO_RUN, Kind, Phase, Plan, SessionProgress, Status, Trial
from tare.results.store.progress import NAME as PROGRESS
from tare.results.store.progress import SILENT_S, progress_of
from tare.results.store.reader import TrialsFile, opened, read_plan, read_run

FILES = ("plan.json", "trials.jsonl", "facts.json", "run.json", "report.html")
Stamp = tuple[int, int, int] | None


class State(StrEnum):
    """What a study is doing."""

    RUNNING = "running"
    ENDED = "ended"
    """A session has written down why it stopped; it may be continued."""
    KILLED = "killed"
    """The last session wrote no end, and has no heartbeat."""
    NOT_BEGUN = "not begun"
    REMOVED = "removed"
    """It was there, and its plan is no more."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Overview:
    """What a study is at a moment, as far as counting lines tells.

    ``done`` of ``planned`` slots have a trial; ``bad`` trials are not ok. ``active_at`` is when a
    session last wrote, in seconds since 1970. ``progress`` is what a session is doing that lives.
    ``problem`` says why it cannot be read, if so.
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
    progress: SessionProgress | None = None
    problem: str = ""

    @property
    def planned(self) -> int:
        """How many slots the plan has; fewer are run where comparisons are decided early."""
        return len(self.plan.slots) if self.plan else 0


class Pulse:
    """What a living session says that it is doing, by its file and the heartbeat of that."""

    def __init__(self, path: Path, root: Path, clock: Callable[[], float]) -> None:
        self._path, self._root, self._clock = path, root, clock
        self._stamp: Stamp = None
        self._beat_at = -math.inf
        self._said: SessionProgress | None = None

    def look(self) -> SessionProgress | None:
        """Return what the session is doing; None where none lives.

        The clocks of two hosts that share a folder may differ: that a heartbeat is recent counts at
        the first look alone, and later that it has changed since.
        """
        found = stamp(self._path, self._root)
        if found is None:
            self._stamp = self._said = None
            return None
        if found != self._stamp:
            age_s = max(0.0, time.time() - found[2] / 1e9) if self._stamp is None else 0.0
            self._stamp, self._beat_at = found, self._clock() - age_s
            try:
                with opened(self._path) as file:
                    self._said = progress_of(file.read(), self._path)
            except (OSError, ResultsError):
                self._said = None
        lives = self._clock() - self._beat_at < SILENT_S
        return self._said if lives and self.unended else None

    @property
    def unended(self) -> str:
        """The session that did not say that it has ended, living or dead; empty: none."""
        progress = self._said
        return progress.session if progress and progress.phase is not Phase.ENDED else ""


class OverviewReader:
    """A study of which only the state and the numbers of trials are wanted."""

    def __init__(
        self, folder: Path, name: str, root: Path, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.folder, self.name, self.root = folder, name, root
        self._paths = [folder / name for name in FILES]
        self._clock, self._pulse = clock, Pulse(folder / PROGRESS, root, clock)
        self._lock = threading.Lock()
        self._stamps: tuple[Stamp, ...] = ()
        self._progress: SessionProgress | None = None
        self._made_of: tuple[object, ...] = ()
        self._overview: Overview | None = None
        self._forget()

    def read(self) -> Overview:
        """Look again; what is given is the same object as before if nothing has changed."""
        with self._lock:
            return self._refresh()

    def _refresh(self) -> Overview:
        # First the session: what it leaves at its end is there before it says that it has ended.
        progress = self._pulse.look()
        stamps = tuple(stamp(path, self.root) for path in self._paths)
        seen = (stamps, progress, self._pulse.unended)
        if self._overview and seen == self._made_of:
            return self._overview
        if self._stamps[:1] != stamps[:1]:  # another study under the same name
            self._forget()
        self._stamps, self._progress, self._made_of = stamps, progress, seen
        try:
            self._read()
            problem = ""
        except (OSError, ValueError, ResultsError) as error:
            problem = f"{self.folder} cannot be read: {error}"
        self._overview = self._described(problem)
        return self._overview

    def _forget(self) -> None:
        self._file = TrialsFile(self.folder / "trials.jsonl")
        self._plan: Plan | None = None
        self._run = NO_RUN
        self._anew()

    def _anew(self) -> None:
        """Forget all trials."""
        self._count = self._whole = self._halves = self._bad = self._blocks = 0
        self._session = ""

    def _read(self) -> None:
        is_there = dict(zip(FILES, self._stamps, strict=True))
        if not is_there["plan.json"]:
            self._forget()
            raise ResultsError("its plan.json was removed, or is a link that leads elsewhere")
        if self._plan is None:
            self._plan = read_plan(self.folder / "plan.json")
        self._run = read_run(self.folder) if is_there["run.json"] else NO_RUN
        if not is_there["trials.jsonl"]:
            self._anew()
            return
        trials, anew = self._file.read()
        if anew:
            self._anew()
        for trial in trials:
            self._take(trial)

    def _take(self, trial: Trial) -> None:
        is_measured = trial.kind is Kind.MEASURED
        if is_measured and not trial.repeat:
            self._halves += bool(trial.partner)
            self._whole += not trial.partner
        self._bad += trial.status is not Status.OK
        self._blocks = max(self._blocks, trial.block + 1) if is_measured else self._blocks
        self._session = trial.session or self._session

    @property
    def _done(self) -> int:
        """How many slots have a trial; those of a duet had two before one trial was of both."""
        return self._whole + self._halves // 2

    def _described(self, problem: str) -> Overview:
        times = [one[2] for one in self._stamps[:4] if one]
        state = State.RUNNING if self._progress else self._state_at_rest()
        return Overview(
            name=self.name,
            plan=self._plan,
            state=state,
            stop=self._run.stop or "",
            done=self._done,
            bad=self._bad,
            blocks=self._blocks,
            active_at=max(times, default=0) / 1e9,
            has_report=self._stamps[FILES.index("report.html")] is not None,
            progress=self._progress,
            problem=problem,
        )

    def _state_at_rest(self) -> State:
        """Return the state of a study without a session, by what it left."""
        if self._stamps[FILES.index("plan.json")] is None:
            return State.REMOVED
        if self._stamps[FILES.index("facts.json")] is None:
            return State.NOT_BEGUN
        known = [one.id for one in self._run.sessions]
        if self._pulse.unended and self._pulse.unended not in known:
            return State.KILLED  # perhaps before its first trial
        if self._session in known or (known and not self._session):
            return State.ENDED
        return State.KILLED


def is_inside(path: Path, root: Path) -> bool:
    """Whether a path, all links followed, lies in a folder; the folder is an absolute one."""
    try:
        return path.resolve().is_relative_to(root)
    except (OSError, RuntimeError):  # a loop of links
        return False


def stamp(path: Path, root: Path) -> Stamp:
    """Return what identifies a version of a file; None if it is missing, or out of the root."""
    try:
        about = path.lstat()
        if S_ISLNK(about.st_mode):
            about = path.stat()
            if not is_inside(path, root):
                return None
    except OSError:
        return None
    return about.st_ino, about.st_size, about.st_mtime_ns
