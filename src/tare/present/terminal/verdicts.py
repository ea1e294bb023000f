"""What `tare show` prints: the verdicts, for a terminal of any width."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tare.present.view.explanations import brief_lines
from tare.present.view.facts import selftest
from tare.present.view.finding import finding
from tare.present.view.findings import Findings
from tare.present.view.ladders import COLUMNS, lines, sentences, title
from tare.present.view.names import platform_text
from tare.present.view.notes import notes
from tare.present.view.numbers import cost_text, p_text, percent_text, percents_text, share_text
from tare.present.view.starts import start_sentences
from tare.present.view.words import (
    lost_text,
    pairs_text,
    state,
    summary,
    trials_text,
    variant_text,
    verdict_text,
)
from tare.results.compare.comparison import Comparison
from tare.results.questions.ladder import LadderCosts

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

WIDE, MEDIUM = 110, 84
"""Columns of a terminal from which on a table shows more."""
MAX_NOTES = 12
"""So many kinds of warnings are printed below a table; the report has all."""


@dataclass(frozen=True)
class Shown:
    """What `tare show` prints: for a terminal of any width, or a pipe."""

    found: Findings

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Print the finding, the state, a summary, a table that fits, and the warnings."""
        from rich.padding import Padding
        from rich.text import Text

        found = self.found
        yield Text(finding(found), style="bold")
        yield Text("")
        yield Text.assemble((found.plan.study, "bold"), f"  {state(found)}")
        yield Text(trials_text(found))
        yield Text("")
        *said, last = summary(found)
        for sentence in said:
            yield Text(sentence)
        yield Text(last, style="bold red" if found.untrusted else "")
        yield Text("")
        yield self._table(options.max_width)
        yield Text("")
        for one in found.comparisons.ladders:
            yield Text(title(found, one), style="bold")
            for sentence in sentences(found, one):
                yield Text(sentence)
            yield _ladder_table(one, options.max_width)
            yield Text("")
        lines = list(brief_lines(found))
        if lines:
            yield Text("What grew with the degradation, for the same work; it need not be why:")
        for line in lines[:MAX_NOTES]:
            yield Padding(Text(line), (0, 0, 0, 2), expand=False)
        if len(lines) > MAX_NOTES:
            yield Text(f"  {len(lines) - MAX_NOTES} more: see the report")
        if lines:
            yield Text("")
        yield from (Text(sentence) for sentence in start_sentences(found))
        yield from (Text(sentence, style="dim") for sentence in selftest(found))
        for note in self._notes():
            yield Text(note)

    def _table(self, width: int) -> Any:  # noqa: ANN401 - rich's is imported only here
        from rich.table import Table
        from rich.text import Text

        wide, medium = width >= WIDE, width >= MEDIUM
        table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
        table.add_column("workload and platform", overflow="fold")
        for name in ("cost", "degradation", "interval") if medium else ("cost",):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("verdict", no_wrap=medium)
        for name in ("pairs", "p (Holm)", "floor") if wide else ("pairs",):
            table.add_column(name, justify="right", no_wrap=True)
        before = ""
        for row in self.found.headline:
            workload = self.found.group_names[row.cell.id]
            if workload != before:
                table.add_row(Text(workload, style="bold"))
                before = workload
            numbers = _numbers(row, width)
            last = [pairs_text(row)]
            if wide:
                last += [p_text(row.holm_p), share_text(row.noise_floor)]
            mark = " *" if row.flags or self.found.notes[row.cell.id] else ""
            verdict = verdict_text(row, self.found.plan.repetition.margin) + mark
            # Text, because in a bare string rich would take [square brackets] for a style.
            table.add_row(
                *(Text(one) for one in (f"  {self._platform(row)}", *numbers)),
                Text(verdict, style=_STYLES.get(row.verdict.value, "")),
                *(Text(one) for one in last),
                style="dim" if row.is_control else "",
            )
            for beside in self.found.beside.get((row.cell.id, row.metric.name), ()):
                if beside.cost is not None:
                    table.add_row(*map(Text, self._variant(beside, width)), style="dim")
        return table

    def _platform(self, row: Comparison) -> str:
        """Name a platform, with what it lost or failed if any of its group did."""
        name, lost = platform_text(row.cell), lost_text(self.found, row.cell)
        base = row.baseline
        if base is not None and any(self.found.lost.get(base.id, {}).values()):
            lost += f" (baseline {lost_text(self.found, base)})"
        return f"{name}: {lost}" if lost else name

    def _variant(self, row: Comparison, width: int) -> list[str]:
        """Write the line of a variant; it stands below the one that decides."""
        verdict = verdict_text(row, self.found.plan.repetition.margin)
        last = ["", share_text(row.noise_floor)] if width >= WIDE else []
        name = f"    {variant_text(row)}"
        return [name, *_numbers(row, width), verdict, pairs_text(row), *last]

    def _notes(self) -> Iterator[str]:
        """List each warning once, with the rows that it concerns."""
        noted = notes(self.found)
        if noted:
            yield ""
        for note, places in list(noted.items())[:MAX_NOTES]:
            more = f" and {len(places) - 2} more" if len(places) > 2 else ""
            yield f"* {', '.join(places[:2])}{more}: {note}"
        if len(noted) > MAX_NOTES:
            yield f"* {len(noted) - MAX_NOTES} more kinds of warnings: see the report"


def _ladder_table(one: LadderCosts, width: int) -> Any:  # noqa: ANN401 - rich's is imported only here
    """Make the table of a ladder: a line a switch; in a wide terminal with what was read inside."""
    from rich.table import Table
    from rich.text import Text

    most = len(COLUMNS) if width >= WIDE else len(COLUMNS) - 1
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for place, name in enumerate(COLUMNS[:most]):
        table.add_column(name, justify="right" if place in (2, 3) else "left", overflow="fold")
    for line in lines(one):
        table.add_row(*map(Text, line.texts[:most]), style="" if line.counts else "dim")
    return table


_STYLES = {"slower": "red", "faster": "green", "same": "cyan", "undecided": "yellow"}


def _numbers(row: Comparison, width: int) -> list[str]:
    """Write a cost, and where there is room its degradation with the interval."""
    if width < MEDIUM:
        return [cost_text(row.cost)]
    ends = row.low, row.high
    return [cost_text(row.cost), percent_text(row.cost, *ends), percents_text(*ends, row.cost)]


def show(found: Findings) -> Shown:
    """Make what `tare show` prints; print it with a rich Console."""
    return Shown(found)
