"""What ``tare show`` prints of a study of neighbours, and of one of scale."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from rich.table import Table
from rich.text import Text

from tare.present.terminal.tables import Field, laid_out
from tare.present.view.at_once import at_once_tables
from tare.present.view.density import density_tables
from tare.present.view.isolation_tables import TextTable, all_tables
from tare.present.view.scaling import NUMBERS as SCALING_NUMBERS
from tare.present.view.scaling import scaling_tables
from tare.present.view.study import StudyView
from tare.present.view.tiers import tier_tables

NUMBERS = ("p (Holm)", "blocks")
WEIGHTS = {"blocks": 1, "degradation": 2, "p (Holm)": 3, "workload": 4}
SCALING_WEIGHTS = {
    "spread": 1,
    "fairness": 2,
    "knee at": 3,
    "memory of one more": 4,
    "together": 5,
    "answered": 6,
    "workload": 7,
}
DENSITY_NUMBERS = ("memory each", "ready p50", "ready p99")
DENSITY_WEIGHTS = {"ready p50": 1, "ready p99": 2, "memory each": 3, "workload": 4}
"""The columns that are left out where there is no room, the first of them first."""
TIER_NUMBERS = ("CPU time", "share", "against baseline", "blocks")
TIER_WEIGHTS = {"blocks": 1, "share": 2, "per": 3, "workload": 4}
WHOLE = 60
"""Texts up to this width are not broken while another column can be left out."""
WRAPPED = {"ended by": 20}
"""Columns of sentences, which may be broken before any other is left out."""


def isolation(found: StudyView, width: int) -> Iterator[Table | Text]:
    """Yield the tables of a study of neighbours; nothing of any other."""
    yield from _printed(all_tables(found), width, NUMBERS, WEIGHTS)


def scaling(found: StudyView, width: int) -> Iterator[Table | Text]:
    """Yield the tables of a study of scale or density; nothing of any other."""
    yield from _printed(scaling_tables(found), width, SCALING_NUMBERS, SCALING_WEIGHTS)
    yield from _printed(at_once_tables(found), width, NUMBERS, WEIGHTS)
    yield from _printed(density_tables(found), width, DENSITY_NUMBERS, DENSITY_WEIGHTS)


def roles(found: StudyView, width: int) -> Iterator[Table | Text]:
    """Yield the table of what each role took; nothing of workloads in one instance."""
    yield from _printed(tier_tables(found), width, TIER_NUMBERS, TIER_WEIGHTS)


def _printed(
    tables: Iterable[TextTable], width: int, numbers: Collection[str], weights: Mapping[str, int]
) -> Iterator[Table | Text]:
    for table in tables:
        fields = [
            Field(one, one in numbers, weights.get(one), WRAPPED.get(one, WHOLE))
            for one in table.columns
        ]
        yield Text(table.title, style="bold")
        yield from laid_out(fields, table.lines, width)
        yield Text("")
