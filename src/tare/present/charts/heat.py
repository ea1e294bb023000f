"""The heat map: what every platform costs on every workload, as a coloured table."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tare.present.charts.canvas import Canvas
from tare.present.charts.figure import Figure
from tare.present.charts.grid import STRENGTH, Box, Legend, Line, grid
from tare.present.view import theme
from tare.present.view.density import is_density
from tare.present.view.findings import CellGroup, Findings
from tare.present.view.marks import FLAWED, MARKS, NOT_RUN, SHORT, explained, gap, is_flawed
from tare.present.view.names import platform_text
from tare.present.view.numbers import MINUS, TIMES, cost_text, costs_text
from tare.present.view.reasons import reason_text
from tare.present.view.scaling_finding import is_scaling
from tare.results.compare.comparison import Comparison
from tare.results.stats.sequential import Verdict

MAX_COLUMNS = 16
"""Maximum number of platforms: on a phone a column has 20 pixels then."""
MAX_LINES = 40

_ENDS = (1.1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100)
"""Where the colours may end; a cost beyond the last has its colour."""


def heat_map(found: Findings, _: Sequence[CellGroup], name: str) -> Figure:
    """Show the cost of all platforms on all workloads, on a diverging logarithmic scale."""
    columns = list(dict.fromkeys(platform_text(row.cell) for row in found.headline))
    shown, groups = columns[:MAX_COLUMNS], found.groups[:MAX_LINES]
    costs = [row.cost for row in found.headline if row.cost is not None]
    end, is_all = _end(costs)
    lines = [_line(found, group, shown, end) for group in groups]
    words = {box.number[0] for line in lines for box in line.boxes}
    reference = f"the baseline, {found.plan.reference}"
    if is_scaling(found.headline):
        reference = "one instance of the same platform"
    caption = (
        f"Cost as a multiple of {reference}. Colour grows with the "
        "logarithm of the cost: sienna is worse, indigo is better, uncoloured is equal. "
        f"{DENSITY_MARKS_TEXT if is_density(found) else MARKS_TEXT} An empty cell says why there "
        f"is no number.{explained(words)}"
    )
    if any(box.flawed for line in lines for box in line.boxes):
        caption += FLAWED
    if any(_is_doubted(found, group) for group in groups):
        caption += " Not trusted: the A/A control differs from the baseline."
    if len(shown) < len(columns):
        caption += f" The first {len(shown)} of {len(columns)} platforms are drawn."
    if len(groups) < len(found.groups):
        caption += f" The first {len(groups)} of {len(found.groups)} workloads are drawn."

    def draw(width: int) -> Canvas:
        return grid(width, shown, lines, _legend(end, is_all=is_all))

    return Figure(name, "Cost of every platform on every workload, as a map", caption, draw)


MARKS_TEXT = "▲ is slower, ▼ faster, = the same within the margin, ? undecided."
DENSITY_MARKS_TEXT = MARKS_TEXT.replace("slower", "worse").replace("faster", "better")
_DOUBTED = " (not trusted)"


def _line(found: Findings, group: CellGroup, shown: Sequence[str], end: float) -> Line:
    ids = {cell.id for cell in group.cells}
    rows = {platform_text(row.cell): row for row in found.headline if row.cell.id in ids}
    name = f"{group.name}{_DOUBTED if _is_doubted(found, group) else ''}"
    return Line(name, [_box(found, group.name, one, rows.get(one), end) for one in shown])


def _is_doubted(found: Findings, group: CellGroup) -> bool:
    ids = {cell.id for cell in group.cells}
    return any(row.cell.id in ids for row in found.untrusted)


def _box(found: Findings, group: str, platform: str, row: Comparison | None, end: float) -> Box:
    where = f"{group} on {platform}"
    if row is None:
        return Box((NOT_RUN, SHORT[NOT_RUN]), "", theme.PAPER, 0, f"{where}: not in the plan")
    if row.cost is None:
        return without_cost(found, row, where)
    colour, strength = shade(row.cost, end)
    size = f"{cost_text(row.cost, row.low, row.high)} {costs_text(row.low, row.high, row.cost)}"
    said = f"{where}: {size}, {row.verdict.value}"
    number, flawed = (cost_text(row.cost), brief(row.cost)), is_flawed(row)
    return Box(number, mark_of(row), colour, strength, said, flawed)


def without_cost(found: Findings, row: Comparison, where: str) -> Box:
    """Return the box of a comparison that has no cost: a word for why."""
    word = gap(found, row)
    has_verdict = row.verdict is not Verdict.NOT_MEASURED
    why = f"{where}: {reason_text(row.reason or row.why_no_ratio) or word}"
    mark, flawed = (mark_of(row), is_flawed(row)) if has_verdict else ("", False)
    return Box((word, SHORT.get(word, word)), mark, theme.PAPER, 0, why, flawed)


def mark_of(row: Comparison) -> str:
    """Return the shape of a verdict, with a star where its number is flawed."""
    return f"{MARKS[row.verdict]}{'*' if is_flawed(row) else ''}"


def shade(cost: float, end: float) -> tuple[str, float]:
    """Return the colour of a cost and its strength, which is full from ``end`` on."""
    if cost <= 0:
        return theme.BETTER, STRENGTH
    share = min(1.0, abs(math.log(cost)) / math.log(end)) if cost < math.inf else 1.0
    return (theme.WORSE if cost > 1 else theme.BETTER), STRENGTH * share


def brief(cost: float) -> str:
    """Write a cost in four or five characters, without its sign."""
    if not math.isfinite(cost):
        return "∞"
    if cost < 0.01 or cost >= 9999.5:
        mantissa, _, exponent = f"{cost:.0e}".partition("e")
        return f"{mantissa}e{int(exponent)}".replace("-", MINUS)
    return f"{cost:.{2 if cost < 9.995 else 1 if cost < 99.95 else 0}f}"


def _end(costs: Sequence[float]) -> tuple[float, bool]:
    """Find the least round end that holds all costs, on both sides of 1, and whether one does."""
    known = [cost for cost in costs if 0 < cost < math.inf]
    farthest = max((max(cost, 1 / cost) for cost in known), default=1.0)
    end = next((end for end in _ENDS if farthest <= end), _ENDS[-1])
    return end, farthest <= end and len(known) == len(costs)


def _legend(end: float, *, is_all: bool) -> Legend:
    less, more = ("", "") if is_all else ("≤ ", "≥ ")
    steps = [end ** (place / 4) for place in range(-4, 5)]
    return Legend(
        [shade(step, end) for step in steps],
        (f"{less}1/{end:g}{TIMES}", f"1{TIMES}", f"{more}{end:g}{TIMES}"),
    )
