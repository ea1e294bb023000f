"""The tables of a study of neighbours, as page, terminal and Markdown show them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tare.present.view import doses, mechanisms, neighbours, rivals, shares
from tare.present.view.findings import Findings


@dataclass(frozen=True)
class TextTable:
    """A table of texts with a title and a line on how to read it."""

    title: str
    reading: str
    columns: Sequence[str]
    lines: Sequence[Sequence[str]]


def all_tables(found: Findings) -> Iterator[TextTable]:
    """Yield the map as a table, and the tables below it; nothing where there is no neighbour."""
    if neighbours.is_isolation(found.headline):
        yield TextTable("What neighbours cost", neighbours.READING, *neighbours.table(found))
        yield from isolation_tables(found)


def isolation_tables(found: Findings) -> Iterator[TextTable]:
    """Yield the tables below the map of a study of neighbours, those that have lines.

    Where there is one workload it is no column.
    """
    every = (
        ("Where a workload falls", doses.READING, doses.COLUMNS, doses.dose_lines(found)),
        (
            "Why, by mechanism",
            mechanisms.READING,
            mechanisms.COLUMNS,
            mechanisms.mechanism_lines(found),
        ),
        ("Who took it", shares.READING, shares.COLUMNS, shares.share_lines(found)),
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
