"""Time series of a trial's resources, and their totals and means as figures of the trial."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tare.core.model import Source
from tare.experiment.probes import _parsers as readings
from tare.results.stats.spans import spans

HOST, LAYER, MACHINE = Source.HOST.value, Source.LAYER.value, Source.MACHINE.value

TOTALS = {
    HOST: (
        *readings.DISK,
        *("energy_j", "context_switches", *readings.FAULTS),
    ),
    LAYER: (
        *readings.LAYER_CPU,
        *readings.DISK,
        *readings.FAULTS,
        *("timeslices", "context_switches", "migrations", "system_calls", "guest_exits"),
        *("instructions", "cycles", "cache_misses"),
    ),
    MACHINE: (*readings.DISK, "context_switches", *readings.FAULTS),
}
"""Counters whose growth over a trial is a metric of it, summed over devices."""

CPU_SHARES = {
    "cpu_busy": ("cpu_user_s", "cpu_system_s", "cpu_guest_s"),
    "cpu_iowait": ("cpu_iowait_s",),
    "cpu_steal": ("cpu_steal_s",),
}
"""Parts of the time of all CPUs that are metrics of a trial."""

MACHINE_CPU = {
    "cpu_s": ("cpu_user_s", "cpu_system_s", "cpu_guest_s"),
    "cpu_steal_s": ("cpu_steal_s",),
    "cpu_user_s": ("cpu_user_s", "cpu_guest_s"),
    "cpu_system_s": ("cpu_system_s",),
}
"""The share of time that the machine inside reports as busy, and the share stolen from it."""

PER_WORK = frozenset(
    {
        *(f"{source}_{name}" for source, names in TOTALS.items() for name in names),
        *("host_network_bytes", "layer_memory_byte_seconds"),
        *(f"{MACHINE}_{name}" for name in MACHINE_CPU),
    }
)
"""The metrics that grow with the work done; only these have a meaning per unit of it."""


@dataclass(frozen=True, slots=True)
class Series:
    """The readings of one figure of the host, of the layer or of the machine inside.

    ``times_s`` are since the trial's begin. ``is_counter`` says that values only grow. ``reason``
    says why there is nothing, or nothing more from some time on.
    """

    source: str
    name: str
    times_s: Sequence[float] = ()
    values: Sequence[float] = ()
    device: str = ""
    is_counter: bool = True
    reason: str = ""


def summary(series: Iterable[Series]) -> dict[str, float]:
    """Return a trial's metrics, from the readings at its begin, at its end and in between.

    Growth of counters (``layer_cpu_s``, ``host_disk_read_bytes``, ``host_energy_j``), and mean and
    most of levels and shares. ``host_cpu_*`` are parts of the time of all CPUs, ``host_disk_busy``
    is that of the busiest disk, ``host_network_bytes`` counts a byte on every device that it
    passes; ``layer_cpus`` is how many CPUs the layer kept busy, and
    ``layer_memory_byte_seconds`` what it held for how long. ``machine_cpu_s`` and all
    ``machine_*`` are by the account of the kernel inside. What is not known is not there: nor is
    anything of a series that ended early.
    """
    whole = [one for one in series if one.times_s and not one.reason]
    known: dict[str, dict[str, list[Series]]] = {HOST: {}, LAYER: {}, MACHINE: {}}
    for one in whole:
        known[one.source].setdefault(one.name, []).append(one)
    found: dict[str, float] = {}
    for source, names in TOTALS.items():
        for name in names:
            if own := known[source].get(name):
                found[f"{source}_{name}"] = sum(_growth(one) for one in own)
    found |= _of_host(known[HOST])
    found |= _of_layer(known[LAYER])
    found |= _of_machine(known[MACHINE])
    return found


def per_work(metrics: Mapping[str, float], work: float | None) -> dict[str, float]:
    """Return the figures that grow with the work, per unit of a trial's work.

    Nothing where the amount is not known: no work has no cost per unit.
    """
    if work is None or not math.isfinite(work) or work <= 0:
        return {}
    return {f"{name}_per_work": metrics[name] / work for name in metrics if name in PER_WORK}


def _of_host(known: Mapping[str, Sequence[Series]]) -> dict[str, float]:
    found: dict[str, float] = {}
    cpu = {name: known[name][0] for name in readings.CPU if name in known}
    if len(cpu) == len(readings.CPU):  # all of one file, so that their readings match
        times_s = cpu["cpu_idle_s"].times_s
        total = _added(cpu.values())
        for name, parts in CPU_SHARES.items():
            found |= _share(f"host_{name}", times_s, _added(cpu[part] for part in parts), total)
    disks = [
        _share("host_disk_busy", one.times_s, one.values, one.times_s)
        for one in known.get("disk_busy_s", ())
    ]
    busiest = max(disks, key=lambda one: one.get("host_disk_busy_mean", 0.0), default=None)
    found |= busiest or {}
    for name in ("run_queue", "memory_used_bytes", "frequency_hz"):
        found |= _level(f"host_{name}", known.get(name, ()))
    if all(name in known for name in readings.NETWORK):
        through = [one for name in readings.NETWORK for one in known[name]]
        found["host_network_bytes"] = sum(_growth(one) for one in through)
    return found


def _of_layer(known: Mapping[str, Sequence[Series]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for one in known.get("cpu_s", ()):
        found |= _rate("layer_cpus", one.times_s, one.values, one.times_s)
    for name in ("memory_bytes", "pids"):
        found |= _level(f"layer_{name}", known.get(name, ()))
    for one in known.get("pss_bytes", ()):
        found["layer_pss_bytes"] = one.values[-1]
    for one in known.get("memory_bytes", ()):
        found["layer_memory_byte_seconds"] = _area(one.times_s, one.values)
        found["layer_memory_peak_bytes"] = max(one.values)
    for one in known.get("memory_peak_bytes", ()):
        # A peak that did not grow may be of an earlier trial: then the most that was seen stands.
        if one.values[-1] > one.values[0]:
            found["layer_memory_peak_bytes"] = one.values[-1]
    return found


def _growth(one: Series) -> float:
    return max(0.0, one.values[-1] - one.values[0])


def _of_machine(known: Mapping[str, Sequence[Series]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, parts in MACHINE_CPU.items():
        if all(part in known for part in parts):
            found[f"machine_{name}"] = sum(_growth(one) for part in parts for one in known[part])
    found |= _level("machine_memory_used_bytes", known.get("memory_used_bytes", ()))
    return found


def _added(series: Iterable[Series]) -> list[float]:
    return [sum(values) for values in zip(*(one.values for one in series), strict=True)]


def _level(name: str, known: Sequence[Series]) -> dict[str, float]:
    """Return mean and most of a level; of several devices that is the mean over them."""
    means = [_mean(one.times_s, one.values) for one in known]
    if not means:
        return {}
    mosts = [max(one.values) for one in known]
    return {f"{name}_mean": sum(means) / len(means), f"{name}_most": sum(mosts) / len(mosts)}


def _share(
    name: str, times_s: Sequence[float], values: Sequence[float], of: Sequence[float]
) -> dict[str, float]:
    """Return mean and most of a share; two clocks differ a little, and a share ends at 1."""
    return {key: min(1.0, share) for key, share in _rate(name, times_s, values, of).items()}


def _rate(
    name: str, times_s: Sequence[float], values: Sequence[float], of: Sequence[float]
) -> dict[str, float]:
    """Return how much a counter grew for each unit that another did: on the whole, and at most."""
    if of[-1] <= of[0]:
        return {}
    marks = spans(times_s)
    rates = [
        (values[end] - values[begin]) / (of[end] - of[begin])
        for begin, end in pairwise(marks)
        if of[end] > of[begin]
    ]
    mean = max(0.0, (values[-1] - values[0]) / (of[-1] - of[0]))
    return {f"{name}_mean": mean, f"{name}_most": max([mean, *rates])}


def _mean(times_s: Sequence[float], values: Sequence[float]) -> float:
    lasted_s = times_s[-1] - times_s[0]
    return _area(times_s, values) / lasted_s if lasted_s > 0 else values[0]


def _area(times_s: Sequence[float], values: Sequence[float]) -> float:
    """Add a level up over time, by trapezia: bytes held for so long are byte-seconds."""
    steps = pairwise(zip(times_s, values, strict=True))
    return sum((end - begin) * (low + high) / 2 for (begin, low), (end, high) in steps)
