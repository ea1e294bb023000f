"""Figures that are coloured tables: degradations by stressor and platform, and tests of pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tare.present.charts.canvas import Canvas
from tare.present.charts.figure import Figure
from tare.present.charts.grid import STRENGTH, Box, Line, grid
from tare.present.charts.isolation import FULL, degradation_legend, degradation_shade
from tare.present.redrawn.own_values import OwnValues, empty
from tare.present.redrawn.side import Side, printed_side
from tare.present.view import theme
from tare.present.view.marks import MARKS
from tare.present.view.numbers import NONE, TIMES, cost_text, p_text
from tare.present.view.reasons import why_text
from tare.results.compare.comparison import Comparison
from tare.results.compare.evidence import FAMILYWISE
from tare.results.published.originals import Original
from tare.results.published.rows import DID_NOT_RESPOND, Row
from tare.results.published.significance import Tested, significance
from tare.results.stats.holm import holm
from tare.results.stats.sequential import Verdict

FIRST = "Where several of our cells are equally like the study's, the first in the plan is shown."
_NOWHERE = Box((NONE, NONE), "", theme.PAPER, 0, "not in the study")
_DIRECTIONS = {Verdict.SLOWER: theme.WORSE, Verdict.FASTER: theme.BETTER}


def degradation_map(
    study: str, original: Original, rows: Sequence[Row], here: OwnValues | None
) -> Figure:
    """Show the degradation under every stressor on every platform; darker is worse."""
    chosen = original.rows(rows)
    platforms = list(dict.fromkeys(row.platform for row in chosen))
    printed = {(original.bar(row), row.platform): printed_side(row, chosen) for row in chosen}
    ours = {
        (original.bar(row), row.platform): here.sides(row)[0] for row in chosen if here is not None
    }
    halves = [printed, *([ours] if any(one.value is not None for one in ours.values()) else [])]
    lines = [
        Line(name, [_degraded(half.get((name, one))) for half in halves for one in platforms])
        for name in dict.fromkeys(name for name, _ in printed)
    ]
    columns = [f"{word}{one}" for word in ("", "here: ")[: len(halves)] for one in platforms]
    caption = (
        f"Degradation in % of the same platform without neighbours ({original.tables[0]} and "
        f"following, as printed). Colour grows with it up to {FULL:g} %. {original.note} "
        "No spread is printed."
    )
    if any(side.is_dnr for side in printed.values()):
        caption += f" {DID_NOT_RESPOND}: it did not respond, which is no value and not 0."
    if here is not None:
        if any(len(here.sides(row)) > 1 for row in chosen):
            caption += f" {FIRST}"
        caption = " ".join([caption, *here.notes(chosen, ours.values())])

    def draw(width: int) -> Canvas:
        return grid(width, columns, lines, degradation_legend())

    return Figure(f"{study}-{original.name}", original.title, caption, draw)


def _degraded(side: Side | None) -> Box:
    if side is None:
        return _NOWHERE
    if side.is_dnr:
        words = ("did not respond", DID_NOT_RESPOND)
        return Box(words, TIMES, theme.BAD, STRENGTH, side.tip)
    if side.value is None:
        return Box((NONE, NONE), "", theme.PAPER, 0, side.words)
    colour, strength = degradation_shade(side.value)
    return Box((f"{side.text} %", side.text), "", colour, strength, side.tip)


def significance_matrix(
    study: str, original: Original, rows: Sequence[Row], here: OwnValues | None
) -> Figure:
    """Show which pairs of platforms a study distinguished, and which our results do."""
    found = significance(original.rows(rows), study, here.ours if here else None)
    by_place = {(original.bar(one.row), _pair(one)): one for one in found}
    pairs = list(dict.fromkeys(pair for _, pair in by_place))
    ours = {place: one.ours[0] for place, one in by_place.items() if one.ours}
    adjusted = _holm(ours)
    lines = []
    for name in dict.fromkeys(name for name, _ in by_place):
        boxes = [_printed(by_place.get((name, pair))) for pair in pairs]
        if ours:
            places = [(name, pair) for pair in pairs]
            boxes += [_ours(ours.get(one), adjusted.get(one), by_place.get(one)) for one in places]
        lines.append(Line(name, boxes))
    columns = [*pairs, *([f"here: {pair}" for pair in pairs] if ours else [])]
    caption = " ".join(_matrix_caption(original, found, len(adjusted), here))

    def draw(width: int) -> Canvas:
        return grid(width, columns, lines)

    return Figure(f"{study}-{original.name}", original.title, caption, draw)


def _matrix_caption(
    original: Original, found: Sequence[Tested], ours: int, here: OwnValues | None
) -> Iterator[str]:
    yield (
        f"p values of {' and '.join(original.tables)} as printed, of one platform against another. "
        f"Coloured, ≠: distinguished among all others (Holm over the {len(found)} of the table, "
        f"at most {FAMILYWISE:g}). (≠): alone yes, among all others it can be luck. ?: not "
        "distinguished, which is not equal. A p value does not say which of the two is better, and "
        f"these rows have nothing else. {NONE}: not in the table."
    )
    if here is None:
        return
    if ours:
        yield (
            f"Here: p of our pairs, marked by Holm's over these {ours}: ▲ the first of the two is "
            "worse, ▼ it is better, in brackets alone only, = the same within the margin."
        )
    if any(len(one.ours) > 1 for one in found):
        yield FIRST
    yield from empty(Side(words=why_text(one.reason)) for one in found if one.reason)


def _pair(one: Tested) -> str:
    return f"{one.row.platform} – {one.row.baseline}"  # noqa: RUF001 - between two names


def _holm(ours: Mapping[tuple[str, str], Comparison]) -> dict[tuple[str, str], float]:
    tested = {place: row.p for place, row in ours.items() if row.p is not None}
    return dict(zip(tested, holm(list(tested.values())), strict=True))


def _printed(one: Tested | None) -> Box:
    if one is None:
        return _NOWHERE
    apart, alone = one.holm_p < FAMILYWISE, one.p < FAMILYWISE
    mark = "≠" if apart else "(≠)" if alone else "?"
    said = f"{one.row.title}: {_pair(one)}, p {one.row.text}, at most {p_text(one.holm_p)} by Holm"
    text = one.row.text
    return Box((text, text), mark, theme.BASELINE, STRENGTH if apart else 0.0, said)


def _ours(row: Comparison | None, adjusted: float | None, tested: Tested | None) -> Box:
    if row is None:
        why = why_text(tested.reason) if tested else ""
        return Box((NONE, NONE), "", theme.PAPER, 0, why)
    who = f"{row.cell.platform} against {row.baseline.platform if row.baseline else 'nothing'}"
    said = f"{who}: {cost_text(row.cost)}, {row.verdict.value}, {row.pairs} pairs"
    if row.p is None or adjusted is None:
        return Box(("too few", "few"), MARKS[Verdict.UNDECIDED], theme.PAPER, 0, said)
    said += f", p {p_text(row.p)}, by Holm {p_text(adjusted)}"
    text = p_text(row.p)
    number = (text, text.replace(" 0.", "."))
    if row.verdict is Verdict.SAME:
        return Box(number, MARKS[row.verdict], theme.BAND, 1, said)
    colour = _DIRECTIONS.get(row.verdict)
    if colour is None:
        return Box(number, MARKS[Verdict.UNDECIDED], theme.PAPER, 0, said)
    mark = MARKS[row.verdict]
    if adjusted > FAMILYWISE:
        return Box(number, f"({mark})", theme.PAPER, 0, said)
    return Box(number, mark, colour, STRENGTH, said)
