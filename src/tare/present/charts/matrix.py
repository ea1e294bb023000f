"""The significance matrix: every platform against every other, on one workload.

It is what Table 4 of Laine (2017) gives as p values of Student's test; here the pairs are those of
the same blocks, and Holm's correction is over all pairs of the matrix.
"""

from __future__ import annotations

from tare.core.model import Cell, Design
from tare.present.charts.canvas import Canvas
from tare.present.charts.figure import Figure
from tare.present.charts.grid import Box, Line, grid
from tare.present.charts.heat import MAX_COLUMNS, brief
from tare.present.view import theme
from tare.present.view.findings import CellGroup, Findings
from tare.present.view.marks import (
    FLAWED,
    MARKS,
    NO_RATIO,
    NOT_KNOWN,
    SHORT,
    explained,
    is_flawed,
    own_gap,
)
from tare.present.view.names import platform_text
from tare.present.view.numbers import cost_text, p_text
from tare.present.view.reasons import reason_text
from tare.results.compare.comparison import Comparison
from tare.results.compare.evidence import FAMILYWISE
from tare.results.questions.each_other import TURNED, each_other
from tare.results.stats.sequential import Verdict

FEWEST = 3
"""Of two platforms the table of verdicts says all."""

_STRENGTH = 0.4


def rivals(found: Findings, group: CellGroup) -> tuple[Cell, ...]:
    """List the cells of a group that are platforms of their own."""
    return tuple(cell for cell in group.cells if cell in found.plan.platform_cells)


def has_rivals(found: Findings, group: CellGroup) -> bool:
    """Return whether a group has platforms enough for a matrix."""
    return len(rivals(found, group)) >= FEWEST


def matrix(found: Findings, group: CellGroup, name: str) -> Figure:
    """Show which platform is shown to be better than which on one workload."""
    there = rivals(found, group)
    cells = there[:MAX_COLUMNS]
    held = each_other(found.comparisons.estimates, cells)
    lines = [
        Line(
            f"{place + 1} {platform_text(cell)}",
            [_box(found, cell, other, held.get((cell.id, other.id))) for other in cells[:place]],
        )
        for place, cell in enumerate(cells)
    ]
    every = [box for line in lines for box in line.boxes]
    words = {box.number[0] for box in every}
    tests = sum(row.holm_p is not None for row in held.values()) // 2
    caption = (
        "Cost of each row as a multiple of the column's, numbered as the rows are, by "
        f"{group.metrics[0].name}, in the same blocks. Marks hold among all others of this "
        f"matrix (Holm's p of {tests} comparisons at most {FAMILYWISE:g}, looks allowed for): "
        "▲ the row is worse, ▼ the row is better. In brackets: alone yes, among all others "
        "it can be luck. = the same within the margin; ? not distinguished, which is not equal."
        f"{explained(words)}"
    )
    if any(box.flawed for box in every):
        caption += FLAWED
    if found.plan.repetition.design is Design.DUET:
        caption += (
            " In this duet only pairs with the baseline were measured at the same moment; the "
            "others share a block."
        )
    if len(there) > len(cells):
        caption += f" The first {len(cells)} of {len(there)} platforms are drawn."

    def draw(width: int) -> Canvas:
        return grid(width, [str(place) for place in range(1, len(cells))], lines)

    return Figure(name, f"{group.name}: each against each", caption, draw)


def _box(found: Findings, cell: Cell, other: Cell, row: Comparison | None) -> Box:
    if row is None:
        return Box(("", ""), "", theme.PAPER, 0, "")
    who = f"{platform_text(cell)} against {platform_text(other)}"
    if row.verdict is Verdict.NOT_MEASURED or row.cost is None:
        is_measured = row.verdict is not Verdict.NOT_MEASURED
        nothing = NO_RATIO if is_measured else NOT_KNOWN
        word = own_gap(found, cell) or own_gap(found, other) or nothing
        mark = _mark(row) if is_measured else ""
        why = f"{who}: {reason_text(row.reason or row.why_no_ratio) or word}"
        flawed = is_measured and is_flawed(row)
        return Box((word, SHORT.get(word, word)), mark, theme.PAPER, 0, why, flawed)
    said = f"{who}: {cost_text(row.cost)}, {row.verdict.value}, Holm's p {p_text(row.holm_p)}"
    colour, strength = _colour(row)
    number = cost_text(row.cost), brief(row.cost)
    return Box(number, _mark(row), colour, strength, said, is_flawed(row))


def _holds(row: Comparison) -> bool:
    return row.holm_p is not None and row.holm_p <= FAMILYWISE


def _mark(row: Comparison) -> str:
    mark = MARKS[row.verdict]
    mark = mark if _holds(row) or row.verdict not in TURNED else f"({mark})"
    return f"{mark}*" if is_flawed(row) else mark


def _colour(row: Comparison) -> tuple[str, float]:
    if row.verdict is Verdict.SAME:
        return theme.BAND, 1
    if not _holds(row) or row.verdict not in TURNED:
        return theme.PAPER, 0
    return (theme.WORSE if row.verdict is Verdict.SLOWER else theme.BETTER), _STRENGTH
