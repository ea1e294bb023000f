"""At which dose a response has fallen to a share of itself, from a few measured doses.

It is the *linear interpolation method* of toxicology, whose estimate is called ICp (Norberg-King
1993, A Linear Interpolation Method for Sublethal Toxicity, US EPA, technical report 03-93): the
responses are made monotone by pooling neighbours that are not in order (isotonic regression, Barlow
et al. 1972), and the dose is read where the straight lines between them cross the share. IC5 is
where 95 % are left. Nothing is extrapolated: beyond the measured doses the answer is a bound.

The interval is read in the same way from the ends of the responses' intervals, made monotone: what
is left at a dose is at least the lower end of each larger dose, and at most the upper end of each
smaller one. Like the estimate it assumes straight lines between the doses: a response that falls in
a step between two of them may cross the share anywhere between, which more doses show.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

BELOW, ABOVE = 0.0, math.inf
"""In place of a dose: it lies below the smallest that was measured, above the largest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What is left at a dose, as a share of what there is at none, and the interval of it."""

    dose: float
    kept: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fall:
    """The dose at which a share is left: a number, ``BELOW`` or ``ABOVE``; and its interval.

    ``low`` and ``high`` are None where a response has no interval.
    """

    at: float
    low: float | None
    high: float | None

    @property
    def is_known(self) -> bool:
        """Whether the intervals rule out any of the measured doses."""
        return self.low is not None and (self.low, self.high) != (BELOW, ABOVE)


def fall(responses: Sequence[Response], share: float) -> Fall:
    """Return where responses fall to a share; ValueError without any, or out of the order of doses.

    The response to no dose is 1 by definition, and is not among them.
    """
    doses = [one.dose for one in responses]
    if not doses or sorted(set(doses)) != doses or doses[0] <= 0:
        raise ValueError(f"expected rising doses above 0, got {doses}")
    at = _first(doses, pooled([one.kept for one in responses]), share)
    low = high = None
    lows = [one.low for one in responses if one.low is not None]
    highs = [one.high for one in responses if one.high is not None]
    if len(lows) == len(highs) == len(doses):
        # What is known at one dose is known of all below it, or above it.
        lows = list(accumulate(reversed(lows), max))[::-1]
        highs = list(accumulate(highs, min))
        low, high = min(at, _first(doses, lows, share)), max(at, _first(doses, highs, share))
    return Fall(at=at, low=low, high=high)


def pooled(values: Sequence[float]) -> list[float]:
    """Return the nearest values that never rise (pool adjacent violators, equal weights)."""
    pools: list[tuple[float, int]] = []
    for value in values:
        total, count = value, 1
        while pools and pools[-1][0] / pools[-1][1] < total / count:
            before, others = pools.pop()
            total, count = total + before, count + others
        pools.append((total, count))
    return [total / count for total, count in pools for _ in range(count)]


def _first(doses: Sequence[float], values: Sequence[float], share: float) -> float:
    """Return where values are first at or below a share."""
    place = next((at for at, value in enumerate(values) if value <= share), None)
    if place is None:
        return ABOVE
    if place == 0:
        return doses[0] if values[0] == share else BELOW
    return _crossing(doses, values, place, share)


def _crossing(doses: Sequence[float], values: Sequence[float], place: int, share: float) -> float:
    """Return where the line between a value and the one before it crosses a share."""
    before, after = values[place - 1], values[place]
    if math.isinf(before) or before == after:
        return doses[place]
    part = (before - share) / (before - after)
    return doses[place - 1] + part * (doses[place] - doses[place - 1])
