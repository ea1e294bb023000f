"""How a workload scales with the number of instances: measured points, and the law through them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tare.present.charts.axis import Axis, outer_ticks, share_of
from tare.present.charts.canvas import Canvas, Mark, Place, Point, Polyline, Text
from tare.present.charts.figure import Figure, label_width
from tare.present.charts.lanes import legend
from tare.present.charts.trials import better
from tare.present.view import theme
from tare.present.view.findings import Findings
from tare.present.view.marks import DNR
from tare.present.view.numbers import Scale, scale_for
from tare.present.view.scaling import FITS, ScaledWork, bend_text, scaled_text
from tare.results.questions.scaling import ScaleLevel, ScalingCurve
from tare.results.stats.scalability import Fit
from tare.results.stats.values import Estimated

HEIGHT, HEAD, FOOT = 240, 22, 50
STEPS = 80
"""The points of the line of a law."""
APART = 5
"""The pixels between the intervals of two platforms at one number of instances."""
FAR = 6.0
"""From this ratio of the largest value to the smallest the upright axis is logarithmic."""
MOST_DOWN = 3
"""The most platforms at one level of which a plot says that they never answered."""


def has_values(found: Findings, work: ScaledWork) -> bool:
    """Return whether any number of instances has a number."""
    del found
    return any(one.value is not None for curve in work.curves for one in curve.levels)


def has_efficiency(found: Findings, work: ScaledWork) -> bool:
    """Return whether more instances than the fewest have a number."""
    del found
    return any(
        one.efficiency is not None and one.instances != curve.base
        for curve in work.curves
        for one in curve.levels
    )


def by_instances(found: Findings, work: ScaledWork, name: str) -> Figure:
    """Show the metric over the number of instances, a line a platform, with the law's peak."""
    metric = work.curves[0].metric
    values = [one.value for curve in work.curves for one in curve.levels if one.value]
    scale = scale_for(metric.unit, [one.value for one in values])
    plot = _Plot(
        found,
        work,
        {curve.cell.platform: _measured(curve) for curve in work.curves},
        scale,
        _ends(values, scale.factor),
    )
    is_rate = work.curves[0].is_rate
    of = "all instances together" if is_rate else "an instance, the mean of all"
    unit = f" ({scale.unit})" if scale.unit else ""
    caption = (
        f"{metric.name}{unit} of {of}, over their number; {better(metric)}. Points are geometric "
        "means with 95 % intervals over blocks; lines are the Universal Scalability Law, dashed "
        "where it does not fit."
    )
    if any(_has_peak(curve) for curve in work.curves):
        caption += " A triangle at the foot is where throughput peaks by the law."
    caption += f" {plot.about}"
    title = f"{work.name}: {metric.name} by number of instances"
    return Figure(name, title, caption.strip(), plot.draw)


def efficiencies(found: Findings, work: ScaledWork, name: str) -> Figure:
    """Show what an instance keeps of its throughput as others are added."""
    keeps = [one.efficiency for curve in work.curves for one in curve.levels if one.efficiency]
    scale = Scale(1.0, "")
    plot = _Plot(
        found,
        work,
        {curve.cell.platform: _kept(curve) for curve in work.curves},
        scale,
        _ends([*keeps, Estimated(1.0, None)], 1.0, may_be_log=False),
    )
    caption = (
        "Throughput of an instance as a share of that with the fewest instances, in the same "
        "block: 1 is work that nobody shares, 1/n is work that takes turns (dotted). Points are "
        "geometric means with 95 % intervals; lines are the Universal Scalability Law. "
        f"{plot.about}"
    )
    return Figure(name, f"{work.name}: efficiency", caption.strip(), plot.draw_shares)


@dataclass(frozen=True)
class _Line:
    """What is drawn of a curve: its points, and the law by number of instances, if it has one."""

    curve: ScalingCurve
    points: Sequence[tuple[ScaleLevel, Estimated | None]]
    law: Mapping[float, float]


def _measured(curve: ScalingCurve) -> _Line:
    along = _along(curve)
    law = {n: value for n in along if (value := curve.value_at(n)) is not None}
    return _Line(curve, [(one, one.value) for one in curve.levels], law)


def _kept(curve: ScalingCurve) -> _Line:
    law = curve.law
    shares: dict[float, float] = {}
    if law is not None:
        first = law.throughput(curve.base) / curve.base
        shares = {n: law.throughput(n) / n / first for n in _along(curve)}
    return _Line(curve, [(one, one.efficiency) for one in curve.levels], shares)


def _along(curve: ScalingCurve) -> list[float]:
    known = [one.instances for one in curve.levels if one.value is not None]
    if not known:
        return []
    return [float(one) for one in np.geomspace(known[0], known[-1], STEPS)]


def _has_peak(curve: ScalingCurve) -> bool:
    law = curve.law
    return law is not None and law.peak.value <= curve.levels[-1].instances


@dataclass(frozen=True)
class _Upright:
    """The upright axis: its ticks, and whether it is logarithmic."""

    ticks: Sequence[float]
    log: bool

    def cuts(self, value: float) -> bool:
        """Return whether a value lies beyond an end."""
        return not self.ticks[0] <= value <= self.ticks[-1]

    def share(self, value: float) -> float:
        """Return how high a value lies, from 0 to 1; what lies beyond is at the edge."""
        held = min(max(value, self.ticks[0]), self.ticks[-1])
        return share_of(held, self.ticks, log=self.log)


def _ends(values: Sequence[Estimated], factor: float, *, may_be_log: bool = True) -> _Upright:
    """Choose an axis of all values and of the ends that are near them; it begins at 0 or is
    logarithmic.
    """
    middles = [one.value / factor for one in values]
    low, high = min(middles, default=1.0), max(middles, default=1.0)
    ends = [end / factor for one in values if one.interval for end in one.interval]
    near = [end for end in ends if low / 2 <= end <= high * 2]
    low, high = min([low, *near]), max([high, *near])
    log = may_be_log and high / low > FAR
    return _Upright(outer_ticks(low if log else 0.0, high, log=log), log)


class _Plot:
    """One plot of several platforms over the number of instances."""

    def __init__(
        self,
        found: Findings,
        work: ScaledWork,
        lines: Mapping[str, _Line],
        scale: Scale,
        upright: _Upright,
    ) -> None:
        every = theme.colours(found.platforms)
        self._lines, self._scale, self._upright = lines, scale, upright
        self._colours = {name: every[name] for name in lines}
        levels = sorted({one.instances for curve in work.curves for one in curve.levels})
        self._levels = levels
        self._log = levels[-1] / levels[0] > FAR
        ticks = [(float(one), str(one)) for one in levels]
        words = "number of instances" + (", logarithmic" if self._log else "")
        self._across = Axis(words, levels[0], levels[-1], ticks, self._log, margin=12)
        self._labels = [f"{one:,.10g}" for one in upright.ticks]

    @property
    def about(self) -> str:
        """What the caption says of the axis, and of what has no number."""
        points = [point for line in self._lines.values() for point in line.points]
        ends = [end for _, one in points if one and one.interval for end in one.interval]
        said = ["The upright axis is logarithmic."] if self._upright.log else []
        if any(self._upright.cuts(end / self._scale.factor) for end in ends):
            said.append("Intervals that go on beyond the axis are cut.")
        if any(level.dnr for level, _ in points):
            said.append(f"{DNR}: every trial was ended at its deadline.")
        return " ".join(said)

    def draw(self, width: int) -> Canvas:
        """Draw the plot at a width."""
        return self._drawn(width, ideal=False)

    def draw_shares(self, width: int) -> Canvas:
        """Draw the plot with the line of work that takes turns."""
        return self._drawn(width, ideal=True)

    def _drawn(self, width: int, *, ideal: bool) -> Canvas:
        canvas = Canvas(width)
        columns = max(1, int(width / (max(label_width([one]) for one in self._colours) + 16)))
        self._top = legend(canvas, self._colours, columns)
        self._edges = (label_width(self._labels), width - 20)
        foot = self._y(0)
        self._across.grid(canvas, self._edges, (self._y(1), foot))
        for tick, label in zip(self._upright.ticks, self._labels, strict=True):
            y = self._height(tick)
            canvas.add(
                Polyline([(self._edges[0], y), (self._edges[1], y)], theme.FAINT),
                Text((self._edges[0] - 8, y), label, "end", colour=theme.MUTED),
            )
        if self._scale.unit:
            canvas.add(Text((4, self._y(1) - 12), self._scale.unit, colour=theme.MUTED, size=11))
        if ideal:
            turns = np.geomspace(self._levels[0], self._levels[-1], STEPS)
            places = [(self._x(float(n)), self._height(self._levels[0] / n)) for n in turns]
            canvas.add(Polyline(places, theme.MUTED, dash="2 3"))
        down: dict[int, int] = {}
        for place, (name, line) in enumerate(self._lines.items()):
            apart = APART * (place - (len(self._lines) - 1) / 2) if len(self._lines) < APART else 0
            canvas.add(*self._marks(name, line, apart, down))
            if not ideal:
                canvas.add(*self._peak(name, line.curve))
        self._across.draw(canvas, self._edges, foot)
        canvas.height = foot + FOOT
        return canvas

    def _marks(self, name: str, line: _Line, apart: float, down: dict[int, int]) -> Iterator[Mark]:
        colour, law = self._colours[name], line.curve.law
        places: list[Place] = [
            (self._x(n), self._height(value / self._scale.factor)) for n, value in line.law.items()
        ]
        if len(places) > 1 and law is not None:
            tip = f"{name}: the law {FITS[law.fit]}, peak {bend_text(law.peak)}"
            dash = "5 4" if law.fit is Fit.MISFIT else ""
            yield Polyline(places, colour, 1.5, dash=dash, tip=tip)
        elif law is None:
            known = [
                (self._x(level.instances), self._height(one.value / self._scale.factor))
                for level, one in line.points
                if one is not None
            ]
            if len(known) > 1:
                yield Polyline(known, colour, 1.5, opacity=0.6)
        for level, one in line.points:
            if level.dnr and down.get(level.instances, 0) < MOST_DOWN:
                y = self._y(1) + 8 + 11 * down.get(level.instances, 0)
                yield Text((self._x(level.instances), y), DNR, "middle", 11, colour=colour)
                down[level.instances] = down.get(level.instances, 0) + 1
            if one is not None:
                yield from self._point(name, level, one, apart, colour)

    def _peak(self, name: str, curve: ScalingCurve) -> Iterator[Mark]:
        law = curve.law
        if law is not None and _has_peak(curve):
            x, y = self._x(max(law.peak.value, self._levels[0])), self._y(0)
            tip, colour = f"{name}: throughput peaks at {bend_text(law.peak)}", self._colours[name]
            yield Polyline([(x - 4, y - 7), (x + 4, y - 7), (x, y)], fill=colour, tip=tip)

    def _point(
        self, name: str, level: ScaleLevel, one: Estimated, apart: float, colour: str
    ) -> Iterator[Mark]:
        factor, x = self._scale.factor, self._x(level.instances) + apart
        if one.interval is not None:
            yield Polyline([(x, self._height(end / factor)) for end in one.interval], colour, 2)
        text = scaled_text(one, self._scale)
        tip = f"{name}, {level.instances}: {text}, {level.answered} of {level.tried} trials"
        yield Point((x, self._height(one.value / factor)), 4, colour, tip)

    def _x(self, instances: float) -> float:
        return self._across.place(instances, self._edges)

    def _y(self, share: float) -> float:
        return self._top + HEAD + (1 - share) * HEIGHT

    def _height(self, value: float) -> float:
        return self._y(self._upright.share(value if math.isfinite(value) else math.inf))
