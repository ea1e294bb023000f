"""Tables of coloured cells with a number in each, on a canvas; names never overlap."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tare.present.charts.canvas import Canvas, Rect, Text
from tare.present.charts.figure import label_width, shortened_apart
from tare.present.view import theme

STRENGTH = 0.55
"""The most that a cell is coloured: ink on it stays readable, in light and in dark."""

_WIDEST = 130
_LINE = 15
_MAX_HEADER = 190
_LEAST = 20
"""In a narrower column a mark with its star or its brackets would run out."""
_SMALLEST = 10
"""Where letters would have to be smaller, in pixels, they stand upright."""
_GAP = 1


@dataclass(frozen=True)
class Box:
    """A cell: a number in a long and a short form, a mark, and a colour from 0 to ``STRENGTH``."""

    number: tuple[str, str]
    mark: str
    colour: str
    strength: float
    tip: str
    flawed: bool = False


@dataclass(frozen=True)
class Line:
    """A row of a grid: its name and a box in each column."""

    name: str
    boxes: Sequence[Box]


@dataclass(frozen=True)
class Legend:
    """A strip of colours with a text below its left end, its middle and its right end."""

    colours: Sequence[tuple[str, float]]
    texts: tuple[str, str, str]


@dataclass(frozen=True)
class _Form:
    """How much is written in each box: which form, how large, and whether the mark stands below."""

    place: int
    size: int
    stacked: bool
    height: int
    upright: bool = False


def grid(
    width: int, columns: Sequence[str], lines: Sequence[Line], legend: Legend | None = None
) -> Canvas:
    """Draw a grid of a width in pixels; names too long for the left stand above their row."""
    names = [line.name for line in lines]
    room = (width - label_width(names) - 4) / max(1, len(columns))
    names_fit = label_width(names) <= 0.36 * width and room >= min(
        _LEAST, width / (len(columns) + 1)
    )
    left = label_width(names) if names_fit else 2
    column = min(_WIDEST, (width - left - 4) / max(1, len(columns)))
    form = _form(lines, column)
    upright = any(label_width([name]) > column + 8 for name in columns)
    y: float = min(label_width(columns) if upright else 22, _MAX_HEADER)
    canvas = Canvas(width)
    canvas.add(*_header(columns, left, column, y, upright=upright))
    for line in lines:
        if names_fit:
            canvas.add(Text((left - 8, y + form.height / 2), line.name, "end"))
        else:
            parts = textwrap.wrap(line.name, max(8, (width - 8) // 7))
            for place, part in enumerate(parts):
                canvas.add(Text((2, y + 11 + _LINE * place), part, bold=True))
            y += 4 + _LINE * len(parts)
        for place, box in enumerate(line.boxes):
            x = left + place * column
            canvas.add(_shape(x, y, (column, form.height), box))
            canvas.add(*_written(x + column / 2, y + form.height / 2, box, form))
        # A line that only names a column takes no room below its name.
        y += form.height + 2 if line.boxes or names_fit else 0
    if legend is not None:
        canvas.add(*_legend(legend, left, y + 10))
        y += 44
    canvas.height = y
    return canvas


def _form(lines: Sequence[Line], column: float) -> _Form:
    """Choose the most that every box has room for."""
    boxes = [box for line in lines for box in line.boxes]
    longs = max((len(box.number[0]) + len(box.mark) + 1 for box in boxes), default=0)
    if longs * 6.7 + 8 <= column:
        return _Form(0, 12, stacked=False, height=24)
    for place, size in ((0, 11), (1, 11), (1, _SMALLEST)):
        widest = max((len(box.number[place]) for box in boxes), default=0)
        if widest * size * 0.58 + 3 <= column:
            return _Form(place, size, stacked=True, height=34)
    # Turned as the names above are: smaller ones could not be read.
    longest = max((len(box.number[1]) for box in boxes), default=0)
    return _Form(1, 11, stacked=True, height=round(longest * 6.7) + 24, upright=True)


def _written(x: float, y: float, box: Box, form: _Form) -> Iterator[Text]:
    number = box.number[form.place]
    if not form.stacked:
        yield Text((x, y), f"{box.mark} {number}".strip(), "middle", form.size)
        return
    rise = 0 if not box.mark else 8 if form.upright else 7
    yield Text((x, y - rise), number, "middle", form.size, upright=form.upright)
    if box.mark:
        yield Text((x, y + form.height / 2 - 9), box.mark, "middle", 11)


def _header(
    columns: Sequence[str], left: float, column: float, top: float, *, upright: bool
) -> Iterator[Text]:
    short = shortened_apart(columns, top - 10)
    for at, name in enumerate(columns):
        x = left + (at + 0.5) * column
        if upright:
            yield Text((x, top - 6), short[name], upright=True)
        else:
            yield Text((x, top - 12), name, "middle")


def _legend(legend: Legend, left: float, y: float) -> Iterator[Rect | Text]:
    each = 22
    left += 14
    for at, (colour, strength) in enumerate(legend.colours):
        yield _shape(left + at * each, y, (each, 10), Box(("", ""), "", colour, strength, ""))
    count = len(legend.colours)
    ends = (left + each / 2, left + each * count / 2, left + each * (count - 0.5))
    for x, text in zip(ends, legend.texts, strict=True):
        yield Text((x, y + 20), text, "middle", 11)


def _shape(x: float, y: float, size: tuple[float, float], box: Box) -> Rect:
    corner, opposite = (x + _GAP, y), (x + size[0] - _GAP, y + size[1])
    return Rect(corner, opposite, box.colour, box.tip, box.strength, theme.FAINT)
