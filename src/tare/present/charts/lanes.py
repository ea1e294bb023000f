"""A lane for each platform, one above the other on one axis, so that lines never cross.

All lanes are one plot: Vega takes ten times as long for a plot of each platform.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tare.present.charts.figure import BOLD, SCHEMA, Spec, label_width, shortened, shortened_apart
from tare.present.view import theme

_HEAD, _HEIGHT, _GAP = 42, 64, 10
_STEP = _HEAD + _HEIGHT + _GAP
_NOTE = 5.8
"""The mean width of a character of a note, in pixels: small letters and digits."""


def at(lane: int, share: float) -> float:
    """Give the pixel of a share of a lane's height, 0 at its foot."""
    return round(lane * _STEP + _HEAD + (1 - share) * _HEIGHT, 2)


def lanes(
    width: int,
    titles: Sequence[tuple[str, str]],
    ticks: Mapping[float, str],
    x: Spec,
    layers: Sequence[Spec],
) -> Spec:
    """Draw layers over lanes; each mark has ``y`` in pixels, as ``at`` gives it.

    A title is a platform and a line of what is to be said of it; ``ticks`` are the labels of a
    lane's own axis by their shares of its height.
    """
    left = label_width(ticks.values())
    plot = max(60, width - left - 20)
    height = len(titles) * _STEP - _GAP
    y = vertical(len(titles))
    rules = [
        {"y": at(lane, share), "text": text}
        for lane in range(len(titles))
        for share, text in ticks.items()
    ]
    # The grid of x would run through the texts above each lane.
    covers = [
        {"y": at(lane, 1) - _HEAD, "foot": at(lane, 1) - 8, "colour": theme.PAPER}
        for lane in range(len(titles))
    ]
    lines = [
        {"y": at(lane, share) - 0.5, "foot": at(lane, share) + 0.5, "colour": theme.FAINT}
        for lane in range(len(titles))
        for share in ticks
    ]
    behind = [*covers, *lines]
    names = shortened_apart((name for name, _ in titles), width - 12, BOLD)
    heads = [{"y": at(lane, 1) - 32, "text": names[name]} for lane, (name, _) in enumerate(titles)]
    notes = [
        {"y": at(lane, 1) - 17, "text": shortened(note, width - 12, _NOTE)}
        for lane, (_, note) in enumerate(titles)
    ]
    text = {"type": "text", "baseline": "middle", "aria": False}
    below: list[Spec] = [
        {
            "data": {"values": behind},
            "mark": {"type": "rect", "aria": False},
            "encoding": {
                "x": {"value": 0},
                "x2": {"value": plot},
                "y": y,
                "y2": {"field": "foot"},
                "color": {"field": "colour", "type": "nominal", "scale": None},
            },
        },
        {
            "data": {"values": rules},
            "mark": {**text, "align": "right", "color": theme.MUTED},
            "encoding": {"x": {"value": -8}, "y": y, "text": {"field": "text"}},
        },
        {
            "data": {"values": heads},
            "mark": {**text, "align": "left", "fontWeight": "bold"},
            "encoding": {"x": {"value": 4 - left}, "y": y, "text": {"field": "text"}},
        },
        {
            "data": {"values": notes},
            "mark": {**text, "align": "left", "color": theme.MUTED},
            "encoding": {"x": {"value": 4 - left}, "y": y, "text": {"field": "text"}},
        },
    ]
    drawn = [{**one, "encoding": {"x": x, "y": y, **one["encoding"]}} for one in layers]
    return {
        "$schema": SCHEMA,
        "config": theme.CONFIG,
        "width": plot,
        "height": height,
        "layer": [*below, *drawn],
    }


def vertical(count: int) -> Spec:
    """Give the encoding of ``y`` for so many lanes."""
    return {
        "field": "y",
        "type": "quantitative",
        "scale": {"domain": [count * _STEP - _GAP, 0], "nice": False, "zero": False},
        "axis": None,
    }


def round_ticks(low: float, high: float, *, log: bool) -> list[float]:
    """Choose two to five round numbers that hold a range, the ends of an axis among them."""
    if log:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        every = max(1, math.ceil((last - first) / 4))
        last = first + every * max(1, math.ceil((last - first) / every))
        return [10.0**power for power in range(first, last + 1, every)]
    rough = (high - low) / 2 or 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(one * power for one in (1, 2, 2.5, 5, 10) if one * power >= rough * (1 - 1e-9))
    first, last = math.floor(low / step), math.ceil(high / step - 1e-9)
    return [step * place for place in range(first, max(last, first + 1) + 1)]


def share_of(value: float, ticks: Sequence[float], *, log: bool) -> float:
    """Say how high a value lies between the first and the last tick."""
    low, high = ticks[0], ticks[-1]
    if log:
        return math.log(value / low) / math.log(high / low)
    return (value - low) / (high - low)


def line_of(values: Sequence[Any], mark: Spec, **encoding: Spec) -> Spec:
    """Make a layer of lines, one in each lane."""
    return {
        "data": {"values": list(values)},
        # A pointed corner would reach beyond the value that it stands for.
        "mark": {"type": "line", "strokeJoin": "round", "aria": False, **mark},
        "encoding": {
            "detail": {"field": "lane", "type": "nominal"},
            "order": {"field": "place", "type": "quantitative"},
            **encoding,
        },
    }
