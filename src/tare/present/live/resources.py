"""CPU and memory over the time of the last trials, a lane for each platform, all on one scale."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tare.core.model import Kind, Trial, Unit
from tare.present.charts.canvas import Canvas, Place, Polyline, stairs
from tare.present.live.drawings import (
    COLOURS,
    WARM_UP,
    colour,
    is_lost,
    latest,
    length_s,
    moments,
    ruled,
)
from tare.present.live.resource_usage import ResourceUsage, Steps
from tare.present.live.samples import MAX_TRIALS, SampledUsage
from tare.present.view import theme
from tare.present.view.numbers import plain, scale_for

WIDTH, HEIGHT = 1000, 40
LEAST_WIDTH = 2.0

_ROUND = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


@dataclass(frozen=True)
class PlatformUsage:
    """What the trials of one platform took; ``said`` is of the last, or why nothing is drawn."""

    platform: str
    colour: int
    cpu: Canvas
    memory: Canvas
    said: str


@dataclass(frozen=True)
class Resources:
    """All platforms on the same time, whose beginning, middle and end are ``times``.

    Scales go from 0 to their ``top``. Of the trials ``shown``, those ``waiting`` have ended after
    the last that has usage; of others that are ``unread`` there are none.
    """

    courses: Sequence[PlatformUsage]
    times: Sequence[datetime]
    cpu_top: str
    memory_top: str
    shown: int
    unread: int
    waiting: int


@dataclass(frozen=True)
class _Scale:
    """Where things lie: time along the picture, and what is at its top."""

    begin: float
    span_s: float
    cpus: float
    memory: float

    def x(self, at: float) -> float:
        """Return where a moment lies."""
        return round(min(max(0.0, WIDTH * (at - self.begin) / self.span_s), WIDTH), 1)


def resources(
    trials: Sequence[Trial],
    platforms: Mapping[str, str],
    names: Mapping[str, str],
    usage: SampledUsage,
) -> Resources | None:
    """Draw what the last trials of the latest session took; None before anything was read.

    ``platforms`` gives the platform of a cell, the baseline first; ``names`` its workload.
    """
    shown = latest(trials, platforms, MAX_TRIALS)
    known = [usage.of(one) for _, one in shown]
    if not any(known):
        return None
    begin = min(start for start, _ in shown)
    end = max(start + length_s(one) for start, one in shown)
    rates = [rate for one in known if one for _, _, rate in (*one.layer, *one.host)]
    most = max((one.most_bytes or 0.0 for one in known if one), default=0.0)
    unit = scale_for(Unit.BYTE, [most])
    scale = _Scale(
        begin,
        max(end - begin, 1e-3),
        _rounded_up(max(rates, default=0.0)),
        unit.factor * _rounded_up(most / unit.factor),
    )
    listed = list(dict.fromkeys(platforms.values()))
    own: dict[str, list[tuple[float, Trial, ResourceUsage | None]]] = {name: [] for name in listed}
    for (start, one), took in zip(shown, known, strict=True):
        own[platforms[one.cell]].append((start, one, took))
    courses = [
        _course(name, colour(index), own[name], names, scale) for index, name in enumerate(listed)
    ]
    last = max(at for at, took in enumerate(known) if took)
    return Resources(
        courses,
        moments(begin, scale.span_s),
        f"{plain(scale.cpus, 2)} CPU{'s' if scale.cpus > 1 else ''}",
        unit.full(scale.memory),
        shown=len(shown),
        unread=sum(not took for took in known[:last]),
        waiting=len(known) - 1 - last,
    )


def _course(
    platform: str,
    number: int,
    own: Sequence[tuple[float, Trial, ResourceUsage | None]],
    names: Mapping[str, str],
    scale: _Scale,
) -> PlatformUsage:
    cpu, memory = ruled(WIDTH, HEIGHT), ruled(WIDTH, HEIGHT)
    said = "nothing was read of its last trials" if own else "none of these trials"
    for start, trial, took in own:
        if took is None:
            continue
        what = f"block {trial.block}, {names[trial.cell]}: "
        paint = theme.BAD if is_lost(trial) else COLOURS[number]
        opacity = WARM_UP if trial.kind is Kind.WARMUP else 1.0
        cpus, held = took.cpus_text, took.memory_text
        if took.layer:
            area = _area(_stairs(took.layer, start, scale))
            cpu.add(Polyline(area, paint, 1, paint, what + cpus, opacity))
        if took.host:
            line = _stairs(took.host, start, scale)
            cpu.add(Polyline(line, theme.INK, 1.4, tip=what + cpus))
        if took.memory:
            area = _area(_slope(took, start, scale))
            memory.add(Polyline(area, paint, 1, paint, what + held, opacity))
        said = "; ".join(filter(None, (cpus, held, took.reason)))
    return PlatformUsage(platform, number, cpu, memory, said)


def _area(line: Sequence[Place]) -> list[Place]:
    return [(line[0][0], HEIGHT), *line, (line[-1][0], HEIGHT)]


def _stairs(steps: Steps, start: float, scale: _Scale) -> list[Place]:
    """Return the line of busy CPUs; one too short to be seen is made wider."""
    places = [(scale.x(start + begin), _y(rate, scale.cpus)) for begin, _, rate in steps]
    end = max(scale.x(start + steps[-1][1]), places[0][0] + LEAST_WIDTH)
    return stairs([*places, (end, places[-1][1])])


def _slope(took: ResourceUsage, start: float, scale: _Scale) -> list[Place]:
    """Return the line of memory; one too short to be seen is made wider."""
    places = [(scale.x(start + at), _y(level, scale.memory)) for at, level in took.memory]
    end = max(places[-1][0], places[0][0] + LEAST_WIDTH)
    return [*places[:-1], (end, places[-1][1])]


def _y(value: float, top: float) -> float:
    return round(HEIGHT * (1 - value / top), 1)


def _rounded_up(value: float) -> float:
    """Return a round number that is not smaller."""
    if value <= 0 or not math.isfinite(value):
        return 1.0
    size = 10.0 ** math.floor(math.log10(value))
    return next(step * size for step in _ROUND if step * size >= value * (1 - 1e-9))
