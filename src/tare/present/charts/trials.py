"""The chart of single trials: their values on each platform; and what other charts of them need."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tare.core.model import Better, Cell, Kind, Metric, Status, Trial
from tare.present.charts.figure import (
    LABELS_SHARE,
    LARGE_TOO,
    NARROW,
    OWN_COLOUR,
    SCHEMA,
    Figure,
    Spec,
    category,
    fitted,
    label_width,
    layer,
    quantity,
    sample,
    within,
)
from tare.present.charts.zeros import Edge, edge_for
from tare.present.view import theme
from tare.present.view.findings import CellGroup, Findings
from tare.present.view.marks import explained, own_gap
from tare.present.view.names import platform_text
from tare.present.view.numbers import scale_for
from tare.results.stats.median import median_interval

_SHAPES = {
    "ok": "circle",
    "suspect": "triangle-up",
    "warm-up": "diamond",
    "failed": "cross",
    "dnr": "square",
}

MAX_REASON = 60
"""Characters of why a trial failed that a tool tip says, which all charts have of their points."""

NO_VALUE = "no value"
"""Stands where trials ended well and did not give this number."""


def points(found: Findings, group: CellGroup, name: str) -> Figure:
    """Show every single trial of a workload by platform, with median and interval."""
    metric = group.metrics[0]
    colours = theme.colours(found.platforms)
    with_value = [
        (cell, one)
        for cell in group.cells
        for one in found.measured[cell.id]
        if is_number(one, metric)
    ]
    without = [
        (cell, one)
        for cell in group.cells
        for one in found.trials[cell.id]
        if one.kind is Kind.MEASURED
        if one.status in (Status.FAILED, Status.DNR)
        or (metric.name in one.samples and not is_number(one, metric))
    ]
    summaries = [found.summaries[cell.id, metric.name] for cell in group.cells]
    medians = [one.values.median for one in summaries if one.values]
    scale = scale_for(metric.unit, medians)
    ends = [float(found.values(one, metric).min(initial=math.inf)) for one in group.cells]
    least = min([*medians, *ends], default=0.0)
    every = [one.samples[metric.name] / scale.factor for _, one in with_value]
    edge = edge_for(every, [median / scale.factor for median in medians])
    log = bool(edge) or (least > 0 and bool(medians) and max(medians) / min(medians) > 5)
    kind = "log" if log else "linear"

    def placed(value: float) -> float:
        return edge.place if edge and value == 0 else within(value, log=log)

    last_block = max((one.block for _, one in [*with_value, *without]), default=0) or 1
    chosen = sample(with_value, found.plan.seed)
    values = [
        {
            "platform": platform_text(cell),
            "value": placed(one.samples[metric.name] / scale.factor),
            "when": one.block / last_block,
            "status": one.status.value,
            "colour": colours[cell.platform],
            "text": point_text(cell, one, scale.full(one.samples[metric.name])),
        }
        for cell, one in chosen
    ]
    lost = [
        {
            "platform": platform_text(cell),
            "when": one.block / last_block,
            "status": one.status.value,
            "text": point_text(cell, one, "no value"),
        }
        for cell, one in sample(without, found.plan.seed)
    ]
    middles = [
        {
            "platform": platform_text(one.cell),
            "median": placed(one.values.median / scale.factor),
            "low": None if ends[0] is None else placed(ends[0]),
            "high": None if ends[1] is None else placed(ends[1]),
        }
        for one in summaries
        if one.values
        for ends in [median_ends(found, one.cell, metric, scale.factor, log=False)]
    ]
    rows = [platform_text(one.cell) for one in summaries if one.values]
    gaps = [
        {"platform": platform_text(one.cell), "text": own_gap(found, one.cell) or NO_VALUE}
        for one in summaries
        if not one.values
    ]
    title = f"{metric.name} ({scale.unit})" if scale.unit else metric.name
    caption = (
        f"Each point is one trial, those of earlier blocks higher in their row; {better(metric)}. "
        "The tick is the median, the bar its 95 % interval for this platform alone: "
        "compare platforms by the table, which uses the pairs."
    )
    if not log and least > 0:
        caption += " The axis need not begin at 0: compare places, not distances from the left."
    if edge:
        caption += " A logarithmic axis has no 0: zeros are left of each row's upright line."
    caption += sampled(len(chosen), len(with_value))
    if lost:
        caption += f" Trials without a value ({len(without)}) stand at the right edge."
    caption += explained({one["text"] for one in gaps})

    def draw(width: int) -> Spec:
        # On a phone the labels stand in the plot, above their points.
        narrow = width < NARROW
        names = [platform_text(cell) for cell in group.cells]
        left = 8 if narrow else round(min(label_width(names), LABELS_SHARE * width))
        plot = max(60, width - left - 34)
        inside = {"labelAlign": "left", "labelPadding": 0, "labelOffset": -30}
        x = quantity(
            "value",
            scale={"type": kind, "zero": False, "nice": False, "padding": 10},
            axis={
                "title": title + (", logarithmic" if log else ""),
                "tickCount": max(3, plot // 90),
                "labelOverlap": "greedy",
                "labelExpr": edge.label if edge else LARGE_TOO,
                **({"values": edge.ticks(plot // 60)} if edge else {}),
            },
        )
        y = category(
            "platform",
            sort=names,
            axis={
                "title": None,
                "grid": True,
                **fitted(names, (width - 40 if narrow else left) - 12),
                **(inside if narrow else {}),
            },
            scale={
                "domain": names,  # those without a point keep their rows
                "paddingInner": 0.5 if narrow else 0.2,
                "paddingOuter": 0.3,
            },
        )
        when = quantity("when", scale={"domain": [0, 1]})
        point = {"filled": True, "opacity": 0.75}
        each = {
            "y": y,
            "yOffset": when,
            "shape": shape_of([*values, *lost]),
            "description": {"field": "text"},
        }
        ends = {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y}
        median = {"thickness": 2.5, "size": 20, "color": theme.INK}
        # On the line of its row, not struck through by it.
        word = {"align": "left", "baseline": "bottom", "color": theme.MUTED}
        layers = [
            drawn(values, layer("point", {**point, "size": 26}, x=x, color=OWN_COLOUR, **each)),
            drawn(
                lost,
                layer(
                    "point",
                    {**point, "size": 36, "color": theme.BAD},
                    x={"value": plot + 12},
                    **each,
                ),
            ),
            drawn(
                [one for one in middles if one["low"] is not None],
                layer("rule", {"strokeWidth": 2.5, "color": theme.INK}, **ends),
            ),
            drawn(middles, layer("tick", median, x={**x, "field": "median"}, y=y)),
            drawn(gaps, layer("text", word, x={"value": 4}, y=y, text={"field": "text"})),
        ]
        if edge:
            layers.insert(-1, _broken(edge, rows, x, y))
        return {
            "$schema": SCHEMA,
            "config": theme.CONFIG,
            "width": plot,
            "height": {"step": 68 if narrow else 40, "for": "position"},
            "layer": layers,
        }

    return Figure(name, f"{group.name}: every trial", caption, draw)


def _broken(edge: Edge, platforms: Sequence[str], x: Spec, y: Spec) -> Spec:
    """Draw in each row where the axis is broken: a line through all would cross their names."""
    tick = {"thickness": 1, "size": 24, "color": theme.MUTED}
    lines = [{"platform": one, "line": edge.line} for one in platforms]
    return drawn(lines, layer("tick", tick, x={**x, "field": "line"}, y=y))


def drawn(values: Sequence[Any], marks: Spec) -> Spec:
    """Return marks of values of their own."""
    return {"data": {"values": values}, **marks}


def is_number(trial: Trial, metric: Metric) -> bool:
    """Whether a trial has a finite value of a metric."""
    return math.isfinite(trial.samples.get(metric.name, math.nan))


def better(metric: Metric) -> str:
    """Return which way a metric improves."""
    return f"{'more' if metric.better is Better.HIGHER else 'less'} is better"


def point_text(cell: Cell, trial: Trial, value: str) -> str:
    """Return the tool tip of a point, which screen readers read too."""
    reason = trial.reason
    if len(reason) > MAX_REASON:
        reason = f"{reason[:MAX_REASON]} […]"
    ended = "" if trial.status is Status.OK else f", {trial.status.value}: {reason}"
    warm = ", warm-up" if trial.kind is Kind.WARMUP else ""
    return f"{platform_text(cell)}, block {trial.block}, {trial.instance}{warm}: {value}{ended}"


def shape_of(values: Sequence[Any]) -> Spec:
    """Return the shapes of the statuses; with a legend if there is more than one."""
    present = {value["status"] for value in values}
    names = [name for name in _SHAPES if name in present]
    legend = {"orient": "bottom", "direction": "horizontal"} if len(names) > 1 else None
    shapes = [_SHAPES[one] for one in names]
    return category("status", scale={"domain": names, "range": shapes}, legend=legend)


def sampled(chosen: int, there: int) -> str:
    """Return how many points are drawn, if not all."""
    return "" if chosen == there else f" {chosen:,} of {there:,} points drawn, chosen at random."


def median_ends(
    found: Findings, cell: Cell, metric: Metric, factor: float, *, log: bool
) -> tuple[float | None, float | None]:
    """Return the 95 % interval of a cell's median by order statistics: for any distribution."""
    low, high = median_interval(np.sort(found.values(cell, metric)).tolist())
    if low is None or high is None:
        return None, None
    return within(low / factor, log=log), within(high / factor, log=log)
