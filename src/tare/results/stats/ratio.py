"""From the log scale, on which everything is computed, back to the ratios that people read."""

from __future__ import annotations

import math

from tare.results.stats.signed_rank import Interval

LARGEST = 700.0
"""Beyond it exp overflows, or its reciprocal does."""


def ratio(log_ratio: float) -> float:
    """Return 0 for -inf only; what is finite but smaller than 1e-304 is raised to that."""
    if log_ratio >= LARGEST:
        return math.inf
    return 0.0 if log_ratio == -math.inf else math.exp(max(log_ratio, -LARGEST))


def ratios(ends: Interval) -> Interval:
    """Return both ends as ratios."""
    return Interval(ratio(ends.low), ratio(ends.high))
