"""Charts of costs: what each platform costs, and of what a stack's cost is made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tare.present.charts.cost_plots import (
    across,
    axis_of_names,
    domain,
    held,
    interval_layers,
    line_at_one,
    plots,
    widths,
)
from tare.present.charts.figure import OWN_COLOUR, Figure, Spec, category, fitted, layer, within
from tare.present.view import theme
from tare.present.view.density import is_density
from tare.present.view.findings import CellGroup, Findings
from tare.present.view.marks import SHORT, explained, gap
from tare.present.view.names import platform_text
from tare.present.view.neighbours import is_isolation
from tare.present.view.numbers import cost_text, costs_text, share_text
from tare.present.view.scaling_finding import is_scaling
from tare.results.compare.comparison import Comparison
from tare.results.questions.attribution import Attribution
from tare.results.stats.sequential import Verdict

MAX_STACKS = 12
"""Maximum number of stacks in the chart of attributions."""
_VERDICTS = {verdict.value for verdict in Verdict}


def forest(found: Findings, groups: Sequence[CellGroup], name: str) -> Figure:
    """Show what every platform costs on every workload, with intervals: the picture of a study."""
    colours = theme.colours(found.platforms)
    ids = {cell.id for group in groups for cell in group.cells}
    rows = [row for row in found.headline if row.cell.id in ids]
    margin = found.plan.repetition.margin
    low, high = domain(rows, margin)
    order = list(dict.fromkeys(platform_text(row.cell) for row in rows))
    words = {row.cell.id: _gap(found, row) for row in rows if row.cost is None}
    values = [
        {
            "group": found.group_names[row.cell.id],
            "platform": platform_text(row.cell),
            "colour": colours[row.cell.platform],
            **held(row, low, high),
            "text": word or _forest_text(row),
            "short": SHORT.get(word, word) or cost_text(row.cost),
            "decided": row.verdict not in (Verdict.UNDECIDED, Verdict.NOT_MEASURED),
        }
        for row in rows
        for word in [words.get(row.cell.id, "")]
    ]
    caption = (
        f"{_against(found, rows)}: 1 is equal, right is worse, on a logarithmic scale. Bars are "
        "intervals that hold at every look together (95 %). Points are filled where there is a "
        f"verdict, hollow where there is none. The band is the margin of ±{share_text(margin)}."
        f"{explained(set(words.values()))}"
    )
    if any(one["beyond"] is not None or one["below"] is not None for one in values):
        caption += " An interval that ends in a triangle goes on beyond the axis."
    if verdicts := sorted(_VERDICTS.intersection(words.values())):
        caption += f" Where there is only {' or '.join(verdicts)}, too many pairs have no ratio."
    if len(groups) < len(found.groups):
        caption += (
            f" The {len(groups)} of {len(found.groups)} workloads with the largest costs are drawn."
        )

    def draw(width: int) -> Spec:
        left, plot = widths(order, width)
        x = across("cost", low, high, plot)
        y = axis_of_names("platform", order, left)
        return plots(values, interval_layers(x, y, margin), y, plot, width)

    return Figure(name, f"Cost of every {_subject(rows)} on every workload", caption, draw)


def _against(found: Findings, rows: Sequence[Comparison]) -> str:
    """Return what the costs of a forest are multiples of."""
    if is_isolation(rows):
        return (
            "Cost of each workload next to each neighbour as a multiple of the same workload alone "
            "on the same platform"
        )
    if is_scaling(rows):
        return (
            "Cost of each workload in each of several instances at once as a multiple of one "
            "instance of the same platform"
        )
    if is_density(found):
        return (
            "How many instances fit of the baseline, "
            f"{found.plan.reference}, as a multiple of how many fit of each platform"
        )
    return f"Cost on each platform as a multiple of its baseline, {found.plan.reference}"


def _subject(rows: Sequence[Comparison]) -> str:
    if is_isolation(rows):
        return "neighbour"
    return "number of instances" if is_scaling(rows) else "platform"


def has_layers(found: Findings, groups: Sequence[CellGroup]) -> bool:
    """Return whether a stack of a workload that is drawn has layers whose costs are known."""
    return bool(_shown(found, groups))


def _shown(found: Findings, groups: Sequence[CellGroup]) -> list[Attribution]:
    cells = {cell for group in groups for cell in group.cells}
    return [one for one in _explained(found) if one.stack.cell in cells]


def _explained(found: Findings) -> list[Attribution]:
    every = found.comparisons.attributions
    return [one for one in every if one.stack.primary and one.product is not None]


def waterfall(found: Findings, groups: Sequence[CellGroup], name: str) -> Figure:
    """Show how the cost of a stack is made up of its layers' costs and their interaction."""
    colours = theme.colours(found.platforms)
    attributions, there = _shown(found, groups)[:MAX_STACKS], len(_explained(found))
    values = [
        {"group": f"{found.group_names[one.stack.cell.id]}: {one.stack.cell.platform}", **step}
        for one in attributions
        for step in _steps(one, colours)
    ]
    ends = [value[end] for value in values for end in ("start", "end")]
    low, high = min(1.0, *ends) / 1.05, max(1.0, *ends) * 1.05

    def draw(width: int) -> Spec:
        names = [value["step"] for value in values]
        left, plot = widths(names, width)
        x = across("start", low, high, plot)
        y = category("step", sort=None, axis={"title": None, **fitted(names, left - 12)})
        bar = {"height": 13, "minBandSize": 2}
        tick = {"thickness": 2, "size": 18, "color": theme.INK}
        layers = [
            line_at_one(x),
            layer("bar", bar, x=x, x2={"field": "end"}, y=y, color=OWN_COLOUR),
            layer("tick", tick, x={**x, "field": "end"}, y=y),
        ]
        return plots(values, layers, y, plot, width)

    caption = (
        "From the baseline through each layer, as it costs alone, to the stack. Each bar begins "
        "where the one before ends; on this logarithmic scale equal lengths are equal factors. "
        "The interaction is what the layers' product does not explain: above 1 they hinder each "
        "other; an interval that holds 1 says that none has been shown."
    )
    if there > len(attributions):
        caption += f" {len(attributions)} of {there} stacks are drawn."
    return Figure(name, "Which layer costs what", caption, draw)


def _steps(one: Attribution, colours: dict[str, str]) -> Iterator[dict[str, Any]]:
    start = 1.0
    for place, part in enumerate(one.layers, 1):
        cost = part.cost or 1.0
        # Numbered, because a layer may stand in a stack twice.
        name = f"{place} {part.cell.path[-1]}"
        ends, end = (part.low, part.high), within(start * cost, log=True)
        yield _step(name, cost, (start, end), colours[part.cell.platform], ends)
        start = end
    cost = one.stack.cost or 1.0
    whole = within(cost, log=True)
    ends = one.interaction_interval or (None, None)
    yield _step("interaction", one.interaction or 1.0, (start, whole), theme.BASELINE, ends)
    colour = colours[one.stack.cell.platform]
    yield _step("whole stack", cost, (1.0, whole), colour, (one.stack.low, one.stack.high))


def _step(
    name: str,
    cost: float,
    span: tuple[float, float],
    colour: str,
    ends: tuple[float | None, float | None],
) -> dict[str, Any]:
    factor = cost_text(cost)
    return {
        "step": name,
        "start": span[0],
        "end": span[1],
        "colour": colour,
        "text": f"{cost_text(cost, *ends)} {costs_text(*ends, cost)}",
        "short": factor,
    }


def _gap(found: Findings, row: Comparison) -> str:
    """Return the word in the place of a cost: the verdict if there is one."""
    is_measured = row.verdict is not Verdict.NOT_MEASURED
    return row.verdict.value if is_measured else gap(found, row)


def _forest_text(row: Comparison) -> str:
    ends = costs_text(row.low, row.high, row.cost) if row.low is not None else ""
    return f"{cost_text(row.cost, row.low, row.high)} {ends}"
