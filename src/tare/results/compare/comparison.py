"""One cell against its baseline: pairs become a cost, an interval, a verdict and their flags."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tare.core.model import Cell, ContrastKind, Evidence, Metric, Repetition, Variant
from tare.results.compare.evidence import DECIDED, evidence
from tare.results.compare.flag import Flag, FlagKind, flag
from tare.results.compare.instances import instance_flags, instance_pairs
from tare.results.compare.pair_flags import accounting_flags, pair_flags
from tare.results.compare.pairing import History, Pairs, aligned, pair
from tare.results.compare.reason import Reason, ReasonKind, reason_of
from tare.results.stats.description import spread
from tare.results.stats.hierarchy import ENOUGH_GROUPS, means, nested_interval, numbered, t_interval
from tare.results.stats.power import detectable
from tare.results.stats.ratio import ratio, ratios
from tare.results.stats.schedule import FIRST_LOOK
from tare.results.stats.sequential import Judgement, LookKind, Rule, Stop, Verdict, has_size
from tare.results.stats.signed_rank import Array, Interval, estimate, estimate_and_interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One metric of one cell against its baseline, by one variant of its time.

    A workload's first metric has a row for every variant that is known; ``primary`` is the one that
    the plan decides by.

    ``pairs`` are those of the test; in ``failed`` of them only the cell failed, in
    ``baseline_failed`` only the baseline. In ``zeros`` of them the cell alone had 0 of what is
    better when lower, in ``baseline_zeros`` the baseline: one is better, by no ratio. ``left_out``
    blocks make no pair; in ``both_failed`` of them both failed.

    ``cost``, ``low`` and ``high`` are ratios, above 1 is worse; the interval is that of ``look``
    pairs, valid at every look together; an end is 0 or infinite where too many trials failed, or
    had 0, to bound it. The ``fixed`` interval is an ordinary one of 95 % for the same pairs, too
    narrow for a number that was looked at repeatedly. Before the first look the cost is of all
    pairs and has no interval. ``spread`` is that of the pairs' log ratios; ``mde`` (what so many
    pairs would probably show) and ``noise_floor`` are ratios minus one.

    ``kind`` and ``known`` are those of its contrast. ``control`` is the A/A control of the same
    work and the cell that it repeats, None of a control itself. ``decided_by`` is the kind of look
    that decided, ``interval_by`` that of the look whose cost and interval these are: an early one
    (``tare.results.stats.early``) gives the mean of the log ratios and Student's interval of 99.9
    %, one by ranks the Hodges-Lehmann estimate and the interval of ``level``.

    ``instances`` is in how many pairs of instances those of the last look were measured, ``icc``
    the part of their variance that lies between these, where it is known. ``replicates`` is how
    many independent values cost and interval rest on: pairs, or instance pairs if those differ.
    """

    cell: Cell
    baseline: Cell | None
    kind: ContrastKind = ContrastKind.OVERHEAD
    known: float | None = None
    metric: Metric
    primary: bool
    level: float
    control: tuple[Cell, Cell] | None = None
    variant: Variant = Variant.WALL
    pairs: int = 0
    failed: int = 0
    baseline_failed: int = 0
    zeros: int = 0
    baseline_zeros: int = 0
    left_out: int = 0
    both_failed: int = 0
    suspect: int = 0
    look: int | None = None
    decided_at: int | None = None
    decided_by: LookKind | None = None
    interval_by: LookKind | None = None
    cost: float | None = None
    low: float | None = None
    high: float | None = None
    fixed_low: float | None = None
    fixed_high: float | None = None
    p: float | None = None
    holm_p: float | None = None
    verdict: Verdict = Verdict.NOT_MEASURED
    evidence: Evidence | None = None
    stop: Stop = Stop.NOT_YET
    reason: Reason | None = None
    spread: float | None = None
    mde: float | None = None
    noise_floor: float | None = None
    instances: int | None = None
    replicates: int | None = None
    icc: float | None = None
    flags: tuple[Flag, ...] = ()

    @property
    def is_control(self) -> bool:
        """Whether it is the A/A control: the reference, measured a second time."""
        return self.kind is ContrastKind.CONTROL

    @property
    def degradation_percent(self) -> float | None:
        """How much worse than the baseline; positive is worse."""
        return None if self.cost is None else 100 * (self.cost - 1)

    @property
    def why_no_ratio(self) -> Reason | None:
        """Why there is a verdict and no cost: too many pairs have no ratio; None where none is so.

        ``failed`` are the pairs of which one side failed, ``zeros`` those of which one had 0.
        """
        zeros = self.zeros + self.baseline_zeros
        failed = self.failed + self.baseline_failed
        if not failed and not zeros:
            return None
        return reason_of(ReasonKind.NO_RATIO, failed=failed, zeros=zeros, pairs=self.pairs)

    @property
    def why_no_cost(self) -> Reason:
        """Why there is no cost, or none with a size."""
        return self.reason or self.why_no_ratio or reason_of(ReasonKind.NO_SIZE)


def measured(
    row: Comparison, histories: Mapping[str, History], repetition: Repetition
) -> Comparison:
    """Fill in everything that the cell's and the baseline's trials say."""
    mine = histories[row.cell.id]
    if mine.unavailable is not None:
        return replace(row, stop=Stop.NOTHING, reason=mine.why_unavailable)
    if row.baseline is None:
        return replace(row, stop=Stop.NOTHING, reason=reason_of(ReasonKind.NO_BASELINE))
    theirs = histories[row.baseline.id].beside(row.cell.id)
    if theirs.unavailable is not None:
        reason = reason_of(ReasonKind.BASELINE_UNAVAILABLE, why=theirs.why_unavailable)
        return replace(row, stop=Stop.NOTHING, reason=reason)
    pairs = _pairs(row, histories)
    judgement, groups = _judge(row, pairs, histories, repetition)
    row = replace(
        row,
        pairs=len(pairs.log_ratios),
        failed=pairs.failed,
        baseline_failed=pairs.baseline_failed,
        zeros=pairs.zeros,
        baseline_zeros=pairs.baseline_zeros,
        left_out=pairs.both_failed
        + pairs.baseline_missing
        + pairs.absent
        + pairs.apart
        + pairs.other_entry,
        both_failed=pairs.both_failed,
        suspect=pairs.suspect,
        stop=judgement.stop,
        look=judgement.look,
        flags=(
            *pair_flags(pairs, row.metric, mine.repeated),
            *accounting_flags(pairs, row.variant),
        ),
    )
    if pairs.failed + pairs.baseline_failed == row.pairs:
        stop = row.stop if row.stop in (Stop.NOT_YET, Stop.MAXIMUM) else Stop.NOTHING
        return replace(row, stop=stop, reason=_why_no_number(row, pairs, mine, theirs))
    row = _with_numbers(row, pairs, judgement, groups, math.log1p(repetition.margin))
    both = (row.cell, row.baseline or row.cell)
    planned = repetition.instances_of(*(cell.platform for cell in both))
    of_instances = tuple(instance_flags(judgement, row.instances, row.pairs, planned))
    row = replace(row, flags=row.flags + of_instances) if of_instances else row
    row = _without_refuted(row, repetition.margin)
    if row.verdict in DECIDED and row.interval_by is LookKind.EARLY:
        row = replace(row, flags=(*row.flags, flag(FlagKind.DECIDED_EARLY)))
    weighed = _evidence(row, pairs, judgement, repetition)
    return row if weighed is None else replace(row, evidence=weighed)


def _evidence(
    row: Comparison, pairs: Pairs, judgement: Judgement, repetition: Repetition
) -> Evidence | None:
    """Weigh a verdict alone; what can be luck of so few instances is likely at the most.

    Where instances differ their means are too few for the e-process. Interval and p are then those
    of pairs and of means together, which is the stricter rule; p, which Holm's correction asks for,
    leaves out the early looks, which know nothing of instances.
    """
    if row.verdict not in DECIDED:
        return None
    if row.instances is not None and row.instances < min(ENOUGH_GROUPS, row.pairs):
        return Evidence.LIKELY
    if row.interval_by is LookKind.EARLY:
        return Evidence.LIKELY
    if judgement.nested:
        return Evidence.ESTABLISHED
    return evidence(pairs.log_ratios, row.verdict, math.log1p(repetition.margin))


def _without_refuted(row: Comparison, margin: float) -> Comparison:
    """Take a verdict back if the interval of later pairs, in a row that went on, leaves it out."""
    if row.low is None or row.high is None:
        return row
    refuted = {
        Verdict.SLOWER: row.high < 1,
        Verdict.FASTER: row.low > 1,
        Verdict.SAME: row.low > 1 + margin or row.high < 1 / (1 + margin),
    }
    if not refuted.get(row.verdict, False):
        return row
    told = flag(
        FlagKind.REFUTED,
        verdict=row.verdict.value,
        decided_at=row.decided_at,
        look=row.look,
        early=row.decided_by is LookKind.EARLY,
    )
    return replace(row, verdict=Verdict.UNDECIDED, flags=(*row.flags, told))


def is_done(row: Comparison, histories: Mapping[str, History], repetition: Repetition) -> bool:
    """Whether a cell needs no more blocks, by its workload's primary metric.

    What can be compared with nothing is measured so often that a look by ranks could be taken.
    """
    mine = histories[row.cell.id]
    if mine.unavailable is not None:
        return True
    least = max(repetition.min_blocks, FIRST_LOOK)
    base = row.baseline
    if base is None or histories[base.id].unavailable is not None or row.cell is base:
        return len(mine.trials) >= least
    pairs = _pairs(row, histories)
    if pairs.unknown and not len(pairs.log_ratios):  # nor will it be known of any other trial
        return len(mine.trials) >= least
    return _judge(row, pairs, histories, repetition)[0].stop is not Stop.NOT_YET


def judged(
    row: Comparison, histories: Mapping[str, History], repetition: Repetition
) -> Judgement | None:
    """Judge what a cell's trials say, as ``measured`` does; None without a baseline."""
    if row.baseline is None:
        return None
    return _judge(row, _pairs(row, histories), histories, repetition)[0]


def log_ratios(row: Comparison, histories: Mapping[str, History]) -> Array:
    """Return the log ratios that a comparison rests on; none without a baseline."""
    return np.empty(0) if row.baseline is None else _pairs(row, histories).log_ratios


def _pairs(row: Comparison, histories: Mapping[str, History]) -> Pairs:
    assert row.baseline is not None  # noqa: S101 - else there is nothing to pair with
    theirs = histories[row.baseline.id].beside(row.cell.id)
    return pair(histories[row.cell.id], theirs, row.metric, row.variant)


def _judge(
    row: Comparison, pairs: Pairs, histories: Mapping[str, History], repetition: Repetition
) -> tuple[Judgement, NDArray[np.intp]]:
    """Apply the plan's rule; gives each pair's group too."""
    assert row.baseline is not None  # noqa: S101 - else there are no pairs
    mine, theirs = histories[row.cell.id], histories[row.baseline.id].beside(row.cell.id)
    ended = len(mine.trials) >= repetition.max_blocks
    groups = numbered(instance_pairs(mine, theirs, pairs.blocks))
    control = _control(row, pairs, histories)
    rule = rule_of(repetition)
    return rule.judge(pairs.log_ratios, groups, control=control, ended=ended), groups


def rule_of(repetition: Repetition) -> Rule:
    """Return the plan's rule, whose ratios are put on the log scale."""
    precision = repetition.precision
    return Rule(
        cap=repetition.max_blocks,
        minimum=repetition.min_blocks,
        margin=math.log1p(repetition.margin),
        precision=None if precision is None else math.log1p(precision),
    )


def _control(row: Comparison, pairs: Pairs, histories: Mapping[str, History]) -> Array | None:
    """Return what the A/A control has in the blocks that an early look sees, by the same metric."""
    if row.control is None:
        return None
    again, repeated = row.control
    control = replace(row, cell=again, baseline=repeated)
    return aligned(_pairs(control, histories), pairs.blocks[:FIRST_LOOK])


def _with_numbers(
    row: Comparison,
    pairs: Pairs,
    judgement: Judgement,
    groups: NDArray[np.intp],
    margin: float,
) -> Comparison:
    used = pairs.log_ratios[: judgement.look or row.pairs]
    shared = groups[: len(used)]
    is_early = judgement.interval_by is LookKind.EARLY
    is_nested = judgement.nested and not is_early
    replicates = means(used, shared) if is_nested else used
    # An early look is of the first pairs, which may be the lucky ones of those that failed later.
    sized = has_size(pairs.log_ratios if is_early else used)
    if not sized:
        row = replace(row, flags=(*row.flags, flag(FlagKind.NO_COST, why=row.why_no_ratio)))
    finite = pairs.log_ratios[np.isfinite(pairs.log_ratios)]
    noise = spread(finite) if sized and len(finite) > 1 else None
    if is_early:
        middle, fixed = float(used.mean()), t_interval(used, 0.05)
    elif is_nested:
        middle, fixed = estimate(replicates), nested_interval(used, shared, 0.05)
    else:
        middle, fixed = estimate_and_interval(used, 0.05)
    low, high = _ends(judgement.interval)
    fixed_low, fixed_high = _ends(fixed)
    return replace(
        row,
        decided_at=judgement.decided_at,
        decided_by=judgement.decided_by,
        interval_by=judgement.interval_by,
        cost=ratio(middle) if sized else None,
        low=low,
        high=high,
        fixed_low=fixed_low,
        fixed_high=fixed_high,
        p=judgement.p,
        verdict=judgement.verdict,
        spread=noise,
        mde=_detectable(replicates, judgement, margin) if sized else None,
        instances=int(shared.max(initial=-1)) + 1 or None,
        replicates=len(replicates),
        icc=judgement.parts.icc if judgement.parts else None,
    )


def _detectable(replicates: Array, judgement: Judgement, margin: float) -> float | None:
    """Return the smallest cost that so many would show, minus 1; None where that is not known."""
    if judgement.interval_by is LookKind.EARLY and judgement.interval is not None:
        low, high = judgement.interval
        return ratio((high - low) / 2 + margin) - 1
    known = replicates[np.isfinite(replicates)]
    return ratio(detectable(spread(known), len(replicates))) - 1 if len(known) > 1 else None


def _ends(log_ends: Interval | None) -> tuple[float, float] | tuple[None, None]:
    return (None, None) if log_ends is None else ratios(log_ends)


def _why_no_number(row: Comparison, pairs: Pairs, mine: History, theirs: History) -> Reason:
    """Return who gave no number, and the last that its trials said of how they ended."""
    if not mine.trials:
        return reason_of(ReasonKind.NOT_STARTED)
    own, base = row.failed + row.both_failed, row.baseline_failed + row.both_failed
    if row.failed and row.baseline_failed:
        return reason_of(ReasonKind.NO_COMMON_NUMBER, said=mine.last_reason)
    if row.baseline_failed:
        return reason_of(ReasonKind.BASELINE_GAVE_NONE, blocks=base, said=theirs.last_reason)
    if row.failed:
        return reason_of(ReasonKind.GAVE_NONE, blocks=own, said=mine.last_reason)
    if row.both_failed:
        return reason_of(ReasonKind.BOTH_FAILED, blocks=own, said=mine.last_reason)
    if pairs.unknown:
        unknown = tuple(pairs.unknown.items())
        return reason_of(ReasonKind.VARIANT_UNKNOWN, variant=row.variant, unknown=unknown)
    if pairs.absent:
        return reason_of(ReasonKind.NO_METRIC, metric=row.metric.name)
    return reason_of(ReasonKind.BASELINE_MISSING, blocks=pairs.baseline_missing)
