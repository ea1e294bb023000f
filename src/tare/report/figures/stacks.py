"""What lies upon each other over the time of a trial: parts of CPU time, parts of memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tare.report.timelines import (
    HOST,
    HOST_BUSY,
    LAYER,
    LAYER_CPU,
    LAYER_MEMORY,
    Name,
    Numbers,
    Readings,
)
from tare.stats.spans import steps

MAX_STEPS = 120
"""So many steps are drawn of a long trial: more would be narrower than one sees."""

USER, SYSTEM = "layer, user", "layer, kernel"
UNDIVIDED, REST, ALL = "layer", "rest of the host", "host, layer among it"
WAIT, STOLEN = "I/O wait", "stolen"
FILES, OTHER = "layer, of files", "layer, other"
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
    places = list(range(count))
    if count > MAX_STEPS:
        marks = steps(times_s.tolist(), MAX_STEPS)
        most = [one + 1 + int(held[one + 1 : two + 1].argmax()) for one, two in pairwise(marks)]
        places = sorted({0, *most, count - 1})
    if CACHED in known:  # two files, read one after the other: a part is never more than the whole
        cached = np.minimum(held, known[CACHED].values[:count])
        heights = {OTHER: held - cached, FILES: cached}
    else:
        heights = {UNDIVIDED: held}
    listed = {kind: some[places].tolist() for kind, some in heights.items()}
    return Stack(times_s[places].tolist(), listed, holds=False)


def usable(
    readings: Mapping[Name, Readings], wanted: Sequence[Name], fewest: int
) -> dict[Name, Readings]:
    """Give those series that have readings enough, all of them numbers."""
    there = {name: readings[name] for name in wanted if name in readings}
    return {
        name: one
        for name, one in there.items()
        if len(one.values) >= fewest and np.isfinite([one.times_s, one.values]).all()
    }


def _rates(series: Readings, marks: Sequence[int]) -> Numbers:
    """Give the growth in each step, for each second of it by the series' own times."""
    grown, lasted_s = np.diff(series.values[marks]), np.diff(series.times_s[marks])
    return np.where(lasted_s > 0, np.maximum(0.0, grown), 0.0) / np.where(lasted_s > 0, lasted_s, 1)
