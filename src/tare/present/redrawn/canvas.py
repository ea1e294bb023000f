"""A picture whose every part has its place in pixels before it is drawn, as one chart."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tare.present.charts.figure import SCHEMA, Spec
from tare.present.view import theme

SIZE = 11
"""Of the small letters, in pixels."""
CHARACTER = 6.1
"""The mean width of one of them."""


class Style(NamedTuple):
    """What is the same for all texts of one layer."""

    align: str = "left"
    weight: str = "normal"
    colour: str = theme.INK
    size: int = SIZE


@dataclass
class Canvas:
    """Rectangles, lines, points and texts; y grows downwards."""

    width: float
    height: float = 0.0
    _shapes: list[dict[str, Any]] = field(default_factory=list)
    _lines: list[dict[str, Any]] = field(default_factory=list)
    _points: list[dict[str, Any]] = field(default_factory=list)
    _texts: dict[Style, list[dict[str, Any]]] = field(default_factory=dict)

    def bar(self, x: tuple[float, float], y: tuple[float, float], colour: str, said: str) -> None:
        """Draw a filled rectangle, whose tool tip is ``said``."""
        self._shapes.append({**_ends(x, y), "colour": colour, "said": said})

    def line(
        self, x: tuple[float, float], y: tuple[float, float], colour: str, weight: float = 1.0
    ) -> None:
        """Draw a straight line."""
        self._lines.append({**_ends(x, y), "colour": colour, "weight": weight})

    def point(self, x: float, y: float, said: str, *, hollow: bool = False) -> None:
        """Draw a small disc, or a ring."""
        fill = theme.PAPER if hollow else theme.INK
        self._points.append({"x": round(x, 1), "y": round(y, 1), "fill": fill, "said": said})

    def text(self, x: float, y: float, text: str, style: Style = Style()) -> None:  # noqa: B008
        """Write a text whose middle is at y."""
        one = {"x": round(x, 1), "y": round(y, 1), "text": text}
        self._texts.setdefault(style, []).append(one)

    def spec(self) -> Spec:
        """Give the picture as a specification."""
        x = _axis("x", (0, self.width))
        y = _axis("y", (self.height, 0))
        both = {"x": x, "y": y}
        ends = {**both, "x2": {"field": "x2"}, "y2": {"field": "y2"}}
        colour = {"field": "colour", "type": "nominal", "scale": None}
        layers: list[Spec] = [
            {
                "data": {"values": self._lines},
                "mark": {"type": "rule", "aria": False},
                "encoding": {
                    **ends,
                    "stroke": colour,
                    "strokeWidth": {"field": "weight", "type": "quantitative", "scale": None},
                },
            },
            {
                "data": {"values": self._shapes},
                "mark": {"type": "rect", "opacity": 1},
                "encoding": {**ends, "fill": colour, "description": {"field": "said"}},
            },
            {
                "data": {"values": self._points},
                "mark": {
                    "type": "point",
                    "size": 16,
                    "opacity": 1,
                    "stroke": theme.INK,
                    "strokeWidth": 1.2,
                },
                "encoding": {
                    **both,
                    "fill": {"field": "fill", "type": "nominal", "scale": None},
                    "description": {"field": "said"},
                },
            },
        ]
        # Whiskers lie over bars, the lines of an axis below them.
        over = [one for one in self._lines if one["colour"] == theme.INK]
        layers.insert(2, {**layers[0], "data": {"values": over}})
        layers[0]["data"] = {"values": [one for one in self._lines if one not in over]}
        layers += [_words(style, texts, both) for style, texts in self._texts.items()]
        return {
            "$schema": SCHEMA,
            "config": theme.CONFIG,
            "width": round(self.width),
            "height": round(self.height),
            "layer": layers,
        }


def _ends(x: tuple[float, float], y: tuple[float, float]) -> dict[str, float]:
    named = zip(("x", "x2", "y", "y2"), (*x, *y), strict=True)
    return {name: round(value, 1) for name, value in named}


def _axis(name: str, domain: tuple[float, float]) -> Spec:
    scale = {"domain": list(domain), "nice": False, "zero": False}
    return {"field": name, "type": "quantitative", "scale": scale, "axis": None}


def _words(style: Style, texts: list[dict[str, Any]], both: Spec) -> Spec:
    return {
        "data": {"values": texts},
        "mark": {
            "type": "text",
            "align": style.align,
            "baseline": "middle",
            "fontWeight": style.weight,
            "fontSize": style.size,
            "color": style.colour,
            "aria": False,
        },
        "encoding": {**both, "text": {"field": "text"}},
    }
