"""Looks at 3 to 7 pairs, which see obvious differences only (METHOD.md 2.4b).

Ranks prove nothing below 8 pairs: of 7 that all agree, p is 2 / 2**7. So an early look assumes that
log ratios scatter about normally, and makes that safe in three ways:

- its SD is never below that of the A/A control's log ratios *in the same blocks*, taken about 0:
  bursts of the host and unlucky instances widen both;
- nor below 2 %, for what so few pairs cannot show: rounding, or the luck of a small SD;
- it says slower or faster only if its interval lies beyond the margin, and never the same.

With fewer than three control ratios the interval is given, and nothing is decided. What was
simulated, what is promised and what is not: docs/decisions/0025-early-looks.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from tare.results.stats.hierarchy import t_p, t_quantile
from tare.results.stats.schedule import EARLY_LEVEL
from tare.results.stats.signed_rank import Array, Interval

FLOOR = 0.02
"""The least SD of a log ratio that so few pairs are believed to show."""

FEWEST_CONTROLS = 3
"""Control ratios without which nothing is decided early."""


@dataclass(frozen=True, slots=True)
class EarlyLook:
    """An early look at a number of ``pairs``: Student's interval of 99.9 % about their mean.

    ``p`` is that of the test that the interval inverts. ``is_safe`` says that the A/A control is
    known in enough of the blocks, without which interval and p decide nothing.
    """

    pairs: int
    interval: Interval
    p: float
    is_safe: bool


@lru_cache(maxsize=16)
def width_factor(n: int) -> float:
    """Return half the width of the interval of n pairs, in SDs: 18.2 at 3, 2.25 at 7."""
    return t_quantile(1 - EARLY_LEVEL / 2, n - 1) / math.sqrt(n)


def early_look(log_ratios: Array, control: Array | None) -> EarlyLook | None:
    """Look at the first few pairs; None if one of them has no ratio.

    ``control`` has the A/A control's log ratios of the same blocks; what is not finite is not
    known.
    """
    pairs: list[float] = log_ratios.tolist()  # of so few, plain numbers are five times as fast
    n = len(pairs)
    if n < 2 or not all(map(math.isfinite, pairs)):
        return None
    known = [] if control is None else [one for one in control.tolist() if math.isfinite(one)]
    is_safe = len(known) >= FEWEST_CONTROLS
    centre = math.fsum(pairs) / n
    sd = max(math.sqrt(math.fsum((one - centre) ** 2 for one in pairs) / (n - 1)), FLOOR)
    if is_safe:
        sd = max(sd, math.sqrt(math.fsum(one**2 for one in known) / len(known)))
    half = width_factor(n) * sd
    p = t_p(math.sqrt(n) * centre / sd, n - 1)
    return EarlyLook(n, Interval(centre - half, centre + half), p, is_safe)
