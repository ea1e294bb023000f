"""Print one's own results as tables in the form of a study's figures, for ``tare compare``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from tare.present.redrawn.own import OwnFigure
from tare.present.redrawn.own_tables import facts, own_tables, table_notes
from tare.present.redrawn.own_words import notes
from tare.present.terminal.tables import Field, plain, print_table


def as_json(figures: Sequence[OwnFigure]) -> list[dict[str, Any]]:
    """Return figures as plain data, in base units, those without a result too."""
    return [
        {
            "study": figure.study,
            "figure": figure.declared.name,
            "title": figure.title,
            "notes": list(notes(figure)),
            "rows": [
                {
                    name: plain(value) if isinstance(value, float) else value
                    for name, value in row.items()
                }
                for row in facts(figure)
            ],
        }
        for figure in figures
    ]


def show(figures: Sequence[OwnFigure]) -> None:
    """Print a table for each figure that has results."""
    console = Console()
    for figure in figures:
        if not figure.results:
            continue
        console.print()
        console.print(Text(f"{figure.here} alone, in the form of {figure.study}", "bold"))
        console.print(Text(figure.title, "bold"))
        for table in own_tables(figure):
            console.print(Text(table.title))
            fields = [Field(name, at >= table.texts) for at, name in enumerate(table.columns)]
            print_table(console, fields, table.rows)
        console.print(Text(" ".join(table_notes(figure)), "italic"))
