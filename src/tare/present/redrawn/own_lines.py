"""Figures of lines that are ours alone: a line for each platform, a panel for each level."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tare.core.model import Better, Metric, Unit
from tare.present.charts.figure import (
    LARGE_TOO,
    NARROW,
    Figure,
    Spec,
    category,
    facets,
    fitted,
    label_width,
    layer,
    quantity,
    shortened_apart,
    within,
)
from tare.present.redrawn.own import OwnFigure, OwnResult
from tare.present.redrawn.own_words import losses_text, notes, runs_text
from tare.present.view import theme
from tare.present.view.names import params_text
from tare.present.view.numbers import Scale, plain, scale_for

_HEIGHT, _LOW = 210, 170
_AXIS = 58
"""The room left of a plot for the numbers of its upright axis and their title, in pixels."""
_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "triangle-right")
_LEGEND = 0.9
"""The names of a legend take no more of a chart's width than this."""


def own_lines(figure: OwnFigure) -> Figure:
    """Draw medians with intervals along a parameter; runs that lost requests are crosses."""
    metric = figure.results[0].metric
    known = [result.values.median for result in figure.results if result.values is not None]
    scale = scale_for(metric.unit, known)
    values = list(_values(figure, scale))
    series = list(figure.colours)

    def draw(width: int) -> Spec:
        plot = max(60, width - _AXIS - 24)
        x: Spec = {
            "field": "level",
            "type": "quantitative",
            "scale": _along(levels(figure)),
            "axis": {
                "title": figure.declared.axes_text[1],
                "format": ",~r",
                "values": sorted({point["level"] for point in values}),
                "labelOverlap": "greedy",
                "grid": False,
            },
        }
        spec = {
            "width": plot,
            "height": _LOW if width < NARROW else _HEIGHT,
            "layer": _layers(
                x,
                _y(axis_text(figure, scale)),
                _legend(series, figure.colours, width),
            ),
        }
        chart = facets(values, "panel", spec, shared_y=True, notes=_gaps(figure))
        # The axis has one name, the numbers of each panel stand at its own foot.
        chart["resolve"]["axis"] = {"x": "independent"}
        return chart

    return Figure(figure.name, figure.title, " ".join(_caption(figure, metric)), draw)


def levels(figure: OwnFigure) -> list[float]:
    """List the levels along the axis, in order."""
    return sorted({_level(result, figure.declared.along) for result in figure.results})


def panels(figure: OwnFigure) -> list[float]:
    """List the levels that have a panel each, in order."""
    return sorted({_level(result, figure.declared.panels) for result in figure.results})


def _along(found: Sequence[float]) -> Spec:
    """Return the scale along the axis, from 0; a single level stands in its middle."""
    if len(found) == 1:
        return {"domain": [0, 2 * found[0]], "nice": False}
    return {"zero": True, "nice": False, "padding": 6}


def _panel_text(figure: OwnFigure, level: float) -> str:
    """Name a panel."""
    return params_text(((figure.declared.panels, int(level) if level.is_integer() else level),))


def _values(figure: OwnFigure, scale: Scale) -> Iterator[dict[str, Any]]:
    """List the points panel by panel; a cell without a number is a gap in its line."""
    declared = figure.declared
    for level in panels(figure):
        chosen = [result for result in figure.results if _level(result, declared.panels) == level]
        for result in sorted(chosen, key=lambda result: _level(result, declared.along)):
            same = {
                "panel": _panel_text(figure, level),
                "level": _level(result, declared.along),
                "series": result.series,
            }
            yield {**same, "kind": "median", **_point(result, scale)}
            for run in result.lossy:
                said = f"{result.where}: a run that lost {100 * run.share:.2g} % of its requests"
                value = within(run.value / scale.factor, log=False)
                yield {**same, "kind": "lossy", "y": value, "text": said}


def _point(result: OwnResult, scale: Scale) -> dict[str, Any]:
    if result.values is None:
        return {"y": None, "low": None, "high": None, "text": ""}
    ends = [None if end is None else end / scale.factor for end in (result.low, result.high)]
    lost = losses_text(result)
    return {
        "y": within(result.values.median / scale.factor, log=False),
        "low": ends[0],
        "high": ends[1],
        "text": f"{result.where}: {scale.full(result.values.median)}, n {runs_text(result)}"
        + (f", lost requests in {lost}" if lost else ""),
    }


def _layers(x: Spec, y: Spec, legend: Mapping[str, Spec]) -> list[Spec]:
    both = {"x": x, "y": y}
    is_median, tip = "datum.kind == 'median'", {"field": "text"}
    ends = {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}}
    point = {"filled": True, "opacity": 1}
    # A cross stands next to the median, which it would cover.
    cross = {**point, "shape": "cross", "size": 40, "xOffset": 9, "color": theme.BAD}
    line = {"strokeWidth": 2, "strokeJoin": "round"}
    return [
        layer("line", line, is_median, **both, color=legend["color"]),
        layer(
            "rule",
            {"strokeWidth": 2},
            f"{is_median} && isValid(datum.low)",
            **ends,
            color=legend["color"],
        ),
        layer(
            "point",
            {**point, "size": 50},
            f"{is_median} && isValid(datum.y)",
            **both,
            **legend,
            description=tip,
        ),
        layer("point", cross, "datum.kind == 'lossy'", **both, description=tip),
    ]


def axis_text(figure: OwnFigure, scale: Scale) -> str:
    """Name what the upright axis shows, with its unit if that is not in the name."""
    is_named = figure.results[0].metric.unit is Unit.PER_SECOND and scale.factor == 1
    name = figure.declared.axes_text[0]
    return name if is_named else f"{name} ({scale.unit})"


def _y(title: str) -> Spec:
    axis = {
        "title": title,
        "labelExpr": LARGE_TOO,
        "tickCount": 4,
        "minExtent": _AXIS - 20,
        "maxExtent": _AXIS - 20,
    }
    return quantity("y", scale={"zero": True, "nice": True}, axis=axis)


def _legend(series: Sequence[str], colours: Mapping[str, str], width: int) -> Mapping[str, Spec]:
    """Name the series once, above all panels, by colour and shape."""
    short = shortened_apart(series, _LEGEND * width)
    columns = max(1, int(width / (label_width(short.values()) + 16)))
    legend = {
        "orient": "top",
        "columns": columns,
        "labelLimit": 0,
        "symbolOpacity": 1,
        **fitted(series, _LEGEND * width),
    }
    ranges = {
        "color": [colours[one] for one in series],
        "shape": [_SHAPES[place % len(_SHAPES)] for place in range(len(series))],
    }
    domain = list(series)
    same = {"sort": domain, "legend": legend}
    return {
        channel: category("series", **same, scale={"domain": domain, "range": some})
        for channel, some in ranges.items()
    }


def _gaps(figure: OwnFigure) -> Mapping[str, str] | None:
    """Return by panel which of its points have no number, and why in a word."""
    notes: dict[str, str] = {}
    for level in panels(figure):
        levels_of_gap: dict[tuple[str, str], list[str]] = {}
        for result in figure.results:
            if result.gap is not None and _level(result, figure.declared.panels) == level:
                at = plain(_level(result, figure.declared.along), 6)
                levels_of_gap.setdefault((result.series, result.gap.word), []).append(at)
        parts = [
            f"{series}: {word} at {', '.join(at)}" for (series, word), at in levels_of_gap.items()
        ]
        notes[_panel_text(figure, level)] = "; ".join(parts)
    return notes if any(notes.values()) else None


def _caption(figure: OwnFigure, metric: Metric) -> Iterator[str]:
    way = "more" if metric.better is Better.HIGHER else "less"
    upright, across = figure.declared.axes_text
    yield f"{upright.capitalize()} over the {across}; {way} is better."
    yield from notes(figure)
    if any(result.lossy for result in figure.results):
        yield "A cross, right of its point: a run that lost requests."
    yield "All panels have the same axes."


def _level(result: OwnResult, name: str) -> float:
    return float(result.params[name])
