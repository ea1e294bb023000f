"""Sums and differences of log ratios that share blocks, or cells: added block by block.

Log ratios that are made of the same blocks are not independent, so their intervals may not be
combined. Instead each block gives one sum, and these are the values that an interval is made of, by
the rule that judges pairs. A block in which one of the cells has no ratio is left out, since a sum
has no rank to keep.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeVar

import numpy as np

from tare.core.model import Contrast, Replicates
from tare.results.compare.estimate import rule_of
from tare.results.compare.estimates import Estimates
from tare.results.compare.evidence import FAMILYWISE
from tare.results.compare.instances import linked
from tare.results.compare.reason import Reason, ReasonKind, reason_of
from tare.results.stats.hierarchy import means, numbered
from tare.results.stats.holm import holm
from tare.results.stats.ratio import ratio, ratios
from tare.results.stats.sequential import INFINITE_FROM, LookKind, Verdict
from tare.results.stats.signed_rank import estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Combined:
    """A product of costs, block by block: a ratio with its interval, as a comparison has.

    ``pairs`` are the blocks it rests on, ``left_out`` those in which one of the platforms has no
    ratio. Where there is no cost, ``reason`` says why. ``p`` is None before the first look by
    ranks; without an A/A control nothing is decided before it.
    """

    cost: float | None = None
    low: float | None = None
    high: float | None = None
    pairs: int = 0
    left_out: int = 0
    p: float | None = None
    verdict: Verdict = Verdict.NOT_MEASURED
    reason: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OfFamily:
    """Something that was ``found``, as one of several of a study that are judged together."""

    found: Combined
    holm_p: float | None = None

    @property
    def verdict(self) -> Verdict:
        """What is shown among all of them: a difference by Holm's p, or that there is none."""
        alone = self.found.verdict
        if alone in (Verdict.SLOWER, Verdict.FASTER):
            holds = self.holm_p is not None and self.holm_p <= FAMILYWISE
            return alone if holds else Verdict.UNDECIDED
        return alone


F = TypeVar("F", bound=OfFamily)


def judged_together(found: Sequence[F]) -> Iterator[F]:
    """Yield each of a family with its p by Holm; what has no p yet counts for none."""
    known = [one.found.p for one in found if one.found.p is not None]
    adjusted = iter(holm(known))
    for one in found:
        yield one if one.found.p is None else replace(one, holm_p=next(adjusted))


def combined(estimates: Estimates, terms: Sequence[tuple[float, Contrast]]) -> Combined:
    """Add weighted log ratios block by block, by primary metrics, and estimate the sum."""
    plan = estimates.plan
    ids = list(dict.fromkeys(one for _, each in terms for one in (each.cell, each.reference)))
    for one in ids:
        if (why := estimates.histories[one].why_unavailable) is not None:
            platform = plan.cells_by_id[one].platform
            reason = reason_of(ReasonKind.PLATFORM_UNAVAILABLE, platform=platform, why=why)
            return Combined(reason=reason)
    rows = [
        dict(zip(found.blocks, found.log_ratios.tolist(), strict=True))
        for _, contrast in terms
        for found in [estimates.of(contrast).pairs]
    ]
    met = sorted(set(rows[0]).intersection(*rows[1:]))
    weights = np.array([weight for weight, _ in terms])
    logs = np.array([[row[block] for row in rows] for block in met]).reshape(-1, len(rows))
    known = np.isfinite(logs).all(axis=1)
    blocks = [block for block, is_known in zip(met, known, strict=True) if is_known]
    left_out = len(met) - len(blocks)
    if not blocks or left_out >= INFINITE_FROM * len(met):
        kind = ReasonKind.BLOCKS_FAILED if met else ReasonKind.NO_COMMON_BLOCK
        return Combined(left_out=left_out, reason=reason_of(kind))
    sums = logs[known] @ weights
    groups = numbered(_instances(estimates, ids, blocks))
    most = plan.repetition.max_blocks
    ended = all(len(estimates.histories[one].trials) >= most for one in ids)
    judgement = rule_of(plan.repetition).judge(sums, groups, ended=ended)
    used = sums[: judgement.look or len(sums)]
    is_early = judgement.interval_by is LookKind.EARLY
    is_nested = judgement.nested and not is_early
    values = means(used, groups[: len(used)]) if is_nested else used
    # As a comparison has it: an early interval is Student's, which is around the mean.
    middle = float(values.mean()) if is_early else estimate(values)
    ends = judgement.interval
    low, high = (None, None) if ends is None else ratios(ends)
    return Combined(
        cost=ratio(middle),
        low=low,
        high=high,
        pairs=len(used),
        left_out=left_out,
        p=judgement.p if judgement.interval_by is LookKind.RANKS else None,
        verdict=judgement.verdict,
        reason=None if ends else reason_of(ReasonKind.FEW_BLOCKS),
    )


def _instances(estimates: Estimates, ids: Sequence[str], blocks: Sequence[int]) -> Sequence[str]:
    """Name the group of each block: blocks that share an instance of any cell are one group."""
    if estimates.plan.replicates is Replicates.TRIALS:
        return ()
    first, *others = (estimates.histories[one].instances(blocks) for one in ids)
    return reduce(lambda names, own: tuple(map(str, linked(names, own))), others, first)
