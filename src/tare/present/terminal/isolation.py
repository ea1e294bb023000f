"""What ``tare show`` prints of a study of neighbours."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from tare.present.terminal.tables import Field, laid_out
from tare.present.view import doses, neighbours, rivals
from tare.present.view.study import StudyView

RIVALS = tuple(
    Field(name, number=name in ("p (Holm)", "blocks"), weight=weight, whole=40)
    for name, weight in zip(rivals.COLUMNS, (None, None, None, 2, 1, None, 3), strict=True)
)


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
    if lines := rivals.compared_lines(found):
        yield Text("Isolation compared", style="bold")
        yield from laid_out(RIVALS, lines, width)
        yield Text("")
