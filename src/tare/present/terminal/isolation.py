"""What ``tare show`` prints of a study of neighbours."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from tare.present.terminal.tables import Field, laid_out
from tare.present.view.isolation_tables import all_tables
from tare.present.view.study import StudyView

NUMBERS = ("p (Holm)", "blocks")
WEIGHTS = {"blocks": 1, "degradation": 2, "p (Holm)": 3, "workload": 4}
"""The columns that are left out where there is no room, the first of them first."""


def isolation(found: StudyView, width: int) -> Iterator[Table | Text]:
    """Yield the tables of a study of neighbours; nothing of any other."""
    for table in all_tables(found):
        fields = [Field(one, one in NUMBERS, WEIGHTS.get(one), 60) for one in table.columns]
        yield Text(table.title, style="bold")
        yield from laid_out(fields, table.lines, width)
        yield Text("")
