"""What all charts share."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from random import Random
from typing import Any, TypeVar

import numpy as np

from tare.present.charts.canvas import Canvas
from tare.present.view import theme
from tare.results.stats.signed_rank import Array

Spec = dict[str, Any]
"""A Vega-Lite specification, or a part of one."""
T = TypeVar("T")

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
NARROW = 600
"""Below this width there is no room for a column of numbers next to a plot."""
MAX_POINTS = 600
"""A chart with more points is a blot, and slow to open; a seeded sample of them is drawn."""

FARTHEST = 1e15
"""Values beyond this, in the unit of the chart, are drawn at its edge."""

LABELS_SHARE = 0.4
"""The labels of an axis take no more of a chart's width than this."""
_CHARACTER = 6.9
"""The mean width of a character of a label, in pixels."""
BOLD = 7.2
"""That of a title."""


def quantity(field: str, **more: Any) -> Spec:  # noqa: ANN401 - what Vega-Lite takes
    """Return the encoding of a field by its size."""
    return {"field": field, "type": "quantitative", **more}


def category(field: str, **more: Any) -> Spec:  # noqa: ANN401 - what Vega-Lite takes
    """Return the encoding of a field by its name."""
    return {"field": field, "type": "nominal", **more}


OWN_COLOUR = category("colour", scale=None)
"""A colour that a value itself has."""


def layer(mark: str, style: Spec, where: str = "", /, **encoding: Spec) -> Spec:
    """Return marks of the values for which an expression is true; only points are read aloud."""
    style = {"type": mark, **style} if mark == "point" else {"type": mark, "aria": False, **style}
    chosen = {"transform": [{"filter": where}]} if where else {}
    return {**chosen, "mark": style, "encoding": encoding}


@dataclass(frozen=True)
class Figure:
    """A chart, drawn at any width in pixels, and the words under it.

    What it does not show, its caption says.
    """

    name: str
    title: str
    caption: str
    draw: Callable[[int], Spec | Canvas]


def facets(
    values: Sequence[Any],
    field: str,
    spec: Spec,
    *,
    shared_y: bool = False,
    notes: Mapping[str, str] | None = None,
) -> Spec:
    """Stack one plot for each value of a field, each with its title above it.

    ``notes`` are second lines of the titles.

    Where plots have nothing but an axis, which is where they share y, a title is no
    wider than a plot; else it may reach over what stands on the right.
    """
    titles = list(dict.fromkeys(value[field] for value in values))
    room = spec["width"] + (16 if shared_y else 60)
    labels = {
        title: [short, notes[title]] if notes else short
        for title, short in shortened_apart(titles, room, BOLD).items()
    }
    return {
        "$schema": SCHEMA,
        "config": theme.CONFIG,
        "data": {"values": list(values)},
        "spacing": 12 if shared_y else 16,
        "facet": {
            "row": {
                "field": field,
                "type": "nominal",
                "sort": titles,
                "header": {
                    "title": None,
                    "labelOrient": "top",
                    "labelAnchor": "start",
                    "labelAlign": "left",
                    "labelPadding": 6,
                    "labelLimit": room,
                    "labelLineHeight": 14,
                    "labelExpr": f"{json.dumps(labels)}[datum.value]",
                },
            }
        },
        "resolve": {"scale": {"y": "shared" if shared_y else "independent"}},
        "spec": spec,
    }


def label_width(labels: Iterable[str]) -> int:
    """Guess how wide the labels of an axis will be, with their padding."""
    return math.ceil(12 + max(map(text_width, labels), default=0))


def text_width(text: str, character: float = _CHARACTER) -> float:
    """Guess how wide a text will be."""
    return character * len(text)


def shortened(text: str, width: float, character: float = _CHARACTER) -> str:
    """Leave out the middle of a text that is wider than ``width`` pixels; its ends tell more."""
    room = max(5, int(width / character))
    if len(text) <= room:
        return text
    kept = room - 1
    return f"{text[: kept - kept // 2]}…{text[-(kept // 2) :]}"


def shortened_apart(
    texts: Iterable[str], width: float, character: float = _CHARACTER
) -> dict[str, str]:
    """Shorten each text of a chart; of those that would be the same then it shows what differs.

    Only where that is still the same are they numbered: a number is not the same in all charts.
    """
    every = list(dict.fromkeys(texts))
    short = {text: shortened(text, width, character) for text in every}
    for one in set(short.values()):
        same = [text for text in every if short[text] == one]
        if len(same) > 1:
            letters = enumerate(zip_longest(*same))
            begin = next(place for place, some in letters if len(set(some)) > 1)
            short |= {text: _around(text, begin, int(width / character)) for text in same}
    alike = Counter(short.values())
    for place, text in enumerate(every, 1):
        if alike[short[text]] > 1:
            number = f"{place}. "
            room = width - character * len(number)
            short[text] = f"{number}{shortened(text, room, character)}"
    return short


def _around(text: str, place: int, room: int) -> str:
    """Shorten a text to ``room`` characters, those at a place and what is before it among them."""
    head = max(1, room // 3)
    begin = max(head, place - max(2, room // 6))
    rest = max(3, room - head - 1)
    if begin + rest >= len(text):
        return f"{text[:head]}…{text[-rest:]}"
    return f"{text[:head]}…{text[begin : begin + rest - 1].rstrip()}…"


def fitted(labels: Iterable[str], width: float) -> Spec:
    """Return what makes an axis write its labels within a width, each still distinct."""
    return {"labelExpr": f"{json.dumps(shortened_apart(labels, width))}[datum.value]"}


# Of its own choice Vega writes a million millions with all its zeros, over its neighbours.
LARGE_TOO = (
    "datum.value && (abs(datum.value) >= 1e7 || abs(datum.value) < 1e-4)"
    " ? replace(replace(format(datum.value, '.3~e'), '+', ''), '-', '\u2212')"
    " : format(datum.value, ',~r')"
)
"""How an axis labels numbers of any size: far ones as 1e9."""


def within(value: float, *, log: bool) -> float:
    """Draw what is absurdly far away at the edge; a chart holds no infinity."""
    return min(max(value, 1 / FARTHEST if log else -FARTHEST), FARTHEST)


def clipped(values: Array) -> Array:
    """Draw what is absurdly far away at the edge of a linear axis, as ``within`` does."""
    return np.clip(values, -FARTHEST, FARTHEST)


def sample(items: list[T], seed: int) -> list[T]:
    """Choose as many as are drawn, in their order; the same ones every time."""
    if len(items) <= MAX_POINTS:
        return items
    places = Random(seed).sample(range(len(items)), MAX_POINTS)  # noqa: S311 - must be repeatable
    return [items[place] for place in sorted(places)]
