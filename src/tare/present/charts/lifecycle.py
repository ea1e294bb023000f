"""The life of an instance on a time axis, a row of bars a platform."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tare.core.model import Cell, Metric, Status, Unit
from tare.present.charts.axis import Axis, time_axis
from tare.present.charts.canvas import Canvas, Polyline, Rect, Text
from tare.present.charts.figure import BOLD, NARROW, Figure, shortened_apart
from tare.present.charts.trials import median_ends
from tare.present.view import theme
from tare.present.view.findings import CellGroup, Findings
from tare.present.view.marks import own_gap
from tare.present.view.names import platform_text
from tare.present.view.numbers import NONE, Scale, middle_texts, plain, scale_for

PHASES = ("create", "boot", "soft_reboot", "hard_reboot", "stop", "start", "delete")
"""The phases that the lifecycle scenario times, in the order in which they are gone through."""


_STEP = 15


@dataclass(frozen=True)
class _Bar:
    """A phase between two times, with the interval of its end; without an end it has no trial."""

    phase: str
    start: float
    end: float | None = None
    low: float | None = None
    high: float | None = None
    short: str = NONE
    text: str = NONE


def has_life(found: Findings, group: CellGroup) -> bool:
    """Whether a group's trials are lives of instances, and some of it was measured."""
    return any(
        found.summaries[cell.id, metric.name].values
        for cell in group.cells
        for metric in _phases(group)
    )


def gantt(found: Findings, group: CellGroup, name: str) -> Figure:
    """Show the phases of a life one after the other, each as long as its median."""
    metrics = [
        metric
        for metric in _phases(group)
        if any(found.summaries[cell.id, metric.name].values for cell in group.cells)
    ]
    sums = [sum(_median(found, cell, one) or 0.0 for one in metrics) for cell in group.cells]
    scale = scale_for(Unit.SECOND, sums)
    colours = theme.colours(found.platforms)
    lives = {cell.id: list(_bars(found, cell, metrics, scale)) for cell in group.cells}
    wholes = {cell.id: _whole(found, cell, metrics, scale) for cell in group.cells}
    ends = [end for life in lives.values() for bar in life for end in (bar.end, bar.high)]
    end = max((one for one in ends if one is not None), default=1.0) or 1.0
    caption = (
        "From the making of an instance to its removal. Each bar is the median of one phase and "
        "begins where the one before ends; the thin line is the 95 % interval of where it ends, "
        f"for this phase alone. All platforms have one time axis, which begins at 0. {NONE}: no "
        "trial has this phase, because the layer has no such verb or the trial did not come so far."
    )

    def draw(width: int) -> Canvas:
        narrow = width < NARROW
        canvas, plot = Canvas(width), (92.0, width - (70.0 if narrow else 160.0))
        axis = time_axis(f"time since its making began ({scale.unit})", end, plot[1] - plot[0])
        characters = 0 if narrow else 2 + max(map(len, wholes.values()))
        texts = [platform_text(cell) for cell in group.cells]
        room = width - 12 - BOLD * (characters + len("12. "))
        short = shortened_apart(texts, room, BOLD)
        y = 10.0
        for place, cell in enumerate(group.cells, 1):
            title, whole = f"{place}. {short[platform_text(cell)]}", wholes[cell.id]
            canvas.add(Text((4, y), title if narrow else f"{title}: {whole}", bold=True))
            if narrow:
                y += 15
                canvas.add(Text((4, y), whole, bold=True))
            y += 12
            top, foot = y, y + _STEP * len(metrics)
            axis.grid(canvas, plot, (top, foot))
            for bar in lives[cell.id]:
                middle = y + _STEP / 2
                canvas.add(Text((plot[0] - 8, middle), bar.phase, "end"))
                canvas.add(Text((plot[1] + 8, middle), bar.short if narrow else bar.text))
                _draw_bar(canvas, bar, axis, plot, middle, colours[cell.platform])
                y += _STEP
            y = foot + 18
        canvas.height = axis.draw(canvas, plot, y - 14)
        return canvas

    return Figure(name, f"{group.name}: the life of an instance", caption, draw)


def _phases(group: CellGroup) -> list[Metric]:
    known = {metric.name: metric for metric in group.metrics if metric.unit is Unit.SECOND}
    return [known[name] for name in PHASES if name in known and {"create", "boot"} <= known.keys()]


def _words(metric: Metric) -> str:
    return metric.name.replace("_", " ")


def _median(found: Findings, cell: Cell, metric: Metric) -> float | None:
    values = found.summaries[cell.id, metric.name].values
    return values.median if values else None


def _bars(found: Findings, cell: Cell, metrics: list[Metric], scale: Scale) -> Iterator[_Bar]:
    start = 0.0
    for metric in metrics:
        median = _median(found, cell, metric)
        if median is None:
            yield _Bar(_words(metric), start)
            continue
        length = median / scale.factor
        low, high = median_ends(found, cell, metric, scale.factor, log=False)
        middle, interval = middle_texts(length, low, high)
        yield _Bar(
            _words(metric),
            start,
            start + length,
            None if low is None else start + low,
            None if high is None else start + high,
            f"{plain(length, 3)} {scale.unit}",
            f"{middle} {scale.unit} {interval}".rstrip(),
        )
        start += length


def _draw_bar(  # noqa: PLR0913 - what is drawn, and where
    canvas: Canvas, bar: _Bar, axis: Axis, plot: tuple[float, float], y: float, colour: str
) -> None:
    if bar.end is None:
        return
    left, right = (axis.place(one, plot) for one in (bar.start, bar.end))
    canvas.add(Rect((left, y - 4.5), (max(right, left + 1.5), y + 4.5), colour, bar.text))
    if bar.low is not None and bar.high is not None:
        ends = [(axis.place(one, plot), y) for one in (bar.low, bar.high)]
        canvas.add(Polyline(ends, theme.INK, 2))


def _whole(found: Findings, cell: Cell, metrics: list[Metric], scale: Scale) -> str:
    if word := own_gap(found, cell):
        return word
    total = sum(_median(found, cell, one) or 0.0 for one in metrics)
    missing = sum(_median(found, cell, one) is None for one in metrics)
    less = f" less {missing} phase{'s' if missing > 1 else ''}" if missing else ""
    trials = found.measured[cell.id]
    suspect = sum(one.status is Status.SUSPECT for one in trials)
    flawed = f", {suspect} suspect" if suspect else ""
    return f"{plain(total / scale.factor, 3)} {scale.unit}{less}, n {len(trials)}{flawed}"
