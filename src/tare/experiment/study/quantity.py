"""Parse numbers with units: ``64MiB``, ``30 s``, ``5 ms``, ``10MB/s``, ``100Mbit/s``, ``2%``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True)
class Dimension:
    """A kind of quantity: its units as factors of the base unit, and how to ask for one."""

    noun: str
    units: dict[str, Decimal]
    expected: str


SIZE = Dimension(
    "a size",
    {"B": Decimal(1), "KB": Decimal(1000)}
    | {f"{prefix}B": Decimal(1000) ** power for power, prefix in enumerate("kMGT", 1)}
    | {f"{prefix}iB": Decimal(1024) ** power for power, prefix in enumerate("KMGT", 1)},
    "a size: a number of bytes, or text such as 64MiB or 2 GB",
)
RATE = Dimension(
    "a rate",
    {f"{unit}/s": factor for unit, factor in SIZE.units.items()}
    | {f"{prefix}bit/s": Decimal(1000) ** power / 8 for power, prefix in enumerate(("", *"kMGT"))},
    "a rate: a number of bytes a second, or text such as 10MB/s, 10MiB/s or 100Mbit/s",
)
TIME = Dimension(
    "a time",
    {
        "ns": Decimal("1e-9"),
        "us": Decimal("1e-6"),
        "ms": Decimal("1e-3"),
        "s": Decimal(1),
        "min": Decimal(60),
        "h": Decimal(3600),
    },
    "a time: a number of seconds, or text such as 30 s, 5 ms or 2min",
)
PURE = Dimension("a part", {"%": Decimal("0.01")}, "a number such as 0.02 or 2%")

# The lengths are bounded so that no file can ask for a number with a billion digits.
_NUMBER = re.compile(r"([+-]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][+-]?\d{1,2})?)\s*(.*)")


def parse(text: str, dimension: Dimension) -> Decimal:
    """Read a number in the base unit of a dimension, or raise ValueError."""
    wanted = f"expected {dimension.expected}"
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a number; {wanted}")
    number, unit = Decimal(match[1]), match[2]
    if unit and unit not in dimension.units:
        nouns = [other.noun for other in (SIZE, RATE, TIME, PURE) if unit in other.units]
        known = ", ".join(dimension.units)
        what = f"{text!r} is {nouns[0]}" if nouns else f"{unit!r} is not one of the units {known}"
        raise ValueError(f"{what}; {wanted}")
    if number < 0 and dimension is not PURE:
        raise ValueError(f"{text!r} is below zero; {wanted}")
    return number * dimension.units[unit] if unit else number
