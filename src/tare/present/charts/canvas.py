"""A small SVG canvas: rectangles, paths, points and texts at places in pixels, with tool tips.

It draws what is no chart on two axes (tables of coloured cells, lanes of a time axis, panels of
bars), in the colours of ``theme``, which a page turns dark by its style sheet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from typing import ClassVar

from tare.present.view import theme

Place = tuple[float, float]
"""x and y in pixels; y grows downwards."""

_NO_CHARACTERS = dict.fromkeys(
    (*range(9), 11, 12, *range(14, 32), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF),
    "\N{REPLACEMENT CHARACTER}",
)
"""What XML cannot hold: the output of a tool may, and it is the reason why a trial failed."""


@dataclass(frozen=True, slots=True)
class Rect:
    """A filled rectangle between two corners."""

    tag: ClassVar[str] = "rect"
    corner: Place
    opposite: Place
    fill: str
    tip: str = ""
    opacity: float = 1.0
    stroke: str = ""

    def attributes(self) -> Iterator[str]:
        """Yield the attributes of the element."""
        (x, y), (right, bottom) = self.corner, self.opposite
        yield f'x="{x:.6g}" y="{y:.6g}" width="{right - x:.6g}" height="{bottom - y:.6g}"'
        yield from _paint(self.fill, self.stroke, opacity=self.opacity)


@dataclass(frozen=True, slots=True)
class Polyline:
    """A line through places; with a fill it is the area that it encloses."""

    tag: ClassVar[str] = "path"
    places: Sequence[Place]
    stroke: str = ""
    width: float = 1.0
    fill: str = "none"
    tip: str = ""
    opacity: float = 1.0
    dash: str = ""

    def attributes(self) -> Iterator[str]:
        """Yield the attributes of the element."""
        end = "Z" if self.fill != "none" else ""
        yield f'd="{"".join(_steps(self.places))}{end}"'
        yield from _paint(self.fill, self.stroke, self.width, opacity=self.opacity)
        if self.dash:
            yield f'stroke-dasharray="{self.dash}"'


@dataclass(frozen=True, slots=True)
class Point:
    """A disc; with a stroke that differs from its fill, a ring."""

    tag: ClassVar[str] = "circle"
    place: Place
    radius: float
    fill: str
    tip: str = ""
    stroke: str = ""

    def attributes(self) -> Iterator[str]:
        """Yield the attributes of the element."""
        x, y = self.place
        yield f'cx="{x:.6g}" cy="{y:.6g}" r="{self.radius}"'
        yield from _paint(self.fill, self.stroke, 1.2)


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text; y is the middle of its letters, x where ``align`` says."""

    tag: ClassVar[str] = "text"
    place: Place
    text: str
    align: str = "start"
    size: float = 12
    colour: str = theme.INK
    bold: bool = False
    upright: bool = False

    def attributes(self) -> Iterator[str]:
        """Yield the attributes of the element."""
        (x, y), foot = self.place, 0.35 * self.size
        if self.upright:
            yield f'transform="translate({x + foot:.6g} {y:.6g}) rotate(-90)"'
        else:
            yield f'x="{x:.6g}" y="{y + foot:.6g}"'
        yield f'font-size="{self.size}" fill="{self.colour}"'
        if self.align != "start":
            yield f'text-anchor="{self.align}"'
        if self.bold:
            yield 'font-weight="bold"'


Mark = Rect | Polyline | Point | Text


def _steps(places: Sequence[Place]) -> Iterator[str]:
    """Yield the commands of a path; those along an axis are short."""
    rounded = [(f"{round(x, 1):g}", f"{round(y, 1):g}") for x, y in places]
    yield f"M{' '.join(rounded[0])}"
    for (x, y), (to_x, to_y) in pairwise(rounded):
        yield f"V{to_y}" if x == to_x else f"H{to_x}" if y == to_y else f"L{to_x} {to_y}"


def _paint(fill: str, stroke: str, width: float = 1.0, *, opacity: float = 1.0) -> Iterator[str]:
    yield f'fill="{fill}"'
    if stroke:
        yield f'stroke="{stroke}"'
        if width != 1:
            yield f'stroke-width="{width}"'
    if opacity != 1:
        yield f'{"fill-opacity" if fill != "none" else "opacity"}="{opacity:.3g}"'


@dataclass
class Canvas:
    """Marks in the order in which they are drawn; one that is stretched has no paper of its own."""

    width: float
    height: float = 0.0
    marks: list[Mark] = field(default_factory=list)

    def add(self, *marks: Mark) -> None:
        """Draw marks over those that are there."""
        self.marks += marks

    def svg(self, label: str = "", *, stretched: bool = False) -> str:
        """Return the picture.

        ``label`` is its name for a screen reader. A picture that is ``stretched`` fills its place
        in a page; the lines in it keep their width.
        """
        size = f'width="{self.width:g}" height="{self.height:g}"'
        shape = 'preserveAspectRatio="none"' if stretched else size
        name = f' role="img" aria-label="{_escaped(label)}"' if label else ""
        keep = ' vector-effect="non-scaling-stroke"' if stretched else ""
        paper = "" if stretched else f'<rect {size} fill="{theme.PAPER}"/>'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {shape}{name} '
            f'viewBox="0 0 {self.width:g} {self.height:g}" font-family="{theme.FONT}">'
            f"{paper}{''.join(_element(mark, keep) for mark in self.marks)}</svg>"
        )


def _element(mark: Mark, more: str) -> str:
    opened = f"<{mark.tag} {' '.join(mark.attributes())}{more}"
    if isinstance(mark, Text):
        return f"{opened}>{_escaped(mark.text)}</text>"
    if not mark.tip:
        return f"{opened}/>"
    return f"{opened}><title>{_escaped(mark.tip)}</title></{mark.tag}>"


def _escaped(text: str) -> str:
    return escape(text.translate(_NO_CHARACTERS))


def stairs(places: Iterable[Place]) -> list[Place]:
    """Return the corners of a line that holds each height until the next place."""
    every = list(places)
    corners = [corner for (x, y), (later, _) in pairwise(every) for corner in ((x, y), (later, y))]
    return corners if corners[-1:] == every[-1:] else [*corners, *every[-1:]]
