"""How often each design is right on a noise: coverage, false alarms, power, time to decide."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import binomtest

from proof.designs import (
    ORDINARY,
    RULE,
    Measured,
    Rival,
    blocks,
    holds,
    holds_always,
    measured,
    pairs_until,
    tested,
)
from proof.noise import TRIAL_S, Array, Model, Noise, Recorded, scatter
from tare.results.stats.holm import holm
from tare.results.stats.sequential import Rule, Verdict
from tare.results.stats.signed_rank import estimate

EFFECTS = (0.01, 0.03, 0.10)
OBVIOUS = (0.50, 2.55, 14.0)
"""Costs that early looks are for: half as slow again, 3.5 times, 15 times."""
FIXED = (8, 20, 49)
"""Numbers of pairs at which the ordinary interval is checked."""
WORKLOADS, PLATFORMS = 6, 5
"""A whole study of 30 comparisons; the platforms of a workload share its baseline."""
FAMILYWISE = 0.05
ACCURACY_PAIRS = 10
COVERAGE = 5
"""How many times more paths for coverage alone, which is cheap and has to be known to 1 %."""

FEW = 7
"""The most pairs that early looks see with the cap of a study's defaults."""

CLAIMS = (Verdict.SLOWER, Verdict.FASTER)


@dataclass(frozen=True, slots=True)
class Share:
    """A count and its total."""

    count: int
    of: int

    @property
    def value(self) -> float:
        """The share; 0 of none is 0."""
        return self.count / self.of if self.of else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval of 95 % for what the share estimates."""
        if not self.of:
            return 0.0, 1.0
        ends = binomtest(self.count, self.of).proportion_ci(method="wilson")
        return float(ends.low), float(ends.high)

    def __add__(self, other: Share) -> Share:
        return Share(self.count + other.count, self.of + other.of)


def share(hits: Sequence[bool]) -> Share:
    """Count."""
    return Share(sum(map(bool, hits)), len(hits))


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """What became of comparisons whose true cost is known.

    ``right`` are those said to be slower, ``wrong`` those said to be faster, or the same although
    the cost is above the margin. ``pairs`` is the median until the stop; ``reach`` the median upper
    end, as a log ratio, of what stayed undecided (0 if nothing did).
    """

    right: Share
    wrong: Share
    undecided: Share
    pairs: float
    reach: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Tares:
    """Tare's design on one noise; see METHOD.md 3.8 for what is asked of it.

    Coverage is that of intervals of 95 %: ``fixed`` by number of pairs, ordinary ones; ``at_stop``
    by true cost, those printed; ``always`` all looks up to the cap together. ``alarms`` and
    ``same`` are verdicts of equal platforms, ``early`` the alarms at 3 to 7 pairs, ``familywise``
    studies of 30 of them with a false alarm after Holm's correction, ``uncorrected`` the same by
    the verdicts alone. Where all 30 cost 10 %, ``after_holm`` of the comparisons are significant
    after it at their stop, and they would be for certain if they went on to ``family_pairs`` (the
    median).
    """

    noise: str
    trial_s: float
    trial_sd: float
    pair_sd: float
    fixed: Mapping[int, Share]
    at_stop: Mapping[float, Share]
    always: Share
    early: Share
    same: Share
    same_pairs: float
    power: Mapping[float, Power]
    error: float
    alarms: Share = field(default=Share(0, 0))
    familywise: Share = field(default=Share(0, 0))
    uncorrected: Share = field(default=Share(0, 0))
    after_holm: Share = field(default=Share(0, 0))
    family_pairs: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rivals:
    """A rival on one noise: false alarms, and by true cost what it says at the usual 5 %.

    ``calibrated`` is its power where its threshold is moved until 5 % of equal platforms alarm; it
    needs the noise as input for that. ``seconds`` is the median, the minute between the platforms
    left out; ``error`` the 95th percentile of the error of the ratio.
    """

    name: str
    noise: str
    alarms: Share
    right: Mapping[float, Share]
    wrong: Mapping[float, Share]
    calibrated: Mapping[float, float]
    seconds: float
    trials: float
    error: float


def tares(noise: Noise, seed: int, paths: int, *, rule: Rule = RULE) -> Tares:
    """Measure single comparisons in all that a block holds: baseline, A/A control, platform."""
    rng = np.random.default_rng(seed)
    every = blocks(noise, rng, COVERAGE * paths, 1, rule.cap).pairs
    fixed = {n: share([holds(one, n, ORDINARY) for one, _ in every]) for n in FIXED}
    always = share([holds_always(one, c, rule) for one, c in every])
    pairs = every[:paths]
    equal = [measured(one, c, rule=rule) for one, c in pairs]
    at_stop, power = {0.0: share([one.covered for one in equal])}, {}
    for effect in EFFECTS:
        truth = float(np.log1p(effect))
        dear = [measured(one + truth, c, truth, rule=rule) for one, c in pairs]
        at_stop[effect] = share([one.covered for one in dear])
        power[effect] = _power(dear, truth, rule)
    for effect in OBVIOUS:
        truth = float(np.log1p(effect))
        dear = [measured(one + truth, c, truth, rule=rule) for one, c in every]
        at_stop[effect] = share([one.covered for one in dear])
        power[effect] = _power(dear, truth, rule)
    wrong_by = [abs(np.expm1(estimate(one[:ACCURACY_PAIRS]))) for one, _ in pairs]
    trial_sd, pair_sd = scatter(noise, rng)
    same = [one for one in equal if one.verdict is Verdict.SAME]
    return Tares(
        noise=noise.name,
        trial_s=noise.trial_s if isinstance(noise, Recorded) else TRIAL_S,
        trial_sd=trial_sd,
        pair_sd=pair_sd,
        fixed=fixed,
        at_stop=at_stop,
        always=always,
        early=share(
            [rule.judge(d[:FEW], control=c, ended=False).verdict in CLAIMS for d, c in every]
        ),
        same=Share(len(same), len(equal)),
        same_pairs=float(np.median([one.pairs for one in same])) if same else float(rule.cap),
        power=power,
        error=float(np.quantile(wrong_by, 0.95)),
        alarms=share([one.verdict in CLAIMS for one in equal]),
    )


@dataclass(frozen=True, slots=True)
class Obvious:
    """After how many pairs, in the median, a cost of this factor is decided.

    Pairs are independent and normal with ``pair_sd``; the control is as noisy. ``asked`` is the bar
    of METHOD.md 2.4b.
    """

    times: float
    pair_sd: float
    asked: int
    pairs: float


OBVIOUS_BARS = ((14.0, 0.20, 4), (3.5, 0.10, 4), (1.5, 0.10, 6), (1.5, 0.03, 4))
"""(how many times slower, SD of a pair, pairs in which it is decided)."""


def obvious(seed: int, paths: int, *, rule: Rule = RULE) -> list[Obvious]:
    """Measure how soon large costs are decided."""
    rng, found = np.random.default_rng(seed), []
    for times, pair_sd, asked in OBVIOUS_BARS:
        noise = Model(name="independent", white=pair_sd / math.sqrt(2))
        made = blocks(noise, rng, paths, 1, rule.cap).pairs
        took = [measured(one + math.log(times), c, rule=rule).pairs for one, c in made]
        found.append(Obvious(times, pair_sd, asked, float(np.median(took))))
    return found


@dataclass(frozen=True, slots=True)
class Families:
    """Whole studies of 30 equal platforms, and of 30 that cost 10 %; see Tares."""

    alarms: Share
    familywise: Share
    uncorrected: Share
    after_holm: Share
    family_pairs: float


def families(noise: Noise, seed: int, studies: int, *, rule: Rule = RULE) -> Families:
    """Measure whole studies, each comparison to its own stop."""
    rng = np.random.default_rng(seed)
    shape = (studies, WORKLOADS * PLATFORMS, rule.cap)
    made = blocks(noise, rng, studies * WORKLOADS, PLATFORMS, rule.cap)
    ratios = made.platforms.reshape(shape)
    controls = np.repeat(made.control, PLATFORMS, axis=0).reshape(shape)
    alarms, familywise, uncorrected = Share(0, 0), [], []
    for study, control in zip(ratios, controls, strict=True):
        rows = [measured(one, c, rule=rule) for one, c in zip(study, control, strict=True)]
        claims = [row.verdict in CLAIMS for row in rows]
        alarms += share(claims)
        uncorrected.append(any(claims))
        familywise.append(min(holm([row.p for row in rows])) <= FAMILYWISE)
    after_holm, pairs = Share(0, 0), []
    some = max(1, studies // 10)
    for study, control in zip(ratios[:some] + np.log1p(EFFECTS[-1]), controls, strict=False):
        both = list(zip(study, control, strict=True))
        adjusted = holm([measured(one, c, rule=rule).p for one, c in both])
        after_holm += share([p <= FAMILYWISE for p in adjusted])
        pairs += [pairs_until(one, c, FAMILYWISE / len(study), rule) for one, c in both]
    middle = float(np.median(pairs))
    return Families(alarms, share(familywise), share(uncorrected), after_holm, middle)


def rivals(rival: Rival, noise: Noise, seed: int, paths: int) -> Rivals | None:
    """Apply a rival; None where a recording has too few trials in a row."""
    rng = np.random.default_rng(seed)
    by_effect = tested(rival, noise, rng, paths, (0.0, *EFFECTS))
    if by_effect is None:
        return None
    equal = by_effect[0.0]
    threshold = float(np.quantile(equal.p, ORDINARY))
    trial_s = noise.trial_s if isinstance(noise, Recorded) else TRIAL_S
    trials = float(np.median(equal.trials))
    return Rivals(
        name=rival.name,
        noise=noise.name,
        alarms=_claims(equal.p, np.ones(paths)),
        right={e: _claims(by_effect[e].p, by_effect[e].ratio - 1) for e in EFFECTS},
        wrong={e: _claims(by_effect[e].p, 1 - by_effect[e].ratio) for e in EFFECTS},
        calibrated={
            e: float(((by_effect[e].p < threshold) & (by_effect[e].ratio > 1)).mean())
            for e in EFFECTS
        },
        seconds=trials * trial_s,
        trials=trials,
        error=float(np.quantile(np.abs(equal.ratio - 1), 0.95)),
    )


def seconds(pairs: float, trial_s: float = TRIAL_S) -> float:
    """How long the two trials of each pair take; the A/A control adds half of that."""
    return 2 * pairs * trial_s


def _claims(p: Array, towards: Array) -> Share:
    return Share(int(((p < ORDINARY) & (towards > 0)).sum()), len(p))


def _power(rows: Sequence[Measured], truth: float, rule: Rule) -> Power:
    false_same = truth > rule.margin
    undecided = [row for row in rows if row.verdict is Verdict.UNDECIDED]
    return Power(
        right=share([row.verdict is Verdict.SLOWER for row in rows]),
        wrong=share(
            [
                row.verdict is Verdict.FASTER or (false_same and row.verdict is Verdict.SAME)
                for row in rows
            ]
        ),
        undecided=Share(len(undecided), len(rows)),
        pairs=float(np.median([row.pairs for row in rows])),
        reach=float(np.median([row.reach for row in undecided])) if undecided else 0.0,
    )
