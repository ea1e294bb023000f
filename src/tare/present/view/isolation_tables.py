"""The tables of a study of neighbours, as page, terminal and Markdown show them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tare.present.view import doses, mechanisms, neighbours, rivals
from tare.present.view.findings import Findings


@dataclass(frozen=True)
class TextTable:
    """A table of texts with a title and a line on how to read it."""

    title: str
    reading: str
    columns: Sequence[str]
    lines: Sequence[Sequence[str]]


def degradations(found: Findings) -> TextTable:
    """Return the map as a table; no lines where there is no neighbour."""
    return TextTable("What neighbours cost", neighbours.READING, *neighbours.table(found))


def isolation_tables(found: Findings) -> Iterator[TextTable]:
    """Yield the tables below the map; those without a line are left out.

    What all lines of a table share about the workload is no column.
    """
    every = (
        ("Where a workload falls", doses.READING, doses.COLUMNS, doses.dose_lines(found)),
        (
            "Why, by mechanism",
            mechanisms.READING,
            mechanisms.COLUMNS,
            mechanisms.mechanism_lines(found),
        ),
        ("Isolation compared", rivals.reading(found), rivals.COLUMNS, rivals.compared_lines(found)),
    )
    is_single = len({cell.workload for cell in found.plan.cells}) == 1 and len(found.groups) == 1
    for title, reading, columns, lines in every:
        if lines:
            kept = [at for at, name in enumerate(columns) if name != "workload" or not is_single]
            yield TextTable(
                title,
                reading,
                [columns[at] for at in kept],
                [[line[at] for at in kept] for line in lines],
            )
