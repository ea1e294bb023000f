"""A cost as people say it: 15 times slower, 3 % faster; for progress and for the first sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tare.present.view.numbers import percent_number, plain, share_text
from tare.results.questions.allocation import Standing
from tare.results.stats.sequential import Verdict

TIMES_FROM = 1.5
"""From this cost on times are written instead of per cent."""


@dataclass(frozen=True, slots=True)
class Speed:
    """A cost in words: 15 times slower has the number 15, the unit "times", the word "slower"."""

    number: str
    unit: str
    word: str

    @classmethod
    def of(cls, cost: float) -> Speed:
        """Return a cost with two digits."""
        word = "slower" if cost >= 1 else "faster"
        if cost >= TIMES_FROM:
            return cls(_factor(cost), "times", word)
        if 0 < cost <= 1 / TIMES_FROM:
            return cls(_factor(1 / cost), "times", word)
        return cls(percent_number(abs(cost - 1)), "%", word)

    @property
    def size(self) -> str:
        """Return the number with its unit."""
        return f"{self.number} {self.unit}"


def speed_text(cost: float) -> str:
    """Return a cost with two digits: 15 times slower, 3 % slower, 2.1 times faster."""
    speed = Speed.of(cost)
    return f"{speed.size} {speed.word}"


def size_range(one: float, other: float) -> str:
    """Return the sizes of two costs of one word, the least first: 3.1 to 15 times, 2 % to 3 times.

    One size, if they are the same.
    """
    first, last = Speed.of(one), Speed.of(other)
    if first == last:
        return last.size
    return f"{first.number if first.unit == last.unit else first.size} to {last.size}"


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
