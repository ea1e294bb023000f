"""What one trial took, made of its readings: CPUs kept busy, and bytes held."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from tare.core.model import Unit
from tare.present.view.numbers import plain, scale_for

LAYER_CPU, LAYER_MEMORY = "layer cpu_s", "layer memory_bytes"
HOST_CPU = ("host cpu_user_s", "host cpu_system_s", "host cpu_guest_s")
"""What of a host's CPU time is work; waiting for a disk and what was stolen are not."""

LEAST_SPAN_S = 0.05
"""Samples closer than that tell no rate, as in ``tare.experiment.probes.series``."""
FINEST = 120
"""The most points of a trial; more would not be seen among others."""

Steps = Sequence[tuple[float, float, float]]
"""Begin and end in seconds since the trial's begin, and the rate between them."""
Points = Sequence[tuple[float, float]]
"""Seconds since the trial's begin, and a level."""


@dataclass(frozen=True, slots=True)
class Track:
    """One figure over a trial; ``reason`` says why there is nothing, or nothing more."""

    times_s: Sequence[float]
    values: Sequence[float]
    reason: str = ""


@dataclass(frozen=True)
class ResourceUsage:
    """CPUs that the layer and all of the host kept busy, and bytes that the layer held.

    Each is empty where it is not known; ``reason`` says why, where the readings do. What is made of
    them is made once: a trial is drawn many times.
    """

    layer: Steps
    host: Steps
    memory: Points
    reason: str

    @property
    def layer_cpus(self) -> float | None:
        """The mean of what the layer kept busy."""
        return _mean(self.layer)

    @property
    def host_cpus(self) -> float | None:
        """The mean of what all of the host kept busy, the layer too."""
        return _mean(self.host)

    @cached_property
    def most_bytes(self) -> float | None:
        """The most that the layer was seen to hold."""
        return max((level for _, level in self.memory), default=None)

    @cached_property
    def cpus_text(self) -> str:
        """Return how many CPUs were kept busy."""
        known = (("layer", self.layer_cpus), ("host", self.host_cpus))
        texts = [f"{name} {plain(mean, 3)}" for name, mean in known if mean is not None]
        return f"{', '.join(texts)} CPUs" if texts else "no rate of CPU time is known"

    @cached_property
    def memory_text(self) -> str:
        """Return how much memory was held, or nothing if that is not known."""
        if self.most_bytes is None:
            return ""
        scale = scale_for(Unit.BYTE, [self.most_bytes])
        return f"{plain(self.most_bytes / scale.factor, 3)} {scale.unit} at most"


def resource_usage(tracks: Mapping[str, Track]) -> ResourceUsage:
    """Make of a trial's figures what it took."""
    nothing = Track((), ())
    layer, memory = tracks.get(LAYER_CPU, nothing), tracks.get(LAYER_MEMORY, nothing)
    host = [tracks.get(name, nothing) for name in HOST_CPU]
    # All of one file, so that their readings match; else the sum would mix moments.
    is_whole = len({tuple(one.times_s) for one in host}) == 1
    busy = zip(*(one.values for one in host), strict=True) if is_whole else ()
    return ResourceUsage(
        _rates(layer.times_s, layer.values),
        _rates(host[0].times_s if is_whole else (), [sum(values) for values in busy]),
        _levels(memory),
        next((one.reason for one in (layer, memory) if one.reason), ""),
    )


def _rates(times_s: Sequence[float], values: Sequence[float]) -> Steps:
    """Make rates of a counter; none where it fell, or where its readings are too close."""
    if not times_s or times_s[-1] - times_s[0] < LEAST_SPAN_S:
        return ()
    finest_s = max(LEAST_SPAN_S, (times_s[-1] - times_s[0]) / FINEST)
    marks = [0]
    for at, now_s in enumerate(times_s):
        if now_s - times_s[marks[-1]] >= finest_s:
            marks.append(at)
    last = len(times_s) - 1
    marks = [*marks[:-1], last] if len(marks) > 1 else [0, last]  # so that nothing is left over
    grown = [
        (times_s[begin], times_s[end], values[end] - values[begin])
        for begin, end in pairwise(marks)
    ]
    if any(not 0 <= growth < math.inf or end <= begin for begin, end, growth in grown):
        return ()
    return [(begin, end, growth / (end - begin)) for begin, end, growth in grown]


def _levels(track: Track) -> Points:
    """Return the levels that were read; of those too close to be distinguished, the highest."""
    known = list(zip(track.times_s, track.values, strict=True))
    if len(known) < 2:
        return ()
    finest_s = (known[-1][0] - known[0][0]) / FINEST
    found = known[:1]
    for now_s, level in known[1:-1]:
        if now_s - found[-1][0] < finest_s:
            found[-1] = (found[-1][0], max(level, found[-1][1]))
        else:
            found.append((now_s, level))
    return [*found, known[-1]]


def _mean(steps: Steps) -> float | None:
    if not steps:
        return None
    return sum((end - begin) * rate for begin, end, rate in steps) / (steps[-1][1] - steps[0][0])
