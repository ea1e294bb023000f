"""What a platform may take at most, and whether it keeps that."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from tare.core.model import Cell, Limits, Neighbour, Replicates, Scalar
from tare.core.model.group import Group
from tare.results.compare.columns import has_numbers
from tare.results.compare.reason import Reason, ReasonKind, reason_of
from tare.results.compare.result_set import ResultSet
from tare.results.stats.description import middle


@dataclass(frozen=True, kw_only=True)
class Constraints:
    """The most that a platform may take; None is no constraint.

    ``startup_s`` is until it answers a command, ``memory_bytes`` what an instance takes of its
    host, ``isolation_loss`` by which part work becomes slower next to a neighbour: the worst that
    was measured, or the worst with the stressor ``neighbour``.
    """

    startup_s: float | None = None
    memory_bytes: int | None = None
    isolation_loss: float | None = None
    neighbour: str | None = None

    @property
    def limits(self) -> Mapping[str, float]:
        """The limits that are declared, by name."""
        every = {name: getattr(self, name) for name in (*_MEASURES, ISOLATION)}
        return {name: limit for name, limit in every.items() if limit is not None}


ISOLATION = "isolation_loss"


class Keeps(StrEnum):
    """Whether a platform keeps a constraint."""

    KEPT = "kept"
    BROKEN = "broken"
    UNDECIDED = "undecided"
    """The interval of what was measured holds the limit."""
    MISSING = "missing measurement"


@dataclass(frozen=True, slots=True)
class Lives:
    """Where values are from: metrics of a lifecycle study, with a number of instances at once."""

    metrics: tuple[str, ...]
    at_once: int
    cache: Scalar


@dataclass(frozen=True, slots=True)
class Opening:
    """Where values are from: what opening the instances of the study itself took."""


@dataclass(frozen=True, slots=True)
class NextTo:
    """Where a value is from: a workload next to a neighbour, the worst of ``rows``."""

    group: Group
    neighbour: Neighbour
    rows: int


Source = Lives | Opening | NextTo


@dataclass(frozen=True, slots=True, kw_only=True)
class Constrained:
    """One constraint of one platform: the median of ``n`` values, and where they are from.

    ``low`` and ``high`` are the least and the largest of them; the median is held to the limit. Of
    a loss to a neighbour they are the ends of its interval, which is held to it.

    Of a measurement that is missing, ``reason`` says what, and what can be done.
    """

    name: str
    limit: float
    keeps: Keeps
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    source: Source | None = None
    reason: Reason | None = None


def constrained(
    cell: Cell, constraints: Constraints, sources: Sequence[ResultSet]
) -> Iterator[Constrained]:
    """Hold a cell's platform against each constraint; ``sources`` are the sets that may tell.

    What it loses to a neighbour is asked of ``isolation_loss``.
    """
    for name, limit in constraints.limits.items():
        if name == ISOLATION:
            continue
        values, source = _MEASURES[name](cell, sources)
        if not values:
            elsewhere = _elsewhere(cell, sources[1:])
            yield Constrained(
                name=name,
                limit=limit,
                keeps=Keeps.MISSING,
                reason=reason_of(_UNKNOWN[name], limits=cell.limits, elsewhere=elsewhere),
            )
            continue
        value = _middle(values)
        keeps = Keeps.KEPT if value <= limit else Keeps.BROKEN
        yield Constrained(
            name=name,
            limit=limit,
            keeps=keeps,
            value=value,
            low=min(values),
            high=max(values),
            n=len(values),
            source=source,
        )


Values = tuple[list[float], Source | None]


def _startup_s(cell: Cell, sources: Sequence[ResultSet]) -> Values:
    """Return how long instances took until they answered, in seconds each.

    A lifecycle study says it of one layer by itself; else there is what opening the instances of
    this study took, once each.
    """
    values, source = _of_lives(cell, sources, ("create", "boot"))
    if values:
        return values, source
    start_s = sources[0].facts.platform(cell.platform).start_s
    return list(start_s), Opening()


def _memory_bytes(cell: Cell, sources: Sequence[ResultSet]) -> Values:
    """Return by how much less memory the host had for each instance, in bytes."""
    return _of_lives(cell, sources, ("host_memory",))


_MEASURES: Mapping[str, Callable[[Cell, Sequence[ResultSet]], Values]] = {
    "startup_s": _startup_s,
    "memory_bytes": _memory_bytes,
}

_UNKNOWN = {
    "startup_s": ReasonKind.STARTUP_NOT_MEASURED,
    "memory_bytes": ReasonKind.MEMORY_NOT_MEASURED,
}


def _of_lives(cell: Cell, sources: Sequence[ResultSet], names: Sequence[str]) -> Values:
    """Return the sum of some metrics of a platform's lifecycle, for each trial and instance.

    Only under the same limits: what a guest takes and how it boots depends on its memory.
    Of several lifecycle cells those with the fewest instances at once count, and of these the one
    with the largest median: what is promised has to hold with a cold cache too.
    """
    found = []
    for side in sources:
        if side.plan.replicates is not Replicates.TRIALS:
            continue
        for one in side.plan.platform_cells:
            if (one.stack, one.settings, one.limits) != (cell.stack, cell.settings, cell.limits):
                continue
            count, cache = (dict(one.params).get(key, 1) for key in ("count", "cache"))
            many = count if isinstance(count, int) else 1
            samples = [t.samples for t in side.histories[one.id].counted if has_numbers(t)]
            values = [
                math.fsum(each[name] for name in names) / (many if "host_memory" in names else 1)
                for each in samples
                if all(math.isfinite(each.get(name, math.nan)) for name in names)
            ]
            if values:
                source = Lives(tuple(names), many, cache)
                found.append((many, -_middle(values), values, source))
    best = min(found, default=None, key=lambda one: one[:2])
    return ([], None) if best is None else (best[2], best[3])


def _elsewhere(cell: Cell, lifecycles: Sequence[ResultSet]) -> tuple[Limits, ...]:
    """Return with which other limits lifecycle studies have a platform."""
    found = dict.fromkeys(
        one.limits
        for side in lifecycles
        for one in side.plan.cells
        if side.plan.replicates is Replicates.TRIALS
        and (one.stack, one.settings) == (cell.stack, cell.settings)
        and one.limits != cell.limits
    )
    return tuple(found)


def _middle(values: Sequence[float]) -> float:
    return middle(np.array(values, dtype=np.float64))
