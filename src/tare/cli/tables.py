"""Tables and lists as commands print them, and numbers as their JSON has them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MAX_HEADING = 25
"""Longer headings, those of a study's own tables, are wrapped where there is no room."""


def drawn(texts: Sequence[str], numbers: Sequence[str]) -> Table:
    """Begin a table with columns of texts, then of numbers."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in texts:
        table.add_column(name, overflow="fold")
    for name in numbers:
        wide = len(name) > MAX_HEADING
        table.add_column(name, justify="right", no_wrap=not wide, overflow="fold")
    return table


def print_lines(console: Console, title: str, lines: Iterable[str]) -> None:
    """Print lines below a title, if there are any."""
    from rich.text import Text

    listed = list(lines)
    if listed:
        console.print()
        console.print(Text(title, "bold"))
    for line in listed:
        console.print(Text(line))


def plain(value: float | None) -> float | str | None:
    """Write what JSON has no number for as a text."""
    return value if value is None or math.isfinite(value) else str(value)
