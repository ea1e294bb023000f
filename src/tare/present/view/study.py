"""A study as it is shown: the one record that every page, table and file is written from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from tare.core.model import Cell, Metric
from tare.present.view import verdict_texts
from tare.present.view.finding import finding
from tare.present.view.findings import CellGroup, Findings
from tare.present.view.flags import flag_texts
from tare.present.view.names import platform_text
from tare.present.view.summary import three_sentences
from tare.present.view.verdict_rows import VerdictRow
from tare.results.store import Results
from tare.results.study import compare

CellRows = Sequence[VerdictRow]
"""The row of a cell that decides, then those of the metric's other variants."""


class StudyView(Findings):
    """What a study found, with its sentences, its rows of verdicts, and its warnings."""

    @cached_property
    def finding(self) -> str:
        """What each platform costs, in one sentence."""
        return finding(self)

    @cached_property
    def headlines(self) -> Sequence[str]:
        """The finding, how many verdicts there are, and what the control says."""
        return three_sentences(self)

    @cached_property
    def summary(self) -> Sequence[str]:
        """A sentence for each platform, then what the verdicts rest on; the control's is last."""
        return verdict_texts.summary(self)

    @property
    def control(self) -> str:
        """What the A/A control says about all other numbers."""
        return verdict_texts.control_text(self)

    @property
    def state(self) -> str:
        """Whether the study has ended, and why."""
        return verdict_texts.state(self)

    @property
    def trial_counts(self) -> str:
        """How many trials were measured, and how they ended."""
        return verdict_texts.trials_text(self)

    @cached_property
    def verdicts(self) -> Sequence[tuple[CellGroup, Sequence[CellRows]]]:
        """The rows of each group of cells by its first metric, without variants without a cost."""
        return [
            (group, [self._shown(self.rows_of(cell, group.metrics[0])) for cell in group.cells])
            for group in self.groups
        ]

    def _shown(self, rows: CellRows) -> CellRows:
        return [
            row
            for row in rows
            if not row.is_variant or (row.comparison and row.comparison.cost is not None)
        ]

    def rows_of(self, cell: Cell, metric: Metric) -> CellRows:
        """Return the row of a cell by a metric, and below it those of other variants."""
        margin = self.plan.repetition.margin
        return [
            VerdictRow(
                cell=cell,
                metric=metric,
                comparison=self.rows.get((cell.id, metric.name)),
                margin=margin,
                usage=self.usage.get(cell.id),
                lost=verdict_texts.lost_text(self, cell),
                warnings=self.notes[cell.id],
                cell_with_trials=cell.id if self.trials[cell.id] else "",
            ),
            *(
                VerdictRow(cell=cell, metric=metric, comparison=one, margin=margin, is_variant=True)
                for one in self.other_variants.get((cell.id, metric.name), ())
            ),
        ]

    @cached_property
    def warnings(self) -> Mapping[str, Sequence[str]]:
        """The warnings of platforms, numbers and trials, each once with all that it concerns."""
        concerned: dict[str, dict[str, None]] = {}
        for name, platform in self.results.facts.platforms.items():
            for warning in platform.warnings:
                concerned.setdefault(warning, {})[name] = None
        for row in self.headline:
            where = f"{self.group_names[row.cell.id]} on {platform_text(row.cell)}"
            unmeasured = [verdict_texts.stop_text(row)] if row.cost is None else []
            for note in (*flag_texts(row.flags), *self.notes[row.cell.id], *unmeasured):
                concerned.setdefault(note, {})[where] = None
        return {note: list(places) for note, places in concerned.items() if note}


def describe(results: Results) -> StudyView:
    """Return the view of results, after comparing everything that was measured."""
    return StudyView(results, compare(results.plan, results.trials, results.facts))
