"""The table of commands compared with each other, as ``tare measure`` prints it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from tare.present.export.commands import COLUMNS, NUMBERS, reading, tables
from tare.present.terminal.tables import Field, print_table
from tare.present.view.study import StudyView
from tare.results.compare.comparison import Comparison

WEIGHTS = {"median": 1, "95 % interval": 2}


def show(console: Console, found: StudyView, rows: Sequence[Comparison]) -> None:
    """Print how the table is read, and a table of all platforms."""
    fields = [
        Field(name, number=place in NUMBERS, weight=WEIGHTS.get(name), whole=0 if place else 30)
        for place, name in enumerate(COLUMNS)
    ]
    lines: list[Sequence[str | Text]] = []
    for title, some in tables(found, rows):
        lines.append([Text(title, "bold"), *[""] * (len(COLUMNS) - 1)])
        lines += [(f"  {name}", *others) for name, *others in some]
    console.print(Text(f"\n{reading(rows)}"))
    print_table(console, fields, lines)
