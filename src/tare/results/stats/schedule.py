"""When a growing comparison may be looked at, and how strictly.

An ordinary 95 % interval that is looked at after every block is wrong in 17 to 45 % of A/A
comparisons. Looks that are few, fixed in advance and each stricter keep that at 5 % over all looks
together, so the interval of any look may be printed and may end the measuring.

From 8 pairs on looks are by ranks (METHOD.md 2.4); before, *early* looks see what is obvious
(METHOD.md 2.4b, ``tare.results.stats.early``). A tenth of the 5 % is theirs.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

FIRST_LOOK = 8
"""The fewest pairs of which a distribution-free test can say anything: 2 / 2**8 = 0.0078."""

EARLY_LOOKS = (3, 4, 5, 6, 7)
EARLY_LEVEL = 0.001
"""Two-sided level of each early look; 0.005 in all."""
EARLY_P_FACTOR = 0.05 / EARLY_LEVEL
LATER_SHARE = 0.9
"""Of the 5 %, what the early looks leave to those by ranks."""

GROWTH = 1.35

LEVELS = ((30, 0.015), (60, 0.0105), (100, 0.009), (200, 0.0077), (400, 0.0065))
"""(cap, two-sided level of every look by ranks), by simulation of the exact test together with the
early looks: 40 to 400 thousand paths of normal pairs, of a platform far noisier than the control,
which is the worst (decision 25)."""

P_FACTORS = ((200, 7.0), (400, 9.0))
"""(cap, factor) that makes the smallest p of all looks an honest p; from the same simulation."""


@lru_cache(maxsize=64)  # a study asks for one again and again
def looks(cap: int) -> tuple[int, ...]:
    """List the numbers of pairs at which ranks look at a comparison of at most ``cap`` pairs.

    The schedule is geometric from 8, and the cap is its last look. A cap below 8 has no such look.
    """
    schedule = []
    look = FIRST_LOOK
    while look < cap:
        schedule.append(look)
        look = round(look * GROWTH)
    if cap >= FIRST_LOOK:
        schedule.append(cap)
    return tuple(schedule)


@lru_cache(maxsize=64)
def early_looks(cap: int) -> tuple[int, ...]:
    """List the numbers of pairs of the early looks at a comparison of at most ``cap`` pairs.

    The last is 8 where ranks cannot reject at 8 pairs, because the level is too strict.
    """
    at_first = () if level(cap) >= 2.0 ** (1 - FIRST_LOOK) else (FIRST_LOOK,)
    return tuple(look for look in (*EARLY_LOOKS, *at_first) if look <= cap)


@lru_cache(maxsize=64)
def all_looks(cap: int) -> tuple[int, ...]:
    """List the numbers of pairs at which there is a look of either kind, each once."""
    return tuple(sorted({*early_looks(cap), *looks(cap)}))


def level(cap: int) -> float:
    """Return the two-sided level of a look by ranks, so that all looks together keep 5 %.

    It is that of the smallest simulated cap not below this one. Beyond 400 nothing was simulated:
    there it is Bonferroni's 0.045 / looks, which always holds and costs some width.
    """
    known = (strict for simulated, strict in LEVELS if cap <= simulated)
    return next(known, 0.05 * LATER_SHARE / max(1, len(looks(cap))))


def sequential_p(p_values: Iterable[float], cap: int, early: Iterable[float] = ()) -> float:
    """Combine the p values of all looks taken so far into one that allows for the looking.

    ``p_values`` are those by ranks, ``early`` those of the early looks.
    """
    known = (factor for simulated, factor in P_FACTORS if cap <= simulated)
    later = next(known, bonferroni(cap)) * min(p_values, default=1.0)
    return min(1.0, EARLY_P_FACTOR * min(early, default=1.0), later)


def bonferroni(cap: int) -> float:
    """Return the factor that makes the least p by ranks an honest one, whatever the test."""
    return len(looks(cap)) / LATER_SHARE
