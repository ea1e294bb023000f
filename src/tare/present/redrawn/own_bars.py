"""Figures of bars that are ours alone: medians by platform, a panel for each metric."""

from __future__ import annotations

from collections.abc import Iterator

from tare.core.model import Better
from tare.present.charts.canvas import Canvas
from tare.present.charts.figure import Figure
from tare.present.redrawn.bars import draw_panels
from tare.present.redrawn.own import OwnFigure, OwnResult
from tare.present.redrawn.own_words import notes, runs_text
from tare.present.redrawn.panels import Bar, Panel
from tare.present.redrawn.side import Side
from tare.present.view.marks import DNR
from tare.present.view.names import params_text
from tare.present.view.numbers import Scale, plain, scale_for


def own_bars(figure: OwnFigure) -> Figure:
    """Draw medians with their intervals."""
    found = list(_panels(figure))

    def draw(width: int) -> Canvas:
        return draw_panels(width, [f"here: {figure.here}"], found)

    caption = " ".join(notes(figure))
    return Figure(figure.name, figure.title, caption, draw)


def panel_text(result: OwnResult) -> str:
    """Name the panel of a result: its workload with what is measured of it, and the metric."""
    needed = params_text(tuple(result.measure.needed.items()))
    work = f"{result.cell.workload} ({needed})" if needed else result.cell.workload
    return f"{work}: {result.metric.name}"


def _panels(figure: OwnFigure) -> Iterator[Panel]:
    for title in dict.fromkeys(panel_text(result) for result in figure.results):
        chosen = [result for result in figure.results if panel_text(result) == title]
        metric = chosen[0].metric
        known = [result.values.median for result in chosen if result.values is not None]
        scale = scale_for(metric.unit, known)
        way = "more" if metric.better is Better.HIGHER else "less"
        unit = f", {scale.unit}" if scale.unit else ""
        bars = tuple(
            Bar(result.series, figure.colours[result.series], _side(result, scale), ())
            for result in chosen
        )
        yield Panel(f"{title}{unit}; {way} is better", scale.unit, bars)


def _side(result: OwnResult, scale: Scale) -> Side:
    if result.values is None or result.gap is not None:
        text = result.gap.text if result.gap else ""
        is_dnr = result.gap is not None and result.gap.word == DNR
        return Side(words=text, is_dnr=is_dnr, tip=f"{result.place}: {text}")
    middle = result.values.median / scale.factor
    low, high = (None if end is None else end / scale.factor for end in (result.low, result.high))
    tip = f"{result.place}: median {plain(middle)} {scale.unit}, n {runs_text(result)}"
    return Side(value=middle, text=plain(middle), low=low, high=high, tip=tip)
