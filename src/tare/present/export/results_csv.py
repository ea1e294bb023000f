"""results.csv: a row for each cell and metric, in base units."""

from __future__ import annotations

import csv
from pathlib import Path

from tare.present.export.facts import cell_rows, factors, levels
from tare.present.view.study import StudyView

FILE = "results.csv"


def write(found: StudyView, path: Path) -> None:
    """Write a row for each cell and metric: factors, summary, cost and verdict, in base units."""
    names: dict[str, None] = {}
    columns: dict[str, None] = {}
    table = []
    for row in cell_rows(found):
        cell = row.pop("cell")
        own, given = factors(found, cell) | row, levels(cell)
        table.append({**own, "flags": " ".join(row.get("flags", ())), **given})
        names |= dict.fromkeys((*own, "flags"))
        columns |= dict.fromkeys(given)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*names, *columns], restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
