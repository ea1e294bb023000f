"""Comparisons of two platforms from their raw runs, when these are few and in no pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from tare.core.model import Better
from tare.results.stats.effect import hodges_lehmann_shift
from tare.results.stats.holm import holm
from tare.results.stats.ratio import ratios
from tare.results.stats.sequential import Verdict
from tare.results.stats.signed_rank import Interval
from tare.results.stats.two_sample import log_t, mann_whitney, permutation, welch

ALPHA = 0.05
SEED = 1
"""For exchanges of labels that are too many to make all; five and five runs have only 252."""

Runs = Mapping[str, Sequence[float]]
"""The values of each platform, all positive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One platform against another: costs, 95 % intervals and p values, None if there are none.

    ``cost`` is the ratio of geometric means with Welch's interval on logs, ``by_ranks`` the
    interval of the rank-sum test. The p values are of Welch's test on logs, of all exchanges of the
    labels, and of Mann and Whitney's exact test; ``holm_p`` is the first, allowing for the table.
    """

    platform: str
    baseline: str
    cost: float | None
    interval: Interval | None
    by_ranks: Interval | None
    welch_p: float | None
    permutation_p: float | None
    mann_whitney_p: float | None
    holm_p: float | None = None

    @property
    def verdict(self) -> Verdict:
        """What the runs show after Holm."""
        if self.cost is None or self.holm_p is None or self.holm_p >= ALPHA:
            return Verdict.UNDECIDED
        return Verdict.SLOWER if self.cost > 1 else Verdict.FASTER


def pair_up(runs: Runs, better: Better) -> list[Pair]:
    """Compare every platform with every one before it; Holm over all of them."""
    pairs = [compare(own, base, runs, better) for base, own in combinations(runs, 2)]
    tested = [pair for pair in pairs if pair.welch_p is not None]
    adjusted = iter(holm([pair.welch_p or 0.0 for pair in tested]))
    return [
        pair if pair.welch_p is None else replace(pair, holm_p=next(adjusted)) for pair in pairs
    ]


def compare(platform: str, baseline: str, runs: Runs, better: Better) -> Pair:
    """Compare one platform with another."""
    own, base = np.log(np.array(runs[platform])), np.log(np.array(runs[baseline]))
    if better is Better.HIGHER:
        own, base = -own, -base
    size = log_t(np.exp(own), np.exp(base))
    shift = hodges_lehmann_shift(own, base)
    tests = (welch(own, base), permutation(own, base, seed=SEED), mann_whitney(own, base))
    welch_p, permutation_p, mann_whitney_p = (test and test.p for test in tests)
    return Pair(
        platform=platform,
        baseline=baseline,
        cost=size and size.value,
        interval=size and size.interval,
        by_ranks=ratios(shift.interval) if shift and shift.interval else None,
        welch_p=welch_p,
        permutation_p=permutation_p,
        mann_whitney_p=mann_whitney_p,
    )


def smallest_p(own: int, base: int) -> float:
    """Return the smallest p of any test by exchange or by ranks with these numbers of runs."""
    return min(1.0, 2 / math.comb(own + base, own))
