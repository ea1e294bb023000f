"""The numbers of a published study, as ``tare published`` prints them and as facts."""

from __future__ import annotations

import math
from typing import Any

from rich.console import Console
from rich.text import Text

from tare.present.terminal.study_setup import show_setup
from tare.present.terminal.tables import Field, print_table
from tare.present.view.numbers import NONE, cost_text, costs_text, p_text
from tare.results.published import Analysis, Form, Sort, Table, setup_of


def as_json(analysis: Analysis) -> dict[str, Any]:
    """Return an analysis as plain data; infinite costs are the text "inf"."""
    return {
        "study": analysis.study,
        "source": analysis.source,
        "findings": [
            {"sort": one.sort.value, "where": one.where, "says": one.says}
            for one in analysis.findings
        ],
        "tables": [
            {
                "title": table.title,
                "notes": list(table.notes),
                "rows": [
                    {
                        column.name: _plain(value)
                        for column, value in zip(table.columns, row, strict=True)
                    }
                    for row in table.rows
                ],
            }
            for table in analysis.tables
        ],
    }


def show(analysis: Analysis) -> None:
    """Print the set-up, the tables, and below them what was found, kind by kind."""
    console = Console()
    console.print(Text.assemble((analysis.study, "bold"), f"  {analysis.source}"))
    show_setup(console, setup_of(analysis.study))
    for table in analysis.tables:
        console.print()
        console.print(Text(table.title, "bold"))
        _show_table(console, table)
        for note in table.notes:
            console.print(Text(note, "italic"))
    sort = None
    order = list(Sort)
    for finding in sorted(analysis.findings, key=lambda one: order.index(one.sort)):
        if finding.sort is not sort:
            sort = finding.sort
            console.print()
            console.print(Text(sort.value.upper(), "bold"))
        console.print(Text(f"{finding.where}: {finding.says}"))


def _show_table(console: Console, table: Table) -> None:
    columns = table.columns
    fields = [Field(one.name, one.form.value != "text", one.weight) for one in columns]
    texts = [
        [_written(column.form, value) for column, value in zip(columns, row, strict=True)]
        for row in table.rows
    ]
    print_table(console, fields, texts)


def _written(form: Form, value: Any) -> str:  # noqa: ANN401 - whatever its form says

    if value is None:
        return NONE
    if form is Form.COST:
        return cost_text(value)
    if form is Form.INTERVAL:
        return costs_text(*value)
    if form is Form.P:
        return p_text(value)
    if form is Form.PERCENT:
        return f"{value:+.1f} %"
    return f"{value:,.9g}" if form is Form.NUMBER else str(value)


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever a cell holds
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
