"""Round numbers along an axis, and the axis below what is drawn on a canvas."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tare.present.charts.canvas import Canvas, Polyline, Text
from tare.present.charts.figure import text_width
from tare.present.view import theme


@dataclass(frozen=True)
class Axis:
    """What stands along a line of pixels: ``ticks`` are values with their labels.

    ``margin`` is how many pixels at either end lie beyond its ``low`` and its ``high``.
    """

    title: str
    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    log: bool = False
    margin: float = 0.0

    def place(self, value: float, ends: tuple[float, float]) -> float:
        """Return the pixel of a value between the pixels of the two ends."""
        left, right = ends[0] + self.margin, ends[1] - self.margin
        if self.low == self.high:
            return (left + right) / 2
        return left + share_of(value, (self.low, self.high), log=self.log) * (right - left)

    def grid(self, canvas: Canvas, ends: tuple[float, float], span: tuple[float, float]) -> None:
        """Draw upright lines at the ticks over a span of heights."""
        for value, _ in self.ticks:
            x = self.place(value, ends)
            canvas.add(Polyline([(x, span[0]), (x, span[1])], theme.FAINT))

    def draw(self, canvas: Canvas, ends: tuple[float, float], y: float) -> float:
        """Draw the axis at a height; return the height of its foot. Labels never overlap."""
        canvas.add(Polyline([(ends[0], y), (ends[1], y)], theme.FAINT))
        taken = -math.inf
        for value, label in self.ticks:
            x, half = self.place(value, ends), text_width(label) / 2
            canvas.add(Polyline([(x, y), (x, y + 5)], theme.FAINT))
            if x - half > taken:
                canvas.add(Text((x, y + 14), label, "middle", colour=theme.MUTED))
                taken = x + half + 4
        canvas.add(Text((sum(ends) / 2, y + 34), self.title, "middle", colour=theme.MUTED))
        return y + 46


def time_axis(title: str, end_s: float, width: float) -> Axis:
    """Return the axis of seconds from 0."""
    ticks = [(one, f"{one:,.10g}") for one in inner_ticks(0.0, end_s, max(3, int(width / 60)))]
    return Axis(title, 0.0, end_s, ticks)


def share_of(value: float, ends: Sequence[float], *, log: bool) -> float:
    """Return where a value lies between the first and the last of some, from 0 to 1."""
    low, high = ends[0], ends[-1]
    if log:
        return math.log(value / low) / math.log(high / low)
    return (value - low) / (high - low)


def round_step(least: float, steps: Sequence[float] = (1, 2, 5, 10)) -> float:
    """Return the smallest round number that is not below another."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(one * power for one in steps if one * power >= least * (1 - 1e-9))


def inner_ticks(low: float, high: float, most: int) -> list[float]:
    """Choose round numbers within a range: about ``most``, but two at least."""
    step = round_step((high - low) / max(1, most))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    if first == last:
        return inner_ticks(low, high, max(1, most) + 1)
    return [place * step for place in range(first, last + 1)]


def outer_ticks(low: float, high: float, *, log: bool) -> list[float]:
    """Choose two to five round numbers that hold a range, the ends of an axis among them."""
    if log:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        every = max(1, math.ceil((last - first) / 4))
        last = first + every * max(1, math.ceil((last - first) / every))
        return [10.0**power for power in range(first, last + 1, every)]
    step = round_step((high - low) / 2 or 1.0, (1, 2, 2.5, 5, 10))
    first, last = math.floor(low / step), math.ceil(high / step - 1e-9)
    return [step * place for place in range(first, max(last, first + 1) + 1)]
