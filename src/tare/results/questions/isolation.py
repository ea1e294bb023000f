"""Whose workload suffers less from the same neighbour: two platforms' degradations compared.

A degradation is a log ratio: next to the neighbour against alone, in the same block. The difference
of those of two platforms is taken block by block as well, so that what slowed all four trials of a
block cancels, and judged by the rule that judges pairs. Where two platforms share no block (they
were measured in different sessions), the two degradations are independent, and their intervals are
combined (``stats.independent``). Holm's p is over all pairs of a study.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from tare.core.model import Contrast, ContrastKind, Neighbour, neighbour_of
from tare.core.model.group import Group, group
from tare.results.compare.comparison import Comparison
from tare.results.compare.estimates import Estimates
from tare.results.compare.reason import ReasonKind
from tare.results.questions.by_block import Combined, OfFamily, combined, judged_together
from tare.results.stats.independent import p_of_difference, weighted_sum
from tare.results.stats.ratio import ratio, ratios
from tare.results.stats.sequential import Verdict
from tare.results.stats.signed_rank import Interval
from tare.results.stats.values import Estimated


@dataclass(frozen=True, slots=True, kw_only=True)
class IsolationCompared(OfFamily):
    """Two platforms with the same workload and the same neighbour.

    ``found`` is the degradation of ``row`` over that of ``other``, as a ratio of costs: above 1 the
    platform of ``row`` loses more. ``paired`` says that it is made block by block.
    """

    neighbour: Neighbour
    row: Comparison
    other: Comparison
    paired: bool = True


def isolation_compared(
    estimates: Estimates, comparisons: Sequence[Comparison]
) -> tuple[IsolationCompared, ...]:
    """Compare every two platforms next to each neighbour, in the order of the plan."""
    rows: dict[tuple[Group, Neighbour], list[Comparison]] = {}
    for row in comparisons:
        neighbour = neighbour_of(row.cell.params)
        if row.primary and row.kind is ContrastKind.ISOLATION and neighbour is not None:
            rows.setdefault((group(row.cell), neighbour), []).append(row)
    margin = math.log1p(estimates.plan.repetition.margin)
    found = [
        IsolationCompared(neighbour=neighbour, row=row, other=other, found=both, paired=paired)
        for (_, neighbour), some in rows.items()
        for other, row in combinations(some, 2)
        for both, paired in [_compared(estimates, row, other, margin)]
    ]
    return tuple(judged_together(found))


def _compared(
    estimates: Estimates, row: Comparison, other: Comparison, margin: float
) -> tuple[Combined, bool]:
    planned = estimates.plan.decided_by
    terms: list[tuple[float, Contrast]] = [
        (1.0, planned[row.cell.id]),
        (-1.0, planned[other.cell.id]),
    ]
    found = combined(estimates, terms)
    if found.reason is None or found.reason.kind is not ReasonKind.NO_COMMON_BLOCK:
        return found, True
    logs = _log(row), _log(other)
    if logs[0] is None or logs[1] is None:
        return found, True
    return _independent((row, logs[0]), (other, logs[1]), margin), False


def _log(row: Comparison) -> Estimated | None:
    """Return the log of a cost with a finite interval."""
    if not row.cost or not row.low or row.high is None or math.isinf(row.high):
        return None
    return Estimated(math.log(row.cost), Interval(math.log(row.low), math.log(row.high)))


def _independent(
    one: tuple[Comparison, Estimated], other: tuple[Comparison, Estimated], margin: float
) -> Combined:
    (row, log), (base, base_log) = one, other
    counts = [each.replicates or each.pairs for each in (row, base)]
    found = weighted_sum(((1.0, log), (-1.0, base_log)))
    ends = found.interval or Interval(-math.inf, math.inf)
    low, high = ratios(ends)
    return Combined(
        cost=ratio(found.value),
        low=low,
        high=high,
        pairs=min(counts),
        p=p_of_difference(log, counts[0], base_log, counts[1], max(row.level, base.level)),
        verdict=_verdict(ends, margin),
    )


def _verdict(ends: Interval, margin: float) -> Verdict:
    if ends.low > 0:
        return Verdict.SLOWER
    if ends.high < 0:
        return Verdict.FASTER
    return Verdict.SAME if -margin < ends.low and ends.high < margin else Verdict.UNDECIDED
