"""Figures of bars that are ours alone: medians by platform, a panel for each metric."""

from __future__ import annotations

from collections.abc import Iterator

from tare.model import Better
from tare.redrawn.bars import draw_panels
from tare.redrawn.own import OwnFigure, OwnResult
from tare.redrawn.own_words import notes, runs_text
from tare.redrawn.panels import Bar, Panel
from tare.redrawn.side import Side
from tare.report.figures.figure import Figure, Spec
from tare.report.figures.marks import DNR
from tare.report.names import params_text
from tare.report.numbers import Scale, plain, scale_for


def own_bars(figure: OwnFigure) -> Figure:
    """Draw medians with their intervals."""
    found = list(_panels(figure))

    def draw(width: int) -> Spec:
        return draw_panels(width, [f"here: {figure.here}"], found)

    caption = " ".join(notes(figure))
    return Figure(figure.name, figure.title, caption, draw)


def panel_text(result: OwnResult) -> str:
    """Name the panel of a result: its workload with what is measured of it, and the metric."""
    needed = params_text(tuple(result.measure.needed.items()))
    work = f"{result.cell.workload} ({needed})" if needed else result.cell.workload
    return f"{work}: {result.metric.name}"


def _panels(figure: OwnFigure) -> Iterator[Panel]:
    for title in dict.fromkeys(panel_text(one) for one in figure.results):
        some = [one for one in figure.results if panel_text(one) == title]
        metric = some[0].metric
        known = [one.values.median for one in some if one.values is not None]
        scale = scale_for(metric.unit, known)
        way = "more" if metric.better is Better.HIGHER else "less"
        unit = f", {scale.unit}" if scale.unit else ""
        bars = tuple(
            Bar(one.series, figure.colours[one.series], _side(one, scale), ()) for one in some
        )
        yield Panel(f"{title}{unit}; {way} is better", scale.unit, bars)


def _side(one: OwnResult, scale: Scale) -> Side:
    if one.values is None or one.gap is not None:
        text = one.gap.text if one.gap else ""
        is_dnr = one.gap is not None and one.gap.word == DNR
        return Side(words=text, is_dnr=is_dnr, said=f"{one.place}: {text}")
    middle = one.values.median / scale.factor
    low, high = (None if end is None else end / scale.factor for end in (one.low, one.high))
    said = f"{one.place}: median {plain(middle)} {scale.unit}, n {runs_text(one)}"
    return Side(value=middle, text=plain(middle), low=low, high=high, said=said)
