"""How a workload scales: its first metric against a numeric factor, a plot a platform."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tare.core.model import Cell, Metric, Status, Unit
from tare.core.parameter import unit_of, word_of
from tare.present.charts.families import Family
from tare.present.charts.figure import Figure, Spec, within
from tare.present.charts.knee import knee
from tare.present.charts.lanes import at, lanes, line_of, round_ticks, share_of, vertical
from tare.present.charts.trials import better, median_ends
from tare.present.charts.zeros import FAR, edge_for
from tare.present.view import theme
from tare.present.view.findings import Findings
from tare.present.view.marks import own_gap
from tare.present.view.names import platform_text
from tare.present.view.numbers import TOO_LONG, Scale, bytes_text, plain, scale_for

MAX_FAMILIES = 6
"""So many courses are drawn."""

_BELOW = 0.3
"""By so much of the other values' height the place of the zeros is below them."""


def scaling(found: Findings, family: Family, number: int, there: int) -> Figure:
    """Show medians with intervals against the factor, and where the course bends.

    ``there`` is how many such courses the study has, drawn or not.
    """
    metric = next(iter(family.groups.values())).metrics[0]
    colours = theme.colours(found.platforms)
    courses = {
        platform: [
            _point(found, cells.get(level), level, metric) for level in sorted(family.groups)
        ]
        for platform, cells in _lines(found, family).items()
    }
    axis = _axis(metric, [one for course in courses.values() for one in course])
    levels = sorted(family.groups)
    log_x = levels[0] > 0 and levels[-1] / levels[0] > FAR
    base = next(
        (
            course
            for cells, course in zip(_lines(found, family).values(), courses.values(), strict=True)
            if {cell.platform for cell in cells.values()} == {found.plan.reference}
        ),
        [],
    )
    marks: list[dict[str, Any]] = []
    beside: list[dict[str, Any]] = []
    bends: list[dict[str, Any]] = []
    titles: list[tuple[str, str]] = []
    for lane, (platform, cells) in enumerate(_lines(found, family).items()):
        colour = colours[next(iter(cells.values())).platform]
        course = courses[platform]
        marks += _placed(course, lane, axis, colour)
        beside += _placed(base, lane, axis, theme.MUTED)
        bend = _bend(course)
        if bend is not None:
            bends.append({"level": bend, "y": at(lane, 0), "top": at(lane, 1)})
        titles.append((platform, _note(found, family, cells, bend)))
    x_title = f"{_named(family.factor)}{', logarithmic' if log_x else ''}"
    unit = f" ({axis.scale.unit})" if axis.scale.unit else ""

    def draw(width: int) -> Spec:
        x: Spec = {
            "field": "level",
            "type": "quantitative",
            "scale": {
                "type": "log" if log_x else "linear",
                "zero": False,
                "nice": False,
                "padding": 12,
            },
            "axis": {
                "title": x_title,
                "values": levels,
                "labelExpr": f"{json.dumps(_labels(family))}['' + datum.value]",
                "labelOverlap": "greedy",
                "grid": False,
            },
        }
        colour: Spec = {"field": "colour", "type": "nominal", "scale": None}
        known = [one for one in marks if one["y"] is not None]
        breaks = [at(lane, axis.broken) for lane in range(len(titles)) if axis.broken is not None]
        layers: list[Spec] = [
            line_of(beside, {"opacity": 0.45, "strokeWidth": 1.5}, color=colour),
            {
                "data": {"values": bends},
                "mark": {
                    "type": "rule",
                    "color": theme.MUTED,
                    "strokeDash": [4, 3],
                    "aria": False,
                },
                "encoding": {"y2": {"field": "top"}},
            },
            line_of(marks, {"strokeWidth": 2}, color=colour),
            {
                "data": {"values": [one for one in known if one["low"] is not None]},
                "mark": {"type": "rule", "strokeWidth": 2, "aria": False},
                "encoding": {
                    "y": {**vertical(len(titles)), "field": "low"},
                    "y2": {"field": "high"},
                    "color": colour,
                },
            },
            {
                "data": {"values": known},
                "mark": {"type": "point", "filled": True, "size": 45, "opacity": 1},
                "encoding": {"color": colour, "description": {"field": "text"}},
            },
        ]
        if breaks:
            layers.append(_broken(breaks, vertical(len(titles))))
        return lanes(width, titles, axis.labels, x, layers)

    return Figure(
        f"scaling-{number:02d}",
        f"{family.name}: against {_named(family.factor)}",
        f"{metric.name}{unit} against {_named(family.factor)}; {better(metric)}. "
        + _caption(found, family, axis, bent=bool(bends))
        + (
            f" The first {MAX_FAMILIES} of {there} courses are drawn."
            if there > MAX_FAMILIES
            else ""
        ),
        draw,
    )


@dataclass(frozen=True)
class _Axis:
    """The axis of every lane: its unit and its ticks, in that unit."""

    scale: Scale
    ticks: Sequence[float]
    log: bool
    has_zeros: bool
    """It is logarithmic and its first tick stands for 0."""

    @property
    def labels(self) -> dict[float, str]:
        labels = {share_of(one, self.ticks, log=self.log): plain(one) for one in self.ticks}
        return labels | ({0.0: "0"} if self.has_zeros else {})

    @property
    def broken(self) -> float | None:
        """How high the axis is broken: between the zeros and all others."""
        return share_of(self.ticks[1], self.ticks, log=True) / 2 if self.has_zeros else None

    def share(self, value: float | None) -> float | None:
        if value is None:
            return None
        if self.has_zeros and value <= 0:
            return 0.0
        scaled = within(value / self.scale.factor, log=self.log)
        return min(1.0, max(0.0, share_of(scaled, self.ticks, log=self.log)))


def _axis(metric: Metric, points: Sequence[Mapping[str, Any]]) -> _Axis:
    """Choose an axis that holds all intervals; it begins at zero or is logarithmic."""
    medians = [one["median"] for one in points if one["median"] is not None]
    ends = [one[end] for one in points for end in ("low", "high") if one[end] is not None]
    scale = scale_for(metric.unit, medians)
    every = [one / scale.factor for one in (*medians, *ends)]
    edge = edge_for(every, (one / scale.factor for one in medians))
    log = edge is not None or (
        bool(medians) and min(medians) > 0 and max(medians) / min(medians) > FAR
    )
    held = [within(one, log=log) for one in every if one > 0 or not log]
    low = min(held, default=1.0) if log else min(0.0, *held, 0.0)
    ticks = round_ticks(low, max(held, default=1.0), log=log)
    if edge:
        ticks.insert(0, ticks[0] * (ticks[0] / ticks[-1]) ** _BELOW)
    return _Axis(scale, ticks, log, edge is not None)


def _broken(heights: Sequence[float], y: Spec) -> Spec:
    """Draw where the axis of each lane is broken."""
    return {
        "data": {"values": [{"y": one} for one in heights]},
        "mark": {"type": "rule", "color": theme.MUTED, "strokeDash": [4, 3], "aria": False},
        "encoding": {"x": {"value": 0}, "x2": {"value": "width"}, "y": y},
    }


def _bend(course: Sequence[Mapping[str, Any]]) -> float | None:
    known = [one for one in course if one["median"] is not None]
    at = knee([one["level"] for one in known], [one["median"] for one in known])
    return None if at is None else known[at]["level"]


def _placed(
    course: Sequence[Mapping[str, Any]], lane: int, axis: _Axis, colour: str
) -> list[dict[str, Any]]:
    return [
        {
            "lane": lane,
            "place": place,
            "colour": colour,
            "level": one["level"],
            "text": one["text"],
            **{
                name: None if share is None else at(lane, share)
                for name, end in (("y", "median"), ("low", "low"), ("high", "high"))
                for share in [axis.share(one[end])]
            },
        }
        for place, one in enumerate(course)
    ]


def _lines(found: Findings, family: Family) -> dict[str, dict[float, Cell]]:
    """Give the cells of each platform by level; the A/A control has no line of its own."""
    lines: dict[str, dict[float, Cell]] = {}
    of_platforms = {cell.id for cell in found.plan.platform_cells}
    for level, group in sorted(family.groups.items()):
        for cell in group.cells:
            if cell.id in of_platforms:
                lines.setdefault(platform_text(cell), {})[level] = cell
    return lines


def _point(found: Findings, cell: Cell | None, level: float, metric: Metric) -> dict[str, Any]:
    one = found.summaries[cell.id, metric.name].values if cell else None
    if cell is None or one is None:
        return {"level": level, "median": None, "low": None, "high": None, "text": ""}
    low, high = median_ends(found, cell, metric, 1.0, log=False)
    full = scale_for(metric.unit, [one.median]).full(one.median)
    said = f"{platform_text(cell)} at {_number(level)}: {full}, n {one.n}"
    return {"level": level, "median": one.median, "low": low, "high": high, "text": said}


def _note(found: Findings, family: Family, cells: Mapping[float, Cell], bend: float | None) -> str:
    """Say where a line bends, and why it has holes."""
    labels = _labels(family)
    holes: dict[str, list[str]] = {}
    shaky = []
    for level in sorted(family.groups):
        cell = cells.get(level)
        word = own_gap(found, cell) if cell else "not planned"
        if word:
            holes.setdefault(word, []).append(labels[_key(level)])
        elif cell and any(one.status is Status.SUSPECT for one in found.measured[cell.id]):
            shaky.append(labels[_key(level)])
    parts = [f"knee at {labels[_key(bend)]}"] if bend is not None else []
    if not parts and not holes:
        parts.append("no knee")
    for word, where in [*holes.items(), *([("suspect trials", shaky)] if shaky else [])]:
        parts.append(word if len(where) == len(family.groups) else f"{word} at {', '.join(where)}")
    return "; ".join(parts)


def _caption(found: Findings, family: Family, axis: _Axis, *, bent: bool) -> str:
    zero = "upright axes hold zero"
    if axis.log:
        zero = "upright axes are logarithmic and have no zero"
    if axis.has_zeros:
        zero += ", so zeros are below the dashed line across"
    said = (
        f"Medians with 95 % intervals where there are six values; {zero}. "
        f"The grey line in each lane is the baseline, {found.plan.reference}. "
    )
    if family.along:
        others = " and ".join(map(_named, family.along))
        said += f"{others} changed with it, so nobody can tell which of them it was. "
    said += "Dashed and upright: the knee" if bent else "No knee is found"
    return (
        f"{said} by Kneedle (Satopaa et al. 2011, sensitivity 1, linear axes) on the medians: "
        "where the line lies farthest from a straight one between its ends."
    )


def _named(factor: str) -> str:
    unit = " (s)" if unit_of(factor) is Unit.SECOND else ""
    return word_of(factor).replace("_", " ") + unit


def _labels(family: Family) -> dict[str, str]:
    is_size = unit_of(family.factor) is Unit.BYTE
    return {
        _key(level): bytes_text(int(level)) if is_size and math.isfinite(level) else _number(level)
        for level in family.groups
    }


def _number(level: float) -> str:
    return f"{level:,.0f}" if level.is_integer() and abs(level) < TOO_LONG else f"{level:g}"


def _key(level: float) -> str:
    """Write a number as Vega does when it makes a text of it."""
    return str(int(level)) if level.is_integer() and abs(level) < 1e21 else repr(level)
