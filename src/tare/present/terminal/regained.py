"""What reservations give back, as ``tare show`` prints it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from tare.present.terminal.tables import Field, laid_out
from tare.present.view import regained
from tare.present.view.findings import Findings

WEIGHTS = (None, None, 3, 2, None, 4, 1)
FIELDS = [
    Field(name, place in regained.NUMBERS, weight, whole=30)
    for place, (name, weight) in enumerate(zip(regained.COLUMNS, WEIGHTS, strict=True))
]


def regained_lines(found: Findings, width: int) -> Iterator[RenderableType]:
    """Yield the table of a study's reservations and the commands for them; nothing without any."""
    rows = regained.reservations(found)
    if not rows:
        return
    yield Text(regained.TITLE, style="bold")
    yield Text(regained.READING)
    texts = [[Text(text) for text in line] for line in regained.lines(found, rows)]
    yield from laid_out(FIELDS, texts, width)
    yield from map(Text, regained.notes(found, rows))
    yield Text("")
    for line in regained.sentences(regained.reservation_commands(found, rows)):
        depth = len(line) - len(line.lstrip())
        yield Padding(Text(line.lstrip()), (0, 0, 0, depth), expand=False)
    yield Text("")
