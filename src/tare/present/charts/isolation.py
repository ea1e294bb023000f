"""The map of a study of neighbours: what each costs each workload on each platform."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from tare.present.charts.canvas import Canvas
from tare.present.charts.figure import Figure
from tare.present.charts.grid import STRENGTH, Box, Legend, Line, grid
from tare.present.charts.heat import MARKS_TEXT, MAX_COLUMNS, MAX_LINES, mark_of, without_cost
from tare.present.view import theme
from tare.present.view.findings import CellGroup, Findings
from tare.present.view.marks import FLAWED, NOT_RUN, SHORT, explained, is_flawed
from tare.present.view.neighbours import (
    NeighbourLine,
    is_isolation,
    neighbour_lines,
    platforms_of,
)
from tare.present.view.numbers import MINUS, TIMES, percent_text, size_text
from tare.results.compare.comparison import Comparison

FULL = 50.0
"""The degradation in per cent from which on the colour is full."""

_FEW, _MANY = 9.95, 999.5
"""Per cent below the first have a digit behind the point; from the second on it is a multiple."""


def has_neighbours(found: Findings, _: Sequence[CellGroup]) -> bool:
    """Return whether a study has workloads that have a neighbour."""
    return is_isolation(found.headline)


def isolation_map(found: Findings, _: Sequence[CellGroup], name: str) -> Figure:
    """Show the degradation next to every neighbour on every platform; darker is worse."""
    every = neighbour_lines(found)
    platforms = platforms_of(every)
    shown, chosen = platforms[:MAX_COLUMNS], every[:MAX_LINES]
    lines = list(_lines(found, chosen, shown))
    boxes = [box for line in lines for box in line.boxes]
    caption = (
        "Degradation of a workload next to a neighbour, against the same workload alone on the "
        f"same platform. Colour grows with it up to {FULL:g} %: sienna is worse, indigo is better. "
        f"{MARKS_TEXT} A box without a number says why."
        f"{explained({one.number[0] for one in boxes})}"
    )
    if any(one.flawed for one in boxes):
        caption += FLAWED
    if found.untrusted:
        caption += " Not trusted: the A/A control differs from the baseline."
    if len(shown) < len(platforms):
        caption += f" The first {len(shown)} of {len(platforms)} platforms are drawn."
    if len(chosen) < len(every):
        caption += f" The first {len(chosen)} of {len(every)} neighbours are drawn."

    def draw(width: int) -> Canvas:
        return grid(width, shown, lines, degradation_legend())

    return Figure(name, "Degradation by neighbour and platform", caption, draw)


def _lines(
    found: Findings, chosen: Sequence[NeighbourLine], platforms: Sequence[str]
) -> Iterator[Line]:
    several = len({line.group.name for line in chosen}) > 1
    for workload, some in groupby(chosen, lambda line: line.group.name):
        if several:
            yield Line(workload, [])
        for line in some:
            yield Line(line.name, [_box(found, line, one) for one in platforms])


def _box(found: Findings, line: NeighbourLine, platform: str) -> Box:
    row = line.rows.get(platform)
    where = f"{line.group.name} on {platform}, {line.name}"
    if row is None:
        return Box((NOT_RUN, SHORT[NOT_RUN]), "", theme.PAPER, 0, f"{where}: not in the plan")
    return degradation_box(found, row, where)


def degradation_box(found: Findings, row: Comparison, where: str) -> Box:
    """Return the box of a degradation, or of the reason why it has no number."""
    percent = row.degradation_percent
    if row.cost is None or percent is None:
        return without_cost(found, row, where)
    colour, strength = degradation_shade(percent)
    said = f"{where}: {size_text(row.cost, row.low, row.high)}, {row.verdict.value}"
    return Box(_number(row), mark_of(row), colour, strength, said, is_flawed(row))


def _number(row: Comparison) -> tuple[str, str]:
    percent = row.degradation_percent or 0.0
    if percent >= _MANY:
        short = f"{percent / 100 + 1:.0f}{TIMES}"
    else:
        short = f"{percent:+.{0 if abs(percent) >= _FEW else 1}f}".replace("-", MINUS)
    return percent_text(row.cost), short


def degradation_shade(percent: float) -> tuple[str, float]:
    """Return the colour of a degradation and its strength, which is full from ``FULL`` on."""
    share = min(1.0, abs(percent) / FULL)
    return (theme.WORSE if percent > 0 else theme.BETTER), STRENGTH * share


def degradation_legend() -> Legend:
    """Return the strip of colours from no degradation to where they are full."""
    steps = [degradation_shade(FULL * place / 8) for place in range(9)]
    return Legend(steps, ("0 %", f"{FULL / 2:g} %", f"≥ {FULL:g} %"))
