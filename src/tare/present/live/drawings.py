"""Coordinates of the page's small pictures; the templates draw them, the style sheet colours."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tare.core.model import Kind, Status, Trial
from tare.present.live.looks import Look
from tare.present.view.numbers import percent_text
from tare.present.view.theme import MORE, SERIES

COLOURS = 1 + len(SERIES) + len(MORE)
MAX_SHOWN = 240
"""So many trials are in the timeline: those that ended last."""
NARROW_WIDTH, NARROW_HEIGHT, MARGIN = 190, 54, 5
STRIP_WIDTH, STRIP_STEP = 260, 16


@dataclass(frozen=True)
class Bar:
    """An interval: where its ends and its estimate lie, in pixels; ``at`` is across them.

    Where an end is 0, infinite or not known the bar is ``boundless`` and reaches to the edge.
    """

    at: float
    low: float
    high: float
    cost: float | None
    text: str
    colour: int = 0
    boundless: bool = False


@dataclass(frozen=True)
class Narrowed:
    """The intervals of one comparison, look by look; higher is worse."""

    bars: Sequence[Bar]
    one: float
    band: tuple[float, float]
    top: str
    bottom: str


@dataclass(frozen=True)
class Strip:
    """Intervals of several studies one below the other on one scale; further right is worse."""

    bars: Sequence[Bar]
    one: float
    height: int
    left: str
    right: str


@dataclass(frozen=True)
class Mark:
    """A trial in a timeline; ``x`` and ``width`` are thousandths of what it spans."""

    x: float
    width: float
    word: str
    text: str

    @property
    def path(self) -> str:
        """Draw it; what failed stands out by its height."""
        top, height = (0, 24) if self.word == "failed" else (7, 13)
        return f"M{self.x} {top}h{self.width}v{height}h-{self.width}z"


@dataclass(frozen=True)
class Lane:
    """The trials of one platform."""

    platform: str
    colour: int
    marks: Sequence[Mark]


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
        return round(NARROW_HEIGHT - _place(cost, span, NARROW_HEIGHT), 1)

    step = NARROW_WIDTH / len(looks)
    bars = [
        _bar(one, step * (index + 0.5), y, f"{one.pairs} pairs") for index, one in enumerate(looks)
    ]
    band = (y(1 + margin), y(1 / (1 + margin)))
    return Narrowed(bars, y(1.0), band, top=_percent(span[1]), bottom=_percent(span[0]))


def strip(looks: Sequence[tuple[Look, int, str]]) -> Strip | None:
    """Draw intervals, each with its colour and its name, below each other; None without any."""
    known = [one for one in looks if one[0].low is not None and one[0].high is not None]
    if not known:
        return None
    span = _span([1.0, *(value for one, _, _ in known for value in (one.low, one.high, one.cost))])

    def x(cost: float) -> float:
        return round(_place(cost, span, STRIP_WIDTH), 1)

    bars = [
        _bar(one, STRIP_STEP * (index + 0.5), x, name, number)
        for index, (one, number, name) in enumerate(known)
    ]
    return Strip(bars, x(1.0), STRIP_STEP * len(known), _percent(span[0]), _percent(span[1]))


def _bar(look: Look, at: float, place: Callable[[float], float], text: str, number: int = 0) -> Bar:
    low, high = look.low or 0.0, math.inf if look.high is None else look.high
    return Bar(
        at=round(at, 1),
        low=place(low),
        high=place(high),
        cost=None if look.cost is None else place(look.cost),
        text=text,
        colour=number,
        boundless=low == 0 or math.isinf(high),
    )


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
    marks: dict[str, list[Mark]] = {platform: [] for platform in listed}
    for start, one in shown:
        x, width = 1000 * (start - begin) / span, max(1000 * length_s(one) / span, 1.5)
        text = f"block {one.block}, {names[one.cell]}: {_word(one)}"
        marks[platforms[one.cell]].append(
            Mark(round(min(x, 1000 - width), 1), round(width, 1), trial_class(one), text)
        )
    lanes = [Lane(name, colour(index), marks[name]) for index, name in enumerate(listed)]
    return Timeline(lanes, moments(begin, span), len(shown), len(trials) - len(shown))


def latest(trials: Sequence[Trial], cells: Container[str], most: int) -> list[tuple[float, Trial]]:
    """Give the last trials of the latest session, each with its start in seconds since 1970."""
    session = next((name for one in reversed(trials) if (name := one.session)), "")
    found: list[tuple[float, Trial]] = []
    for one in reversed(trials):
        if len(found) == most or one.session not in ("", session):
            break
        if one.cell in cells and (start := _start(one)):
            found.append((start, one))
    return found[::-1]


def moments(begin: float, span: float) -> Sequence[datetime]:
    """Give beginning, middle and end of what a picture spans, by this host's clock."""
    return [datetime.fromtimestamp(begin + span * part).astimezone() for part in (0, 0.5, 1)]


def colour(index: int) -> int:
    """Return the number of a platform's colour as the charts' theme does; 0: the baseline."""
    return 1 + (index - 1) % (COLOURS - 1) if index else 0


def _span(ends: Iterable[float | None]) -> tuple[float, float]:
    """Give the logs between which all finite ends lie."""
    finite = [math.log(end) for end in ends if end is not None and 0 < end < math.inf]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    return low, max(high, low + 1e-6)


def _place(cost: float, span: tuple[float, float], length: float) -> float:
    """Give where a cost lies along a length, in pixels; 0 and infinite lie at its very ends."""
    if cost <= 0:
        return 0.0
    if math.isinf(cost):
        return length
    share = (math.log(cost) - span[0]) / (span[1] - span[0])
    return MARGIN + share * (length - 2 * MARGIN)


def _percent(log_cost: float) -> str:
    return percent_text(math.exp(log_cost))


LAST_S = datetime(9000, 1, 1, tzinfo=UTC).timestamp()
"""A damaged year above this is no time: with a trial's length added there would be none."""


def _start(trial: Trial) -> float | None:
    """Give when a trial was started, in seconds since 1970; None if that is not understood."""
    try:
        start_s = datetime.fromisoformat(trial.started_at).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
    return start_s if 0 <= start_s < LAST_S else None


def length_s(trial: Trial) -> float:
    """Give how long a trial took; a damaged time is none."""
    return trial.duration_s if 0 <= trial.duration_s < math.inf else 0.0


def _word(trial: Trial) -> str:
    return "warm-up" if trial.kind is Kind.WARMUP else trial.status.value


def trial_class(trial: Trial) -> str:
    """Sort a trial by what stands out: what gave no number, what is suspect, what only warms up."""
    if trial.status in (Status.OK, Status.SUSPECT):
        return "warmup" if trial.kind is Kind.WARMUP else trial.status.value
    return "failed"
