"""Zeros on a logarithmic axis: it has no place for them, so they stand at a marked edge.

On a linear axis one of them would make a line of all others that spread over powers of ten.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from tare.present.charts.figure import LARGE_TOO, within

FAR = 20
"""Medians that spread less are drawn on a linear axis, which has a zero."""
_APART = 0.14
"""So much of the axis lies between the zeros and all others."""


@dataclass(frozen=True)
class Edge:
    """Where zeros stand among values from ``low`` to ``high``."""

    low: float
    high: float

    @property
    def place(self) -> float:
        """The value that stands for 0."""
        return self.low * math.pow(self.low / self.high, _APART)

    @property
    def line(self) -> float:
        """Where the axis is broken, half way from the zeros to the least of the others."""
        return math.sqrt(self.place * self.low)

    @property
    def label(self) -> str:
        """Vega's expression of what an axis writes."""
        return f"datum.value < {self.line} ? '0' : {LARGE_TOO}"

    def ticks(self, most: int) -> list[float]:
        """Choose round values between the ends, about ``most``, and the place of the zeros."""
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        every = math.ceil(len(powers) / max(1, most))
        steps = (1, 2, 5) if len(powers) < 4 else (1,)
        some = [step * 10.0**power for power in powers[::every] for step in steps]
        return [self.place, *(one for one in some if self.low <= one <= self.high)]


def edge_for(values: Iterable[float], medians: Iterable[float]) -> Edge | None:
    """Return the place of the zeros among values if their medians spread far; else None."""
    every, known = list(values), [one for one in medians if one > 0]
    is_far = len(known) > 1 and max(known) / FAR > min(known)
    if not is_far or min(every, default=1.0) != 0:
        return None
    others = [within(one, log=True) for one in (*every, *known) if one > 0]
    return Edge(min(others), max(others))
