"""Numbers as people read them: stored in base units, scaled for the eye."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tare.core.model import Unit

NONE = "\N{EN DASH}"
"""Stands where there is no number."""
MINUS = "\N{MINUS SIGN}"
TIMES = "\N{MULTIPLICATION SIGN}"

TOO_LONG = 1e15
"""From here on the digits of a number are more than a double holds, and more than one reads."""
LONGEST = 9
"""A number with more digits behind its point is written with a power of ten."""
FINEST = 4
"""Nothing is distinguished by more digits behind the point than these."""
LARGE = 2.0
"""From this cost on, a sentence says times instead of per cent."""

_ROUNDED = tuple(f"{{:,.{places}f}}".format for places in range(10))
"""Write a number with this number of decimal places."""
_MANY = 999
"""A number below this has no thousands, however it is rounded."""
_FEW = tuple(f"%.{places}f" for places in range(10))
"""The same as ``_ROUNDED``, without thousands and twice as fast."""

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
    """Return a number with significant digits, thousands apart, whole ones whole."""
    if not math.isfinite(value):
        return "∞" if value > 0 else f"{MINUS}∞" if value < 0 else NONE
    if value == 0:
        return "0"
    places = _digits_behind(value, digits)
    if places > LONGEST or abs(value) >= TOO_LONG:
        return _signed(f"{value:.{digits - 1}g}")
    if float(value).is_integer():
        places = 0
    return _signed(f"{value:,.{places}f}")


def plains(values: Sequence[float], digits: int = 4) -> list[str]:
    """Write many numbers as ``plain`` does, in a fraction of its time."""
    found = np.asarray(values, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        places = digits - 1 - np.floor(np.log10(found))
        usual = (found > 0) & (found < TOO_LONG) & (places <= LONGEST)
    places = np.where(found != np.rint(found), np.maximum(places, 0), 0)
    places = np.where(usual, places, -1).astype(np.intp)
    return [
        plain(value, digits)
        if place < 0
        else _FEW[place] % value
        if value < _MANY
        else _ROUNDED[place](value)
        for value, place in zip(values, places.tolist(), strict=True)
    ]


def share_texts(shares: Sequence[float]) -> list[str]:
    """Write many shares as ``share_text`` does, in a fraction of its time."""
    return [f"{100 * share:.2g} %" if -1 < share < 1 else share_text(share) for share in shares]


def bytes_text(value: int) -> str:
    """Write a size exactly, in the largest unit that allows it."""
    units = _UNITS[Unit.BYTE] if value else ()
    fits = ((factor, name) for factor, name in units if value % int(factor) == 0)
    factor, name = next(fits, (1, "B"))
    return f"{value // int(factor):,} {name}"


def rate_text(value: int) -> str:
    """Write bytes per second exactly, in the largest decimal unit that allows it."""
    units = ((10**9, "GB/s"), (10**6, "MB/s"), (10**3, "kB/s"))
    factor, name = next((one for one in units if value and value % one[0] == 0), (1, "B/s"))
    return f"{value // factor:,} {name}"


def cost_text(cost: float | None, low: float | None = None, high: float | None = None) -> str:
    """Write a cost, with a multiplication sign behind it.

    Where the ends of its interval are shown with it, they are given too: all three then have the
    same digits behind the point (see ``costs_text``).
    """
    if cost is None:
        return NONE
    return f"{_cost(cost, _places(_cost_places, 1.0, cost, (low, high)))}{TIMES}"


def costs_text(low: float | None, high: float | None, cost: float | None = None) -> str:
    """Write the interval of a cost: [1.028, 1.034].

    Both ends have the same digits behind the point: those of the larger, and more where an end
    could not be distinguished from the cost, from the other end, or from 1. Ends that are powers
    of ten apart have those of their own.
    """
    if low is None or high is None or _is_boundless(low, high):
        return NONE
    if _is_wide(low, high):
        return f"[{_cost(low, _cost_places(low))}, {_cost(high, _cost_places(high))}]"
    places = _places(_cost_places, 1.0, cost, (low, high))
    return f"[{_cost(low, places)}, {_cost(high, places)}]"


def percent_text(cost: float | None, low: float | None = None, high: float | None = None) -> str:
    """Write a cost as degradation, always with its sign: +3.1 %; with its ends as ``cost_text``."""
    if cost is None:
        return NONE
    value, *ends = (_percent_of(one) for one in (cost, low, high))
    return f"{_percent(cost, _places(_percent_places, 0.0, value, ends))} %"


def percents_text(low: float | None, high: float | None, cost: float | None = None) -> str:
    """Write the interval of a cost as degradation, as ``costs_text`` does: [+2.8, +3.4] %."""
    if low is None or high is None or _is_boundless(low, high):
        return NONE
    value, *ends = (_percent_of(one) for one in (cost, low, high))
    if _is_wide(low, high):
        own = (_percent_places(end or 0.0) for end in ends)
        return f"[{_percent(low, next(own))}, {_percent(high, next(own))}] %"
    places = _places(_percent_places, 0.0, value, ends)
    return f"[{_percent(low, places)}, {_percent(high, places)}] %"


def size_text(cost: float, low: float | None = None, high: float | None = None) -> str:
    """Write how large a cost is, and its interval if there is one: +3.1 % [+2.8, +3.4] %.

    From LARGE on it says times instead of per cent.
    """
    times = cost >= LARGE
    size = (cost_text if times else percent_text)(cost, low, high)
    ends = (costs_text if times else percents_text)(low, high, cost)
    return size if ends == NONE else f"{size} {ends}"


def middle_texts(
    middle: float, low: float | None, high: float | None, digits: int = 3
) -> tuple[str, str]:
    """Return a number with significant digits, and the ends of its interval: 1.02, [1.00, 1.04].

    The ends are "" where there are none; else all have the same digits behind the point, as
    ``costs_text`` has.
    """
    if low is None or high is None:
        return plain(middle, digits), ""

    def own(value: float) -> int:
        return _digits_behind(value, digits)

    places = _places(own, None, middle, (low, high))
    return _fixed(middle, places), f"[{_fixed(low, places)}, {_fixed(high, places)}]"


def share_text(share: float | None) -> str:
    """Write a ratio minus one, or a share, in per cent without a sign: 0.8 %."""
    if share is None:
        return NONE
    if not math.isfinite(share):
        return "∞"
    return f"{percent_number(share)} %"


def percent_number(share: float) -> str:
    """Write a share in per cent, without the sign of per cent: 0.8."""
    return f"{100 * share:,.0f}" if abs(share) >= 1 else f"{100 * share:.2g}"


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


def _places(
    own: Callable[[float], int],
    neutral: float | None,
    middle: float | None,
    ends: Sequence[float | None],
) -> int:
    """Choose how many digits stand behind the point of an estimate and of its ends.

    As many as the largest of them has by itself; and more where two of them that differ, or one of
    them and what means no difference, would look alike.
    """
    known = [one for one in (middle, *ends) if one is not None and abs(one) < TOO_LONG]
    if not known:
        return 0
    least = own(max(known, key=abs))
    if all(one is None for one in ends):
        return least
    most = max(least, FINEST)
    apart = {*known, *(() if neutral is None else (neutral,))}
    texts = len({round(one, most) for one in apart})
    return next(
        places
        for places in range(least, most + 1)
        if len({round(one, places) for one in apart}) == texts
    )


def _cost_places(cost: float) -> int:
    if 0 < cost < 0.1:
        return _digits_behind(cost, 2)
    return 3 if cost < 10 else 1 if cost < 100 else 0


def _percent_places(percent: float) -> int:
    size = abs(percent)
    return 2 if size < 1 else 1 if size < 100 else 0


def _digits_behind(value: float, digits: int) -> int:
    """Return how many digits behind the point a number with significant digits has."""
    return max(0, digits - 1 - math.floor(math.log10(abs(value)))) if value else 0


def _cost(cost: float, places: int) -> str:
    if 0 < cost < 0.1 and places > LONGEST:
        return plain(cost, 2)
    return _fixed(cost, places)


def _percent_of(cost: float | None) -> float | None:
    return None if cost is None else 100 * (cost - 1)


def _percent(cost: float, places: int) -> str:
    value = 100 * (cost - 1)
    if not math.isfinite(value):
        return "+∞"
    if abs(value) >= TOO_LONG:
        return f"+{plain(value)}"
    text = f"{value:+,.{places}f}"
    return _signed(text) if text.strip("+-0.") else f"{0:.{places}f}"


def _fixed(value: float, places: int) -> str:
    """Return a number with digits behind the point, if it is finite and not too long."""
    if places > LONGEST or not abs(value) < TOO_LONG:
        return plain(value)
    return _signed(f"{value:,.{places}f}")


def _is_boundless(low: float, high: float) -> bool:
    """Whether an interval says no more than which side is better: both ends are 0 or infinite."""
    return low == high and not 0 < low < math.inf


def _is_wide(low: float, high: float) -> bool:
    """Whether digits behind the point that suit one end of an interval cannot suit the other."""
    return 0 < low < high / 100 < math.inf


def _signed(text: str) -> str:
    return text.replace("-", MINUS)
