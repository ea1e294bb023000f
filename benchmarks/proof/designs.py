"""Ways to compare a platform with its baseline, each applied to the same noise.

Tare's is made of ``tare.results.stats`` itself: its rule, its looks, its levels. The others are
what published comparisons and common tools do, followed by the test that their readers apply.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

from proof.noise import Array, Noise
from tare.results.stats.early import EarlyLook, early_look
from tare.results.stats.schedule import all_looks, early_looks, level, looks, sequential_p
from tare.results.stats.sequential import Rule, Verdict
from tare.results.stats.signed_rank import estimate, p_value

CAP = 100
MARGIN = 0.02
RULE = Rule(cap=CAP, minimum=3, margin=math.log1p(MARGIN))
"""The defaults of a study: at most 100 blocks, and 2 % is the same."""

ORDINARY = 0.05
"""The level of an ordinary interval of 95 %, for a number of pairs fixed beforehand."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One comparison as Tare measures and prints it.

    ``pairs`` is how many it took, at most the cap.
    ``covered`` is whether the interval printed at the stop holds the truth; ``reach`` is the end of
    it that is farther from 0.
    """

    verdict: Verdict
    pairs: int
    log_cost: float
    reach: float
    p: float
    covered: bool


@dataclass(frozen=True, slots=True)
class Blocks:
    """Randomized blocks of equal cells; log ratios to the baseline.

    ``platforms`` are paths by platforms by blocks, ``control`` those of the A/A control, paths by
    blocks.
    """

    platforms: Array
    control: Array

    @property
    def pairs(self) -> list[tuple[Array, Array]]:
        """Each path's first platform, and the control of the same blocks."""
        return list(zip(self.platforms[:, 0], self.control, strict=True))


def blocks(
    noise: Noise, rng: np.random.Generator, paths: int, platforms: int, cap: int = CAP
) -> Blocks:
    """Measure equal platforms, baseline and A/A control in ``cap`` randomized blocks."""
    cells = platforms + 2
    trials = noise.series(rng, paths, cap * cells).reshape(paths, cap, cells)
    ordered = rng.permuted(trials, axis=2)
    # Of cells in random order it does not matter which is called what.
    ratios = ordered[:, :, 1:] - ordered[:, :, :1]
    return Blocks(np.moveaxis(ratios[:, :, 1:], 2, 1), ratios[:, :, 0])


def measured(
    log_ratios: Array, control: Array | None = None, truth: float = 0.0, *, rule: Rule = RULE
) -> Measured:
    """Judge one comparison as ``tare run`` does, which ends it at the look that decides.

    That a decided comparison may go on for a few pairs, for its size, is left out: its interval is
    widest at the stop.
    """
    judged = rule.judge(log_ratios[: early_looks(rule.cap)[-1]], control=control, ended=False)
    if judged.decided_at is None:
        judged = rule.judge(log_ratios, control=control, ended=True)
    stop = judged.decided_at or len(log_ratios)
    seen = log_ratios[:stop]
    if judged.look != stop:  # the interval was that of a later look
        judged = rule.judge(seen, control=control, ended=stop == len(log_ratios))
    low, high = judged.interval or (-math.inf, math.inf)
    return Measured(
        verdict=judged.verdict,
        pairs=stop,
        log_cost=estimate(seen),
        reach=max(abs(low), abs(high)),
        p=judged.p,
        covered=low <= truth <= high,
    )


def holds(errors: Array, n: int, strictness: float) -> bool:
    """Return whether the interval of the first n pairs holds the truth, given the pairs less it.

    It does exactly if the test does not reject the truth (``tare.results.stats.signed_rank``).
    """
    return p_value(errors[:n]) > strictness


def holds_always(errors: Array, control: Array, rule: Rule = RULE) -> bool:
    """Return whether the intervals of all looks up to the cap hold the truth together."""
    strict = level(rule.cap)
    early = all(one.interval.low <= 0 <= one.interval.high for one in _early(errors, control, rule))
    return early and all(holds(errors, n, strict) for n in looks(rule.cap))


def pairs_until(log_ratios: Array, control: Array, p: float, rule: Rule = RULE) -> int:
    """Find the look from which on the sequential p is at most ``p``; above the cap, none is."""
    early = {one.pairs: one.p for one in _early(log_ratios, control, rule)}
    ranks = set(looks(rule.cap))
    taken: list[float] = []
    for n in all_looks(rule.cap):
        taken += [p_value(log_ratios[:n])] if n in ranks else []
        before = [one for pairs, one in early.items() if pairs <= n]
        if sequential_p(taken, rule.cap, before) <= p:
            return n
    return rule.cap + 1


def _early(log_ratios: Array, control: Array, rule: Rule) -> list[EarlyLook]:
    found = [early_look(log_ratios[:n], control[:n]) for n in early_looks(rule.cap)]
    return [one for one in found if one is not None]


@dataclass(frozen=True, slots=True)
class Rival:
    """A rule that measures one platform to its end and then the other.

    ``apart`` says that a minute lies between the two, as where platforms are set up one at a time.
    With ``sd_limit`` it stops each at ``least`` trials or as soon as their SD is below it, at
    ``most`` at the latest. A trial is the mean of ``length`` short ones in a row. The test is
    Student's, Welch's, or the eye's: whether two bars of mean and SD stand apart.
    """

    name: str
    least: int
    most: int
    apart: bool
    sd_limit: float | None = None
    length: int = 1
    test: Literal["student", "welch", "bars"] = "student"


SD_LIMIT = 0.025
"""Phoronix Test Suite's default limit (METHOD.md 1, read in its source); 3 trials, at most 12."""

RIVALS = (
    Rival("five in a row, Student", 5, 5, apart=True),
    Rival("five of 60 s in a row, Student", 5, 5, apart=True, length=100),
    Rival("Phoronix's rule, Student", 3, 12, apart=True, sd_limit=SD_LIMIT),
    Rival("hyperfine's ten, Welch", 10, 10, apart=False, test="welch"),
    Rival("hyperfine's ten, bars of SD apart", 10, 10, apart=False, test="bars"),
)


@dataclass(frozen=True, slots=True)
class Tested:
    """What a rival's users see, by path: the ratio of means, its p, and the trials of both sides.

    The trials are counted in short ones. For bars p is 0 where they stand apart, else 1.
    """

    ratio: Array
    p: Array
    trials: Array


def tested(
    rival: Rival, noise: Noise, rng: np.random.Generator, paths: int, effects: Sequence[float]
) -> dict[float, Tested] | None:
    """Apply a rival to platforms that are slower by each effect; None where it cannot be."""
    arms = noise.arms(rng, paths, rival.most * rival.length, apart=rival.apart)
    if arms is None:
        return None
    base, other = (np.exp(_means(arm, rival.length)) for arm in arms)
    return {effect: _tested(rival, base, other * (1 + effect)) for effect in effects}


def _means(logs: Array, length: int) -> Array:
    if length == 1:
        return logs
    means: Array = np.exp(logs).reshape(len(logs), -1, length).mean(axis=2)
    return np.log(means)


def _tested(rival: Rival, base: Array, other: Array) -> Tested:
    m, n = _stopped(rival, base), _stopped(rival, other)
    mean_a, var_a = _moments(base, m)
    mean_b, var_b = _moments(other, n)
    if rival.test == "bars":
        apart = np.abs(mean_b - mean_a) > np.sqrt(var_a) + np.sqrt(var_b)
        return Tested(mean_b / mean_a, np.where(apart, 0.0, 1.0), rival.length * (m + n))
    if rival.test == "welch":
        error = var_a / m + var_b / n
        freedom = error**2 / ((var_a / m) ** 2 / (m - 1) + (var_b / n) ** 2 / (n - 1))
    else:
        freedom = m + n - 2.0
        error = ((m - 1) * var_a + (n - 1) * var_b) / freedom * (1 / m + 1 / n)
    p = np.asarray(2 * stats.t.sf(np.abs(mean_b - mean_a) / np.sqrt(error), freedom))
    return Tested(mean_b / mean_a, p, rival.length * (m + n))


def _stopped(rival: Rival, values: Array) -> Array:
    """Return after how many trials each path stops."""
    ends = np.full(len(values), float(rival.most))
    if rival.sd_limit is None:
        return ends
    for n in reversed(range(rival.least, rival.most)):
        seen = values[:, :n]
        ends[seen.std(axis=1, ddof=1) / seen.mean(axis=1) < rival.sd_limit] = n
    return ends


def _moments(values: Array, counts: Array) -> tuple[Array, Array]:
    """Return mean and variance of the first values of each row, ``counts`` of them."""
    used = np.arange(values.shape[1]) < counts[:, None]
    mean = np.where(used, values, 0.0).sum(axis=1) / counts
    squares = np.where(used, values - mean[:, None], 0.0) ** 2
    return mean, squares.sum(axis=1) / (counts - 1)
