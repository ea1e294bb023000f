"""Keep ``progress.json`` current while a session runs: what it does now, and that it is alive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any

from tare.core.model import Cell, Phase, Plan, SessionProgress, Trial
from tare.experiment.run.progress import Progress
from tare.results.questions.allocation import Standing
from tare.results.store.progress import HEARTBEAT_S, ProgressFile


class Heartbeat:
    """Passes every event on, and keeps ``progress.json`` up to date; see Progress.

    Platforms are opened by several threads at once, and each says what it does.
    """

    def __init__(self, progress: Progress, folder: Path, session: str) -> None:
        self._progress, self._file = progress, ProgressFile(folder)
        self._now = SessionProgress(session=session)
        self._writing = Lock()
        self._ended = Event()
        self._thread = Thread(target=self._beat, name="heartbeat", daemon=True)

    def __enter__(self) -> Heartbeat:
        self._file.write(self._now)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()
        self._write(phase=Phase.ENDED, cells=(), following=())

    def begins(self, plan: Plan, trials_done: int) -> None:
        """See Progress.begins."""
        self._progress.begins(plan, trials_done)

    def says(self, text: str) -> None:
        """See Progress.says."""
        self._write(text=text, cells=())
        self._progress.says(text)

    def removes(self) -> None:
        """See Progress.removes."""
        self._write(phase=Phase.REMOVING, cells=(), following=())
        self._progress.removes()

    def block(self, number: int, decided: int, of: int) -> None:
        """See Progress.block."""
        self._now = replace(
            self._now, phase=Phase.MEASURING, block=number, decided=decided, compared=of
        )
        self._progress.block(number, decided, of)

    def known(self, cell: Cell, standing: Standing) -> None:
        """See Progress.known."""
        self._progress.known(cell, standing)

    def trial(self, cells: Sequence[Cell], following: Sequence[Cell]) -> None:
        """See Progress.trial."""
        ids, next_ids = (tuple(one.id for one in some) for some in (cells, following))
        self._write(cells=ids, following=next_ids)
        self._progress.trial(cells, following)

    def ended(self, cell: Cell, trial: Trial) -> None:
        """See Progress.ended."""
        self._progress.ended(cell, trial)

    def _write(self, **changes: Any) -> None:  # noqa: ANN401
        with self._writing:
            progress = replace(self._now, **changes)
            if progress != self._now:
                self._now = progress
                self._file.write(progress)

    def _beat(self) -> None:
        while not self._ended.wait(HEARTBEAT_S):
            self._file.beat()
