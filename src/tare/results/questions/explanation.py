"""Which counters moved with a degradation: what a unit of work takes, here and on the baseline.

It is correlation. A counter that grew need not be why a platform is slower, and what makes it so
may have no counter; a sentence made of this must not say "because".

**Per unit of work.** A platform that is slower does less in a trial of fixed time, so that totals
of trials say nothing. What a trial's counters say is divided by its work: the first metric times
the time that it was measured over, if that is a rate; of a latency, the first metric that counts
per second what was answered; a trial of fixed work is one unit, a *run*.

**Pairs.** Blocks pair as they do for the cost, and the ratio and its 95 % interval are those of the
signed-rank test, over the means of instances where these differ. Where only one side has 0 the pair
has no ratio, but its rank; from a quarter of such pairs on there is no ratio, and what was counted
stands alone: from 0 to its number.

**What moved.** Of a platform that is slower, the counters whose interval lies above 1 by more than
the margin, and whose Holm's p over all counters of the cell is at most 0.05. That p is Student's,
of log ratios: that of ranks cannot be below 0.0078 for eight pairs, which is where many comparisons
end, and Holm's factor would leave nothing. A part of CPU time must also have grown by the margin of
all CPU time. They are ranked by the end of the interval nearest to 1: the growth that is sure. So
what moved more than the cost itself comes before what kept pace.

**What is named.** At most three, of different kinds. CPU time and cycles grow with any time that
work takes, and the counters of the whole host go on by the second whatever is measured: these are
named only where they surely moved more than the cost did. Memory over time never is: a guest holds
its memory whatever it costs.

**Warm-ups.** Some counters take time to count (system calls, guest exits) and are counted in
warm-ups only. Each instance has one reading of them, and nothing pairs the two sides: the ratio is
Hodges and Lehmann's of two samples, and p is Welch's.

Counters of the inside of a guest have no counterpart on a baseline that is none; they are set
next to what the host did for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from tare.core.model import Cell, ContrastKind, Kind, Resource, Source, Trial, Variant
from tare.results.compare.comparison import Comparison
from tare.results.compare.estimates import Estimates
from tare.results.compare.instances import instance_pairs
from tare.results.compare.reason import Reason, ReasonKind, reason_of
from tare.results.questions.counters import (
    LEVEL,
    Amplification,
    Movement,
    Pace,
    PerUnit,
    Work,
    amplifications,
    by_instance,
    in_both,
    paired,
    per_unit,
    unpaired,
    work_of,
)
from tare.results.questions.own_part import own_trials
from tare.results.stats.holm import holm
from tare.results.stats.sequential import Verdict

MAX_NAMED = 3
MAX_PAIRS = 100
"""Of more pairs this number is drawn by lot: enough for a counter, with 24 of each trial."""

HELD = "memory_byte_seconds"
"""The kind that is a level over time: a guest holds its memory whatever it costs."""
OF_TIME = frozenset({"cpu_s", "cycles"})
"""Kinds of counters that any longer time makes larger."""
PARTS_OF_CPU = ("cpu_user_s", "cpu_system_s")
SAME = {
    "disk_read_bytes": "disk_reads",
    "disk_written_bytes": "disk_writes",
    "timeslices": "context_switches",
}
"""Kinds that move together, of which one is named."""

_Baselines = dict[tuple[str, str, tuple[int, ...]], tuple[PerUnit, float, float]]
"""What trials of baselines took, how much a typical one did and how long a unit took; by cell, what
it ran with in a duet, and blocks: the platforms of a workload are compared with the same ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What a unit of work takes on a platform and on its baseline, those that moved most first.

    ``typical`` is how many units a trial of the baseline did, and ``wall_s`` what one of them took
    there, the medians. Where nothing is known ``reason`` says why.
    """

    row: Comparison
    work: Work | None = None
    typical: float | None = None
    wall_s: float | None = None
    movements: tuple[Movement, ...] = ()
    inside: tuple[Amplification, ...] = ()
    reason: Reason | None = None

    @property
    def is_slower(self) -> bool:
        """Whether there is a degradation to be explained."""
        return self.row.verdict is Verdict.SLOWER

    @property
    def named(self) -> tuple[Movement, ...]:
        """The two or three that moved most surely and strongly and say something by themselves."""
        moved = [one for one in self.movements if one.moved and one.kind != HELD]
        found: dict[str, Movement] = {}
        for one in moved:
            by_itself = one.kind not in OF_TIME and one.source is not Source.HOST
            if (by_itself or one.pace is Pace.MORE) and not _is_covered(one, moved):
                found.setdefault(_alike(one), one)
        return tuple(found.values())[:MAX_NAMED]


def explanations(
    estimates: Estimates, comparisons: Sequence[Comparison]
) -> tuple[Explanation, ...]:
    """Compare the counters of each compared cell with its baseline's; controls are left out."""
    warm: dict[str, list[Trial]] = {}
    for trial in estimates.trials:
        if trial.kind is Kind.WARMUP:
            warm.setdefault(trial.cell, []).append(trial)
    baselines: _Baselines = {}
    return tuple(
        _explanation(row, estimates, warm, baselines)
        for row in comparisons
        if row.primary and not row.is_control and row.baseline is not None
    )


def _explanation(
    row: Comparison,
    estimates: Estimates,
    warm: Mapping[str, Sequence[Trial]],
    baselines: _Baselines,
) -> Explanation:
    plan = estimates.plan
    work = work_of(plan.metrics[row.cell.workload])
    if isinstance(work, Reason):
        return Explanation(row=row, reason=work)
    if row.baseline is None:
        return Explanation(row=row, reason=reason_of(ReasonKind.NO_BASELINE))
    found = estimates.of(plan.decided_by[row.cell.id], row.metric, Variant.WALL)
    own, reference = found.own, found.base
    blocks = [
        block
        for block in _drawn(found.pairs.blocks)
        if work.of(own.trials[block]) and work.of(reference.trials[block])
    ]
    if not blocks:
        return Explanation(row=row, work=work, reason=reason_of(ReasonKind.NO_WORK))
    whose = row.baseline.id, "" if reference is found.reference else row.cell.id, tuple(blocks)
    if whose not in baselines:
        trials = _counted(row, row.baseline, [reference.trials[block] for block in blocks])
        amounts = [work.of(trial) or 0.0 for trial in trials]
        wall_s = median(
            trial.lasted_s(work.tool_duration) / amount
            for trial, amount in zip(trials, amounts, strict=True)
        )
        baselines[whose] = per_unit(trials, work), median(amounts), wall_s
    base, typical, wall_s = baselines[whose]
    trials = _counted(row, row.cell, [own.trials[block] for block in blocks])
    movements = _movements(
        per_unit(trials, work),
        base,
        instance_pairs(own, reference, blocks),
        by_instance(_counted(row, row.cell, warm.get(row.cell.id, ())), work),
        by_instance(_counted(row, row.baseline, warm.get(row.baseline.id, ())), work),
    )
    if not movements:
        return Explanation(row=row, work=work, reason=reason_of(ReasonKind.NO_COUNTERS))
    return Explanation(
        row=row,
        work=work,
        typical=typical,
        wall_s=wall_s,
        movements=tuple(_ranked(movements, row, plan.repetition.margin)),
        inside=tuple(amplifications(trials)),
    )


def _counted(row: Comparison, cell: Cell, trials: Sequence[Trial]) -> Sequence[Trial]:
    """Return trials with the counters to compare: next to a neighbour, those of the workload.

    What it waited for is added there alone: between platforms the threads that wait are others, as
    virtual CPUs are.
    """
    return own_trials(trials, cell) if row.kind is ContrastKind.ISOLATION else trials


def _drawn(blocks: Sequence[int]) -> list[int]:
    """Draw from many blocks, always the same; every n-th could be always the same instance."""
    if len(blocks) <= MAX_PAIRS:
        return list(blocks)
    lots = np.random.default_rng(len(blocks)).choice(len(blocks), MAX_PAIRS, replace=False)
    return [blocks[lot] for lot in sorted(lots)]


def _movements(
    ours: PerUnit, base: PerUnit, groups: Sequence[int], warm_ours: PerUnit, warm_base: PerUnit
) -> list[Movement]:
    """Pair what a block of measured trials has on both sides; else warm-ups may have it on both."""
    measured = dict.fromkeys((*ours, *base))
    in_warmups = warm_ours.keys() & warm_base.keys()
    return [
        unpaired(one, warm_ours.get(one), warm_base.get(one))
        if not in_both(ours.get(one), base.get(one)).any()
        and (one in in_warmups or one not in measured)
        else paired(one, ours.get(one), base.get(one), groups)
        for one in dict.fromkeys((*measured, *warm_ours, *warm_base))
    ]


def _ranked(found: Sequence[Movement], row: Comparison, margin: float) -> list[Movement]:
    """Mark what moved with the cost, and put it first: the surest and strongest growth."""
    tested = [place for place, one in enumerate(found) if one.p is not None]
    adjusted = dict(zip(tested, holm([found[place].p or 0.0 for place in tested]), strict=True))
    ranked = []
    for place, one in enumerate(found):
        p = adjusted.get(place)
        sure = p is not None and p <= LEVEL and one.low is not None and one.low > 1 + margin
        moved = sure and row.verdict is Verdict.SLOWER and not _is_small(one, found, margin)
        ranked.append(replace(one, holm_p=p, pace=_pace(one, row), moved=moved))
    return sorted(ranked, key=lambda one: -(one.low or 0.0) if one.moved else 0.0)


def _is_small(one: Movement, found: Sequence[Movement], margin: float) -> bool:
    """Whether a part of CPU time grew by less than the margin of the baseline's CPU time.

    From next to nothing it grows by a large factor and stays next to nothing.
    """
    whole = [Resource(one.source, kind) for kind in PARTS_OF_CPU]
    parts = [other.baseline for other in found if other.resource in whole]
    if one.resource not in whole or one.own is None or one.baseline is None:
        return False
    return one.own - one.baseline < margin * sum(part or 0.0 for part in parts)


def _pace(one: Movement, row: Comparison) -> Pace | None:
    if one.low is None or one.high is None or row.low is None or row.high is None:
        return None
    return Pace.MORE if one.low > row.high else Pace.LESS if one.high < row.low else Pace.WITH


def _is_covered(one: Movement, moved: Sequence[Movement]) -> bool:
    """Whether others say it better: the parts of CPU time, or the layer's own of the same kind."""
    in_parts = one.kind == "cpu_s" and any(other.kind in PARTS_OF_CPU for other in moved)
    of_layer = any(other.source is Source.LAYER and _alike(other) == _alike(one) for other in moved)
    return in_parts or (one.source is not Source.LAYER and of_layer)


def _alike(one: Movement) -> str:
    return SAME.get(one.kind, one.kind)
