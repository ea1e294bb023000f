"""Metrics over the time of a trial, as the workload's tool reported them: response time,
throughput.

A column is a metric, a lane in it a platform. All lanes of a column have one scale.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median

from tare.core.model import Cell, Metric, MetricRole, Trial, Unit
from tare.present.charts.axis import outer_ticks, share_of, time_axis
from tare.present.charts.canvas import Canvas, Place, Point, Polyline, Text
from tare.present.charts.figure import BOLD, MAX_POINTS, NARROW, Figure, shortened, within
from tare.present.charts.lanes import Lanes
from tare.present.charts.trials import better
from tare.present.view import theme
from tare.present.view.courses import MAX_OTHERS, Points, ToolSeries, chosen
from tare.present.view.findings import CellGroup, Findings
from tare.present.view.marks import own_gap
from tare.present.view.names import platform_text
from tare.present.view.numbers import Scale, plain, scale_for
from tare.present.view.sampled_rows import Identity, identity

MAX_COLUMNS = 3
"""Maximum number of metrics drawn; a workload lists the most important first."""
MAX_IN_LINE = 120
"""More points in a line would be narrower than one sees: means of neighbours stand for them."""
FAR = 50
"""A response time has a logarithmic axis where its longest is this many times its shortest."""
AWAY = {MetricRole.LOSS: "was lost", MetricRole.FAILED: "failed"}
"""What is said of the shares of work that did not come to its end."""
FIGURE_SPACE = "\N{FIGURE SPACE}"
GAP = 1.5
"""A line ends where the next value is this many times later than values mostly are."""
_MAX_REASON = 110


@dataclass(frozen=True)
class TrialCourse:
    """A workload, and what is known of the trials of all workloads that are drawn."""

    group: CellGroup
    known: Mapping[Identity, ToolSeries]


@dataclass(frozen=True)
class _Lane:
    """A platform with the trials that are drawn, the one nearest to the median first."""

    cell: Cell
    trials: Sequence[tuple[Trial, ToolSeries]]
    note: str = ""


@dataclass(frozen=True)
class _Column:
    """One metric over all lanes: how it is written, where its axis has ticks and where it ends."""

    metric: Metric
    scale: Scale
    ticks: Sequence[float]
    top: float
    log: bool

    def share(self, value: float) -> float:
        """Return how high in its lane a value is drawn."""
        ends = (self.ticks[0], self.top)
        return share_of(within(value / self.scale.factor, log=self.log), ends, log=self.log)

    @property
    def title(self) -> str:
        """Name the metric with the unit of its axis."""
        unit = f" ({self.scale.unit})" if self.scale.unit else ""
        return f"{self.metric.name}{unit}{', logarithmic' if self.log else ''}"


@dataclass(frozen=True)
class _Picture:
    """What all columns share; a point stands for ``every`` values, a tick has ``widest`` digits."""

    colours: Mapping[str, str]
    widest: int
    every: int
    end_s: float
    failures: Sequence[tuple[int, float]]


def has_course(found: Findings, course: TrialCourse) -> bool:
    """Return whether a tool of a workload reported values over the time of a trial."""
    return bool(_metrics(course.group, _lanes(found, course)))


def over_time(found: Findings, course: TrialCourse, name: str) -> Figure:
    """Draw what the tools of a workload reported over the time of its trials."""
    group, some = course.group, _lanes(found, course)
    metrics = _metrics(group, some)
    longest = max(len(one) for one in _lines(some, metrics))
    every = -(-longest // MAX_IN_LINE)
    most = MAX_POINTS // -(-longest // every)
    some = [_Lane(one.cell, one.trials[:most], one.note) for one in some]
    end_s = max(one[-1][0] for one in _lines(some, [*metrics, *_lost(group)]))
    columns = [_column(metric, some, every) for metric in metrics[:MAX_COLUMNS]]
    failures = _failures(group, some, every)
    widest = max(len(plain(tick, 3)) for one in columns for tick in one.ticks)
    picture = _Picture(theme.colours(found.platforms), widest, every, end_s, failures)

    def draw(width: int) -> Canvas:
        canvas, narrow = Canvas(width), width < NARROW
        apart = 0 if narrow else 20
        own = width if narrow else (width + apart) // len(columns) - apart
        for place, column in enumerate(columns):
            corner = (0, canvas.height + 28 * place) if narrow else (place * (own + apart), 0)
            _draw(canvas, corner, own, column, some, picture)
        return canvas

    caption = _caption(group, some, columns, metrics[MAX_COLUMNS:], every)
    if failures:
        words = " or ".join(AWAY[one.role] for one in _lost(group))
        caption += f" A cross: some of the work {words} in that second of one of the trials drawn."
    title = f"{group.name}: over the time of a trial"
    return Figure(name, title, caption, draw)


def _lanes(found: Findings, course: TrialCourse) -> list[_Lane]:
    return [_lane(found, cell, course.known) for cell in course.group.cells]


def _lane(found: Findings, cell: Cell, known: Mapping[Identity, ToolSeries]) -> _Lane:
    """Return the trials of a platform that are drawn, or the reason why there are none."""
    trials = [(one, known[identity(one)]) for one in chosen(found, cell) if identity(one) in known]
    drawn = [both for both in trials if both[1].points]
    if drawn:
        return _Lane(cell, drawn)
    reasons = [one.reason for _, one in trials if one.reason]
    return _Lane(cell, (), own_gap(found, cell) or (reasons[0] if reasons else "not reported"))


def _metrics(group: CellGroup, some: Sequence[_Lane]) -> list[Metric]:
    """List the reported metrics in the order of the workload; failures are marks, not lines."""
    known = {one.name: one for one in group.metrics if one not in _lost(group)}
    names = (name for lane in some for _, one in lane.trials for name in one.points)
    return [known[name] for name in dict.fromkeys(names) if name in known]


def _lost(group: CellGroup) -> list[Metric]:
    return [one for one in group.metrics if one.role in AWAY]


def _lines(some: Sequence[_Lane], metrics: Sequence[Metric]) -> list[Points]:
    every = (
        one.points.get(metric.name) for metric in metrics for lane in some for _, one in lane.trials
    )
    return [points for points in every if points]


def _column(metric: Metric, some: Sequence[_Lane], every: int) -> _Column:
    """Choose the axis of a metric: from 0, or logarithmic where times lie far apart."""
    parts = (part for points in _lines(some, [metric]) for part in _thinned(points, every))
    values = [value for part in parts for _, value in part]
    scale = scale_for(metric.unit, values)
    low, high = (within(one / scale.factor, log=False) for one in (min(values), max(values)))
    log = metric.unit is Unit.SECOND and 0 < FAR * low < high
    top = high or 1.0
    ticks = [one for one in outer_ticks(low if log else 0.0, top, log=log) if one <= top]
    return _Column(metric, scale, ticks, top, log)


def _thinned(points: Points, every: int) -> Iterator[Points]:
    """Cut a line where the tool reported nothing; replace each run of neighbours by its mean."""
    if not points:
        return
    steps = [later - time_s for (time_s, _), (later, _) in pairwise(points)]
    usual_s = median(steps) if steps else 0.0
    ends = [place for place, step in enumerate(steps, 1) if step > GAP * usual_s]
    for begin, end in pairwise([0, *ends, len(points)]):
        whole = points[begin:end]
        parts = (whole[place : place + every] for place in range(0, len(whole), every))
        yield [(part[-1][0], fmean(value for _, value in part)) for part in parts]


def _failures(group: CellGroup, some: Sequence[_Lane], every: int) -> Sequence[tuple[int, float]]:
    """List the lanes with the times at which something was lost."""
    times = {
        (place, time_s)
        for place, lane in enumerate(some)
        for _, one in lane.trials
        for metric in _lost(group)
        for part in _thinned(one.points.get(metric.name, ()), every)
        for time_s, share in part
        if share > 0
    }
    return sorted(times)


def _draw(  # noqa: PLR0913 - what is drawn, and where
    canvas: Canvas,
    corner: Place,
    width: int,
    column: _Column,
    some: Sequence[_Lane],
    of: _Picture,
) -> None:
    """Draw one metric: thin lines, over them the strong one of each lane, and marks of failures."""
    title = shortened(column.title, width - 12, BOLD)
    canvas.add(Text((corner[0] + 4, corner[1] + 8), title, size=13, bold=True))
    titles = [(platform_text(one.cell), _note(one, column)) for one in some]
    # As wide in all columns, so that one stands below the other where columns are stacked.
    labels = {
        column.share(tick * column.scale.factor): plain(tick, 3).rjust(of.widest, FIGURE_SPACE)
        for tick in column.ticks
    }
    axis = time_axis("time since the tool began (s)", of.end_s, width)
    lanes = Lanes(canvas, (corner[0], corner[1] + 18), width, titles, labels, axis)
    for lane, one in enumerate(some):
        colour = of.colours[one.cell.platform]
        for number, (_, series) in reversed([*enumerate(one.trials)]):
            line_width, opacity = (1.0, 0.4) if number else (2.0, 1.0)
            for part in _thinned(series.points.get(column.metric.name, ()), of.every):
                places = lanes.places(lane, ((at, column.share(value)) for at, value in part))
                if len(places) == 1:  # a value between two gaps is no line
                    canvas.add(Point(places[0], 2, colour))
                else:
                    canvas.add(Polyline(places, colour, line_width, opacity=opacity))
    for lane, time_s in of.failures:
        x, y = lanes.x(time_s), lanes.y(lane, 1) - 4
        canvas.add(
            Polyline([(x - 3, y), (x + 3, y)], theme.BAD, 2),
            Polyline([(x, y - 3), (x, y + 3)], theme.BAD, 2),
        )


def _note(lane: _Lane, column: _Column) -> str:
    """Return which trial the strong line is, and its metric over the whole run."""
    if not lane.trials:
        return lane.note
    trial, series = lane.trials[0]
    whole = trial.samples.get(column.metric.name)
    said = f"block {trial.block}, slot {trial.slot}"
    said += f": {column.scale.full(whole)}" if whole is not None else ""
    return said if column.metric.name in series.points else f"{said}, not reported over time"


def _caption(
    group: CellGroup,
    some: Sequence[_Lane],
    columns: Sequence[_Column],
    others: Sequence[Metric],
    every: int,
) -> str:
    """Return the caption: what is drawn, and what is not."""
    ways = ", ".join(f"{one.metric.name}: {better(one.metric)}" for one in columns)
    caption = (
        "What the workload's own tool said of every second or so of a trial, by its own clock. The "
        f"strong line is the trial whose {group.metrics[0].name} is the median of its platform, or "
        f"the next to it; the thin ones are up to {MAX_OTHERS} others, chosen evenly from the "
        f"least to the most. All platforms have one scale; {ways}. Above each plot: which trial "
        "the strong line is, and its value over the whole run."
    )
    if every > 1:
        caption += f" Each point is the mean of {every} values that follow each other."
    if others:
        caption += f" Reported but not drawn: {', '.join(one.name for one in others)}."
    missing = [one for one in some if not one.trials]
    if missing:
        said = shortened("; ".join(dict.fromkeys(one.note for one in missing)), _MAX_REASON, 1)
        caption += f" Of {len(missing)} of {len(some)} platforms nothing is drawn ({said})."
    return caption
