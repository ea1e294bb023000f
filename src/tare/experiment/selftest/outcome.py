"""Evaluate a self-test: each arm's estimate against its truth, and what the host can detect."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from tare.core.model import Plan, Trial, Variant
from tare.experiment.selftest.design import ARMS, STAGES, baseline_of
from tare.results.compare.pairing import History, histories, pair
from tare.results.compare.reason import Reason, ReasonKind, reason_of
from tare.results.stats.description import spread
from tare.results.stats.power import detectable
from tare.results.stats.ratio import ratio
from tare.results.stats.schedule import FIRST_LOOK
from tare.results.stats.sequential import has_size
from tare.results.stats.signed_rank import Array, estimate, interval

ALPHA = 0.05
SPANS_S = (15.0, 60.0, 300.0)
"""The times of measuring for which it is said what can be resolved in them."""
WIDE = 0.01
"""An interval wider than this, as a ratio, leaves a stack unresolved."""
FINE = 0.01
"""Wall time that resolves this in a minute needs no accounting (METHOD.md 2.7)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """An injected overhead as one variant found it; all are ratios minus one.

    The interval is what a study would print: it holds with 95 % at all stages together. ``missed``
    says that the truth is outside of it by more than luck among all arms of the session, also with
    95 %. None: there were too few pairs.
    """

    truth: float
    pairs: int
    found: float | None
    low: float | None
    high: float | None
    missed: bool = False

    @property
    def holds(self) -> bool | None:
        """Whether the interval holds the truth; None where there is none."""
        if self.low is None or self.high is None:
            return None
        return self.low <= self.truth <= self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """One variant on one stack. ``pair_s`` is what one pair takes, all that Tare does included.

    ``resolvable`` has, for each of SPANS_S, the overhead that so much measuring of one comparison
    will probably show, or None where it is too short for the first look. ``reason`` says why there
    are no numbers.
    """

    stack: str
    variant: Variant
    arms: tuple[Arm, ...]
    pair_s: float
    resolvable: tuple[float | None, ...]
    recommended: bool = False
    reason: Reason | None = None


def evaluate(plan: Plan, trials: Iterable[Trial], stacks: int = 1) -> tuple[Tested, ...]:
    """Compare every arm with the baseline, by every variant; ``stacks`` are in the session.

    The recommended variant is wall time where that resolves 1 % in a minute, else that less foreign
    delay, else host CPU time; one that is not known for the trials is none.
    """
    trials = tuple(trials)
    found = histories(plan, trials)
    pair_s = 2 * _trial_s(trials)
    family = len(ARMS) * stacks
    tested = [_tested(plan, found, variant, family, pair_s) for variant in Variant]
    chosen = recommended(tested)
    return tuple(replace(one, recommended=one is chosen) for one in tested)


def is_resolved(tested: Sequence[Tested]) -> bool:
    """Return whether every arm's interval is narrow, by the recommended variant."""
    arms = [arm for one in tested if one.recommended for arm in one.arms]
    return all(
        arm.low is not None and arm.high is not None and arm.high - arm.low <= WIDE for arm in arms
    )


def recommended(tested: Sequence[Tested]) -> Tested | None:
    """Choose the variant that this stack should be compared by."""
    known = {one.variant: one for one in tested if one.resolvable[1] is not None}
    wall = known.get(Variant.WALL)
    if wall and wall.resolvable[1] is not None and wall.resolvable[1] <= FINE:
        return wall
    order = (Variant.CORRECTED, Variant.HOST_CPU, Variant.WALL)
    return next((known[variant] for variant in order if variant in known), None)


def _tested(
    plan: Plan, found: Mapping[str, History], variant: Variant, family: int, pair_s: float
) -> Tested:
    base = baseline_of(plan)
    results, noises = [], []
    for contrast in plan.contrasts:
        metric = plan.metrics[base.workload][0]
        values = pair(found[contrast.cell], found[base.id], metric, variant).log_ratios
        results.append(_arm(contrast.known or 0.0, values, family))
        finite = values[np.isfinite(values)]
        if len(finite) >= FIRST_LOOK:
            noises.append(spread(finite))
    return Tested(
        stack=base.stack,
        variant=variant,
        arms=tuple(results),
        pair_s=pair_s,
        resolvable=tuple(_resolvable(noises, span_s, pair_s) for span_s in SPANS_S),
        reason=None if noises else _why_no_noise(found[base.id], results, variant),
    )


def _why_no_noise(base: History, arms: Sequence[Arm], variant: Variant) -> Reason:
    if base.unavailable is not None:
        return reason_of(ReasonKind.UNAVAILABLE, said=base.unavailable)
    if base.last_reason:
        return reason_of(ReasonKind.TRIAL_SAID, said=base.last_reason)
    if most := max(arm.pairs for arm in arms):
        return reason_of(ReasonKind.FEW_PAIRS, pairs=most)
    return reason_of(ReasonKind.VARIANT_UNKNOWN_HERE, variant=variant)


def _arm(truth: float, values: Array, family: int) -> Arm:
    sized = has_size(values)
    ends = interval(values, ALPHA / STAGES) if sized else None
    bounded = ends is not None and math.isfinite(ends.low) and math.isfinite(ends.high)
    strict = interval(values, ALPHA / (STAGES * family)) if sized else None
    right = math.log1p(truth)
    return Arm(
        truth=truth,
        pairs=len(values),
        found=ratio(estimate(values)) - 1 if sized else None,
        low=ratio(ends.low) - 1 if ends is not None and bounded else None,
        high=ratio(ends.high) - 1 if ends is not None and bounded else None,
        missed=strict is not None and not strict.low <= right <= strict.high,
    )


def _trial_s(trials: Sequence[Trial]) -> float:
    """Return the seconds that a whole trial takes, with all that Tare does around it."""
    return median([sum(one.phases_s.values()) for one in trials if one.phases_s] or [0.0])


def _resolvable(noises: Sequence[float], span_s: float, pair_s: float) -> float | None:
    if not noises or pair_s <= 0 or span_s < FIRST_LOOK * pair_s:
        return None
    return ratio(detectable(median(noises), int(span_s / pair_s))) - 1
