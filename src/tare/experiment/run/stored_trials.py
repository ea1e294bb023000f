"""Store trials in the results directory, and know those of earlier sessions."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from tare.core.completed import Completed
from tare.core.model import Kind, Plan, Slot, Trial, partner_of
from tare.experiment.run.progress import Progress
from tare.experiment.trial.measure import SeriesOfParts
from tare.results.store import Writer, samples
from tare.results.store.reader import read_trials
from tare.results.store.samples import Samples


class StoredTrials:
    """All trials that are stored, by their cells; ``took_s`` is what storing the last one took.

    ``before`` names block, cell and partner of those that earlier sessions measured.
    """

    def __init__(self, plan: Plan, writer: Writer, progress: Progress) -> None:
        self._plan, self._writer, self._progress = plan, writer, progress
        self.trials = list(read_trials(writer.folder / "trials.jsonl"))
        measured = (trial for trial in self.trials if trial.kind is Kind.MEASURED)
        self.before = {(trial.block, trial.cell, trial.partner) for trial in measured}
        self.took_s = 0.0
        # Those of an earlier session have to be whole: better said now than after the first trial.
        begun = (writer.folder / samples.FOLDER).exists()
        self._samples = Samples(writer.folder) if begun else None

    def has(self, slot: Slot) -> bool:
        """Return whether earlier sessions measured all cells of a slot."""
        cells = slot.cells
        return all((slot.block, one, partner_of(one, cells)) in self.before for one in cells)

    def add(
        self,
        trial: Trial,
        completed: Sequence[Completed | None],
        series: SeriesOfParts | None = None,
    ) -> Sequence[Trial]:
        """Store a trial, the raw output of its cells, and what was read of each of its parts.

        Returns it by its cells. Raises ResultsError where it cannot be written.
        """
        begin = time.perf_counter()
        by_cell = trial.by_cell()
        self._writer.trial(trial, *completed)
        self.trials.extend(by_cell)
        of = {one.cell: one for one in by_cell}
        # Second, so that there are no samples of a trial that is not there.
        for (cell, instance), read in (series or {}).items():
            if read:
                self._samples = self._samples or Samples(self._writer.folder)
                self._samples.add(replace(of[cell or trial.cell], instance=instance), read)
        for one in by_cell:
            self._progress.ended(self._plan.cells_by_id[one.cell], one)
        self.took_s = time.perf_counter() - begin
        return by_cell

    def settle(self) -> None:
        """Write samples that have waited for so long: the next trial may take long."""
        if self._samples is not None:
            self._samples.settle()

    def close(self) -> None:
        """Write the last samples, or raise ResultsError."""
        if self._samples is not None:
            self._samples.close()
