"""Counters and what they count, in words and units that people read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from tare.core.model import Resource, Source, Unit
from tare.present.view import numbers
from tare.present.view.numbers import NONE
from tare.results.questions.explanation import Explanation


class Quantity(Enum):
    """What the numbers of a counter are, in base units."""

    COUNT = auto()
    TIME = auto()
    SIZE = auto()
    BYTE_SECONDS = auto()
    ENERGY = auto()


@dataclass(frozen=True, slots=True)
class Counter:
    """What a counter is called, and what its numbers are."""

    words: str
    quantity: Quantity = Quantity.COUNT


COUNTERS = {
    "cpu_s": Counter("CPU time", Quantity.TIME),
    "cpu_user_s": Counter("CPU time in user mode", Quantity.TIME),
    "cpu_system_s": Counter("CPU time in the kernel", Quantity.TIME),
    "cpu_steal_s": Counter("stolen CPU time", Quantity.TIME),
    "memory_byte_seconds": Counter("memory held over time", Quantity.BYTE_SECONDS),
    "memory_peak_bytes": Counter("memory at its peak", Quantity.SIZE),
    "energy_j": Counter("energy", Quantity.ENERGY),
    "page_faults": Counter("page faults"),
    "major_faults": Counter("page faults that read from disk"),
    "context_switches": Counter("context switches"),
    "timeslices": Counter("turns of its threads on a CPU"),
    "migrations": Counter("moves between CPUs"),
    "system_calls": Counter("system calls"),
    "guest_exits": Counter("guest exits"),
    "instructions": Counter("instructions"),
    "cycles": Counter("CPU cycles"),
    "cache_misses": Counter("cache misses"),
    "disk_reads": Counter("disk reads"),
    "disk_writes": Counter("disk writes"),
    "disk_read_bytes": Counter("bytes read from disk", Quantity.SIZE),
    "disk_written_bytes": Counter("bytes written to disk", Quantity.SIZE),
    "run_delay_s": Counter("time waiting for a CPU that others had", Quantity.TIME),
    "throttled_s": Counter("time held back by its own quota", Quantity.TIME),
    "psi_cpu_some_s": Counter("time in which a task waited for a CPU", Quantity.TIME),
    "psi_memory_some_s": Counter("time in which a task waited for memory", Quantity.TIME),
    "psi_io_some_s": Counter("time in which a task waited for I/O", Quantity.TIME),
    "disk_busy_s": Counter("time in which the busiest disk was busy", Quantity.TIME),
    "swapped_pages": Counter("pages swapped"),
    "network_bytes": Counter("bytes through the network", Quantity.SIZE),
}
"""The counters by what they count; whatever is not here is a count and goes by its own name."""

WHERE = {
    Source.LAYER: "",
    Source.HOST: " on the whole host",
    Source.MACHINE: " inside the guest",
}

UNITS = {Quantity.TIME: Unit.SECOND, Quantity.SIZE: Unit.BYTE}

NOUNS = {"throughput": "request", "sent": "message", "queries": "query"}
"""What rates count whose names do not say it."""

POWERS = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"), (1e3, "1,000"))
MILLION = 1e6
APART = 100.0
"""Amounts that lie further apart are each written in a unit of their own."""
BYTES = ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"))


@dataclass(frozen=True)
class Amount:
    """Of how much work the numbers are: ``factor`` base units, in words behind "per"."""

    factor: float
    text: str


def counter_text(resource: Resource) -> str:
    """Return what a resource of a trial counts, and where."""
    kind = resource.kind
    words = COUNTERS[kind].words if kind in COUNTERS else kind.replace("_", " ")
    if resource.source not in WHERE:
        return resource.name.replace("_", " ")
    return words + WHERE[resource.source]


def quantity_of(resource: Resource) -> Quantity:
    """Return what the numbers of a resource of a trial are."""
    counter = COUNTERS.get(resource.kind)
    return counter.quantity if counter else Quantity.COUNT


def unit_of(one: Explanation) -> Amount:
    """Choose an amount of work that a trial of the baseline does, so that numbers are readable."""
    rate = one.work.rate if one.work else None
    typical = one.typical or 0.0
    if rate is None:
        return Amount(1.0, "run")
    if rate.unit is Unit.BYTE_PER_SECOND:
        return Amount(*next((some for some in BYTES if some[0] <= typical), (2.0**10, "KiB")))
    plural = _is_plural(rate.name)
    word = rate.name.replace("_", " ")
    single = NOUNS.get(rate.name, word[:-1] if plural else f"unit of {word}")
    factor, many = next((some for some in POWERS if some[0] <= typical), (1.0, ""))
    several = word if plural else f"{single}s" if rate.name in NOUNS else f"units of {word}"
    return Amount(factor, f"{many} {several}" if many else single)


def _is_plural(word: str) -> bool:
    """Whether an English word looks like a plural."""
    return word[-1:] == "s" != word[-2:-1]


def amounts_text(resource: Resource, values: Sequence[float | None], unit: Amount) -> list[str]:
    """Write how much of a counter an amount of work took, on either side.

    All in the unit of the smallest, so that they can be compared at a glance, unless they lie too
    far apart for it. Nothing is 0 without a unit, and what is not known is no zero.
    """
    amounts = [None if one is None else one * unit.factor for one in values]
    sizes = [abs(one) for one in amounts if one]
    together = bool(sizes) and max(sizes) <= APART * min(sizes)
    return [_amount_text(resource, one, min(sizes) if together else one) for one in amounts]


def _amount_text(resource: Resource, value: float | None, size: float | None) -> str:
    """Write an amount in the unit that suits an amount of the given size."""
    if value is None or size is None:
        return NONE
    if value == 0:
        return "0"
    quantity = quantity_of(resource)
    if quantity is Quantity.BYTE_SECONDS:
        return f"{numbers.scale_for(Unit.BYTE, [size]).full(value)}·s"
    if quantity is Quantity.ENERGY:
        return f"{numbers.plain(value)} J"
    if abs(size) >= MILLION and quantity is Quantity.COUNT:
        factor, word = next(some for some in POWERS if abs(size) >= some[0])
        return f"{numbers.plain(value / factor)} {word}"
    return numbers.scale_for(UNITS.get(quantity, Unit.RATIO), [size]).full(value)
