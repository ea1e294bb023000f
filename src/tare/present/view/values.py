"""Stored values in words: facts, settings and limits, and long lists of names."""

from __future__ import annotations

from collections.abc import Iterable

from tare.core.model import Limits, Unit
from tare.core.parameter import key_of, unit_of
from tare.present.view.numbers import rate_text

MOST = 4
"""The most names, or reasons, that are written; others are counted."""
NOT_REPORTED = "not reported"


def value_text(value: object) -> str:
    """Write a fact."""
    if value is None or value == "":
        return NOT_REPORTED
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def as_read(name: str, value: object) -> str:
    """Write a value with the unit of its name, sizes in the largest that keeps them whole."""
    if isinstance(value, bool):
        return value_text(value)
    if isinstance(value, int) and unit_of(name) is Unit.BYTE:
        units = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
        fits = ((size, unit) for size, unit in units if value and value % size == 0)
        size, unit = next(fits, (1, "B"))
        return f"{value // size:,} {unit}"
    if isinstance(value, int) and unit_of(name) is Unit.BYTE_PER_SECOND:
        return rate_text(value)
    is_time = isinstance(value, int | float) and unit_of(name) is Unit.SECOND
    return f"{value:g} s" if is_time else value_text(value)


def whole_limits(limits: Limits) -> str:
    """Write limits, the memory in the largest unit that keeps it whole."""
    cpus = f"{limits.cpus} CPU{'s' if limits.cpus > 1 else ''}"
    memory = as_read("memory_bytes", limits.memory_bytes)
    more = "".join(f", {key_of(name)} {as_read(name, it)}" for name, it in limits.unusual)
    return f"{cpus}, {memory}, disk cache {limits.disk_cache.value}{more}"


def few(names: Iterable[str], between_them: str) -> str:
    """Write the first few names, and how many more there are."""
    every = list(names)
    more = [f"and {len(every) - MOST} more"] if len(every) > MOST else []
    return between_them.join([*every[:MOST], *more])
