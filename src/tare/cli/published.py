"""``tare published``: the numbers of published studies under the statistics of this package."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from tare.cli.study_setup import setup_as_json, show_setup
from tare.core.errors import ConfigError
from tare.present.redrawn import write_figures
from tare.present.terminal.tables import Field, print_table
from tare.present.view.numbers import NONE, cost_text, costs_text, p_text
from tare.results.published import Analysis, Form, Sort, Table, analyse, setup_of, studies
from tare.results.published.beside import Ours
from tare.results.published.rows import source


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("study", nargs="?", help="the key of a study; without it, they are listed")
    parser.add_argument("--json", action="store_true", help="print facts for programs")
    add_figures(parser, "its figures")


def add_figures(parser: argparse.ArgumentParser, what: str) -> None:
    """Declare the option by which figures are written."""
    parser.add_argument(
        "--figures",
        type=Path,
        metavar="DIR",
        help=f"write {what} into this folder, drawn again: one page, and each as SVG, PNG and PDF",
    )


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    if options.study is None and options.figures is not None:
        raise ConfigError(f"--figures: expected a study; there are {', '.join(studies())}")
    if options.study is None:
        known = {name: source(name) for name in studies()}
        lines = [f"{name:<14} {about}".rstrip() for name, about in known.items()]
        print(json.dumps(known) if options.json else "\n".join(lines))
        return 0
    analysis = analyse(options.study)
    paths = write_all([options.study], options.figures)
    if options.json:
        told = as_json(analysis) | {"setup": setup_as_json(setup_of(options.study))}
        told |= {"figures": paths} if paths else {}
        print(json.dumps(told, allow_nan=False))
    else:
        show(analysis)
        show_paths(paths)
    return 0


def write_all(studies: Sequence[str], into: Path | None, ours: Ours | None = None) -> list[str]:
    """Write the figures of studies, if a folder is given for them; list the files."""
    if into is None:
        return []

    return [str(path) for study in studies for path in write_figures(study, into, ours)]


def show_paths(paths: Sequence[str]) -> None:
    """Print the files that were written, below whatever was printed before."""
    if paths:
        print("", *paths, sep="\n")


def as_json(analysis: Analysis) -> dict[str, Any]:
    """Put an analysis into plain data; infinite costs are the text "inf"."""
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
