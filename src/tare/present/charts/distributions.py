"""How the values of each platform are distributed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tare.core.model import Better, Cell, Kind, Metric, Status
from tare.present.charts.axis import Axis, inner_ticks
from tare.present.charts.canvas import Canvas, Polyline, stairs
from tare.present.charts.figure import Figure, clipped
from tare.present.charts.lanes import Lanes
from tare.present.charts.trials import is_number
from tare.present.view import theme
from tare.present.view.findings import CellGroup, Findings
from tare.present.view.marks import own_gap
from tare.present.view.names import platform_text
from tare.present.view.numbers import MINUS, scale_for
from tare.results.stats.signed_rank import Array

MAX_STEPS = 100
"""Maximum number of steps drawn of a staircase; each lies on it exactly."""
FAR = 5.0
"""The axis ends where a value is this many times as far from its median as the tenth part is that
lies farthest out, on the platform where that is farthest."""


def distribution(found: Findings, group: CellGroup, name: str) -> Figure:
    """Show the empirical distribution of each platform about its own median.

    A staircase, and no violin: it has one step for each value, so it shows as much as 5 values know
    and all that 200 do. A density needs a bandwidth, which at 5 values would be the whole picture;
    a box hides two humps. Values stand as differences from the median of their own platform,
    because where they lie is shown by the points, and next to a cost of 14 every spread of 1 %
    would be an upright line.
    """
    metric = group.metrics[0]
    colours = theme.colours(found.platforms)
    values = {cell.id: _differences(found, cell, metric) for cell in group.cells}
    low, high = reach(list(values.values()))
    lost = {cell.id: _lost(found, cell, metric) for cell in group.cells}
    shares = {
        cell.id: _shares(values[cell.id], lost[cell.id], metric.better, (low, high))
        for cell in group.cells
    }
    medians = [found.summaries[cell.id, metric.name].values for cell in group.cells]
    scale = scale_for(metric.unit, (one.median for one in medians if one))
    titles = []
    for cell, one in zip(group.cells, medians, strict=True):
        middle = f"median {scale.full(one.median)}, n {one.n:,}" if one else own_gap(found, cell)
        beyond = sum(not low <= value <= high for value in values[cell.id])
        far = f", {beyond} beyond" if beyond else ""
        note = f"{middle or 'no value'}{_flawed(found, cell, lost[cell.id])}{far}"
        titles.append((platform_text(cell), note))
    base = next((shares[cell.id] for cell in group.cells if cell.id in found.plan.references), [])
    caption = (
        f"The share of trials whose {metric.name} is at most so much, as a difference in % from "
        "the platform's own median: a steep staircase is a steady platform, a flat stretch in its "
        "middle is two humps. The grey one in each plot is the baseline's. "
        f"{'More' if metric.better is Better.HIGHER else 'Less'} is better."
    )
    if any(lost.values()):
        end = "starts above 0 %" if metric.better is Better.HIGHER else "ends below 100 %"
        caption += (
            " Lost trials have no value and count as worse than all others: the staircase of a "
            f"platform that has them {end}."
        )
    if any(not low <= value <= high for some in values.values() for value in some):
        caption += " What lies beyond the axis is drawn at its edge, and counted."
    if any(one and one.n > MAX_STEPS for one in medians):
        caption += f" Of more than {MAX_STEPS} values {MAX_STEPS} steps are drawn."

    ticks = inner_ticks(low, high, 5) if low < high else [0.0]
    labels = [f"{tick:+,.10g}".replace("-", MINUS) if tick else "0" for tick in ticks]
    title = f"{metric.name}, difference from own median (%)"
    axis = Axis(title, low, high, list(zip(ticks, labels, strict=True)), margin=8)

    def draw(width: int) -> Canvas:
        canvas = Canvas(width)
        scale_of_lane = {0.0: "0 %", 0.5: "50 %", 1.0: "100 %"}
        lanes = Lanes(canvas, (0, 0), width, titles, scale_of_lane, axis)
        for lane, cell in enumerate(group.cells):
            axis.grid(canvas, lanes.ends, (lanes.y(lane, 0), lanes.y(lane, 1)))
            if base:
                canvas.add(Polyline(lanes.places(lane, base), theme.MUTED, 1.5, opacity=0.45))
            if own := shares[cell.id]:
                canvas.add(Polyline(lanes.places(lane, own), colours[cell.platform], 2))
        return canvas

    return Figure(name, f"{group.name}: distribution", caption, draw)


def _differences(found: Findings, cell: Cell, metric: Metric) -> list[float]:
    """Return the values in order, in % from their median; none if that is not above 0."""
    described = found.summaries[cell.id, metric.name].values
    if described is None or described.median <= 0:
        return []
    differences: list[float] = np.sort(
        percents(found.values(cell, metric), described.median)
    ).tolist()
    return differences


def percents(values: Array, median: float) -> Array:
    """Return values as differences in % from their median."""
    with np.errstate(over="ignore"):
        return clipped(100 * (values / median - 1))


def reach(some: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Choose the ends of the axis: one value far away must not make a line of all others."""
    known = [values for values in some if values]
    widest = max(
        (abs(values[round(share * (len(values) - 1))]) for values in known for share in (0.1, 0.9)),
        default=0.0,
    )
    far = FAR * widest or math.inf
    return (
        max(-far, min((values[0] for values in known), default=0.0)),
        min(far, max((values[-1] for values in known), default=0.0)),
    )


def _shares(
    values: Sequence[float], lost: int, better: Better, ends: tuple[float, float]
) -> list[tuple[float, float]]:
    """Return the corners of a staircase between the ends of the axis: values and shares."""
    if not values:
        return []
    below = lost if better is Better.HIGHER else 0
    total = len(values) + lost
    inside = [min(max(value, ends[0]), ends[1]) for value in values]
    steps = [(below + place + 1) / total for place in _places(inside)]
    corners = zip((inside[place] for place in _places(inside)), steps, strict=True)
    return stairs([(inside[0], below / total), *corners])


def _places(values: Sequence[float]) -> list[int]:
    """Choose the steps that are drawn: all, or evenly many with the first and the last."""
    if len(values) <= MAX_STEPS:
        return list(range(len(values)))
    last = len(values) - 1
    return sorted({round(place * last / (MAX_STEPS - 1)) for place in range(MAX_STEPS)})


def _lost(found: Findings, cell: Cell, metric: Metric) -> int:
    """Count the trials that were to give a value and gave none."""
    return sum(
        one.status in (Status.FAILED, Status.DNR)
        or (metric.name in one.samples and not is_number(one, metric))
        for one in found.trials[cell.id]
        if one.kind is Kind.MEASURED
    )


def _flawed(found: Findings, cell: Cell, lost: int) -> str:
    suspect = sum(one.status is Status.SUSPECT for one in found.measured[cell.id])
    said = f", {suspect} suspect" if suspect else ""
    return said + (f", {lost} lost" if lost and found.measured[cell.id] else "")
