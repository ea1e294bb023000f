"""Tables of coloured cells with a number in each, laid out pixel by pixel.

Vega's own axes would let long names overlap; here everything has its place before it is drawn.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tare.present.charts.figure import SCHEMA, Spec, label_width, shortened_apart
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
    said: str
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


class _Style(NamedTuple):
    """What is the same for all texts of one layer."""

    align: str = "left"
    angle: int = 0
    weight: str = "normal"


_LEFT, _RIGHT, _CENTRE = _Style(), _Style("right"), _Style("center")
_HEADING, _UPRIGHT = _Style(weight="bold"), _Style(angle=270)
_UPRIGHT_CENTRE = _Style("center", angle=270)


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
) -> Spec:
    """Lay out a grid in so many pixels; names that do not fit beside it stand above their row."""
    names = [line.name for line in lines]
    room = (width - label_width(names) - 4) / max(1, len(columns))
    beside = label_width(names) <= 0.36 * width and room >= min(_LEAST, width / (len(columns) + 1))
    left = label_width(names) if beside else 2
    column = min(_WIDEST, (width - left - 4) / max(1, len(columns)))
    wrapped = [
        [name] if beside else textwrap.wrap(name, max(8, (width - 8) // 7)) for name in names
    ]
    form = _form(lines, column)
    upright = any(label_width([name]) > column + 8 for name in columns)
    longest = label_width(columns) if upright else 22
    top = min(longest, _MAX_HEADER)
    shapes: list[dict[str, Any]] = []
    texts = list(_header(columns, left, column, top, upright=upright))
    height: float = top
    for line, name in zip(lines, wrapped, strict=True):
        if beside:
            texts.append(_text(left - 8, height + form.height / 2, name[0], _RIGHT))
        else:
            texts += [
                _text(2, height + 11 + _LINE * place, part, _HEADING)
                for place, part in enumerate(name)
            ]
            height += 4 + _LINE * len(name)
        for place, box in enumerate(line.boxes):
            x = left + place * column
            shapes.append(_shape(x, height, (column, form.height), box))
            texts += _written(x + column / 2, height + form.height / 2, box, form)
        # A line that only names a column takes no room below its name.
        height += form.height + 2 if line.boxes or beside else 0
    if legend is not None:
        strip, words = _legend(legend, left, height + 10)
        shapes += strip
        texts += words
        height += 44
    return _spec((width - 2, height), shapes, texts)


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


def _written(x: float, y: float, box: Box, form: _Form) -> Iterator[dict[str, Any]]:
    number = box.number[form.place]
    style = _UPRIGHT_CENTRE if form.upright else _CENTRE
    if not form.stacked:
        both = f"{box.mark} {number}".strip()
        yield _text(x, y, both, _CENTRE, form.size)
    elif box.mark:
        foot = y + form.height / 2 - 9
        yield _text(x, y - (8 if form.upright else 7), number, style, form.size)
        yield _text(x, foot, box.mark, _CENTRE, 11)
    else:
        yield _text(x, y, number, style, form.size)


def _header(
    columns: Sequence[str], left: float, column: float, top: float, *, upright: bool
) -> Iterator[dict[str, Any]]:
    short = shortened_apart(columns, top - 10)
    for at, name in enumerate(columns):
        x = left + (at + 0.5) * column
        if upright:
            yield _text(x, top - 6, short[name], _UPRIGHT)
        else:
            yield _text(x, top - 12, name, _CENTRE)


def _legend(
    legend: Legend, left: float, y: float
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    each = 22
    left += 14
    boxes = [Box(("", ""), "", colour, strength, "") for colour, strength in legend.colours]
    strip = [_shape(left + at * each, y, (each, 10), box) for at, box in enumerate(boxes)]
    ends = (left + each / 2, left + each * len(boxes) / 2, left + each * (len(boxes) - 0.5))
    words = [
        _text(x, y + 20, text, _CENTRE, 11) for x, text in zip(ends, legend.texts, strict=True)
    ]
    return strip, words


def _shape(x: float, y: float, size: tuple[float, float], box: Box) -> dict[str, Any]:
    return {
        "x": round(x + _GAP, 1),
        "x2": round(x + size[0] - _GAP, 1),
        "y": round(y, 1),
        "y2": round(y + size[1], 1),
        "colour": box.colour,
        "strength": round(box.strength, 3),
        "said": box.said,
    }


def _text(x: float, y: float, text: str, style: _Style = _LEFT, size: int = 12) -> dict[str, Any]:
    return {"x": round(x, 1), "y": round(y, 1), "text": text, "size": size, "style": style}


def _spec(
    size: tuple[float, float], shapes: Sequence[dict[str, Any]], texts: Sequence[dict[str, Any]]
) -> Spec:
    width, height = size
    x: Spec = {
        "field": "x",
        "type": "quantitative",
        "scale": {"domain": [0, width], "nice": False, "zero": False},
        "axis": None,
    }
    y: Spec = {**x, "field": "y", "scale": {**x["scale"], "domain": [height, 0]}}
    styles = list(dict.fromkeys(one["style"] for one in texts))
    layers: list[Spec] = [
        {
            "data": {"values": list(shapes)},
            "mark": {"type": "rect", "stroke": theme.FAINT, "strokeWidth": 1},
            "encoding": {
                "x": x,
                "x2": {"field": "x2"},
                "y": y,
                "y2": {"field": "y2"},
                "fill": {"field": "colour", "type": "nominal", "scale": None},
                "fillOpacity": {"field": "strength", "type": "quantitative", "scale": None},
                "description": {"field": "said"},
            },
        }
    ]
    for style in styles:
        layers.append(
            {
                "data": {
                    "values": [
                        {name: value for name, value in one.items() if name != "style"}
                        for one in texts
                        if one["style"] == style
                    ]
                },
                "mark": {
                    "type": "text",
                    "align": style.align,
                    "angle": style.angle,
                    "baseline": "middle",
                    "fontWeight": style.weight,
                    "aria": False,
                },
                "encoding": {
                    "x": x,
                    "y": y,
                    "text": {"field": "text"},
                    "size": {"field": "size", "type": "quantitative", "scale": None},
                },
            }
        )
    return {
        "$schema": SCHEMA,
        "config": theme.CONFIG,
        "width": width,
        "height": height,
        "layer": layers,
    }
