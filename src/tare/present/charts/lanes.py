"""Lanes on a canvas: a plot for each platform below the other on one axis, so lines never cross."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tare.present.charts.axis import Axis
from tare.present.charts.canvas import Canvas, Place, Polyline, Rect, Text
from tare.present.charts.figure import BOLD, label_width, shortened, shortened_apart
from tare.present.view import theme

HEIGHT = 64
_HEAD, _GAP = 42, 10
_NOTE = 5.8
"""The mean width of a character of a note, in pixels: small letters and digits."""


class Lanes:
    """The places of lanes from a height of a canvas on, with their names, notes and scales.

    A title is a platform and a line about it; ``ticks`` are the labels of a lane's own scale by
    their shares of its height.
    """

    def __init__(  # noqa: PLR0913 - what is drawn, and where
        self,
        canvas: Canvas,
        corner: Place,
        width: float,
        titles: Sequence[tuple[str, str]],
        ticks: Mapping[float, str],
        axis: Axis,
    ) -> None:
        left, self._top = corner
        self._axis = axis
        self.ends = (left + label_width(ticks.values()), left + width - 20)
        names = shortened_apart((name for name, _ in titles), width - 12, BOLD)
        for lane, (name, note) in enumerate(titles):
            top = self.y(lane, 1)
            short = shortened(note, width - 12, _NOTE)
            canvas.add(
                Text((left + 4, top - 32), names[name], bold=True),
                Text((left + 4, top - 17), short, colour=theme.MUTED),
            )
            for share, label in ticks.items():
                y = self.y(lane, share)
                canvas.add(
                    Polyline([(self.ends[0], y), (self.ends[1], y)], theme.FAINT),
                    Text((self.ends[0] - 8, y), label, "end", colour=theme.MUTED),
                )
        self.foot = axis.draw(canvas, self.ends, self.y(len(titles) - 1, 0))
        canvas.height = max(canvas.height, self.foot)

    def x(self, value: float) -> float:
        """Return the pixel of a value on the axis."""
        return self._axis.place(value, self.ends)

    def y(self, lane: int, share: float) -> float:
        """Return the pixel of a share of a lane's height, 0 at its foot."""
        return self._top + lane * (_HEAD + HEIGHT + _GAP) + _HEAD + (1 - share) * HEIGHT

    def places(self, lane: int, points: Iterable[tuple[float, float]]) -> list[Place]:
        """Return the places of points: a value on the axis, and a share of a lane's height."""
        return [(self.x(value), self.y(lane, share)) for value, share in points]


def legend(canvas: Canvas, colours: Mapping[str, str], columns: int) -> float:
    """Draw squares of colours with their names at the top; return the height of its foot."""
    column = max(map(label_width, ([name] for name in colours)), default=0) + 16
    for place, (name, colour) in enumerate(colours.items()):
        x, y = 4 + place % columns * column, 4 + place // columns * 18
        canvas.add(Rect((x, y), (x + 10, y + 10), colour), Text((x + 15, y + 5), name))
    return -(-len(colours) // columns) * 18 + 6
