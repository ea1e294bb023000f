"""What each comparison of a running study still needs, so that its budget goes to what is open.

METHOD.md 2.4b: a comparison that is decided *rests*, and the time goes to the others. It goes on
for a few pairs after an early verdict, because the size is known only within a factor then.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tare.core.model import ContrastKind, Evidence, Plan, Trial
from tare.results.compare.comparison import Comparison
from tare.results.compare.estimate import Estimate
from tare.results.compare.estimates import Estimates, whole
from tare.results.compare.family import with_holm
from tare.results.questions.ladder import still_compared
from tare.results.stats.description import middle, spread
from tare.results.stats.hierarchy import tamed
from tare.results.stats.schedule import FIRST_LOOK
from tare.results.stats.sequential import Stop, Verdict
from tare.results.stats.signed_rank import Array

CONTROL = ContrastKind.CONTROL
RESTS_FROM = 5
"""Pairs from which a decided comparison rests if its interval is narrow."""
RESTS_AT = FIRST_LOOK
"""Pairs at which a decided comparison rests, however wide its interval."""
NARROW = math.log(1.5)
"""Half-width of an interval, on the log scale, that is good enough for what is decided."""

SMALLEST_SPREAD = 1e-4
SMALLEST_EFFECT = 0.005
"""Log ratios below which a spread or an effect is luck of few pairs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What is known of a comparison by the variant that decides, and whether it needs trials.

    ``decided`` is that a stop reason but the maximum holds; what cannot be measured is never
    decided. ``rests`` is that no more trials are wanted of it unless all others rest too; what
    cannot be measured rests, and the cells of a ladder go on until they are distinguished from
    their neighbours. ``needed`` is the predicted number of pairs, in all, of a decision,
    at least 8. ``half_width`` is that of the interval of the last look on the log scale: None
    without one, infinite if an end is. ``cost`` is a ratio, above 1 is worse.
    """

    pairs: int
    decided: bool
    rests: bool
    needed: float
    half_width: float | None
    verdict: Verdict
    cost: float | None


def standings(plan: Plan, trials: Iterable[Trial]) -> Mapping[str, Standing]:
    """Return how each compared cell stands, by its id, in the order of the plan.

    Baselines are left out, and so are A/A controls that accompany other comparisons.
    """
    estimates = Estimates(plan, trials)
    rows = with_holm([one.row for one in estimates.decisive])
    accompanied = {one.reference for one in plan.decided_by.values() if one.kind is not CONTROL}
    of_ladders = still_compared(estimates)
    return {
        row.cell.id: _standing(row, one, is_needed=row.cell.id in of_ladders)
        for row, one in zip(rows, estimates.decisive, strict=True)
        if not row.is_control or plan.decided_by[row.cell.id].reference not in accompanied
    }


def resting(plan: Plan, trials: Iterable[Trial]) -> set[str]:
    """List the ids of the cells that rest; baseline and control do where nothing else is open."""
    found = standings(plan, trials)
    return whole(plan, (cell for cell, one in found.items() if one.rests))


def needed_pairs(values: Array, margin: float) -> float:
    """Predict how many pairs a decision takes; ``margin`` is a log ratio.

    A cost beyond the margin has to be distinguished from 0, one inside from the margin, whichever
    is farther away (METHOD.md 2.4 and 2.4b).
    """
    if len(values) < 2:
        return float(FIRST_LOOK)
    values = tamed(values)
    noise = max(spread(values), float(values.std(ddof=1)) / 2, SMALLEST_SPREAD)
    size = abs(middle(values))
    effect = max(size, margin - size, SMALLEST_EFFECT)
    return max(float(FIRST_LOOK), 12 * (noise / effect) ** 2)


def _standing(row: Comparison, estimate: Estimate, *, is_needed: bool) -> Standing:
    half_width, repetition = _half_width(row), estimate.repetition
    is_weak = repetition.evidence is Evidence.ESTABLISHED and row.evidence is Evidence.LIKELY
    decided = row.stop in (Stop.EXCLUDES_ONE, Stop.INSIDE_MARGIN, Stop.PRECISE) and not is_weak
    is_narrow = half_width is not None and half_width <= NARROW
    if decided:
        rests = row.pairs >= RESTS_AT or (row.pairs >= RESTS_FROM and is_narrow)
    else:
        rests = not is_weak and estimate.is_done
    return Standing(
        pairs=row.pairs,
        decided=decided,
        rests=rests and not is_needed,
        needed=needed_pairs(estimate.pairs.log_ratios, math.log1p(repetition.margin)),
        half_width=half_width,
        verdict=row.verdict,
        cost=row.cost,
    )


def _half_width(row: Comparison) -> float | None:
    if row.low is None or row.high is None:
        return None
    if row.low <= 0 or math.isinf(row.high):
        return math.inf
    return math.log(row.high / row.low) / 2
