"""A cost as people say it: 15 times slower, 3 % faster; for progress and for the first sentence."""

from __future__ import annotations

import math

from tare.compare.allocation import Standing
from tare.report.numbers import plain, share_text
from tare.stats.sequential import Verdict

TIMES_FROM = 1.5
"""From this cost on times are written instead of per cent."""


def speed_text(cost: float) -> str:
    """Return a cost with two digits: 15 times slower, 3 % slower, 2.1 times faster."""
    word = "slower" if cost >= 1 else "faster"
    if cost >= TIMES_FROM:
        return f"{_factor(cost)} times {word}"
    if 0 < cost <= 1 / TIMES_FROM:
        return f"{_factor(1 / cost)} times {word}"
    return f"{share_text(abs(cost - 1))} {word}"


def _factor(times: float) -> str:
    return f"{times:.2g}" if times < 10 else f"{times:,.0f}"


def standing_text(standing: Standing, margin: float) -> str:
    """Return how a comparison of a running study stands: 14.6x slower, decided."""
    if standing.verdict is Verdict.SAME:
        return f"no difference beyond {share_text(margin)}, decided"
    if standing.cost is None:
        size = standing.verdict.value
    elif standing.cost >= TIMES_FROM:
        size = f"{plain(standing.cost, 3)}x slower"
    elif 0 < standing.cost <= 1 / TIMES_FROM:
        size = f"{plain(1 / standing.cost, 3)}x faster"
    else:
        size = speed_text(standing.cost)
    if standing.verdict in (Verdict.SLOWER, Verdict.FASTER):
        return f"{size}, {'decided' if standing.decided else 'likely'}"
    state = "precise enough" if standing.decided else "undecided"
    if standing.half_width is None or standing.half_width >= math.log(TIMES_FROM):
        return f"{size} so far, {state} after {standing.pairs} pairs"
    within = share_text(math.expm1(standing.half_width))
    return f"{size} so far, {state} (known within {within})"
