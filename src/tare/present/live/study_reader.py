"""Reads everything of a results directory while a session writes it: only what is new."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tare.core.model import Status, Trial
from tare.present.live.looks import LookHistory, LookTaker
from tare.present.live.overview import Overview, OverviewReader, State
from tare.present.live.samples import SampledUsage, SampledUsageReader

LEAST_S, SHARE = 1.0, 0.005
"""Between looks, where only numbers of pairs change, comparisons are made again after this time at
least, and so that they take this share of it."""
MAX_FAILURES = 30
"""The most trials that are not ok that are listed: those that ended last."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Snapshot:
    """A study at a moment with its trials; what was computed of them may lag behind a little.

    What has not changed since the moment before is the same object, so what was drawn of it stays.
    ``statuses`` counts how trials ended, warm-ups too; ``failures`` are the last that are not ok.
    ``usage`` are of the last trials alone.
    """

    overview: Overview
    folder: Path
    trials: Sequence[Trial] = ()
    statuses: Mapping[Status, int] = field(default_factory=dict)
    failures: Sequence[Trial] = ()
    course: LookHistory | None = None
    usage: SampledUsage


class StudyReader(OverviewReader):
    """A study of which everything is wanted."""

    def __init__(
        self,
        folder: Path,
        name: str,
        root: Path,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._looks: LookTaker | None = None
        self._course: LookHistory | None = None
        self._compared: tuple[int, int] = (0, 0)
        self._again_at = 0.0
        self._as_seen: tuple[Trial, ...] = ()
        self._seen: Snapshot | None = None
        super().__init__(folder, name, root, clock)

    def snapshot(self) -> Snapshot:
        """Look again; what is given is the same object as before if nothing has changed."""
        with self._lock:
            overview = self._refresh()
            before = self._course
            self._compare(running=overview.state is State.RUNNING)
            usage = self._recent.look()
            if (
                self._seen is None
                or self._seen.overview is not overview
                or self._course is not before
                or self._seen.usage is not usage
            ):
                if len(self._as_seen) != len(self._trials):
                    self._as_seen = tuple(self._trials)
                self._seen = Snapshot(
                    overview=overview,
                    folder=self.folder,
                    trials=self._as_seen,
                    statuses=dict(self._statuses),
                    failures=self._failures,
                    course=self._course,
                    usage=usage,
                )
            return self._seen

    def _forget(self) -> None:
        super()._forget()
        self._recent = SampledUsageReader(self.folder, self.root)

    def _anew(self) -> None:
        super()._anew()
        self._trials: list[Trial] = []
        self._as_seen = ()
        self._statuses: Counter[Status] = Counter()
        self._failures: tuple[Trial, ...] = ()
        self._looks = self._course = None
        self._compared, self._again_at = (0, 0), 0.0

    def _take(self, trial: Trial) -> None:
        super()._take(trial)
        for one in trial.by_cell():
            self._trials.append(one)
            self._statuses[one.status] += 1
            if one.status is not Status.OK:
                self._failures = (*self._failures, one)[-MAX_FAILURES:]

    def _compare(self, *, running: bool) -> None:
        """Compare when a look is due, and between looks unless that was just done.

        Within a block nothing is new, unless the session has ended there.
        """
        if self._plan is None:
            return
        self._looks = self._looks or LookTaker(self._plan)
        known, trials = (self._blocks, 0 if running else len(self._trials)), self._trials
        course, is_due = self._course, self._looks.is_due(self._blocks - 1)
        is_behind = known != self._compared and self._clock() >= self._again_at
        if course is None or is_due or is_behind:
            self._looks.look(trials)  # takes much longer, and once for each
            begin = self._clock()
            self._course, self._compared = self._looks.course(trials), known
            end = self._clock()
            self._again_at = end + max(LEAST_S, (end - begin) / SHARE)
