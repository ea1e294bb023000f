"""explanations.csv: every counter of every compared cell, in base units."""

from __future__ import annotations

import csv
from pathlib import Path

from tare.present.view.explanations import explanation_rows, has_counters
from tare.present.view.study import StudyView

FILE = "explanations.csv"


def write(found: StudyView, path: Path) -> None:
    """Write the file, if a counter was ever stored."""
    if not has_counters(found):
        return
    table = list(explanation_rows(found))
    columns = list(dict.fromkeys(name for row in table for name in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
