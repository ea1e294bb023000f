"""What a platform may take at most, and whether it keeps that."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum

import numpy as np

from tare.core.model import Cell, Limits, Replicates, Scalar
from tare.results.compare.columns import has_numbers
from tare.results.compare.reason import Reason, ReasonKind, reason_of
from tare.results.compare.result_set import ResultSet
from tare.results.stats.description import middle


@dataclass(frozen=True, kw_only=True)
class Constraints:
    """The most that a platform may take; None is no constraint.

    ``startup_s`` is until it answers a command, ``memory_bytes`` what an instance takes of its
    host, ``isolation_loss`` by which part work becomes slower next to a greedy neighbour.
    """

    startup_s: float | None = None
    memory_bytes: int | None = None
    isolation_loss: float | None = None


class Keeps(StrEnum):
    """Whether a platform keeps a constraint."""

    KEPT = "kept"
    BROKEN = "broken"
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


Source = Lives | Opening


@dataclass(frozen=True, slots=True, kw_only=True)
class Constrained:
    """One constraint of one platform: the median of ``n`` values, and where they are from.

    ``low`` and ``high`` are the least and the largest of them; the median is held to the limit.

    Of a measurement that is missing, ``reason`` says what, and what can be done; where nothing in
    Tare measures it at all, it is not measurable, and no results will ever hold it.
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
    is_measurable: bool = True


def constrained(
    cell: Cell, constraints: Constraints, sources: Sequence[ResultSet]
) -> Iterator[Constrained]:
    """Hold a cell's platform against each constraint; ``sources`` are the sets that may tell."""
    for one in fields(constraints):
        limit = getattr(constraints, one.name)
        if limit is None:
            continue
        values, source = _MEASURES[one.name](cell, sources)
        if not values:
            is_measurable = _MEASURES[one.name] is not _nothing
            elsewhere = _elsewhere(cell, sources[1:]) if is_measurable else ()
            yield Constrained(
                name=one.name,
                limit=limit,
                keeps=Keeps.MISSING,
                reason=reason_of(_UNKNOWN[one.name], limits=cell.limits, elsewhere=elsewhere),
                is_measurable=is_measurable,
            )
            continue
        value = _middle(values)
        keeps = Keeps.KEPT if value <= limit else Keeps.BROKEN
        yield Constrained(
            name=one.name,
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


def _nothing(cell: Cell, sources: Sequence[ResultSet]) -> Values:
    """Return no values, because studies of neighbours are not read for it yet."""
    del cell, sources
    return [], None


_MEASURES: Mapping[str, Callable[[Cell, Sequence[ResultSet]], Values]] = {
    "startup_s": _startup_s,
    "memory_bytes": _memory_bytes,
    "isolation_loss": _nothing,
}

_UNKNOWN = {
    "startup_s": ReasonKind.STARTUP_NOT_MEASURED,
    "memory_bytes": ReasonKind.MEMORY_NOT_MEASURED,
    "isolation_loss": ReasonKind.ISOLATION_NOT_MEASURED,
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
