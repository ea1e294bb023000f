"""CPU and memory over the time of the last trials, a lane for each platform, all on one scale."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tare.core.model import Trial, Unit
from tare.present.live.drawings import colour, latest, length_s, moments, trial_class
from tare.present.live.resource_usage import ResourceUsage, Steps
from tare.present.live.samples import MAX_TRIALS, SampledUsage
from tare.present.view.numbers import plain, scale_for

WIDTH, HEIGHT = 1000, 40
LEAST_WIDTH = 2.0

_ROUND = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


@dataclass(frozen=True)
class Piece:
    """A trial in a lane: what is filled, and a line over it. Both are paths of SVG, or empty."""

    area: str
    line: str
    word: str
    text: str


@dataclass(frozen=True)
class Course:
    """What the trials of one platform took; ``said`` is of the last, or why nothing is drawn."""

    platform: str
    colour: int
    cpu: Sequence[Piece]
    memory: Sequence[Piece]
    said: str


@dataclass(frozen=True)
class Resources:
    """All platforms on the same time, whose beginning, middle and end are ``times``.

    Scales go from 0 to their ``top``. Of the trials ``shown``, those ``waiting`` have ended after
    the last that has usage; of others that are ``unread`` there are none.
    """

    courses: Sequence[Course]
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
) -> Course:
    cpu, memory = [], []
    said = "nothing was read of its last trials" if own else "none of these trials"
    for start, trial, took in own:
        if took is None:
            continue
        what, word = f"block {trial.block}, {names[trial.cell]}: ", trial_class(trial)
        cpus, held = took.cpus_text, took.memory_text
        cpu.append(Piece(*_stairs(took, start, scale), word, what + cpus))
        if took.memory:
            memory.append(Piece(_slope(took, start, scale), "", word, what + held))
        said = "; ".join(filter(None, (cpus, held, took.reason)))
    return Course(platform, number, cpu, memory, said)


def _stairs(took: ResourceUsage, start: float, scale: _Scale) -> tuple[str, str]:
    """Draw the CPUs that the layer kept busy, filled, and those of the host, as a line."""
    area = line = ""
    if took.layer:
        begin = scale.x(start + took.layer[0][0])
        area = f"M{begin:g} {HEIGHT}{_steps(took.layer, start, scale)}V{HEIGHT}Z"
    if took.host:
        begin, _, rate = took.host[0]
        line = (
            f"M{scale.x(start + begin):g} {_y(rate, scale.cpus)}{_steps(took.host, start, scale)}"
        )
    return area, line


def _steps(steps: Steps, start: float, scale: _Scale) -> str:
    ends = [scale.x(start + end) for _, end, _ in steps]
    ends[-1] = max(ends[-1], scale.x(start + steps[0][0]) + LEAST_WIDTH)
    return "".join(
        f"V{_y(rate, scale.cpus)}H{end:g}" for (_, _, rate), end in zip(steps, ends, strict=True)
    )


def _slope(took: ResourceUsage, start: float, scale: _Scale) -> str:
    xs = [scale.x(start + at) for at, _ in took.memory]
    left, xs[-1] = xs[0], max(xs[-1], xs[0] + LEAST_WIDTH)
    places = [
        f"{x:g} {_y(level, scale.memory)}" for x, (_, level) in zip(xs, took.memory, strict=True)
    ]
    return f"M{left:g} {HEIGHT}L{'L'.join(places)}V{HEIGHT}Z"


def _y(value: float, top: float) -> float:
    return round(HEIGHT * (1 - value / top), 1)


def _rounded_up(value: float) -> float:
    """Return a round number that is not smaller."""
    if value <= 0 or not math.isfinite(value):
        return 1.0
    size = 10.0 ** math.floor(math.log10(value))
    return next(step * size for step in _ROUND if step * size >= value * (1 - 1e-9))
