"""How a workload scales: its first metric against a numeric factor, a plot a platform."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from tare.core.model import Cell, Metric, Status, Unit
from tare.core.parameter import unit_of, word_of
from tare.present.charts.axis import Axis, outer_ticks, share_of
from tare.present.charts.canvas import Canvas, Point, Polyline
from tare.present.charts.families import Family, families
from tare.present.charts.figure import Figure, within
from tare.present.charts.knee import knee
from tare.present.charts.lanes import Lanes
from tare.present.charts.trials import better, median_ends
from tare.present.charts.zeros import FAR, edge_for
from tare.present.view import theme
from tare.present.view.findings import Findings
from tare.present.view.marks import own_gap
from tare.present.view.names import platform_text
from tare.present.view.numbers import TOO_LONG, Scale, bytes_text, plain, scale_for

MAX_FAMILIES = 6
"""Maximum number of courses drawn."""

_BELOW = 0.3
"""By so much of the other values' height the place of the zeros is below them."""


def scaling(found: Findings, family: Family, name: str) -> Figure:
    """Show medians with intervals against the factor, and where the course bends."""
    metric = next(iter(family.groups.values())).metrics[0]
    colours = theme.colours(found.platforms)
    levels = sorted(family.groups)
    lines = _lines(found, family)
    courses = {
        platform: [_point(found, cells.get(level), level, metric) for level in levels]
        for platform, cells in lines.items()
    }
    axis = _axis(metric, [one for course in courses.values() for one in course])
    log_x = levels[0] > 0 and levels[-1] / levels[0] > FAR
    base = next(
        (
            courses[platform]
            for platform, cells in lines.items()
            if {cell.platform for cell in cells.values()} == {found.plan.reference}
        ),
        [],
    )
    titles: list[tuple[str, str]] = []
    bends: list[float | None] = []
    for platform, cells in lines.items():
        bends.append(_bend(courses[platform]))
        titles.append((platform, _note(found, family, cells, bends[-1])))
    labels = _labels(family)
    x_axis = Axis(
        f"{_named(family.factor)}{', logarithmic' if log_x else ''}",
        levels[0],
        levels[-1],
        [(level, labels[level]) for level in levels],
        log=log_x,
        margin=12,
    )
    unit = f" ({axis.scale.unit})" if axis.scale.unit else ""

    def draw(width: int) -> Canvas:
        canvas = Canvas(width)
        lanes = Lanes(canvas, (0, 0), width, titles, axis.labels, x_axis)
        for lane, (platform, cells) in enumerate(lines.items()):
            colour, course = colours[next(iter(cells.values())).platform], courses[platform]
            if axis.broken is not None:
                y = lanes.y(lane, axis.broken)
                canvas.add(
                    Polyline([(lanes.ends[0], y), (lanes.ends[1], y)], theme.MUTED, dash="4 3")
                )
            for run in _runs(base, axis):
                canvas.add(Polyline(lanes.places(lane, run), theme.MUTED, 1.5, opacity=0.45))
            if (bend := bends[lane]) is not None:
                ends = lanes.places(lane, [(bend, 0.0), (bend, 1.0)])
                canvas.add(Polyline(ends, theme.MUTED, dash="4 3"))
            canvas.add(*_marks(lanes, lane, course, axis, colour))
        return canvas

    return Figure(
        name,
        f"{family.name}: against {_named(family.factor)}",
        f"{metric.name}{unit} against {_named(family.factor)}; {better(metric)}. "
        + _caption(found, family, axis, bent=any(bend is not None for bend in bends)),
        draw,
    )


@dataclass(frozen=True)
class _Point:
    """The median of a cell with its interval, each None where it is not known."""

    level: float
    median: float | None = None
    low: float | None = None
    high: float | None = None
    tip: str = ""


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

    def share(self, value: float) -> float:
        if self.has_zeros and value <= 0:
            return 0.0
        scaled = within(value / self.scale.factor, log=self.log)
        return min(1.0, max(0.0, share_of(scaled, self.ticks, log=self.log)))


def _axis(metric: Metric, points: Sequence[_Point]) -> _Axis:
    """Choose an axis that holds all intervals; it begins at zero or is logarithmic."""
    medians = [one.median for one in points if one.median is not None]
    ends = [end for one in points for end in (one.low, one.high) if end is not None]
    scale = scale_for(metric.unit, medians)
    every = [one / scale.factor for one in (*medians, *ends)]
    edge = edge_for(every, (one / scale.factor for one in medians))
    log = edge is not None or (
        bool(medians) and min(medians) > 0 and max(medians) / min(medians) > FAR
    )
    held = [within(one, log=log) for one in every if one > 0 or not log]
    low = min(held, default=1.0) if log else min(0.0, *held, 0.0)
    ticks = outer_ticks(low, max(held, default=1.0), log=log)
    if edge:
        ticks.insert(0, ticks[0] * (ticks[0] / ticks[-1]) ** _BELOW)
    return _Axis(scale, ticks, log, edge is not None)


def _bend(course: Sequence[_Point]) -> float | None:
    levels = [one.level for one in course if one.median is not None]
    at = knee(levels, [one.median for one in course if one.median is not None])
    return None if at is None else levels[at]


def _marks(
    lanes: Lanes, lane: int, course: Sequence[_Point], axis: _Axis, colour: str
) -> Iterator[Polyline | Point]:
    for run in _runs(course, axis):
        yield Polyline(lanes.places(lane, run), colour, 2)
    for one in course:
        x = lanes.x(one.level)
        if one.low is not None and one.high is not None:
            ends = [(x, lanes.y(lane, axis.share(end))) for end in (one.low, one.high)]
            yield Polyline(ends, colour, 2)
        if one.median is not None:
            yield Point((x, lanes.y(lane, axis.share(one.median))), 3.8, colour, one.tip)


def _runs(course: Sequence[_Point], axis: _Axis) -> Iterator[list[tuple[float, float]]]:
    """Yield the parts of a line between its holes, as levels and shares of a lane."""
    for is_known, some in groupby(course, lambda one: one.median is not None):
        if is_known:
            yield [(one.level, axis.share(one.median or 0.0)) for one in some]


def _lines(found: Findings, family: Family) -> dict[str, dict[float, Cell]]:
    """Return the cells of each platform by level; the A/A control has no line of its own."""
    lines: dict[str, dict[float, Cell]] = {}
    of_platforms = {cell.id for cell in found.plan.platform_cells}
    for level, group in sorted(family.groups.items()):
        for cell in group.cells:
            if cell.id in of_platforms:
                lines.setdefault(platform_text(cell), {})[level] = cell
    return lines


def _point(found: Findings, cell: Cell | None, level: float, metric: Metric) -> _Point:
    one = found.summaries[cell.id, metric.name].values if cell else None
    if cell is None or one is None:
        return _Point(level)
    low, high = median_ends(found, cell, metric, 1.0, log=False)
    full = scale_for(metric.unit, [one.median]).full(one.median)
    tip = f"{platform_text(cell)} at {_number(level)}: {full}, n {one.n}"
    return _Point(level, one.median, low, high, tip)


def _note(found: Findings, family: Family, cells: Mapping[float, Cell], bend: float | None) -> str:
    """Return where a line bends, and why it has holes."""
    labels = _labels(family)
    holes: dict[str, list[str]] = {}
    shaky = []
    for level in sorted(family.groups):
        cell = cells.get(level)
        word = own_gap(found, cell) if cell else "not planned"
        if word:
            holes.setdefault(word, []).append(labels[level])
        elif cell and any(one.status is Status.SUSPECT for one in found.measured[cell.id]):
            shaky.append(labels[level])
    parts = [f"knee at {labels[bend]}"] if bend is not None else []
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
    there = len(families(found))
    rest = (
        f" The first {MAX_FAMILIES} of {there} courses are drawn." if there > MAX_FAMILIES else ""
    )
    return (
        f"{said} by Kneedle (Satopaa et al. 2011, sensitivity 1, linear axes) on the medians: "
        f"where the line lies farthest from a straight one between its ends.{rest}"
    )


def _named(factor: str) -> str:
    unit = " (s)" if unit_of(factor) is Unit.SECOND else ""
    return word_of(factor).replace("_", " ") + unit


def _labels(family: Family) -> dict[float, str]:
    is_size = unit_of(family.factor) is Unit.BYTE
    return {
        level: bytes_text(int(level)) if is_size and math.isfinite(level) else _number(level)
        for level in family.groups
    }


def _number(level: float) -> str:
    return f"{level:,.0f}" if level.is_integer() and abs(level) < TOO_LONG else f"{level:g}"
