"""The chart of a ladder: what each switch costs, seen from both ends."""

from __future__ import annotations

from collections.abc import Sequence

from tare.present.charts.cost_plots import (
    across,
    axis_of_names,
    domain,
    held,
    interval_layers,
    plots,
    widths,
)
from tare.present.charts.figure import Figure, Spec
from tare.present.view import theme
from tare.present.view.findings import CellGroup, Findings
from tare.present.view.ladders import Costs, lines, title
from tare.present.view.numbers import TIMES, cost_text, costs_text, share_text
from tare.results.questions.ladder import LadderCosts

MAX_LADDERS = 6
"""Maximum number of ladders in one chart: two plots each."""


def has_ladder(found: Findings, _: Sequence[CellGroup]) -> bool:
    """Return whether a ladder has a cost between its ends."""
    return bool(_known(found))


def _known(found: Findings) -> list[LadderCosts]:
    return [one for one in found.comparisons.ladders if one.between.cost is not None]


def ladder(found: Findings, _: Sequence[CellGroup], name: str) -> Figure:
    """Show the cost of every switch of every ladder with its interval, by the end it is seen from.

    Switches without an effect are left out, and the caption says so.
    """
    colours = theme.colours(found.platforms)
    ladders = _known(found)
    margin = found.plan.repetition.margin
    drawn = [
        (f"{end} of {title(found, one)}", line, row, colours[platform])
        for one in ladders[:MAX_LADDERS]
        for end, platform in (("default end", one.ladder.default), ("bare end", one.ladder.bare))
        for line in lines(one)
        for row in [line.from_default if end == "default end" else line.from_bare]
        if line.counts
    ]
    low, high = domain([row for _, _, row, _ in drawn], margin)
    values = [
        {
            "group": group,
            "line": line.name,
            "colour": colour,
            **held(row, low, high),
            "text": _text(row),
            "short": cost_text(row.cost),
            "decided": _is_decided(row, margin),
        }
        for group, line, row, colour in drawn
    ]
    names = list(dict.fromkeys(line.name for _, line, _, _ in drawn))

    def draw(width: int) -> Spec:
        left, plot = widths(names, width)
        x = across("cost", low, high, plot)
        x["axis"]["title"] = f"cost with the switch on, {TIMES} off"
        y = axis_of_names("line", names, left)
        return plots(values, interval_layers(x, y, margin), y, plot, width)

    return Figure(name, "Which switch costs what", _caption(ladders, margin), draw)


def _caption(ladders: Sequence[LadderCosts], margin: float) -> str:
    caption = (
        "The cost of having a switch on as a multiple of having it off: at the default end with "
        "all others on, at the bare end with all others off. 1 is no cost, right is worse, on a "
        "logarithmic scale, on which the costs add up to their sum. The rest is what the sum lacks "
        "to all of them at once. Bars are intervals that hold at every look together (95 %); a "
        f"point is filled where its interval leaves out 1 or lies within the margin of "
        f"±{share_text(margin)}, which is the band."
    )
    idle = [
        part.switch.name for one in ladders for part in one.switches if part.took_effect is False
    ]
    if idle:
        caption += f" Not drawn, without an effect on this host: {', '.join(dict.fromkeys(idle))}."
    if len(ladders) > MAX_LADDERS:
        caption += f" {MAX_LADDERS} of {len(ladders)} are drawn."
    return caption


def _text(row: Costs) -> str:
    if row.cost is None:
        return "no cost"
    ends = costs_text(row.low, row.high, row.cost) if row.low is not None else ""
    return f"{cost_text(row.cost, row.low, row.high)} {ends}"


def _is_decided(row: Costs, margin: float) -> bool:
    if row.low is None or row.high is None:
        return False
    return row.low > 1 or row.high < 1 or (row.low > 1 / (1 + margin) and row.high < 1 + margin)
