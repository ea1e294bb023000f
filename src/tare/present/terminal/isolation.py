"""What ``tare show`` prints of a study of neighbours."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from tare.present.terminal.tables import Field, laid_out
from tare.present.view import doses, neighbours
from tare.present.view.study import StudyView


def isolation(found: StudyView, width: int) -> Iterator[Table | Text]:
    """Yield the tables of a study of neighbours; nothing of any other."""
    heads, rows = neighbours.table(found)
    if not rows:
        return
    yield Text("What neighbours cost", style="bold")
    yield from laid_out([Field(one, whole=40) for one in heads], rows, width)
    yield Text("")
    if lines := doses.dose_lines(found):
        yield from laid_out([Field(one, whole=40) for one in doses.COLUMNS], lines, width)
        yield Text("")
