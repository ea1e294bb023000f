"""How often trials complete."""

from __future__ import annotations

from scipy import stats

from tare.results.stats.signed_rank import Interval
from tare.results.stats.values import Estimated


def wilson(k: int, n: int, level: float = 0.05) -> Estimated | None:
    """Give the share k / n with Wilson's score interval (1927), which suits small n; None if n = 0.

    ``ValueError`` unless 0 <= k <= n.
    """
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is no share")
    if n == 0:
        return None
    found = stats.binomtest(k, n).proportion_ci(1 - level, "wilson")
    return Estimated(k / n, Interval(float(found.low), float(found.high)))


def mcnemar_exact(b: int, c: int) -> float:
    """Test that either of a block's two trials is as likely to fail alone (McNemar 1947).

    Two-sided. ``b`` blocks have only the first failed, ``c`` only the second; those where both or
    none failed do not count. p is 1 if there is no such block. ``ValueError`` for negative counts.
    """
    if min(b, c) < 0:
        raise ValueError(f"counts of blocks cannot be negative: {b} and {c}")
    return 1.0 if b + c == 0 else float(stats.binomtest(b, b + c).pvalue)
