"""What charts of costs share: their axis, their widths, and points with intervals on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

from tare.present.charts.cost_axis import cost_axis
from tare.present.charts.figure import (
    LABELS_SHARE,
    NARROW,
    OWN_COLOUR,
    Spec,
    category,
    facets,
    fitted,
    label_width,
    layer,
    quantity,
    within,
)
from tare.present.view import theme

TALL = 24
"""Of more lines than this each plot has an axis of its own: one foot is not seen with all."""


class Costed(Protocol):
    """A ratio with its interval, each None where it is not known."""

    @property
    def cost(self) -> float | None:
        """The ratio."""

    @property
    def low(self) -> float | None:
        """Where its interval begins."""

    @property
    def high(self) -> float | None:
        """Where its interval ends."""


def widths(names: Sequence[str], width: int) -> tuple[int, int]:
    """Share a width between the names on the left, a plot, and the numbers on the right."""
    left = round(min(label_width(names), LABELS_SHARE * width))
    return left, max(60, width - left - (64 if width < NARROW else 150))


def across(field: str, low: float, high: float, plot: int) -> Spec:
    """Return the logarithmic axis of costs, ``plot`` pixels wide."""
    scale = {"type": "log", "domain": [low, high], "nice": False}
    return quantity(field, scale=scale, axis=cost_axis(low, high, plot))


def axis_of_names(field: str, names: Sequence[str], left: int) -> Spec:
    """Return the axis of names, in their order, ``left`` pixels wide."""
    order = list(dict.fromkeys(names))
    return category(field, sort=order, axis={"title": None, **fitted(order, left - 12)})


def plots(
    values: Sequence[dict[str, Any]], layers: Sequence[Spec], y: Spec, plot: int, width: int
) -> Spec:
    """Stack a plot for each group, with the numbers on the right of its marks."""
    text = {"field": "short" if width < NARROW else "text"}
    numbers = layer("text", {"align": "left"}, x={"value": plot + 10}, y=y, text=text)
    whole = {"width": plot, "height": {"step": 22}, "layer": [*layers, numbers]}
    chart = facets(values, "group", whole)
    if len(values) > TALL:
        chart["resolve"]["axis"] = {"x": "independent"}
    return chart


def line_at_one(x: Spec) -> Spec:
    """Return the line at which nothing is worse or better."""
    rule = layer("rule", {"color": theme.MUTED, "strokeWidth": 1}, x={**x, "field": "one"})
    return {"data": {"values": [{"one": 1}]}, **rule}


def domain(rows: Sequence[Costed], margin: float) -> tuple[float, float]:
    """Hold all costs, and intervals as far as they are not absurdly wide."""
    costs = [row.cost for row in rows if row.cost is not None and math.isfinite(row.cost)] or [1.0]
    costs = [within(cost, log=True) for cost in costs]
    low, high = min(1.0, *costs, 1.0), max(1.0, *costs, 1.0)
    ends = [end for row in rows for end in (row.low, row.high) if end is not None]
    near = [end for end in ends if low / 10 < end < high * 10]
    low = min(low, 1 / (1 + 2 * margin), *near)
    high = max(high, 1 + 2 * margin, *near)
    room = (high / low) ** 0.04
    return low / room, high * room


def held(row: Costed, low: float, high: float) -> dict[str, float | None]:
    """Return a cost and its interval as they are drawn between two ends of an axis.

    ``beyond`` and ``below`` are where a triangle says that the interval goes on.
    """

    def inside(value: float | None) -> float | None:
        return None if value is None else min(max(value, low), high)

    return {
        "cost": inside(row.cost),
        "low": inside(row.low),
        "high": inside(row.high),
        "beyond": high if row.high is not None and row.high > high else None,
        "below": low if row.low is not None and row.low < low else None,
    }


def interval_layers(x: Spec, y: Spec, margin: float) -> list[Spec]:
    """Return the marks of costs with intervals, before the band of a margin.

    A point is filled where ``decided`` of its value is true.
    """
    band = layer("rect", {"color": theme.BAND}, x={**x, "field": "low"}, x2={"field": "high"})
    ends = {"x": {**x, "field": "low"}, "x2": {"field": "high"}}
    point: Spec = {"filled": True, "size": 90}
    return [
        {"data": {"values": [{"low": 1 / (1 + margin), "high": 1 + margin}]}, **band},
        line_at_one(x),
        layer("rule", {"strokeWidth": 3}, "isValid(datum.low)", **ends, y=y, color=OWN_COLOUR),
        layer(
            "point",
            {**point, "opacity": 1},
            "isValid(datum.cost)",
            x=x,
            y=y,
            stroke=OWN_COLOUR,
            strokeWidth={"value": 2},
            fill={"condition": {"test": "datum.decided", **OWN_COLOUR}, "value": theme.PAPER},
            description={"field": "text"},
        ),
        *(
            layer(
                "point",
                {**point, "shape": shape},
                f"isValid(datum.{end})",
                x={**x, "field": end},
                y=y,
                color=OWN_COLOUR,
            )
            for end, shape in (("beyond", "triangle-right"), ("below", "triangle-left"))
        ),
    ]
