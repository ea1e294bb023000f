"""Tables and lists as commands print them, and numbers as their JSON has them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.table import Table
from rich.text import Text

GAP = 2
"""The spaces between two columns."""
MAX_PART = 20
"""A longer part of a name may be broken within it."""
MAX_LINES = 6
"""A text that takes more lines than this needs the room of another column."""
WHOLE_WORD = 10
"""A word of this length, such as a unit, is not broken at its parts."""
_WORD = re.compile(r"\s+|\S+")
_PART = re.compile(r"[(\[-]*[^/()\[\],_=-]+[/)\],_=:-]*|\S")
"""Where a longer word may be broken: after a separator, before a bracket."""


@dataclass(frozen=True, slots=True)
class Field:
    """A column: its heading, and whether its cells are numbers."""

    name: str
    number: bool = False
    weight: int | None = None
    """Where there is no room for all, the smallest is left out first; None is always kept."""
    whole: int = 0
    """Texts up to this width are not broken while another column can be left out."""


@dataclass(frozen=True, slots=True)
class _Column:
    """A column with its cells, and the widths between which it is readable."""

    field: Field
    cells: tuple[str, ...]
    styles: tuple[str, ...]
    least: int
    most: int
    broken: int
    """The least width where nothing is left to be left out."""

    @property
    def constant(self) -> bool:
        """Whether all rows have one text here, which a note can say; a colour stays in its row."""
        is_plain = not self.field.number and not any(self.styles)
        return is_plain and len(self.cells) > 1 and len(set(self.cells)) == 1


def print_table(
    console: Console, fields: Sequence[Field], rows: Iterable[Sequence[str | Text]]
) -> None:
    """Print rows within the width of the console; see ``laid_out``."""
    for part in laid_out(fields, rows, console.width):
        console.print(part)


def laid_out(
    fields: Sequence[Field], rows: Iterable[Sequence[str | Text]], width: int
) -> Iterator[Table | Text]:
    """Yield the table of rows that fits into a width, and notes to it; a cell may have a style.

    Names wrap at their parts, numbers never. Where lines would be wrapped, texts that all rows
    share become a note; where that is not enough, columns are left out by their weight, and a line
    below says which. A column of texts without any is never printed.
    """
    listed = [tuple(row) for row in rows]
    columns = [_column(one, [row[at] for row in listed]) for at, one in enumerate(fields)]
    shared, left_out = _make_room(columns, width)
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, GAP, 0, 0))
    widths = _widths(columns, width)
    for column, own in zip(columns, widths, strict=True):
        side: Literal["left", "right"] = "right" if column.field.number else "left"
        table.add_column(wrapped(column.field.name, own), justify=side, width=own, overflow="fold")
    for at in range(len(listed)):
        table.add_row(
            *(
                Text(
                    column.cells[at] if column.field.number else wrapped(column.cells[at], own),
                    column.styles[at],
                )
                for column, own in zip(columns, widths, strict=True)
            )
        )
    yield table
    for column in shared:
        yield Text(f"{column.field.name} in all rows: {column.cells[0]}", "italic")
    if left_out:
        names = ", ".join(column.field.name for column in left_out)
        line = f"No room for: {names}. A wider terminal and --json have all columns."
        yield Text(line, "italic")


def wrapped(text: str, width: int) -> str:
    """Break a text into lines of a width at the parts of its names, or within parts too long.

    All lines are indented as the first one is.
    """
    indent = _indent(text)
    room, lines = max(1, width - len(indent)), [""]
    for part in _parts(text[len(indent) :], room):
        if "\n" in part:
            lines.append("")
        elif cell_len(lines[-1]) + cell_len(part.rstrip()) <= room:
            lines[-1] += part if lines[-1] or part.strip() else ""
        elif part.strip():
            first, *rest = chop_cells(part, room)
            lines += [first, *rest]
    return "\n".join(f"{indent}{line.rstrip()}" for line in lines if line)


def _indent(text: str) -> str:
    return text[: len(text) - len(text.lstrip(" "))]


def _parts(text: str, width: int = 0) -> Iterator[str]:
    """Split a text into what stands on one line: words, and parts of those longer than a line."""
    for word in _WORD.findall(text):
        is_whole = word.isspace() or len(word) <= max(WHOLE_WORD, width)
        yield from [word] if is_whole else _PART.findall(word)


def _column(field: Field, column: Sequence[str | Text]) -> _Column:
    cells = tuple(map(str, column))
    styles = tuple("" if isinstance(cell, str) else str(cell.style) for cell in column)
    widest = max(map(cell_len, cells), default=0)
    parts = [len(_indent(text)) + cell_len(part.strip()) for text in cells for part in _parts(text)]
    word = max(map(cell_len, field.name.split()), default=1)
    least = widest if field.number else min(max(parts, default=1), MAX_PART)
    heading = math.ceil(cell_len(field.name) / 2) if field.number else cell_len(field.name)
    most = max(widest, word, heading)
    broken = min(max(least, word), most)
    return _Column(field, cells, styles, max(broken, min(widest, field.whole)), most, broken)


def _make_room(columns: list[_Column], room: int) -> tuple[list[_Column], list[_Column]]:
    """Take columns off until the rest fits; return those that a note can say, and those lost."""
    columns[:] = [one for one in columns if one.field.number or any(one.cells) or not one.cells]
    shared: list[_Column] = []
    while sum(one.most for one in columns) + GAP * (len(columns) - 1) > room:
        constant = [one for one in columns[1:] if one.constant]
        if not constant:
            break
        shared.append(constant[0])
        columns.remove(constant[0])
    left_out: list[_Column] = []
    while not _fits(columns, room):
        light = [one for one in columns if one.field.weight is not None]
        if not light:
            columns[:] = [replace(one, least=one.broken) for one in columns]
            break
        last = min(reversed(light), key=lambda one: one.field.weight or 0)
        left_out.append(last)
        columns.remove(last)
    return shared, left_out


def _fits(columns: Sequence[_Column], room: int) -> bool:
    if sum(one.least for one in columns) + GAP * (len(columns) - 1) > room:
        return False
    texts = [
        (text, width)
        for one, width in zip(columns, _widths(columns, room), strict=True)
        for text in one.cells
        if not one.field.number
    ]
    return all(wrapped(text, width).count("\n") < MAX_LINES for text, width in texts)


def _widths(columns: Sequence[_Column], room: int) -> list[int]:
    """Share the room out: to each what it needs, the rest where the most is missing."""
    widths = [one.least for one in columns]
    rest = room - GAP * (len(columns) - 1) - sum(widths)
    while rest > 0:
        missing = [one.most / width for one, width in zip(columns, widths, strict=True)]
        if max(missing) <= 1:
            break
        widths[missing.index(max(missing))] += 1
        rest -= 1
    for at, one in enumerate(columns):
        wanted = cell_len(one.field.name) - widths[at]  # a heading on one line, if there is room
        if 0 < wanted <= rest:
            widths[at] += wanted
            rest -= wanted
    return widths


def print_lines(console: Console, title: str, lines: Iterable[str]) -> None:
    """Print lines below a title, if there are any."""
    listed = list(lines)
    if listed:
        console.print()
        console.print(Text(title, "bold"))
    for line in listed:
        console.print(Text(line))


def plain(value: float | None) -> float | str | None:
    """Write what JSON has no number for as a text."""
    return value if value is None or math.isfinite(value) else str(value)
