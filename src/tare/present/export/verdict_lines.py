"""The tables of verdicts as lines of texts, for exports that are put into other documents."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from tare.present.view.findings import CellGroup
from tare.present.view.study import CellRows, StudyView

COLUMNS = (
    "platform",
    "cost",
    "degradation, 95 % interval",
    "verdict",
    "pairs",
    "p (Holm)",
    "floor",
)
NUMBERS = (1, 2, 4, 5, 6)
"""Which of the columns hold numbers."""


def reading(found: StudyView) -> str:
    """Return how the tables are read."""
    return (
        f"Cost is a multiple of the baseline's, {found.plan.reference}, by each workload's first "
        "metric; above 1 is worse. Intervals hold at every look together. The control is the "
        "baseline measured a second time; its interval reaches as far as the noise floor."
    )


def measured(group: CellGroup) -> str:
    """Return by what a group is compared, and what is the same for all its cells."""
    return f"{group.metrics[0].name}; {group.details}"


def table_lines(cells: Sequence[CellRows]) -> Iterator[Sequence[str]]:
    """Yield the lines of a table: its baseline, then a line for each comparison and variant."""
    for rows in cells:
        for row in rows:
            name = f"{rows[0].name}: {row.name}" if row.is_variant else row.name
            yield name, row.cost, row.interval, row.verdict, row.pairs, row.p, row.floor


def one_line(text: str) -> str:
    """Make one line of a text, and drop what has no shape of its own."""
    text = re.sub(r"[\s\x00-\x1f\x7f-\x9f]+", " ", text.replace("\N{NO-BREAK SPACE}", " "))
    return "".join(
        one for one in text if unicodedata.category(one) not in ("Cf", "Cs", "Co")
    ).strip()
