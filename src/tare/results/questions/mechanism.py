"""Why a workload suffers from a neighbour, by mechanism: which of its own counters grew with it.

It is made of ``explanation``: a mechanism is shown where a counter that stands for it surely grew
(Holm's p over all counters of the row), by more than the margin. It is correlation, as there. Of
counters in seconds the growth must also be a part of the time that was lost, or it explains none of
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from tare.core.model import ContrastKind, Resource, Source
from tare.results.questions.counters import Movement
from tare.results.questions.explanation import Explanation
from tare.results.questions.own_part import RUN_DELAY, SHARES, SWAPPED, THROTTLED

LEAST_PART = 0.1
"""The smallest part of the time lost that is worth a mechanism."""


class Mechanism(StrEnum):
    """What a workload next to a neighbour met."""

    WAITED = "waited"
    """Something else had the CPU."""
    THROTTLED = "throttled"
    """Its own quota held it back."""
    SLOWED = "slowed"
    """It had a CPU and got less done on it: caches, memory and kernel locks are shared."""
    CACHE = "cache"
    MEMORY = "memory"
    """Its memory had to be read back from disk, or the host was short of it."""
    DEVICE = "device"
    """More of the disk's time passed for the same work."""


CPU = Resource(Source.LAYER, "cpu_s")
COUNTERS: dict[Resource, Mechanism] = {
    RUN_DELAY: Mechanism.WAITED,
    THROTTLED: Mechanism.THROTTLED,
    CPU: Mechanism.SLOWED,
    Resource(Source.LAYER, "cache_misses"): Mechanism.CACHE,
    Resource(Source.LAYER, "major_faults"): Mechanism.MEMORY,
    Resource(Source.MACHINE, "major_faults"): Mechanism.MEMORY,
    SHARES["psi_memory_some"]: Mechanism.MEMORY,
    SWAPPED: Mechanism.MEMORY,
    SHARES["psi_io_some"]: Mechanism.DEVICE,
    SHARES["disk_busy_share"]: Mechanism.DEVICE,
}
"""The counters that stand for a mechanism."""
IN_SECONDS = frozenset({RUN_DELAY, THROTTLED, CPU, *SHARES.values()})
"""Those of them that are parts of the time of a trial."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suffered:
    """A degradation with the mechanisms whose counters grew with it, those of most time first.

    ``found`` has of each mechanism the counter that grew most surely. ``watched`` are the counters
    that stand for one and were read on both sides.
    """

    explanation: Explanation
    found: tuple[tuple[Mechanism, Movement], ...]
    watched: tuple[Resource, ...]


def suffered(explanations: Sequence[Explanation]) -> tuple[Suffered, ...]:
    """List the degradations by neighbours, with what changed with each."""
    return tuple(_suffered(one) for one in explanations if one.row.kind is ContrastKind.ISOLATION)


def _suffered(one: Explanation) -> Suffered:
    known = [move for move in one.movements if move.resource in COUNTERS]
    found: dict[Mechanism, Movement] = {}
    for move in known:  # the surest first
        if move.moved and not _is_trifle(move, one):
            found.setdefault(COUNTERS[move.resource], move)
    return Suffered(
        explanation=one,
        found=tuple(sorted(found.items(), key=lambda each: -_growth_s(each[1]))),
        watched=tuple(move.resource for move in known if move.p is not None),
    )


def _growth_s(move: Movement) -> float:
    """Return by how many seconds a counter of time grew; 0 of any other."""
    if move.resource not in IN_SECONDS or move.own is None:
        return 0.0
    return move.own - (move.baseline or 0.0)


def _is_trifle(move: Movement, one: Explanation) -> bool:
    """Whether a counter grew by next to nothing of the time that was lost, or none was lost."""
    if one.row.cost is not None and one.row.cost <= 1:
        return True
    if move.resource not in IN_SECONDS or not one.wall_s or one.row.cost is None:
        return False
    return _growth_s(move) < LEAST_PART * one.wall_s * (one.row.cost - 1)
