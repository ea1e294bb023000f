"""The axis of costs: round multiples of the baseline."""

from __future__ import annotations

import math

from tare.present.charts.figure import Spec
from tare.present.view.numbers import MINUS, TIMES

_MULTIPLES = (
    *(1.001, 1.002, 1.005, 1.01, 1.02, 1.03, 1.05, 1.1, 1.2, 1.5),
    *(2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 1e4, 1e5),
)
_APART = 42
"""Minimum number of pixels between two labels of an axis of costs."""
_WIDE = 5
"""An axis of more decades has powers of ten only."""
_NEAR = 1.1
_MULTIPLE = (
    "abs(datum.value - 1) < 0.01 ? format(datum.value, '.4~r')"
    " : datum.value >= 1e5 || datum.value < 1e-4"
    f" ? replace(replace(format(datum.value, '.0e'), '+', ''), '-', '{MINUS}')"
    " : format(datum.value, ',.3~r')"
)


def cost_axis(low: float, high: float, width: int) -> Spec:
    """Label round multiples only: those that fit, always 1 among them."""
    pixels = width / math.log(high / low)
    decade = pixels * math.log(10)
    every = math.ceil(_APART / decade)
    # Over many decades a round number here and there would hide how far apart they are.
    is_wide = width > _WIDE * decade
    steps = [10.0**power for power in range(every, 40, every)] if is_wide else _MULTIPLES
    wanted = [1.0]
    for side in (1, -1):
        at = 0.0
        for multiple in steps:
            # Below 1 their inverses, 0.5 and 0.2; those of 1.01 and 1.02 are no round numbers.
            below = 1 / multiple if multiple >= _NEAR else 2 - multiple
            step = multiple if side > 0 else below
            here = math.log(step)
            inside = math.log(low) <= here <= math.log(high)
            if inside and abs(here - at) * pixels >= _APART:
                wanted.append(step)
                at = here
    return {
        "title": f"cost, {TIMES} baseline",
        "values": sorted(wanted),
        "labelExpr": f"({_MULTIPLE}) + '{TIMES}'",
        "labelOverlap": False,
        "gridOpacity": 0.8,
    }
