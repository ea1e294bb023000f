"""What ``tare show`` prints: the verdicts, for a terminal of any width."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.text import Text

from tare.present.terminal.isolation import isolation, roles, scaling
from tare.present.terminal.regained import regained_lines
from tare.present.terminal.tables import Field, laid_out
from tare.present.view.explanations import brief_lines
from tare.present.view.facts import selftest
from tare.present.view.ladders import COLUMNS, lines, sentences, title
from tare.present.view.starts import start_sentences
from tare.present.view.study import CellRows, StudyView
from tare.present.view.verdict_rows import VerdictRow
from tare.present.view.verdict_texts import lost_text

MAX_NOTES = 12
"""The most kinds of warnings that are printed below a table; the report has all."""
FIELDS = (
    Field("workload and platform", whole=30),
    Field("cost", number=True),
    Field("degradation", number=True, weight=3),
    Field("interval", number=True, weight=4),
    Field("verdict", whole=20),
    Field("pairs", number=True, weight=5),
    Field("p (Holm)", number=True, weight=2),
    Field("floor", number=True, weight=1),
)
LADDER_FIELDS = [
    Field(name, place in (2, 3), weight=1 if place == len(COLUMNS) - 1 else None, whole=40)
    for place, name in enumerate(COLUMNS)
]
STYLES = {"slower": "red", "faster": "green", "same": "cyan", "undecided": "yellow"}

Line = tuple[str | Text, ...]


@dataclass(frozen=True)
class Shown:
    """What ``tare show`` prints: for a terminal of any width, or a pipe."""

    found: StudyView

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Print the finding, the state, a summary, a table that fits, and the warnings."""
        found = self.found
        yield Text(found.finding, style="bold")
        yield Text("")
        yield Text.assemble((found.plan.study, "bold"), f"  {found.state}")
        yield Text(found.trial_counts)
        yield Text("")
        *decided, control = found.summary
        yield from map(Text, decided)
        yield Text(control, style="bold red" if found.untrusted else "")
        yield Text("")
        yield from laid_out(FIELDS, self._lines(), options.max_width)
        yield Text("")
        yield from regained_lines(found, options.max_width)
        yield from isolation(found, options.max_width)
        yield from scaling(found, options.max_width)
        yield from roles(found, options.max_width)
        for one in found.comparisons.ladders:
            yield Text(title(found, one), style="bold")
            yield from map(Text, sentences(found, one))
            rows = [[Text(text, "" if line.counts else "dim") for text in line.texts]
                    for line in lines(one)]  # fmt: skip
            yield from laid_out(LADDER_FIELDS, rows, options.max_width)
            yield Text("")
        counters = list(brief_lines(found))
        if counters:
            yield Text("What grew with the degradation, for the same work; it need not be why:")
        for counter in counters[:MAX_NOTES]:
            yield Padding(Text(counter), (0, 0, 0, 2), expand=False)
        if len(counters) > MAX_NOTES:
            yield Text(f"  {len(counters) - MAX_NOTES} more: see the report")
        if counters:
            yield Text("")
        yield from map(Text, start_sentences(found))
        yield from (Text(sentence, style="dim") for sentence in selftest(found))
        yield from map(Text, self._notes())

    def _lines(self) -> Iterator[Line]:
        """Yield the lines of the table: of each workload its name, then all but its baseline."""
        for group, cells in self.found.verdicts:
            compared = [rows for rows in cells if rows[0].comparison]
            if compared:
                yield (Text(group.name, "bold"), *[""] * (len(FIELDS) - 1))
            for rows in compared:
                yield from self._of_cell(rows)

    def _of_cell(self, rows: CellRows) -> Iterator[Line]:
        for row in rows:
            name = f"    {row.name}" if row.is_variant else f"  {self._platform(row)}"
            mark = " *" if row.has_notes and not row.is_variant else ""
            dim = "dim" if row.kind else ""
            style = STYLES.get(row.word, "") if row.kind != "variant" else ""
            texts = row.cost, row.degradation, row.interval
            last = row.pairs, "" if row.is_variant else row.p, row.floor
            yield (
                *(Text(text, dim) for text in (name, *texts)),
                Text(row.verdict + mark, f"{dim} {style}".strip()),
                *(Text(text, dim) for text in last),
            )

    def _platform(self, row: VerdictRow) -> str:
        """Return a platform, with what it lost or failed if any of its group did."""
        lost, base = row.lost, row.comparison and row.comparison.baseline
        if base and any(self.found.lost.get(base.id, {}).values()):
            lost += f" (baseline {lost_text(self.found, base)})"
        return f"{row.name}: {lost}" if lost else row.name

    def _notes(self) -> Iterator[str]:
        """Yield each warning once, with the rows that it concerns."""
        noted = self.found.warnings
        if noted:
            yield ""
        for note, places in list(noted.items())[:MAX_NOTES]:
            more = f" and {len(places) - 2} more" if len(places) > 2 else ""
            yield f"* {', '.join(places[:2])}{more}: {note}"
        if len(noted) > MAX_NOTES:
            yield f"* {len(noted) - MAX_NOTES} more kinds of warnings: see the report"


def show(found: StudyView) -> Shown:
    """Return what ``tare show`` prints; print it with a rich Console."""
    return Shown(found)
