"""What a platform may take at most, and whether it keeps that."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum

import numpy as np

from tare.compare.columns import has_numbers
from tare.compare.side import Side
from tare.compare.told_facts import as_read
from tare.model import Cell, Limits, Replicates
from tare.parameter import word_of
from tare.stats.description import middle


@dataclass(frozen=True, kw_only=True)
class Constraints:
    """The most that a platform may take; None is no constraint.

    ``startup_s`` is until it answers a command, ``memory_bytes`` what an instance takes of its
    host, ``isolation_loss`` by which part work becomes slower beside a greedy neighbour.
    """

    startup_s: float | None = None
    memory_bytes: int | None = None
    isolation_loss: float | None = None


class Keeps(StrEnum):
    """Whether a platform keeps a constraint."""

    KEPT = "kept"
    BROKEN = "broken"
    MISSING = "missing measurement"


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
    source: str = ""
    reason: str = ""
    is_measurable: bool = True


def constrained(
    cell: Cell, constraints: Constraints, sources: Sequence[Side]
) -> Iterator[Constrained]:
    """Hold a cell's platform against each constraint; ``sources`` are the sets that may tell."""
    for one in fields(constraints):
        limit = getattr(constraints, one.name)
        if limit is None:
            continue
        values, source = _MEASURES[one.name](cell, sources)
        if not values:
            is_measurable = _MEASURES[one.name] is not _nothing
            elsewhere = _elsewhere(cell, sources[1:]) if is_measurable else ""
            yield Constrained(
                name=one.name,
                limit=limit,
                keeps=Keeps.MISSING,
                reason=_UNKNOWN[one.name] + elsewhere,
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


Values = tuple[list[float], str]


def _startup_s(cell: Cell, sources: Sequence[Side]) -> Values:
    """Give how long instances took until they answered, in seconds each.

    A lifecycle study says it of one layer by itself; else there is what opening the instances of
    this study took, once each.
    """
    values, source = _of_lives(cell, sources, ("create", "boot"))
    if values:
        return values, source
    start_s = sources[0].facts.platform(cell.platform).start_s
    return list(start_s), "opening its instances in this study"


def _memory_bytes(cell: Cell, sources: Sequence[Side]) -> Values:
    """Give by how much less memory the host had for each instance, in bytes."""
    return _of_lives(cell, sources, ("host_memory",))


def _nothing(cell: Cell, sources: Sequence[Side]) -> Values:
    """Give no values, because no study of Tare has neighbours."""
    del cell, sources
    return [], ""


_MEASURES: Mapping[str, Callable[[Cell, Sequence[Side]], Values]] = {
    "startup_s": _startup_s,
    "memory_bytes": _memory_bytes,
    "isolation_loss": _nothing,
}

_UNKNOWN = {
    "startup_s": "how long it starts: name results of a lifecycle study of it as well",
    "memory_bytes": "what it takes of its host: name results of a lifecycle study of it as well",
    "isolation_loss": (
        "what it loses beside a greedy neighbour: nothing in Tare measures this yet, so no results "
        "can say it and the ranking does not know it; leave the constraint out, or judge it by "
        "what others printed (tare published huang2019)"
    ),
}


def _of_lives(cell: Cell, sources: Sequence[Side], names: Sequence[str]) -> Values:
    """Give the sum of some metrics of a platform's lifecycle, for each trial and instance.

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
                source = f"lifecycle study: {' and '.join(names)}, {many} at once, cache {cache}"
                found.append((many, -_middle(values), values, source))
    best = min(found, default=None, key=lambda one: one[:2])
    return ([], "") if best is None else (best[2], best[3])


def _elsewhere(cell: Cell, lifecycles: Sequence[Side]) -> str:
    """Say with which limits lifecycle studies have a platform, if only with others."""
    found = dict.fromkeys(
        _limits(one.limits)
        for side in lifecycles
        for one in side.plan.cells
        if side.plan.replicates is Replicates.TRIALS
        and (one.stack, one.settings) == (cell.stack, cell.settings)
        and one.limits != cell.limits
    )
    if not found:
        return ""
    own = _limits(cell.limits)
    return f"; the named ones have it with {' and '.join(found)}, this study has {own}: run one so"


def _limits(limits: Limits) -> str:
    cpus = f"{limits.cpus} CPU{'s' if limits.cpus > 1 else ''}"
    memory = as_read("memory_bytes", limits.memory_bytes)
    more = "".join(f", {word_of(name)} {as_read(name, it)}" for name, it in limits.unusual)
    return f"{cpus}, {memory}, disk cache {limits.disk_cache.value}{more}"


def _middle(values: Sequence[float]) -> float:
    return middle(np.array(values, dtype=np.float64))
