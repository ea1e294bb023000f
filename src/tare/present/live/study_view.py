"""What the pages tell of one study: numbers and sentences, ready for the templates."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tare.core.model import NO_FACTS, NO_RUN, Phase, Plan, Status, Trial
from tare.present.live.drawings import colour, narrowed, timeline
from tare.present.live.looks import Look, LookHistory
from tare.present.live.markup import file_url
from tare.present.live.overview import Overview
from tare.present.live.resources import resources
from tare.present.live.study_reader import Snapshot
from tare.present.view.names import platform_text
from tare.present.view.study import StudyView
from tare.present.view.verdict_rows import VerdictRow
from tare.present.view.verdict_texts import stop_text
from tare.results.compare.comparison import Comparison
from tare.results.compare.estimates import Estimates
from tare.results.stats.schedule import all_looks
from tare.results.stats.sequential import Stop
from tare.results.store import Results
from tare.results.store.raw_output import raw_name
from tare.results.study import Comparisons


@dataclass(frozen=True)
class Line:
    """A comparison in the table of intervals."""

    id: str
    row: VerdictRow
    colour: int
    said: str
    looks: Sequence[Look]
    drawing: object


@dataclass(frozen=True)
class LiveView:
    """What a page tells of one study."""

    seen: Snapshot

    @property
    def overview(self) -> Overview:
        """The state and the numbers of trials."""
        return self.seen.overview

    @cached_property
    def plan(self) -> Plan:
        """The plan, which is known wherever more than the state is shown."""
        assert self.overview.plan is not None  # noqa: S101 - OneStudy.parts looks first
        return self.overview.plan

    @cached_property
    def course(self) -> LookHistory:
        """The comparisons, as far as they were made."""
        return self.seen.course or LookHistory(rows=())

    @cached_property
    def found(self) -> StudyView:
        """The primary comparisons in the shape in which reports put them into words."""
        results = Results(
            self.seen.folder, "", self.plan, NO_FACTS, NO_RUN, tuple(self.seen.trials)
        )
        estimates = Estimates(self.plan, self.seen.trials)
        return StudyView(results, Comparisons(summaries=(), comparisons=self.course.rows,
                                             attributions=(), estimates=estimates))  # fmt: skip

    @cached_property
    def statuses(self) -> Mapping[Status, int]:
        """How trials ended, warm-ups too."""
        counts = self.seen.statuses
        return {status: counts[status] for status in Status if status in counts}

    @property
    def now(self) -> str:
        """Return what runs now and what comes next, or what was run last."""
        doing = self.overview.progress
        if doing is not None and doing.phase is Phase.REMOVING:
            return "Now: what was started is removed."
        if doing is not None and doing.cells:
            following = self._all_named(doing.following)
            then = f" Next: {following}." if following else ""
            decided = f" {doing.decided} of {doing.compared} comparisons are decided."
            return f"Now: {self._all_named(doing.cells)}, block {doing.block}.{then}{decided}"
        if doing is not None and doing.text:
            return f"Now: {doing.text}."
        if not self.seen.trials:
            return ""
        last = self.seen.trials[-1]
        return f"The last trial: {self._named(last.cell)}, block {last.block}, {last.status.value}."

    def _all_named(self, cells: Sequence[str]) -> str:
        known = [self._named(cell) for cell in cells if cell in self.plan.cells_by_id]
        return " at once with ".join(known)

    @property
    def resume(self) -> str:
        """The command that goes on with the study."""
        return f"tare run --resume {shlex.quote(str(self.seen.folder))}"

    @property
    def sentences(self) -> Sequence[str]:
        """Return what was decided; the last sentence is about the control."""
        return [_unbroken(sentence) for sentence in self.found.summary]

    @property
    def control(self) -> str:
        """Return what the A/A control says, if it says that nothing is to be trusted."""
        return _unbroken(self.found.control) if self.found.untrusted else ""

    @cached_property
    def groups(self) -> Sequence[tuple[str, Sequence[Line]]]:
        """The comparisons of each workload."""
        rows = {row.cell.id: row for row in self.course.rows}
        return [
            (one.name, [self._line(rows[cell.id]) for cell in one.cells if cell.id in rows])
            for one in self.found.groups
        ]

    @cached_property
    def timeline(self) -> object:
        """The trials by time."""
        return timeline(self.seen.trials, self._platforms, self.found.group_names)

    @cached_property
    def resources(self) -> object:
        """CPU and memory over the time of the last trials."""
        names = self.found.group_names
        return resources(self.seen.trials, self._platforms, names, self.seen.usage)

    @cached_property
    def _platforms(self) -> Mapping[str, str]:
        """The platform of each cell, the baseline first."""
        cells = sorted(self.plan.cells, key=lambda cell: self.found.platforms.index(cell.platform))
        return {cell.id: cell.platform for cell in cells}

    @cached_property
    def failures(self) -> Sequence[Mapping[str, object]]:
        """The last trials that are not ok, the latest first."""
        return [self._failure(one) for one in reversed(self.seen.failures)]

    def _failure(self, trial: Trial) -> Mapping[str, object]:
        raw = raw_name(trial)
        kept = [
            (name, file_url(self.overview.name, f"raw/{raw}/{name}"))
            for name in ("stdout", "stderr")
            if (self.seen.folder / "raw" / raw / name).is_file()
        ]
        return {"trial": trial, "what": self._named(trial.cell), "kept": kept}

    def _named(self, cell: str) -> str:
        known = self.plan.cells_by_id.get(cell)
        if known is None:
            return "a cell that is not in the plan"
        return f"{self.found.group_names[cell]} on {platform_text(known)}"

    def _line(self, row: Comparison) -> Line:
        rule, course = self.plan.repetition, self.course.looks.get(row.cell.id, ())
        schedule = all_looks(rule.max_blocks)
        following = next((look for look in schedule if look > row.pairs), None)
        waits = row.stop is Stop.NOT_YET and not row.reason
        said = "" if waits else stop_text(row)
        if waits and following is not None:
            said = f"next look at {following} pairs"
        return Line(
            id=f"c-{row.cell.id}",
            row=VerdictRow(cell=row.cell, metric=row.metric, comparison=row, margin=rule.margin),
            colour=colour(self.found.platforms.index(row.cell.platform)),
            said=said,
            looks=course,
            drawing=narrowed(course, rule.margin),
        )


def _unbroken(sentence: str) -> str:
    """Keep numbers on one line with their sign of per cent."""
    return sentence.replace(" %", "\N{NO-BREAK SPACE}%")
