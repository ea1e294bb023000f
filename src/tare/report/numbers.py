"""Numbers as people read them: stored in base units, scaled for the eye."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from tare.model import Unit

NONE = "\N{EN DASH}"
"""Stands where there is no number."""
MINUS = "\N{MINUS SIGN}"
TIMES = "\N{MULTIPLICATION SIGN}"

TOO_LONG = 1e15
"""From here on the digits of a number are more than a double holds, and more than one reads."""

_UNITS: dict[Unit, tuple[tuple[float, str], ...]] = {
    Unit.SECOND: ((1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
    Unit.BYTE: ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B")),
    Unit.BYTE_PER_SECOND: ((2**30, "GiB/s"), (2**20, "MiB/s"), (2**10, "KiB/s"), (1, "B/s")),
    Unit.PER_SECOND: ((1e9, "G/s"), (1e6, "M/s"), (1, "/s")),
    Unit.RATIO: ((1, ""),),
}


@dataclass(frozen=True)
class Scale:
    """A unit that suits a set of numbers: divide by ``factor``, write ``unit``."""

    factor: float
    unit: str

    def text(self, value: float | None) -> str:
        """Write a number without its unit."""
        return NONE if value is None else plain(value / self.factor)

    def full(self, value: float | None) -> str:
        """Write a number with its unit."""
        return NONE if value is None else f"{self.text(value)} {self.unit}".strip()


def scale_for(unit: Unit, values: Iterable[float | None]) -> Scale:
    """Choose the unit in which the middle one of some numbers is at least 1.

    A power of ten stands in for a unit that would need too many digits.
    """
    sizes = sorted(abs(value) for value in values if value and math.isfinite(value))
    middle = sizes[len(sizes) // 2] if sizes else 1.0
    steps = _UNITS[unit]
    factor, name = next((step for step in steps if middle >= step[0]), steps[-1])
    if 1 / TOO_LONG < middle / factor < TOO_LONG:
        return Scale(factor, name)
    exponent = max(-307, math.floor(math.log10(middle)))
    return Scale(10.0**exponent, _signed(f"{TIMES} 1e{exponent} {unit.value}"))


def plain(value: float, digits: int = 4) -> str:
    """Write a number with so many significant digits, thousands apart, whole ones whole."""
    if not math.isfinite(value):
        return "∞" if value > 0 else f"{MINUS}∞" if value < 0 else NONE
    if value == 0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    if places > 9 or abs(value) >= TOO_LONG:
        return _signed(f"{value:.{digits - 1}g}")
    if float(value).is_integer():
        places = 0
    return _signed(f"{value:,.{places}f}")


def bytes_text(value: int) -> str:
    """Write a size exactly, in the largest unit that allows it."""
    fits = ((factor, name) for factor, name in _UNITS[Unit.BYTE] if value % int(factor) == 0)
    factor, name = next(fits, (1, "B"))
    return f"{value // int(factor):,} {name}"


def cost_text(cost: float | None) -> str:
    """Write a cost, with a multiplication sign behind it."""
    if cost is None:
        return NONE
    if 0 < cost < 0.1:
        return f"{plain(cost, 2)}{TIMES}"
    if TOO_LONG <= cost < math.inf:
        return f"{plain(cost)}{TIMES}"
    digits = 3 if cost < 10 else 1 if cost < 100 else 0
    return f"{_finite(cost, f'{cost:,.{digits}f}')}{TIMES}"


def percent_text(cost: float | None) -> str:
    """Write a cost as degradation, always with its sign: +3.1 %."""
    return NONE if cost is None else f"{_percent(cost)} %"


def percents_text(low: float | None, high: float | None) -> str:
    """Write the interval of a cost as degradation: [+2.8, +3.4] %."""
    if low is None or high is None or _is_boundless(low, high):
        return NONE
    return f"[{_percent(low)}, {_percent(high)}] %"


def costs_text(low: float | None, high: float | None) -> str:
    """Write the interval of a cost: [1.028, 1.034]."""
    if low is None or high is None or _is_boundless(low, high):
        return NONE
    return f"[{cost_text(low)[:-1]}, {cost_text(high)[:-1]}]"


def share_text(share: float | None) -> str:
    """Write a ratio minus one, or a share, in per cent without a sign: 0.8 %."""
    return (
        NONE
        if share is None
        else _finite(share, f"{100 * share:.2g} %", many=f"{100 * share:,.0f} %")
    )


def p_text(p: float | None) -> str:
    """Write a p value."""
    if p is None:
        return NONE
    return "< 0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def duration_text(seconds: float) -> str:
    """Write how long something took: 3 min 20 s."""
    if not math.isfinite(seconds):
        return plain(seconds)
    whole = round(seconds)
    if whole < 60:
        return f"{plain(seconds, 2)} s"
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {whole % 60} s"


def _percent(cost: float) -> str:
    value = 100 * (cost - 1)
    if not math.isfinite(value):
        return "+∞"
    size = abs(value)
    if size >= TOO_LONG:
        return f"+{plain(value)}"
    text = f"{value:+,.{2 if size < 1 else 1 if size < 100 else 0}f}"
    return _signed(text) if text.strip("+-0.") else "0.00"


def _is_boundless(low: float, high: float) -> bool:
    """Whether an interval says no more than which side is better: both ends are 0 or infinite."""
    return low == high and not 0 < low < math.inf


def _finite(value: float, text: str, many: str | None = None) -> str:
    if not math.isfinite(value):
        return "∞"
    return many if many is not None and abs(value) >= 1 else text


def _signed(text: str) -> str:
    return text.replace("-", MINUS)
