"""The life of an instance on a time axis, a row of bars a platform."""

from __future__ import annotations

from typing import Any

from tare.core.model import Cell, Metric, Status, Unit
from tare.present.charts.figure import BOLD, NARROW, Figure, Spec, facets, shortened_apart
from tare.present.charts.trials import median_ends
from tare.present.view import theme
from tare.present.view.findings import Findings, Group
from tare.present.view.marks import own_gap
from tare.present.view.names import platform_text
from tare.present.view.numbers import NONE, Scale, middle_texts, plain, scale_for

PHASES = ("create", "boot", "soft_reboot", "hard_reboot", "stop", "start", "delete")
"""The phases that the lifecycle scenario times, in the order in which they are gone through."""


def has_life(found: Findings, group: Group) -> bool:
    """Whether a group's trials are lives of instances, and some of it was measured."""
    return any(
        found.summaries[cell.id, metric.name].values
        for cell in group.cells
        for metric in _phases(group)
    )


def gantt(found: Findings, group: Group, number: int) -> Figure:
    """Show the phases of a life one after the other, each as long as its median."""
    metrics = [
        metric
        for metric in _phases(group)
        if any(found.summaries[cell.id, metric.name].values for cell in group.cells)
    ]
    sums = [sum(_median(found, cell, one) or 0.0 for one in metrics) for cell in group.cells]
    scale = scale_for(Unit.SECOND, sums)
    colours = theme.colours(found.platforms)
    values = [
        {
            "colour": colours[cell.platform],
            "place": place,
            "platform": platform_text(cell),
            "whole": _whole(found, cell, metrics, scale),
            **bar,
        }
        for place, cell in enumerate(group.cells, 1)
        for bar in _bars(found, cell, metrics, scale)
    ]
    end = max((v for one in values for v in (one["end"], one["high"]) if v is not None), default=1)
    caption = (
        "From the making of an instance to its removal. Each bar is the median of one phase and "
        "begins where the one before ends; the thin line is the 95 % interval of where it ends, "
        f"for this phase alone. All platforms have one time axis, which begins at 0. {NONE}: no "
        "trial has this phase, because the layer has no such verb or the trial did not come so far."
    )

    def draw(width: int) -> Spec:
        narrow = width < NARROW
        left, right = 92, 60 if narrow else 150
        plot = max(60, width - left - right)
        beside = 0 if narrow else 2 + max((len(one["whole"]) for one in values), default=0)
        room = plot + 52 - BOLD * (beside + len("12. "))
        short = shortened_apart([one["platform"] for one in values], room, BOLD)
        titled = [
            {**one, "name": name if narrow else f"{name}: {one['whole']}"}
            for one in values
            for name in [f"{one['place']}. {short[one['platform']]}"]
        ]
        notes = {one["name"]: one["whole"] for one in titled} if narrow else None
        x: Spec = {
            "field": "start",
            "type": "quantitative",
            "scale": {"domain": [0, end or 1], "nice": False, "zero": True},
            "axis": {
                "title": f"time since its making began ({scale.unit})",
                "tickCount": max(3, plot // 90),
                "format": ",~r",
            },
        }
        y: Spec = {
            "field": "phase",
            "type": "nominal",
            "sort": [_words(one) for one in metrics],
            "axis": {"title": None, "grid": True},
        }
        colour = {"field": "colour", "type": "nominal", "scale": None}
        layers: list[Spec] = [
            {
                "transform": [{"filter": "isValid(datum.end)"}],
                "mark": {"type": "bar", "height": 9, "minBandSize": 1.5},
                "encoding": {
                    "x": x,
                    "x2": {"field": "end"},
                    "y": y,
                    "color": colour,
                    "description": {"field": "text"},
                },
            },
            {
                "transform": [{"filter": "isValid(datum.low)"}],
                "mark": {"type": "rule", "strokeWidth": 2, "color": theme.INK, "aria": False},
                "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y},
            },
            {
                "mark": {"type": "text", "align": "left", "aria": False},
                "encoding": {
                    "x": {"value": plot + 10},
                    "y": y,
                    "text": {"field": "short" if narrow else "text"},
                },
            },
        ]
        plots: Spec = {"width": plot, "height": {"step": 15}, "layer": layers}
        return facets(titled, "name", plots, notes=notes)

    return Figure(
        f"lifecycle-{number:02d}", f"{group.name}: the life of an instance", caption, draw
    )


def _phases(group: Group) -> list[Metric]:
    known = {metric.name: metric for metric in group.metrics if metric.unit is Unit.SECOND}
    return [known[name] for name in PHASES if name in known and {"create", "boot"} <= known.keys()]


def _words(metric: Metric) -> str:
    return metric.name.replace("_", " ")


def _median(found: Findings, cell: Cell, metric: Metric) -> float | None:
    values = found.summaries[cell.id, metric.name].values
    return values.median if values else None


def _bars(found: Findings, cell: Cell, metrics: list[Metric], scale: Scale) -> list[dict[str, Any]]:
    bars, start = [], 0.0
    for metric in metrics:
        median = _median(found, cell, metric)
        bar: dict[str, Any] = {"phase": _words(metric), "start": start}
        if median is None:
            nothing = dict.fromkeys(("end", "low", "high"))
            bars.append({**bar, **nothing, "short": NONE, "text": NONE})
            continue
        low, high = median_ends(found, cell, metric, scale.factor, log=False)
        end = start + median / scale.factor
        middle, interval = middle_texts(median / scale.factor, low, high)
        bars.append(
            {
                **bar,
                "end": end,
                "low": None if low is None else start + low,
                "high": None if high is None else start + high,
                "short": f"{plain(median / scale.factor, 3)} {scale.unit}",
                "text": f"{middle} {scale.unit} {interval}".rstrip(),
            }
        )
        start = end
    return bars


def _whole(found: Findings, cell: Cell, metrics: list[Metric], scale: Scale) -> str:
    if word := own_gap(found, cell):
        return word
    total = sum(_median(found, cell, one) or 0.0 for one in metrics)
    lacking = sum(_median(found, cell, one) is None for one in metrics)
    less = f" less {lacking} phase{'s' if lacking > 1 else ''}" if lacking else ""
    trials = found.measured[cell.id]
    suspect = sum(one.status is Status.SUSPECT for one in trials)
    flawed = f", {suspect} suspect" if suspect else ""
    return f"{plain(total / scale.factor, 3)} {scale.unit}{less}, n {len(trials)}{flawed}"
