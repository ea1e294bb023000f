"""When a growing comparison may be looked at, and how strictly.

An ordinary 95 % interval that is looked at after every block is wrong in 17 to 45 % of A/A
comparisons. Looks that are few, fixed in advance and each stricter keep that at 5 % over all looks
together, so the interval of any look may be printed and may end the measuring.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

FIRST_LOOK = 8
"""The fewest pairs of which a distribution-free test can say anything: 2 / 2**8 = 0.0078."""

GROWTH = 1.35

LEVELS = ((30, 0.015), (60, 0.012), (100, 0.009), (200, 0.00782), (400, 0.0065))
"""(cap, two-sided level of every look) by simulation of the exact test, 15 to 60 thousand paths."""

P_FACTORS = ((200, 6.2), (400, 8.0))
"""(cap, factor) that makes the smallest p of all looks an honest p; from the same simulation."""


@lru_cache(maxsize=64)  # a study asks for one again and again
def looks(cap: int, minimum: int = FIRST_LOOK) -> tuple[int, ...]:
    """List the numbers of pairs at which a comparison of at most ``cap`` pairs is looked at.

    The schedule is geometric from 8, and the cap is its last look. Looks below ``minimum`` are left
    out, which only makes the whole more conservative. A cap below 8 has no look at all.
    """
    schedule = []
    look = FIRST_LOOK
    while look < cap:
        schedule.append(look)
        look = round(look * GROWTH)
    if cap >= FIRST_LOOK:
        schedule.append(cap)
    return tuple(look for look in schedule if look >= min(minimum, cap))


def level(cap: int) -> float:
    """Give the two-sided level of every look, so that all looks up to the cap together keep 5 %.

    It is that of the smallest simulated cap not below this one. Beyond 400 nothing was simulated:
    there it is Bonferroni's 0.05 / looks, which always holds and costs some width.
    """
    known = (strict for simulated, strict in LEVELS if cap <= simulated)
    return next(known, 0.05 / max(1, len(looks(cap))))


def sequential_p(p_values: Iterable[float], cap: int) -> float:
    """Combine the p values of all looks taken so far into one that allows for the looking."""
    known = (factor for simulated, factor in P_FACTORS if cap <= simulated)
    return min(1.0, next(known, float(len(looks(cap)))) * min(p_values, default=1.0))
