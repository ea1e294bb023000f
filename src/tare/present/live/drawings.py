"""The small pictures of the live page: intervals look by look, and trials by the clock."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tare.core.model import Kind, Status, Trial
from tare.present.charts.canvas import Canvas, Place, Point, Polyline, Rect, Text
from tare.present.live.looks import Look
from tare.present.view import theme
from tare.present.view.numbers import percent_text

COLOURS = (theme.BASELINE, *theme.SERIES, *theme.MORE)
MAX_SHOWN = 240
"""Maximum number of trials in the timeline: those that ended last."""
WARM_UP = 0.4
"""The opacity of a trial that only warms up."""
NARROW_WIDTH, NARROW_HEIGHT, MARGIN = 190, 54, 5
STRIP_WIDTH, STRIP_STEP = 260, 16
LANE_WIDTH, LANE_HEIGHT = 1000, 24


@dataclass(frozen=True)
class Narrowed:
    """The intervals of one comparison, look by look, between two ends; higher is worse."""

    picture: Canvas
    top: str
    bottom: str


@dataclass(frozen=True)
class Strip:
    """Intervals of several studies one below the other on one scale; further right is worse."""

    picture: Canvas
    left: str
    right: str


@dataclass(frozen=True)
class Lane:
    """The trials of one platform."""

    platform: str
    colour: int
    trials: int
    picture: Canvas


@dataclass(frozen=True)
class Timeline:
    """The last trials of the latest session, by the time they were run, a lane for each platform.

    ``times`` are those of the beginning, the middle and the end.
    """

    lanes: Sequence[Lane]
    times: Sequence[datetime]
    shown: int
    left_out: int


def narrowed(looks: Sequence[Look], margin: float) -> Narrowed | None:
    """Draw a comparison's looks; None before the first one."""
    if not looks:
        return None
    ends = [value for one in looks for value in (one.low, one.high, one.cost)]
    span = _span([*ends, 1 + margin, 1 / (1 + margin)])

    def y(cost: float) -> float:
        return NARROW_HEIGHT - _place(cost, span, NARROW_HEIGHT)

    bottom, top = (percent_text(math.exp(end)) for end in span)
    canvas = Canvas(NARROW_WIDTH + 74, NARROW_HEIGHT)
    canvas.add(
        Rect((0, y(1 + margin)), (NARROW_WIDTH, y(1 / (1 + margin))), theme.BAND),
        Polyline([(0, y(1.0)), (NARROW_WIDTH, y(1.0))], theme.MUTED, dash="3 3"),
        Text((NARROW_WIDTH + 6, 7), top, size=11, colour=theme.MUTED),
        Text((NARROW_WIDTH + 6, 48), bottom, size=11, colour=theme.MUTED),
    )
    for index, look in enumerate(looks, 1):
        x = NARROW_WIDTH / len(looks) * (index - 0.5)
        colour, width = (theme.INK, 2.6) if index == len(looks) else (theme.MUTED, 1.6)

        def place(cost: float, x: float = x) -> Place:
            return x, y(cost)

        canvas.add(*_interval(look, place, colour, width, f"{look.pairs} pairs"))
    return Narrowed(canvas, top, bottom)


def strip(looks: Sequence[tuple[Look, int, str]]) -> Strip | None:
    """Draw intervals, each with its colour and its name, below each other; None without any."""
    known = [one for one in looks if one[0].low is not None and one[0].high is not None]
    if not known:
        return None
    span = _span([1.0, *(value for one, _, _ in known for value in (one.low, one.high, one.cost))])

    def x(cost: float) -> float:
        return _place(cost, span, STRIP_WIDTH)

    canvas = Canvas(STRIP_WIDTH, STRIP_STEP * len(known))
    canvas.add(Polyline([(x(1.0), 0), (x(1.0), canvas.height)], theme.MUTED, dash="3 3"))
    for index, (look, number, name) in enumerate(known):

        def place(cost: float, y: float = STRIP_STEP * (index + 0.5)) -> Place:
            return x(cost), y

        canvas.add(*_interval(look, place, COLOURS[number], 2.6, name))
    left, right = (percent_text(math.exp(end)) for end in span)
    return Strip(canvas, left, right)


def _interval(
    look: Look, place: Callable[[float], Place], colour: str, width: float, tip: str
) -> Iterator[Polyline | Point]:
    """Draw an interval with its estimate; one without an end is dashed and reaches to the edge."""
    low, high = look.low or 0.0, math.inf if look.high is None else look.high
    dash = "2 3" if low == 0 or math.isinf(high) else ""
    yield Polyline([place(low), place(high)], colour, width, tip=tip, dash=dash)
    if look.cost is not None:
        yield Point(place(look.cost), 2.6, colour, tip)


def timeline(
    trials: Sequence[Trial], platforms: Mapping[str, str], names: Mapping[str, str]
) -> Timeline | None:
    """Draw the last trials of the latest session.

    ``platforms`` gives the platform of a cell, the baseline first; ``names`` its workload.
    """
    shown = latest(trials, platforms, MAX_SHOWN)
    if not shown:
        return None
    begin = min(start for start, _ in shown)
    end = max(start + length_s(one) for start, one in shown)
    span = max(end - begin, 1e-3)
    listed = list(dict.fromkeys(platforms.values()))
    marks: dict[str, list[Rect]] = {platform: [] for platform in listed}
    for start, one in shown:
        width = max(LANE_WIDTH * length_s(one) / span, 1.5)
        x = min(LANE_WIDTH * (start - begin) / span, LANE_WIDTH - width)
        name = platforms[one.cell]
        tip = f"block {one.block}, {names[one.cell]}: {_word(one)}"
        marks[name].append(_mark((x, x + width), one, COLOURS[colour(listed.index(name))], tip))
    lanes = []
    for index, name in enumerate(listed):
        picture = ruled(LANE_WIDTH, LANE_HEIGHT)
        picture.add(*marks[name])
        lanes.append(Lane(name, colour(index), len(marks[name]), picture))
    return Timeline(lanes, moments(begin, span), len(shown), len(trials) - len(shown))


def _mark(ends: tuple[float, float], trial: Trial, own: str, tip: str) -> Rect:
    """Draw a trial; one that failed stands out by its height."""
    left, right = ends
    if is_lost(trial):
        return Rect((left, 0), (right, LANE_HEIGHT), theme.BAD, tip)
    corner, opposite = (left, 7), (right, 20)
    if trial.kind is Kind.WARMUP:
        return Rect(corner, opposite, own, tip, WARM_UP)
    if trial.status is Status.SUSPECT:
        return Rect(corner, opposite, theme.PAPER, tip, stroke=own)
    return Rect(corner, opposite, own, tip)


def ruled(width: float, height: float) -> Canvas:
    """Return a canvas with lines at the foot, the beginning, the middle and the end."""
    canvas = Canvas(width, height)
    canvas.add(Polyline([(0, height - 0.5), (width, height - 0.5)], theme.FAINT))
    canvas.add(*(Polyline([(x, 0), (x, height)], theme.FAINT) for x in (0, width / 2, width)))
    return canvas


def latest(trials: Sequence[Trial], cells: Container[str], most: int) -> list[tuple[float, Trial]]:
    """Return the last trials of the latest session, each with its start in seconds since 1970."""
    session = next((name for one in reversed(trials) if (name := one.session)), "")
    found: list[tuple[float, Trial]] = []
    for one in reversed(trials):
        if len(found) == most or one.session not in ("", session):
            break
        if one.cell in cells and (start := _start(one)):
            found.append((start, one))
    return found[::-1]


def moments(begin: float, span: float) -> Sequence[datetime]:
    """Return beginning, middle and end of what a picture spans, by this host's clock."""
    return [datetime.fromtimestamp(begin + span * part).astimezone() for part in (0, 0.5, 1)]


def colour(index: int) -> int:
    """Return the number of a platform's colour as the charts' theme does; 0: the baseline."""
    return 1 + (index - 1) % (len(COLOURS) - 1) if index else 0


def _span(ends: Iterable[float | None]) -> tuple[float, float]:
    """Return the logs between which all finite ends lie."""
    finite = [math.log(end) for end in ends if end is not None and 0 < end < math.inf]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    return low, max(high, low + 1e-6)


def _place(cost: float, span: tuple[float, float], length: float) -> float:
    """Return where a cost lies along a length, in pixels; 0 and infinite lie at its very ends."""
    if cost <= 0:
        return 0.0
    if math.isinf(cost):
        return length
    share = (math.log(cost) - span[0]) / (span[1] - span[0])
    return MARGIN + share * (length - 2 * MARGIN)


LAST_S = datetime(9000, 1, 1, tzinfo=UTC).timestamp()
"""A damaged year above this is no time: with a trial's length added there would be none."""


def _start(trial: Trial) -> float | None:
    """Return when a trial was started, in seconds since 1970; None if that is not understood."""
    try:
        start_s = datetime.fromisoformat(trial.started_at).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
    return start_s if 0 <= start_s < LAST_S else None


def length_s(trial: Trial) -> float:
    """Return how long a trial took; a damaged time is none."""
    return trial.duration_s if 0 <= trial.duration_s < math.inf else 0.0


def _word(trial: Trial) -> str:
    return "warm-up" if trial.kind is Kind.WARMUP else trial.status.value


def is_lost(trial: Trial) -> bool:
    """Return whether a trial gave no number."""
    return trial.status not in (Status.OK, Status.SUSPECT)
