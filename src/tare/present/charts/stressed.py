"""The map of a study of neighbours with what a published study printed of the same loads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tare.present.charts.canvas import Canvas
from tare.present.charts.figure import Figure
from tare.present.charts.grid import STRENGTH, Box, Line, grid
from tare.present.charts.heat import MARKS_TEXT
from tare.present.charts.isolation import (
    FULL,
    degradation_box,
    degradation_legend,
    degradation_shade,
)
from tare.present.view import theme
from tare.present.view.findings import CellGroup, Findings
from tare.present.view.marks import FLAWED
from tare.present.view.numbers import MINUS, NONE, TIMES
from tare.results.compare.comparison import Comparison
from tare.results.published.isolated import StressedRows, stressed_rows
from tare.results.published.rows import DID_NOT_RESPOND, Row


def has_stressed(_: Findings, group: CellGroup) -> bool:
    """Return whether a study printed what a workload stands for, next to the same neighbours."""
    return bool(stressed_rows(group.cells))


def stressed_map(found: Findings, group: CellGroup, name: str) -> Figure:
    """Show our degradations next to those that a study printed, load by load."""
    every = stressed_rows(group.cells)
    first = every[0]
    every = [one for one in every if (one.study, one.victim) == (first.study, first.victim)]
    rows = {row.cell.id: row for row in found.headline}
    theirs = list(dict.fromkeys(platform for one in every for platform in one.printed))
    ours = list(dict.fromkeys(platform for one in every for platform in one.cells))
    lines = [_line(found, one, theirs, ours, rows) for one in every]
    columns = [*theirs, *(f"here: {platform}" for platform in ours)]
    flawed = any(box.flawed for line in lines for box in line.boxes)
    notes = "; ".join(dict.fromkeys(one.measure.note for one in every))
    caption = (
        f"Degradation of {first.victim} next to a neighbour as {first.study} printed it, in % of "
        f"the same platform alone, and here that of {group.name} ({notes}). Hardware differs too: "
        "compare which neighbours and platforms are the worst, never single numbers. Colour grows "
        f"up to {FULL:g} %. {MARKS_TEXT} {NONE}: not printed, or not in the plan. The study prints "
        "no spread; what differs between both set-ups is listed by "
        f"tare compare RESULTS {first.study}."
    )
    if any(row.value is None for one in every for row in one.printed.values()):
        caption += f" {DID_NOT_RESPOND}: it did not respond."
    if flawed:
        caption += FLAWED

    def draw(width: int) -> Canvas:
        return grid(width, columns, lines, degradation_legend())

    return Figure(name, f"{group.name}, and {first.victim} of {first.study}", caption, draw)


def _line(
    found: Findings,
    one: StressedRows,
    theirs: Sequence[str],
    ours: Sequence[str],
    rows: Mapping[str, Comparison],
) -> Line:
    boxes = [_printed(one.printed.get(platform)) for platform in theirs]
    for platform in ours:
        cell = one.cells.get(platform)
        where = f"{one.stress.text} on {platform}"
        row = rows.get(cell.id) if cell else None
        boxes.append(
            _nowhere("not in the plan") if row is None else degradation_box(found, row, where)
        )
    return Line(one.stress.text, boxes)


def _printed(row: Row | None) -> Box:
    if row is None:
        return _nowhere("not in the study")
    where = f"{row.table}, {row.workload} on {row.platform}"
    if row.value is None:
        words = ("did not respond", DID_NOT_RESPOND)
        return Box(words, TIMES, theme.BAD, STRENGTH, f"{where}: {row.note or words[0]}")
    colour, strength = degradation_shade(row.value)
    text = row.text.replace("-", MINUS)
    return Box((f"{text} %", text), "", colour, strength, f"{where}: {text} {row.unit}")


def _nowhere(why: str) -> Box:
    return Box((NONE, NONE), "", theme.PAPER, 0, why)
