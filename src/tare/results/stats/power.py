"""What a number of blocks can show, and how many blocks an effect needs.

They plan, they do not decide. Effects and spreads are on the log scale, where 0.02 is about 2 %;
the spread is that of paired log ratios, by ``tare.results.stats.description.spread``.
``detectable`` and ``blocks_needed`` are rules of thumb fitted to simulations of the look schedule;
the others are the power of one test at a fixed number of blocks, if log ratios are normal.
"""

from __future__ import annotations

import math

from tare.results.stats.schedule import FIRST_LOOK

SIGNED_RANK_EFFICIENCY = 3 / math.pi
"""How many pairs the t test needs for each of the signed-rank test's, if normal (Lehmann 1975)."""


def detectable(spread: float, n: int) -> float:
    """Give the smallest effect that n blocks will probably show."""
    return 3.5 * spread / math.sqrt(n)


def blocks_needed(spread: float, effect: float) -> int:
    """Predict after how many blocks an effect will be shown."""
    return max(FIRST_LOOK, math.ceil(12 * (spread / effect) ** 2))


def power_paired_t(effect: float, spread: float, n: float, level: float = 0.05) -> float:
    """Give the chance that the two-sided paired t test of n pairs rejects (noncentral t).

    0 below two pairs; 1 for any effect without spread.
    """
    from scipy import stats

    if n < 2:
        return 0.0
    if effect == 0 or spread == 0:
        return level if effect == 0 else 1.0
    noncentrality = abs(effect) / spread * math.sqrt(n)

    freedom = n - 1
    t = float(stats.t.ppf(1 - level / 2, freedom))
    # Beyond 5 the far tail is below 1e-9, and SciPy's is NaN there.
    far = float(stats.nct.cdf(-t, freedom, noncentrality)) if noncentrality < 5 else 0.0
    return float(stats.nct.sf(t, freedom, noncentrality)) + far


def power_signed_rank(effect: float, spread: float, n: int, level: float = 0.05) -> float:
    """Give the chance that the signed-rank test of n pairs rejects, about (Noether 1987).

    That of the t test with 3 / pi as many pairs, which is up to 0.1 too high at 8 pairs; 0 if even
    pairs that all agree, whose p value is 2 / 2**n, do not suffice.
    """
    if 2.0 ** (1 - n) > level:
        return 0.0
    return power_paired_t(effect, spread, n * SIGNED_RANK_EFFICIENCY, level)


def minimum_detectable(
    spread: float, n: int, level: float = 0.05, power: float = 0.8
) -> float | None:
    """Give the smallest effect that the signed-rank test shows with this power.

    None if n pairs can show none at this level; 0 without spread.
    """
    from scipy import optimize

    if not level < power < 1:
        raise ValueError(f"a power lies between the level ({level}) and 1, not at {power}")
    if power_signed_rank(1.0, 0.0, n, level) == 0:
        return None

    def lacking(effect: float) -> float:
        return power_signed_rank(effect, 1.0, n, level) - power

    return spread * float(optimize.brentq(lacking, 1e-9, 1e6)) if spread > 0 else 0.0
