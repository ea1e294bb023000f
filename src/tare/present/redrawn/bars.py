"""Figures of bars: a study's values as printed and, in a second column, the same of our results."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from tare.present.charts.axis import inner_ticks
from tare.present.charts.canvas import Canvas, Point, Polyline, Rect, Text
from tare.present.charts.figure import LABELS_SHARE, NARROW, Figure, label_width, shortened
from tare.present.redrawn.own_values import OwnValues
from tare.present.redrawn.panels import Bar, Domain, Panel, domains, panels
from tare.present.redrawn.side import Side
from tare.present.view import theme
from tare.present.view.numbers import MINUS
from tare.results.published.originals import Original
from tare.results.published.rows import DID_NOT_RESPOND, Row

LONGEST_REASON = 100
"""A reason of more characters is cut in a panel; the caption has the whole of it."""
_BAR, _STEP, _PAD, _LINE = 13, 16, 6, 15
_GAP = 26
_WIDE_CHARACTER = 6.5
"""The mean width of a character of a bar's name, in pixels."""
_SMALL = 11
"""The size of the small letters, in pixels."""
_CHARACTER = 6.1
"""The mean width of one of them."""


def bars(study: str, original: Original, rows: Sequence[Row], here: OwnValues | None) -> Figure:
    """Draw a figure of bars."""
    drawn, found = panels(original, rows, here)
    heads = [f"{study}, as printed", *([f"here: {here.name}"] if here else [])]
    caption = " ".join(_caption(original, drawn, found, here))

    def draw(width: int) -> Canvas:
        return draw_panels(width, heads, found)

    return Figure(f"{study}-{original.name}", original.title, caption, draw)


def draw_panels(width: int, heads: Sequence[str], panels: Sequence[Panel]) -> Canvas:
    """Draw panels below each other, with a column for each of the one or two heads."""
    return _Layout(width, heads, panels).drawn()


def _caption(
    original: Original, drawn: Sequence[Row], found: Sequence[Panel], here: OwnValues | None
) -> Iterator[str]:
    printed = [side for panel in found for side in panel.sides[0]]
    ours = [side for panel in found for side in panel.sides[1]]
    tables = (f"section {one}" if one[0].isdigit() else one for one in original.tables)
    yield f"Numbers are those of {' and '.join(tables)}, as printed."
    if original.note:
        yield original.note
    yield _spread(printed)
    if any(side.is_dnr for side in printed):
        yield f"{DID_NOT_RESPOND}: it did not respond, which is no value and not 0."
    if here is None:
        return
    if any(side.value is not None for side in ours):
        yield (
            "Ours are written as the study counts; lines are their intervals (95 %, by wall time), "
            "where there are any."
            if here.is_relative(drawn)
            else "Ours are medians of trials, lines their 95 % intervals (from six trials on). The "
            "hardware is another: compare proportions within a side, not lengths across."
        )
    if any(len(bar.ours) > 1 for panel in found for bar in panel.bars):
        yield (
            "Where several of our cells are equally like the study's, each has a bar, in the "
            "plan's order."
        )
    reach = domains(found)
    ends = ((side, reach[panel.unit][1]) for panel in found for side in panel.sides[1])
    if any(goes_on(side, domain, low) for side, domain in ends for low in (True, False)):
        yield "An arrow: the interval goes on; tare compare prints its ends."
    if any(theirs != mine for theirs, mine in reach.values()):
        yield "Where the sides differ too much to be seen on one scale, each has its own."
    yield from here.notes(drawn, ours)


def _spread(printed: Sequence[Side]) -> str:
    sentences = []
    if any(side.runs for side in printed):
        sentences.append("Points are single runs.")
        if any(run.left_out for side in printed for run in side.runs):
            sentences.append("A ring is a run that the study left out of its average.")
    if any(side.low is not None for side in printed):
        sentences.append(
            "Lines reach from the smallest to the largest run, where they are printed."
        )
    return " ".join(sentences) or "No spread is printed."


@dataclass(frozen=True)
class _Column:
    """One side of a panel: where it stands, and what its axis reaches over."""

    left: float
    right: float
    before: float
    behind: float
    domain: Domain

    def x(self, value: float) -> float:
        low, high = self.domain
        share = (min(max(value, low), high) - low) / (high - low)
        return self.left + self.before + share * self.length

    @property
    def length(self) -> float:
        return max(20.0, self.right - self.left - self.before - self.behind)


def goes_on(side: Side, domain: Domain, at_its_low_end: bool) -> bool:
    """Return whether the interval of a side reaches beyond what is drawn."""
    if side.low is None or side.high is None:
        return False
    return side.low < domain[0] if at_its_low_end else side.high > domain[1]


class _Layout:
    """Puts panels below each other; on a phone names stand above their bars."""

    def __init__(self, width: int, heads: Sequence[str], panels: Sequence[Panel]) -> None:
        self.panels, self.heads = panels, heads
        self.narrow = width < NARROW
        self.width = width - 2.0
        names = [bar.name for panel in panels for bar in panel.bars]
        self.left = 2.0 if self.narrow else min(label_width(names), LABELS_SHARE * width)
        gap = _GAP / 2 if self.narrow else _GAP
        each = (self.width - self.left - gap * (len(heads) - 1)) / len(heads)
        self.edges = [
            (self.left + place * (each + gap), self.left + place * (each + gap) + each)
            for place in range(len(heads))
        ]
        self.domains = domains(panels)
        self.canvas = Canvas(self.width)

    def drawn(self) -> Canvas:
        """Draw all panels."""
        y = 20.0
        for head, (left, right) in zip(self.heads, self.edges, strict=True):
            self._quiet(left, 9, shortened(head, right - left, _CHARACTER))
        for panel in self.panels:
            y = self._panel(panel, y)
        self.canvas.height = y
        return self.canvas

    def _quiet(self, x: float, y: float, text: str) -> None:
        self.canvas.add(Text((x, y), text, size=_SMALL, colour=theme.MUTED))

    def _panel(self, panel: Panel, y: float) -> float:
        columns = self._columns(panel)
        for part in textwrap.wrap(panel.title, max(20, int(self.width / 7))):
            self.canvas.add(Text((2, y + 10), part, bold=True))
            y += _LINE
        if len({column.domain for column in columns}) > 1 and any(
            side.value is not None for side in panel.sides[1]
        ):
            self._quiet(columns[1].left, y + 8, "on a scale of its own")
            y += _LINE
        nothing = _why_empty(panel.sides[1]) if len(columns) > 1 else ""
        if nothing and self.narrow:
            y = self._write(f"here: {nothing}", (2, self.width), y)
        top = y = y + 5
        spans = []
        for bar in panel.bars:
            begin = y + (_LINE if self.narrow else 0)
            y = self._bar(bar, columns, y, without_ours=bool(nothing))
            spans.append((begin, y))
        if not self.narrow:  # there no name stands between two bars for a line to cross
            spans = [(top - 2, y + 2)]
        bottom = y
        if nothing:
            columns = columns[:1]
            if not self.narrow:
                bottom = max(y, self._write(nothing, self.edges[1], top))
        for column in columns:
            self._axis(column, spans)
        return bottom + 26

    def _columns(self, panel: Panel) -> list[_Column]:
        same = [one for one in self.panels if one.unit == panel.unit]
        rooms = []
        for place in range(len(self.edges)):
            sides = [side for one in same for side in one.sides[place]]
            before = _room(side.text for side in sides if (side.value or 0.0) < 0)
            behind = _room(side.text for side in sides if (side.value or 0.0) >= 0)
            rooms.append((before, behind))
        theirs, mine = self.domains[panel.unit]
        if theirs == mine:  # then the same length is the same number, too
            widest = max(one[0] for one in rooms), max(one[1] for one in rooms)
            rooms = [widest] * len(rooms)
        parts = zip(self.edges, rooms, (theirs, mine), strict=False)
        return [_Column(*edges, *room, domain) for edges, room, domain in parts]

    def _bar(self, bar: Bar, columns: Sequence[_Column], y: float, *, without_ours: bool) -> float:
        if self.narrow:
            self.canvas.add(Text((2, y + 8), shortened(bar.name, self.width, _WIDE_CHARACTER)))
            y += _LINE
        height = _STEP * max(1, len(bar.ours)) + _PAD
        middle = y + height / 2
        if not self.narrow:
            name = shortened(bar.name, self.left - 10, _WIDE_CHARACTER)
            self.canvas.add(Text((self.left - 8, middle), name, "end"))
        self._side(bar.printed, columns[0], middle, bar.colour)
        if len(columns) > 1 and not without_ours:
            first = middle - _STEP * (len(bar.ours) - 1) / 2
            for place, side in enumerate(bar.ours):
                self._side(side, columns[1], first + _STEP * place, bar.colour)
        return y + height

    def _side(self, side: Side, column: _Column, y: float, colour: str) -> None:
        zero = column.x(0.0)
        if side.value is None:
            has_room = len(side.words) * _CHARACTER <= column.right - zero - 4
            words = side.words if has_room else side.brief
            colour = theme.BAD if side.is_dnr else theme.MUTED
            text = Text((zero + 4, y), words, size=_SMALL, colour=colour, bold=side.is_dnr)
            self.canvas.add(text)
            return
        canvas, end = self.canvas, column.x(side.value)
        top, foot = y - _BAR / 2, y + _BAR / 2
        canvas.add(Rect((min(zero, end), top), (max(zero, end), foot), colour, side.tip))
        if side.low is not None and side.high is not None:
            low, high = column.x(side.low), column.x(side.high)
            canvas.add(Polyline([(low, y), (high, y)], theme.INK, 1.4))
            for at, outwards in ((low, -4.0), (high, 4.0)):
                # A straight end, or an arrow where the interval goes on.
                back = -outwards if goes_on(side, column.domain, at == low) else 0.0
                places = [(at + back, y - 3.5), (at, y), (at + back, y + 3.5)]
                canvas.add(Polyline(places, theme.INK, 1.4))
        for place, run in enumerate(side.runs):
            place_of_run = column.x(run.value), y + (place % 3 - 1) * 3.5
            fill = theme.PAPER if run.left_out else theme.INK
            canvas.add(Point(place_of_run, 2.3, fill, run.tip, theme.INK))
        if side.value < 0:
            first = min(column.x(number) for number in side.numbers)
            canvas.add(Text((first - 5, y), side.text, "end", _SMALL))
        else:
            last = max(column.x(number) for number in side.numbers)
            canvas.add(Text((last + 5, y), side.text, size=_SMALL))

    def _write(self, words: str, edge: tuple[float, float], y: float) -> float:
        """Write quiet words in as many lines as they need."""
        left, right = edge
        for part in textwrap.wrap(words, max(12, int((right - left) / _CHARACTER))):
            self._quiet(left, y + 10, part)
            y += _LINE
        return y

    def _axis(self, column: _Column, spans: Sequence[tuple[float, float]]) -> None:
        """Draw the lines of the axis where bars are, and its numbers below the last."""
        taken = -1e9
        for tick in inner_ticks(*column.domain, int(column.length / 55)):
            x = column.x(tick)
            colour = theme.FAINT if tick else theme.MUTED
            lines = [Polyline([(x, top), (x, foot)], colour) for top, foot in spans]
            self.canvas.marks[:0] = lines  # bars lie over them
            text = f"{tick:,.10g}".replace("-", MINUS)
            half = len(text) * _CHARACTER / 2
            if x - half > taken + 6:
                y = spans[-1][1] + 3 + _SMALL / 2
                self.canvas.add(Text((x, y), text, "middle", _SMALL, theme.MUTED))
                taken = x + half


def _room(texts: Iterator[str]) -> float:
    longest = max(chain((0,), map(len, texts)))
    return 8 + _CHARACTER * longest if longest else 0.0


def _why_empty(sides: Sequence[Side]) -> str:
    """Return why no side has a number; empty if one has."""
    if any(side.value is not None for side in sides):
        return ""
    reasons = (textwrap.shorten(side.words, LONGEST_REASON, placeholder=" …") for side in sides)
    return "; ".join(dict.fromkeys(reasons))
