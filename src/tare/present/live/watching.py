"""Reads everything of a results directory while a session writes it: only what is new."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tare.core.model import Status, Trial
from tare.present.live.glancing import TRIALS, Glance, Glancing, Noted, State
from tare.present.live.narrowing import Course, Narrowing
from tare.present.live.readings import Readings, Recent

LEAST_S, SHARE = 1.0, 0.005
"""Between looks, where only numbers of pairs change, comparisons are made again after this time at
least, and so that they take this share of it."""
MAX_FAILURES = 30
"""So many trials that are not ok are listed: those that ended last."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Seen:
    """A study at a moment with its trials; what was computed of them may lag behind a little.

    What has not changed since the moment before is the same object, so what was drawn of it stays.
    ``statuses`` counts how trials ended, warm-ups too; ``failures`` are the last that are not ok.
    ``readings`` are of the last trials alone.
    """

    glance: Glance
    folder: Path
    trials: Sequence[Trial] = ()
    statuses: Mapping[Status, int] = field(default_factory=dict)
    failures: Sequence[Trial] = ()
    course: Course | None = None
    readings: Readings


class Watching(Glancing):
    """A study of which everything is wanted."""

    def __init__(
        self,
        folder: Path,
        name: str,
        root: Path,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._narrowing: Narrowing | None = None
        self._course: Course | None = None
        self._compared: tuple[int, int] = (0, 0)
        self._again_at = 0.0
        self._as_seen: tuple[Trial, ...] = ()
        self._seen: Seen | None = None
        super().__init__(folder, name, root, clock)

    def seen(self) -> Seen:
        """Look again; what is given is the same object as before if nothing has changed."""
        with self._lock:
            glance = self._refresh()
            before = self._course
            self._compare(running=glance.state is State.RUNNING)
            readings = self._recent.look()
            if (
                self._seen is None
                or self._seen.glance is not glance
                or self._course is not before
                or self._seen.readings is not readings
            ):
                if len(self._as_seen) != len(self._trials):
                    self._as_seen = tuple(self._trials)
                self._seen = Seen(
                    glance=glance,
                    folder=self.folder,
                    trials=self._as_seen,
                    statuses=dict(self._statuses),
                    failures=self._failures,
                    course=self._course,
                    readings=readings,
                )
            return self._seen

    def _forget(self) -> None:
        super()._forget()
        self._recent = Recent(self.folder, self.root)

    def _anew(self) -> None:
        super()._anew()
        self._trials: list[Trial] = []
        self._as_seen = ()
        self._statuses: Counter[Status] = Counter()
        self._failures: tuple[Trial, ...] = ()
        self._narrowing = self._course = None
        self._compared, self._again_at = (0, 0), 0.0

    def _take(self, line: bytes) -> None:
        whole = TRIALS.validate_json(self._todays(line))
        for trial in whole.by_cell():
            self._trials.append(trial)
            self._statuses[trial.status] += 1
            if trial.status is not Status.OK:
                self._failures = (*self._failures, trial)[-MAX_FAILURES:]
        self._note(Noted.of(whole))

    def _compare(self, *, running: bool) -> None:
        """Compare when a look is due, and between looks unless that was just done.

        Within a block nothing is new, unless the session has ended there.
        """
        if self._plan is None:
            return
        self._narrowing = self._narrowing or Narrowing(self._plan)
        known, trials = (self._blocks, 0 if running else len(self._trials)), self._trials
        course, is_due = self._course, self._narrowing.is_due(self._blocks - 1)
        is_behind = known != self._compared and self._clock() >= self._again_at
        if course is None or is_due or is_behind:
            self._narrowing.look(trials)  # takes much longer, and once for each
            begin = self._clock()
            self._course, self._compared = self._narrowing.course(trials), known
            end = self._clock()
            self._again_at = end + max(LEAST_S, (end - begin) / SHARE)
