"""Bring a resource of the host to a level: find the intensity of the neighbours that use it.

The workload alone and its neighbours alone at full say where to begin: as if their uses added up,
``intensity = (level - alone) / neighbours``. They do not on a device that both of them saturate, so
each intensity is read back from the host while both run, and corrected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tare.core.errors import LayerError, Unavailable
from tare.core.model import Calibration
from tare.work.stressor import StressedResource

if TYPE_CHECKING:
    from tare.experiment.trial.measure import Outcome

TOLERANCE = 0.02
"""How far from its level a resource may be used in a trial, as a share of its maximum."""
AIM = 0.01
"""How near calibration comes to it, if it can: trials differ."""
FULL = 0.98
"""A resource that is used so far may be asked for any more."""
MOST_TRIES = 8
LEAST = 0.01
"""The smallest intensity that every stressor takes."""
KNOWN = (
    StressedResource.CPU,
    StressedResource.DISK,
    StressedResource.NETWORK_OUT,
    StressedResource.NETWORK_IN,
)
"""The resources whose use by everything on the host is read in each trial."""


def used(outcome: Outcome, resource: StressedResource) -> float:
    """Return how much of a resource everything on the host used during a trial with parts.

    Of the CPUs a share of the time of those that the parts have; else bytes per second: of the
    disks, of the network devices (a byte counts on each that it passes). Raises LayerError where
    the host does not count it.
    """
    if resource is StressedResource.CPU:
        sets = {part.cpuset: part for part in outcome.parts}.values()
        busy = [(part.cpu_count, part.noise["busy"]) for part in sets if "busy" in part.noise]
        if not busy or len(busy) < len(sets):
            raise LayerError("nothing on this host counts the CPU time of all parts of the trial")
        return sum(n * share for n, share in busy) / sum(n for n, _ in busy)
    timeline = outcome.parts[0].timeline
    metrics = timeline.metrics if timeline is not None else {}
    moved = [metrics.get(name) for name in _MOVED[resource is StressedResource.DISK]]
    known = [one for one in moved if one is not None]
    if len(known) < len(moved):
        raise LayerError(f"nothing on this host counts its {resource.value} during a trial")
    return sum(known) / max(outcome.duration_s, 1e-3)


@dataclass(frozen=True, slots=True)
class Start:
    """What a calibration begins with; uses in the resource's own unit."""

    maximum: float
    alone: float
    neighbours: float


def calibrate(
    resource: StressedResource,
    level: float,
    start: Start,
    reach: Callable[[float], float],
) -> Calibration:
    """Find the intensity at which ``reach`` returns the level; both are shares of the maximum.

    Returns the nearest of all tries. Raises Unavailable where the workload alone is above the
    level or all of its neighbours at full are below, LayerError where no try comes near it.
    """
    alone = start.alone / start.maximum
    if alone > level + TOLERANCE:
        raise Unavailable(
            f"level: the workload alone takes {100 * alone:.0f} % of the {_text(resource)}, more "
            f"than {100 * level:g} %",
            "give a higher level, or the neighbours `cpus: apart`",
        )
    slope = max(start.neighbours / start.maximum, 1e-6)
    tries: list[tuple[float, float]] = []
    intensity = _within((level - alone) / slope)
    while True:
        tries.append((intensity, reach(intensity)))
        nearest = min(tries, key=lambda one: abs(one[1] - level))
        if abs(nearest[1] - level) <= AIM or len(tries) == MOST_TRIES:
            break
        intensity = following([(0.0, alone), *tries], level, slope)
        if any(intensity == tried for tried, _ in tries):
            break
    if nearest[1] < level - TOLERANCE and max(tried for tried, _ in tries) == 1:
        raise Unavailable(
            f"level: the workload and its neighbours at full take {100 * nearest[1]:.0f} % of the "
            f"{_text(resource)}, less than {100 * level:g} %",
            "give the neighbours a higher `count`, or `cpus: apart` where they lack CPU time",
        )
    if abs(nearest[1] - level) > TOLERANCE:
        raise LayerError(
            f"level: {100 * level:g} % of the {_text(resource)} was not reached in {len(tries)} "
            f"tries, at best {100 * nearest[1]:.0f} %: its use varies too much; give another "
            "level, or run nothing else on the host"
        )
    return Calibration(
        resource=resource.value,
        level=level,
        maximum=start.maximum,
        alone=start.alone,
        neighbours=start.neighbours,
        intensity=nearest[0],
        reached=nearest[1],
        tries=tuple(tries),
    )


def following(tries: Sequence[tuple[float, float]], level: float, slope: float) -> float:
    """Return the intensity to try next, in steps of 0.1 %.

    Between one that was below and one that was above by the straight line through both, but not
    nearer to either than a tenth of the way, so that the way shrinks; in the middle where the one
    above was at the maximum, which does not say how far above it was; else by the slope.
    """
    below = max((one for one in tries if one[1] < level), default=None)
    above = min((one for one in tries if one[1] >= level), default=None)
    if below is None or above is None or below[0] >= above[0]:
        tried, reached = tries[-1]
        return _within(tried + (level - reached) / slope)
    share = 0.5 if above[1] >= FULL else (level - below[1]) / (above[1] - below[1])
    return _within(below[0] + min(0.9, max(0.1, share)) * (above[0] - below[0]))


_MOVED = {
    True: ("host_disk_read_bytes", "host_disk_written_bytes"),
    False: ("host_network_bytes",),
}
"""What a timeline counts of the disks, or of the network."""


def _within(intensity: float) -> float:
    return min(1.0, max(LEAST, round(intensity, 3)))


def _text(resource: StressedResource) -> str:
    return {
        StressedResource.CPU: "CPUs' time",
        StressedResource.DISK: "disk's maximum",
    }.get(resource, "network's maximum")
