"""How a neighbour was dialled so that a resource of the host is used to a level."""

from __future__ import annotations

from dataclasses import dataclass

CPUS = "cpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What was measured to find the intensity of a neighbour at which a level is reached.

    ``maximum`` is the most that the host was seen to give of the resource: 1 of its CPUs, as all
    other uses of them are shares of their time, or bytes per second. ``alone`` is what the workload
    takes of it by itself, ``neighbours`` what all its neighbours take by themselves at full.
    ``intensity`` is the share of their full at which the level ``reached`` was read back, a share
    of the maximum; None where it was corrected after a trial, and not yet read back. ``tries`` are
    all intensities that were tried, each with its level, in their order. ``took_s`` is how long the
    calibration took.
    """

    resource: str
    level: float
    maximum: float
    alone: float
    neighbours: float
    intensity: float
    reached: float | None
    tries: tuple[tuple[float, float], ...] = ()
    took_s: float = 0.0
    is_known: bool = False
    """Whether it was found by an earlier session on this host, and checked by this one."""

    @property
    def is_of_cpus(self) -> bool:
        """Whether uses are shares of the time of CPUs, and not bytes per second."""
        return self.resource == CPUS
