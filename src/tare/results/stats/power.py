"""What a number of blocks can show, and how many blocks an effect needs.

They plan, they do not decide. Effects and spreads are on the log scale, where 0.02 is about 2 %;
the spread is that of paired log ratios, by ``tare.results.stats.description.spread``.
Both are rules of thumb fitted to simulations of the look schedule.
"""

from __future__ import annotations

import math

from tare.results.stats.schedule import FIRST_LOOK


def detectable(spread: float, n: int) -> float:
    """Return the smallest effect that n blocks will probably show."""
    return 3.5 * spread / math.sqrt(n)


def blocks_needed(spread: float, effect: float) -> int:
    """Predict after how many blocks an effect will be shown."""
    return max(FIRST_LOOK, math.ceil(12 * (spread / effect) ** 2))
