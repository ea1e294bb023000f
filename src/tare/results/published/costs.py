"""Published percentages as costs: time per unit of work over that of the baseline (decision 2)."""

from __future__ import annotations

import math

from tare.core.model import Better


def of_rate_degradation(percent: float) -> float:
    """Turn the part of a rate that is lost into a cost: 75 % less is 4; infinite if all is lost."""
    return math.inf if percent >= 100 else 1 / (1 - percent / 100)


def of_time_degradation(percent: float) -> float:
    """Turn the time that is added into a cost: 75 % more is 1.75."""
    return 1 + percent / 100


def of_difference(percent: float, better: Better) -> float:
    """Turn "so much more than the baseline" into a cost; infinite if nothing is left of a rate."""
    factor = 1 + percent / 100
    if better is Better.LOWER:
        return factor
    return math.inf if factor <= 0 else 1 / factor


def as_difference(cost: float, better: Better) -> float:
    """Turn a cost into "so much more than the baseline" in per cent: ``of_difference`` reversed."""
    if better is Better.LOWER:
        return 100 * (cost - 1)
    return 100 * ((1 / cost if cost else math.inf) - 1)
