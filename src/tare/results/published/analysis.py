"""What is found in a study: tables and sentences; printing them is for others."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import import_module

from tare.results.published.contradictions import contradictions
from tare.results.published.finding import Finding
from tare.results.published.rows import Row, load, source
from tare.results.stats.signed_rank import Interval

Value = str | float | int | Interval | None


class Form(StrEnum):
    """How a column's values are to be read."""

    TEXT = "text"
    NUMBER = "number"
    COST = "cost"
    """Time per unit of work, over that of the baseline: above 1 is worse."""
    INTERVAL = "interval"
    """Two ends of a cost."""
    P = "p"
    PERCENT = "percent"
    """A share in per cent, with its sign."""


@dataclass(frozen=True, slots=True)
class Column:
    """A heading and how what stands below it is to be read."""

    name: str
    form: Form = Form.TEXT
    weight: int | None = None
    """Where there is no room for all, the smallest is left out first; None is always kept."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of values below their columns; None where there is no value."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Analysis:
    """Everything that a study's numbers say."""

    study: str
    source: str
    tables: tuple[Table, ...] = field(default=())
    findings: tuple[Finding, ...] = field(default=())


def analyse(study: str) -> Analysis:
    """Analyse a study's numbers; ConfigError if there is no such study or its file is damaged."""
    rows = load(study)
    name = f"tare.results.published.by_study.{study}"
    if importlib.util.find_spec(name) is None:
        tables, findings = as_printed(rows), ()
    else:
        tables, findings = import_module(name).analysis(rows)
    every = (*findings, *contradictions(study, rows))
    return Analysis(study, source(study), tuple(tables), every)


def as_printed(rows: Sequence[Row]) -> tuple[Table, ...]:
    """Return the rows as they stand, a table for each of the study's own."""
    grouped: dict[str, list[Row]] = {}
    for row in rows:
        grouped.setdefault(f"{row.table}: {row.experiment}", []).append(row)
    names = ("what", "platform", "baseline", "statistic")
    columns = (
        *(Column(name, weight=2 if name == "baseline" else None) for name in names),
        *(Column("value", Form.NUMBER), Column("unit"), Column("note", weight=1)),
    )
    return tuple(
        Table(
            title,
            columns,
            tuple(
                (
                    *(row.title, row.platform, row.baseline, row.statistic.value),
                    *(row.value, row.unit, row.note or ("" if row.value is not None else row.text)),
                )
                for row in part
            ),
        )
        for title, part in grouped.items()
    )
