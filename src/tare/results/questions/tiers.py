"""Which of several instances costs what, where the roles of a workload have instances of their own.

A web server and its database are wrapped alike, and the cost of the whole does not say which of the
two wrappings takes it. What each instance took of the host's CPUs is divided by the work of the
whole trial, and compared with that of the same role on the baseline, by the pairs of the cost
(``tare.results.questions.counters``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from tare.core.model import ContrastKind, Replicates, Resource, Source, Trial, Variant
from tare.results.compare.comparison import Comparison
from tare.results.compare.estimates import Estimates
from tare.results.compare.instances import instance_pairs
from tare.results.compare.reason import Reason
from tare.results.questions.counters import Movement, Work, paired, work_of
from tare.results.stats.signed_rank import Array

CPU = Resource(Source.LAYER, "cpu_s")
"""The CPU time of everything that an instance ran on the host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """What one role's instance took for a unit of work, on a platform and on its baseline.

    ``share`` is the part of the platform's CPU time that it is, the median over trials; None
    where nothing took any.
    """

    row: Comparison
    role: str
    cpu: Movement
    share: float | None


def tiers(estimates: Estimates, comparisons: Sequence[Comparison]) -> tuple[Tier, ...]:
    """Compare each role's instance with its baseline's; controls are left out.

    Nothing of workloads in one instance, of what was measured at the same moment as another, and
    of trials that make instances of their own, which are no roles.
    """
    if estimates.plan.replicates is Replicates.TRIALS:
        return ()
    return tuple(
        tier
        for row in comparisons
        if row.primary and row.kind is ContrastKind.OVERHEAD and row.baseline is not None
        for tier in _tiers(row, estimates)
    )


def _tiers(row: Comparison, estimates: Estimates) -> Iterator[Tier]:
    plan = estimates.plan
    work = work_of(plan.metrics[row.cell.workload])
    if isinstance(work, Reason):
        return
    found = estimates.of(plan.decided_by[row.cell.id], row.metric, Variant.WALL)
    both = [
        (block, found.own.trials[block], found.base.trials[block]) for block in found.pairs.blocks
    ]
    known = [(block, own, base) for block, own, base in both if _took(own) and _took(base)]
    if not known:
        return
    blocks = [block for block, _, _ in known]
    ours, theirs = [own for _, own, _ in known], [base for _, _, base in known]
    groups = instance_pairs(found.own, found.base, blocks)
    for role in _took(ours[0]):
        cpu = paired(CPU, _column(ours, role, work), _column(theirs, role, work), groups)
        shares = [took[role] / all_s for took in map(_took, ours) if (all_s := sum(took.values()))]
        yield Tier(row=row, role=role, cpu=cpu, share=median(shares) if shares else None)


def _took(trial: Trial) -> dict[str, float]:
    """Return the CPU time of each role's instance; nothing where it is not known of all."""
    took = {one.name: one.host.all_cpu_s for one in trial.parts if one.host is not None}
    is_whole = len(took) == len(trial.parts) > 1 and not trial.partner
    return took if is_whole else {}


def _column(trials: Sequence[Trial], role: str, work: Work) -> Array:
    return np.array([_took(one).get(role, math.nan) / (work.of(one) or math.nan) for one in trials])
