"""What lies upon each other over the time of a trial: parts of CPU time, parts of memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tare.present.charts.canvas import stairs
from tare.present.view.sampled_rows import (
    HOST,
    HOST_BUSY,
    LAYER,
    LAYER_CPU,
    LAYER_MEMORY,
    MACHINE_BUSY,
    MACHINE_MEMORY,
    Name,
    Numbers,
    Readings,
)
from tare.results.stats.spans import steps

MAX_STEPS = 120
"""Maximum number of steps drawn of a trial: more would be narrower than one sees."""

USER, SYSTEM = "layer, user", "layer, kernel"
UNDIVIDED, REST, ALL = "layer", "rest of the host", "host, layer among it"
WAIT, STOLEN = "I/O wait", "stolen"
FILES, OTHER = "layer, of files", "layer, other"
INSIDE = "inside, by its own kernel"
SPLIT: Mapping[str, Name] = {USER: (LAYER, "cpu_user_s"), SYSTEM: (LAYER, "cpu_system_s")}
IDLE: Mapping[str, Name] = {WAIT: (HOST, "cpu_iowait_s"), STOLEN: (HOST, "cpu_steal_s")}
CACHED, USED = (LAYER, "memory_cached_bytes"), (HOST, "memory_used_bytes")


@dataclass(frozen=True)
class Stack:
    """What lies upon each other over time: the height of each kind at each time.

    ``holds`` says that a height holds until the next time, where there is one less than times; else
    it changes along straight lines.
    """

    times_s: Sequence[float]
    heights: Mapping[str, Sequence[float]]
    holds: bool

    @property
    def most(self) -> float:
        """How high it gets."""
        return max(map(sum, zip(*self.heights.values(), strict=True)), default=0.0)


def cpu_inside(readings: Mapping[Name, Readings]) -> Stack | None:
    """Return how many CPUs were busy between readings by a machine's own kernel, if known.

    They are its virtual CPUs: it does not know what of the host's they were.
    """
    known = usable(readings, MACHINE_BUSY, fewest=2)
    if len(known) < len(MACHINE_BUSY):
        return None
    count = min(len(one.values) for one in known.values())
    times_s = known[MACHINE_BUSY[0]].times_s[:count].tolist()
    marks = steps(times_s, MAX_STEPS)
    if len(marks) < 2:
        return None
    busy = np.sum([_rates(one, marks) for one in known.values()], axis=0)
    return Stack([times_s[mark] for mark in marks], {INSIDE: busy.tolist()}, holds=True)


def memory_inside(readings: Mapping[Name, Readings]) -> Stack | None:
    """Return the memory a machine uses by its own kernel, without pages of files."""
    one = usable(readings, [MACHINE_MEMORY], fewest=2).get(MACHINE_MEMORY)
    if one is None:
        return None
    places = _places(one.times_s, one.values)
    times_s, held = one.times_s[places].tolist(), one.values[places].tolist()
    return Stack(times_s, {INSIDE: held}, holds=False)


def cpu_stack(readings: Mapping[Name, Readings]) -> Stack | None:
    """Stack what the host's CPUs did between readings; None where there is no rate.

    A series that ends early ends the stack: what lies upon it would have no foot.
    """
    wanted = (LAYER_CPU, *SPLIT.values(), *HOST_BUSY, *IDLE.values())
    known = usable(readings, wanted, fewest=2)
    if not known:
        return None
    count = min(len(one.values) for one in known.values())
    times_s = max(known.values(), key=lambda one: len(one.values)).times_s[:count].tolist()
    marks = steps(times_s, MAX_STEPS)
    if len(marks) < 2:
        return None
    rates = {name: _rates(one, marks) for name, one in known.items()}
    heights: dict[str, Numbers] = {}
    if all(name in rates for name in SPLIT.values()):
        heights |= {kind: rates[name] for kind, name in SPLIT.items()}
    elif LAYER_CPU in rates:
        heights[UNDIVIDED] = rates[LAYER_CPU]
    if all(name in rates for name in HOST_BUSY):
        busy = np.sum([rates[name] for name in HOST_BUSY], axis=0)
        if heights:
            heights[REST] = np.maximum(0.0, busy - np.sum(list(heights.values()), axis=0))
        else:
            heights[ALL] = busy
    heights |= {kind: rates[name] for kind, name in IDLE.items() if name in rates}
    listed = {kind: some.tolist() for kind, some in heights.items()}
    return Stack([times_s[mark] for mark in marks], listed, holds=True) if listed else None


def memory_stack(readings: Mapping[Name, Readings]) -> Stack | None:
    """Stack the layer's memory at its readings; None where there are not two.

    Of more readings than are drawn, those with the most memory are: a peak is not lost.
    """
    known = usable(readings, (LAYER_MEMORY, CACHED), fewest=2)
    if LAYER_MEMORY not in known:
        return None
    count = min(len(one.values) for one in known.values())
    times_s, held = known[LAYER_MEMORY].times_s[:count], known[LAYER_MEMORY].values[:count]
    places = _places(times_s, held)
    if CACHED in known:  # two files, read one after the other: a part is never more than the whole
        cached = np.minimum(held, known[CACHED].values[:count])
        heights = {OTHER: held - cached, FILES: cached}
    else:
        heights = {UNDIVIDED: held}
    listed = {kind: some[places].tolist() for kind, some in heights.items()}
    return Stack(times_s[places].tolist(), listed, holds=False)


def areas_of(stack: Stack) -> Iterator[tuple[str, list[tuple[float, float]]]]:
    """Yield the outline of each kind's area, as times and heights; one that is nowhere has none."""
    foot = [0.0] * len(stack.times_s)
    for kind, some in stack.heights.items():
        heights = [*some, some[-1]] if stack.holds else some
        top = [low + height for low, height in zip(foot, heights, strict=True)]
        if any(heights):
            lower, upper = (_line(stack, edge) for edge in (foot, top))
            yield kind, [*upper, *reversed(lower)]
        foot = top


def line_of(stack: Stack) -> list[tuple[float, float]]:
    """Return the line over all that is stacked, as times and heights."""
    heights = [sum(some) for some in zip(*stack.heights.values(), strict=True)]
    return _line(stack, [*heights, heights[-1]] if stack.holds else heights)


def _line(stack: Stack, heights: Sequence[float]) -> list[tuple[float, float]]:
    points = list(zip(stack.times_s, heights, strict=True))
    return stairs(points) if stack.holds else points


def _places(times_s: Numbers, held: Numbers) -> list[int]:
    """Choose the readings that are drawn: of each step the one with the most, and both ends."""
    if len(held) <= MAX_STEPS:
        return list(range(len(held)))
    marks = steps(times_s.tolist(), MAX_STEPS)
    most = [one + 1 + int(held[one + 1 : two + 1].argmax()) for one, two in pairwise(marks)]
    return sorted({0, *most, len(held) - 1})


def usable(
    readings: Mapping[Name, Readings], wanted: Sequence[Name], fewest: int
) -> dict[Name, Readings]:
    """Return those series that have readings enough, all of them numbers."""
    there = {name: readings[name] for name in wanted if name in readings}
    return {
        name: one
        for name, one in there.items()
        if len(one.values) >= fewest and np.isfinite([one.times_s, one.values]).all()
    }


def _rates(series: Readings, marks: Sequence[int]) -> Numbers:
    """Return the growth in each step, for each second of it by the series' own times."""
    grown, lasted_s = np.diff(series.values[marks]), np.diff(series.times_s[marks])
    return np.where(lasted_s > 0, np.maximum(0.0, grown), 0.0) / np.where(lasted_s > 0, lasted_s, 1)
