"""The dose curves of a workload: what it costs at each intensity of a neighbour, by platform."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from tare.present.charts.axis import Axis, inner_ticks, share_of
from tare.present.charts.canvas import Canvas, Mark, Place, Point, Polyline, Text
from tare.present.charts.figure import Figure, label_width
from tare.present.charts.lanes import legend
from tare.present.view import theme
from tare.present.view.doses import curve_name, dose_text, fall_text
from tare.present.view.findings import CellGroup, Findings
from tare.present.view.marks import DNR
from tare.present.view.numbers import TIMES, size_text
from tare.results.compare.comparison import Comparison
from tare.results.questions.dose import KEPT, DoseCurve, DosePoint
from tare.results.questions.dose import Axis as DoseAxis
from tare.results.stats.dose import ABOVE, BELOW
from tare.results.stats.sequential import Verdict

HEIGHT, HEAD, FOOT, GAP = 190, 34, 46, 12
APART = 5
"""The pixels between the intervals of two platforms at one intensity."""
MOST_DOWN = 3
"""The most platforms at one dose of which a plot says that they never answered; the map has all."""
NEAR = 1.5
"""An interval that reaches farther than this beyond all costs is cut off."""
FAR = 6.0
"""From this ratio of the largest cost to the smallest the axis is logarithmic."""
TITLES = {
    DoseAxis.INTENSITY: "intensity of the neighbour",
    DoseAxis.LEVEL: "how far the resource is used, the workload's part included",
}
_SHOWN = (Verdict.SLOWER, Verdict.FASTER, Verdict.SAME)


def has_doses(found: Findings, group: CellGroup) -> bool:
    """Return whether a workload has a neighbour at three intensities or more, with a cost."""
    return any(point.row.cost is not None for one in _curves(found, group) for point in one.points)


def _curves(found: Findings, group: CellGroup) -> list[DoseCurve]:
    ids = {cell.id for cell in group.cells}
    return [one for one in found.dose_curves if one.alone.id in ids]


def doses(found: Findings, group: CellGroup, name: str) -> Figure:
    """Show the cost of a workload over the intensity of each neighbour, a line a platform."""
    curves = _curves(found, group)
    colours = theme.colours(found.platforms)
    shown = {
        one.alone.platform: colours[one.alone.platform]
        for one in curves
        if any(point.kept for point in one.points)
    }
    by_kind = groupby(sorted(curves, key=curve_name), key=curve_name)
    kinds = {title: list(some) for title, some in by_kind}
    axes = {title: _axis(some) for title, some in kinds.items()}

    def draw(width: int) -> Canvas:
        canvas = Canvas(width)
        columns = max(1, int(width / (max(map(label_width, ([one] for one in shown))) + 16)))
        top = legend(canvas, shown, columns)
        for title, some in kinds.items():
            top = _Plot(canvas, axes[title], top, some[0].axis).draw(title, some, colours)
        canvas.height = top
        return canvas

    doses_of = " or the ".join(dict.fromkeys(one.axis for one in curves))
    scale = ", on a logarithmic scale" if any(one.log for one in axes.values()) else ""
    caption = (
        f"Cost of {group.name} over the {doses_of} of its neighbour, as a multiple of the same "
        f"workload alone on the same platform{scale}. Bars are intervals that hold at every look "
        "together (95 %); a point is filled where it has a verdict. Dashed: "
        f"{100 * KEPT:g} % of itself; a triangle at the foot is where a platform reaches it."
    )
    if any(axes[curve_name(one)].cuts(point.row) for one in curves for point in one.points):
        caption += " An arrow says that an interval goes on."
    if any(point.is_down for one in curves for point in one.points):
        caption += f" {DNR}: every trial was ended at its deadline."
    return Figure(name, f"{group.name}: what more of a neighbour costs", caption, draw)


@dataclass(frozen=True)
class _Costs:
    """The upright axis: its ends, its ticks, and whether it is logarithmic."""

    low: float
    high: float
    ticks: Sequence[float]
    log: bool

    def cuts(self, row: Comparison) -> bool:
        """Return whether an interval goes on beyond an end."""
        return (row.high or 0.0) > self.high or (row.low or self.low) < self.low

    def share(self, cost: float) -> float:
        """Return how high a cost lies, from 0 to 1."""
        held = min(max(cost, self.low), self.high)
        return share_of(held, (self.low, self.high), log=self.log)


def _axis(curves: Sequence[DoseCurve]) -> _Costs:
    points = [point for one in curves for point in one.points]
    costs = [1.0, 1 / KEPT, *(one.row.cost for one in points if one.row.cost is not None)]
    costs = [min(max(one, 1e-6), 1e6) for one in costs]
    low, high = min(costs), max(costs)
    ends = [end for one in points for end in (one.row.low, one.row.high) if end is not None]
    near = [end for end in ends if low / NEAR <= end <= high * NEAR]
    low, high = min(low, *near, low), max(high, *near, high)
    log = high / low > FAR
    if log:
        low, high = low / 1.08, high * 1.08
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        steps = (1,) if high / low > 1e3 else (1, 3) if high / low > 1e2 else (1, 2, 5)
        every = [step * 10.0**power for power in powers for step in steps]
        return _Costs(low, high, [one for one in every if low <= one <= high], log)
    room = 0.05 * (high - low)
    low, high = low - room, high + room
    return _Costs(low, high, inner_ticks(low, high, 4), log)


class _Plot:
    """One plot on a canvas, from a height on."""

    def __init__(self, canvas: Canvas, axis: _Costs, top: float, across: DoseAxis) -> None:
        self._canvas, self._axis, self._top = canvas, axis, top
        self._labels = [f"{one:g}{TIMES}" for one in axis.ticks]
        self._ends = (label_width(self._labels), canvas.width - 24)
        doses = [0.0, 0.25, 0.5, 0.75, 1.0]
        ticks = [(one, dose_text(one) if one else "alone") for one in doses]
        self._across = Axis(TITLES[across], 0.0, 1.0, ticks, margin=8)

    def draw(self, title: str, curves: Sequence[DoseCurve], colours: dict[str, str]) -> float:
        """Draw the curves of one neighbour; return the height of the foot."""
        canvas, foot = self._canvas, self._y(0)
        canvas.add(Text((4, self._top + 18), f"neighbour: {title}", bold=True))
        self._across.grid(canvas, self._ends, (self._y(1), foot))
        for tick, label in zip(self._axis.ticks, self._labels, strict=True):
            y = self._height(tick)
            canvas.add(
                Polyline([(self._ends[0], y), (self._ends[1], y)], theme.FAINT),
                Text((self._ends[0] - 8, y), label, "end", colour=theme.MUTED),
            )
        y = self._height(1 / KEPT)
        canvas.add(Polyline([(self._ends[0], y), (self._ends[1], y)], theme.MUTED, dash="4 3"))
        down: dict[float, int] = {}
        for place, one in enumerate(curves):
            shift = APART * (place - (len(curves) - 1) / 2) if len(curves) < APART else 0.0
            canvas.add(*self._curve(one, colours[one.alone.platform], shift))
            canvas.add(*self._gaps(one, colours[one.alone.platform], down))
        self._across.draw(canvas, self._ends, foot)
        return foot + FOOT + GAP

    def _y(self, share: float) -> float:
        return self._top + HEAD + (1 - share) * HEIGHT

    def _height(self, cost: float) -> float:
        return self._y(self._axis.share(cost))

    def _curve(self, curve: DoseCurve, colour: str, shift: float) -> Iterator[Mark]:
        runs: list[list[Place]] = [[(self._x(0.0), self._height(1.0))]]
        for point in curve.points:
            x = self._x(point.dose) + shift
            if point.row.cost is None:
                runs.append([])
                continue
            runs[-1].append((x, self._height(point.row.cost)))
            yield from self._interval(point, x, colour)
        yield from (Polyline(run, colour, 2) for run in runs if len(run) > 1)
        for point in curve.points:
            if point.row.cost is not None:
                yield self._point(curve, point, self._x(point.dose) + shift, colour)
        fall = curve.fall
        if fall is not None and fall.is_known and BELOW < fall.at < ABOVE:
            yield _arrow(self._x(fall.at), self._y(0) - 7, 7, colour, _said(curve))

    def _x(self, dose: float) -> float:
        return self._across.place(dose, self._ends)

    def _gaps(self, curve: DoseCurve, colour: str, down: dict[float, int]) -> Iterator[Mark]:
        """Write above the plot where a workload never answered; ``down`` counts what is there."""
        for point in curve.points:
            row = down.get(point.dose, 0)
            if point.is_down and row < MOST_DOWN:
                y = self._y(1) - 7 - 11 * row
                yield Text((self._x(point.dose), y), DNR, "middle", 11, colour=colour)
                down[point.dose] = row + 1

    def _interval(self, point: DosePoint, x: float, colour: str) -> Iterator[Mark]:
        row, axis = point.row, self._axis
        if row.low is None or row.high is None:
            return
        yield Polyline([(x, self._height(row.low)), (x, self._height(row.high))], colour, 2)
        if row.high > axis.high:
            yield _arrow(x, self._y(1), -6, colour)
        if row.low < axis.low:
            yield _arrow(x, self._y(0), 6, colour)

    def _point(self, curve: DoseCurve, point: DosePoint, x: float, colour: str) -> Point:
        row = point.row
        size = size_text(row.cost or 0.0, row.low, row.high)
        tip = f"{curve.alone.platform} at {dose_text(point.dose)}: {size}, {row.verdict.value}"
        filled = row.verdict in _SHOWN
        place = x, self._height(row.cost or 0.0)
        return Point(place, 4, colour if filled else theme.PAPER, tip, "" if filled else colour)


def _said(curve: DoseCurve) -> str:
    return f"{curve.alone.platform} falls to {100 * KEPT:g} % of itself at {fall_text(curve)}"


def _arrow(x: float, y: float, length: float, colour: str, tip: str = "") -> Polyline:
    """Return a small triangle that points down by a length, or up by a negative one."""
    return Polyline([(x - 4, y), (x + 4, y), (x, y + length)], fill=colour, tip=tip)
