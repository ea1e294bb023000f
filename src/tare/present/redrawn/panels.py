"""What a figure of bars holds before it has a width: panels, their bars, a scale for each side.

The study's side and ours have the same scale wherever both can be seen on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tare.core.model import Better
from tare.present.redrawn.own_values import OwnValues
from tare.present.redrawn.side import Side, printed_side
from tare.present.view import theme
from tare.results.published.counterparts import words_of
from tare.results.published.originals import Original, named
from tare.results.published.printed import PARTS
from tare.results.published.rows import Row

MAX_APART = 20
"""Sides whose largest numbers differ more often than so are each drawn on a scale of its own."""
LONGEST = 2
"""An interval is drawn as far from zero as this many times the largest value; an arrow says so."""

Domain = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Bar:
    """One printed value, and ours that correspond to it.

    In a figure that is ours alone our value stands in the first column, where else is the printed.
    """

    name: str
    colour: str
    printed: Side
    ours: tuple[Side, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """Bars of one unit, with a domain for each side."""

    title: str
    unit: str
    bars: tuple[Bar, ...]

    @property
    def sides(self) -> tuple[tuple[Side, ...], ...]:
        """All sides of the study, and all of our results."""
        printed = tuple(bar.printed for bar in self.bars)
        return printed, tuple(side for bar in self.bars for side in bar.ours)


def panels(
    original: Original, rows: Sequence[Row], here: OwnValues | None
) -> tuple[list[Row], list[Panel]]:
    """Sort a figure's rows into panels and bars; gives also the rows that are bars."""
    chosen = original.rows(rows)
    colours = technology_colours(rows)
    kept = [row for row in chosen if row.statistic not in PARTS]
    # Bars that share the first thing in their names stand together, in the study's order.
    first = list(dict.fromkeys(named(row, original.bars[:1]) for row in kept))
    kept.sort(key=lambda row: first.index(named(row, original.bars[:1])))
    grouped: dict[tuple[str, str, Better | None], list[Bar]] = {}
    for row in kept:
        bar = Bar(
            original.bar(row) or row.platform,
            colours[words_of(row.platform)],
            printed_side(row, chosen),
            here.sides(row) if here else (),
        )
        grouped.setdefault((original.panel(row), row.unit, row.better), []).append(bar)
    found = [Panel(_title(*key), key[1], tuple(bars)) for key, bars in grouped.items()]
    return kept, found


def technology_colours(rows: Iterable[Row]) -> Mapping[str, str]:
    """Return each technology of a study its colour, the same in all its figures."""
    names = dict.fromkeys(words_of(row.platform) for row in rows)
    others = tuple(name for name in names if name != "native")
    return theme.colours(("native", *others))


def domains(panels: Iterable[Panel]) -> Mapping[str, tuple[Domain, Domain]]:
    """Return what the axes of each unit reach over, on the study's side and on ours."""
    units: dict[str, tuple[list[Side], list[Side]]] = {}
    for panel in panels:
        both = units.setdefault(panel.unit, ([], []))
        for found, sides in zip(both, panel.sides, strict=True):
            found += sides
    return {unit: _domains(*both) for unit, both in units.items()}


def _domains(printed: Sequence[Side], ours: Sequence[Side]) -> tuple[Domain, Domain]:
    theirs, mine = (max((side.size for side in sides), default=0.0) for sides in (printed, ours))
    if theirs and mine and max(theirs, mine) <= MAX_APART * min(theirs, mine):
        theirs = mine = max(theirs, mine)
    first, second = (
        [number for side in sides for number in side.within(LONGEST * (size or math.inf))]
        for sides, size in ((printed, theirs), (ours, mine))
    )
    sizes = [max(map(abs, numbers), default=0.0) for numbers in (first, second)]
    if not all(sizes) or max(sizes) <= MAX_APART * min(sizes):
        both = _domain([*first, *second])
        return both, both
    return _domain(first), _domain(second)


def _domain(numbers: Sequence[float]) -> Domain:
    """Reach over all numbers and over zero, which bars begin at."""
    low, high = min(0.0, *numbers, 0.0), max(0.0, *numbers, 0.0)
    return (low, high) if low < high else (0.0, 1.0)


def _title(name: str, unit: str, better: Better | None) -> str:
    unit_text = f", {unit}" if unit != "1" and not name.endswith(unit) else ""
    if unit.startswith("% "):
        unit_text = f", {unit.removeprefix('% ')}, %"
    way = "" if better is None else f"; {'more' if better is Better.HIGHER else 'less'} is better"
    return f"{name}{unit_text}{way}"
