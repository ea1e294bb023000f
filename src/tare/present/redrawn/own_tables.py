"""Tables of results that are ours alone: for the page, the terminal, Markdown and CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tare.present.export.markdown import in_markdown
from tare.present.redrawn.own import OwnFigure, OwnResult
from tare.present.redrawn.own_bars import panel_text as metric_text
from tare.present.redrawn.own_lines import axis_text, levels, panels
from tare.present.redrawn.own_words import notes, runs_text
from tare.present.view.names import params_text
from tare.present.view.numbers import NONE, Scale, plain, scale_for
from tare.results.published.unprinted import OwnForm

LOST = "*"
"""Stands behind a number where some of its runs lost requests."""

CSV_COLUMNS = (
    *("study", "figure", "platform", "stack", "workload", "params", "cpus", "memory_bytes"),
    *("metric", "unit", "runs", "mean", "sd", "min", "max", "median", "low", "high"),
    *("lossy_runs", "largest_loss", "gap", "reason"),
)


@dataclass(frozen=True, slots=True)
class OwnTable:
    """A table as it is read: the first ``texts`` columns are words, the others numbers."""

    title: str
    columns: tuple[str, ...]
    texts: int
    rows: tuple[tuple[str, ...], ...]


def own_tables(figure: OwnFigure) -> list[OwnTable]:
    """Write a figure's results as tables: one of all lines, or one for each metric."""
    return [_levels(figure)] if figure.declared.form is OwnForm.LINES else [*_statistics(figure)]


def table_notes(figure: OwnFigure) -> list[str]:
    """Return the sentences to read a figure's tables with."""
    is_starred = figure.declared.form is OwnForm.LINES and any(
        result.lossy for result in figure.results
    )
    stars = [f"{LOST}: some of its runs lost requests."] if is_starred else []
    return [*notes(figure), *stars]


def _levels(figure: OwnFigure) -> OwnTable:
    """Tabulate medians: a row for each level, a column for each series."""
    along, across = figure.declared.along, figure.declared.panels
    scale = _scale(figure.results)
    found = {
        (result.params[across], result.params[along], result.series): result
        for result in figure.results
    }
    rows = tuple(
        (
            plain(panel, 6),
            plain(level, 6),
            *(_median(found.get((panel, level, series)), scale) for series in figure.colours),
        )
        for panel in panels(figure)
        for level in levels(figure)
    )
    return OwnTable(axis_text(figure, scale), (across, along, *figure.colours), 2, rows)


def _median(result: OwnResult | None, scale: Scale) -> str:
    if result is None:
        return NONE
    if result.values is None:
        return result.gap.word if result.gap else NONE
    return f"{scale.text(result.values.median)}{LOST if result.lossy else ''}"


def _statistics(figure: OwnFigure) -> Iterator[OwnTable]:
    """Tabulate mean, range and deviation: a table for each metric."""
    columns = ("platform", "runs", "mean", "min", "max", "sd", "median", "95 %")
    for title in dict.fromkeys(metric_text(result) for result in figure.results):
        chosen = [result for result in figure.results if metric_text(result) == title]
        scale = _scale(chosen)
        rows = tuple((result.series, *_described(result, scale)) for result in chosen)
        yield OwnTable(_titled(title, scale), columns, 1, rows)


def _described(result: OwnResult, scale: Scale) -> tuple[str, ...]:
    if result.values is None:
        return (result.gap.word if result.gap else NONE, *[NONE] * 6)
    values = result.values
    numbers = (values.mean, values.minimum, values.maximum, values.sd, values.median)
    ends = f"[{scale.text(result.low)}, {scale.text(result.high)}]"
    return (runs_text(result), *map(scale.text, numbers), NONE if result.low is None else ends)


def _scale(results: Sequence[OwnResult]) -> Scale:
    medians = [result.values.median for result in results if result.values is not None]
    return scale_for(results[0].metric.unit, medians)


def _titled(name: str, scale: Scale) -> str:
    return ", ".join(filter(None, (name.replace("_", " "), scale.unit)))


def write_tables(study: str, figures: Sequence[OwnFigure], into: Path) -> list[Path]:
    """Write all numbers as CSV, in base units, and the tables as Markdown; list both files."""
    paths = [into / f"{study}-own.csv", into / f"{study}-own.md"]
    with paths[0].open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, CSV_COLUMNS)
        writer.writeheader()
        writer.writerows(row for figure in figures for row in facts(figure))
    paths[1].write_text("\n\n".join(map(_markdown, figures)) + "\n", encoding="utf-8")
    return paths


def facts(figure: OwnFigure) -> Iterator[Mapping[str, Any]]:
    """List a figure's results in base units; what is not known is None."""
    for result in figure.results:
        values = result.values
        yield {
            "study": figure.study,
            "figure": figure.declared.name,
            "platform": result.cell.platform,
            "stack": result.cell.stack,
            "workload": result.cell.workload,
            "params": params_text(result.cell.params),
            "cpus": result.cell.limits.cpus,
            "memory_bytes": result.cell.limits.memory_bytes,
            "metric": result.metric.name,
            "unit": result.metric.unit.value,
            "runs": 0 if values is None else values.n,
            "mean": values and values.mean,
            "sd": values and values.sd,
            "min": values and values.minimum,
            "max": values and values.maximum,
            "median": values and values.median,
            "low": result.low,
            "high": result.high,
            "lossy_runs": len(result.lossy) if figure.counts_losses and values else None,
            "largest_loss": max((run.share for run in result.lossy), default=None),
            "gap": result.gap.word if result.gap else "",
            "reason": result.gap.reason if result.gap else "",
        }


def _markdown(figure: OwnFigure) -> str:
    parts = [f"## {in_markdown(figure.title)}"]
    for table in own_tables(figure):
        rules = ["---" if place < table.texts else "---:" for place in range(len(table.columns))]
        cells = [[in_markdown(cell) for cell in row] for row in (table.columns, *table.rows)]
        lines = [cells[0], rules, *cells[1:]]
        parts += [in_markdown(table.title), "\n".join(f"| {' | '.join(line)} |" for line in lines)]
    return "\n\n".join([*parts, in_markdown(" ".join(table_notes(figure)))])
