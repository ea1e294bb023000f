"""Two result sets of one study: what changed from the first (A) to the second (B), cell by cell.

Every change is a ratio B/A of costs: above 1 is worse in B, whichever way the metric improves.

**Two questions.** The *metric* itself: did the same work on the same platform take longer? A faster
host, another load or another day answers that alike for all platforms. And the *cost*: did the
ratio to the baseline change? Each cost is paired in blocks within its own session, so whatever
makes one session faster as a whole is in neither; it is what can be said of the platform.

**Method.** Trials of different sessions share no block, so nothing pairs them, and the two sessions
need not be equally noisy, so ranks of both together would be no test of a shift. Each session gives
an estimate with an interval by the rules of its own: of the cost the one that ``tare show`` prints,
which holds at all looks together and so whenever either study stopped; of the metric the
Hodges-Lehmann estimate of the logs of its trials with its signed-rank interval. Where instances
differ (``tare.results.stats.hierarchy``) their means are the values. The two are independent: the
logs are subtracted, and the arms of the intervals are squared and added, below and above by
themselves (Zou and Donner 2008). p is the level at which the interval would reach 0, by Student's t
with Satterthwaite's degrees of freedom. Arms that hold at all looks are wider than need be for one:
of equal sessions with 8 to 20 blocks and unequal noise, simulated, 1 % had a p below 5 % by the
cost and 4 % by the metric.

**The same trials on both sides** (a copy of a directory, an earlier copy of one that was resumed,
two that went on from one) are refused, be they all or some: they are recognized by the sessions
that measured them. They are not independent, which is what the arms are added for; and since a
trial does not differ from itself, they pull every change to none and its verdict to *same*, by as
much as there are of them. No note on the number could put that right.

**What it cannot know.** One session of each kind does not tell how two sessions of the same kind
differ. The interval of the metric's change is about these two sessions; that they differ says
nothing of why. What the stored facts tell of the hosts stands above the table.

**Verdicts.** *Same* if the interval lies inside the smaller of the two studies' margins, *worse* or
*better* if Holm's p over the column is below 5 %, else *undecided*. A change that is surely smaller
than the margin is the same even if it is no 0: what nobody cares for in one session is no news
between two.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from tare.core.model import Better, Cell, Metric, Plan, Replicates, Status
from tare.results.compare.comparison import Comparison
from tare.results.compare.flag import Flag, FlagKind, flag
from tare.results.compare.pairing import History
from tare.results.compare.reason import Reason, ReasonKind, reason_of
from tare.results.compare.result_set import ResultSet
from tare.results.questions.fact_differences import Difference, FlagsDiffer, differences
from tare.results.questions.matching import identity, matched, refusals, refusals_of_all, unlike
from tare.results.stats.description import middle
from tare.results.stats.hierarchy import are_replicates, components, means, nested_interval, tamed
from tare.results.stats.holm import holm
from tare.results.stats.independent import p_of_difference, weighted_sum
from tare.results.stats.ratio import ratio, ratios
from tare.results.stats.sequential import has_size
from tare.results.stats.signed_rank import Array, Interval, estimate, interval
from tare.results.stats.values import Estimated

LEVEL = 0.05


class Word(StrEnum):
    """What is known about a change."""

    WORSE = "worse"
    BETTER = "better"
    SAME = "same"
    """Any change is smaller than the margin."""
    UNDECIDED = "undecided"
    NOT_COMPARABLE = "not comparable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A ratio B/A with its interval of 95 %, above 1 is worse; ``reason`` says why there is none.

    ``holm_p`` allows for all changes of the same column.
    """

    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    holm_p: float | None = None
    word: Word = Word.NOT_COMPARABLE
    reason: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CellChange:
    """One cell of A compared with the same cell of B.

    ``platform_in_b`` is its platform's name there. ``before`` and ``after`` are medians of the
    workload's first metric in its own unit, by the variant that decides. ``cost`` is None for the
    baseline, which has no cost. ``refused`` says why the two cannot be compared, or lack what a
    change is made of: then there is no change at all.
    """

    cell: Cell
    platform_in_b: str = ""
    metric: Metric
    before: float | None = None
    after: float | None = None
    change: Change = Change()
    cost: Change | None = None
    refused: tuple[Reason, ...] = ()
    flags: tuple[Flag, ...] = ()

    @property
    def word(self) -> Word:
        """The verdict: that of the cost, and for the baseline that of the metric."""
        return self.change.word if self.cost is None else self.cost.word


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """Two result sets compared; rows in the order of A's plan, controls left out.

    ``only_in_b`` are cells that A has not. ``margin`` is a ratio minus one.
    """

    rows: tuple[CellChange, ...]
    only_in_b: tuple[Cell, ...]
    differences: tuple[Difference | FlagsDiffer, ...]
    notes: tuple[Flag, ...]
    margin: float

    @property
    def why_nothing(self) -> tuple[Reason, ...]:
        """Why no cell of the two can be compared; empty where any can."""
        if any(not row.refused for row in self.rows):
            return ()
        reasons = dict.fromkeys(why for row in self.rows for why in row.refused)
        return tuple(reasons) or (reason_of(ReasonKind.NO_CELL),)


def between(a: ResultSet, b: ResultSet) -> Between:
    """Compare B with A, cell by cell."""
    partners, why_alone = matched(_cells(a), _cells(b))
    margin = min(a.plan.repetition.margin, b.plan.repetition.margin)
    everywhere = list(refusals_of_all(a, b))
    rows = []
    for cell in _cells(a):
        partner = partners.get(cell.id)
        if partner is None:
            rows.append(CellChange(cell=cell, metric=a.metric(cell), refused=(why_alone[cell.id],)))
            continue
        row = CellChange(cell=cell, platform_in_b=partner.platform, metric=a.metric(cell))
        refused = (*everywhere, *refusals(a, b, cell, partner))
        if refused:
            rows.append(replace(row, refused=refused))
        else:
            rows.append(_compared(row, partner, a, b))
    taken = {cell.id for cell in partners.values()}
    return Between(
        rows=tuple(_judged(rows, math.log1p(margin))),
        only_in_b=tuple(cell for cell in _cells(b) if cell.id not in taken),
        differences=tuple(differences(a, b, partners)),
        notes=tuple(_notes(a, b)),
        margin=margin,
    )


def _cells(side: ResultSet) -> list[Cell]:
    return [cell for cell in side.plan.cells if cell.id not in side.plan.control_ids]


@dataclass(frozen=True, slots=True)
class _Known:
    """The log of a cost in one session, and how many independent values it rests on."""

    log: Estimated
    replicates: int


def _compared(row: CellChange, partner: Cell, a: ResultSet, b: ResultSet) -> CellChange:
    change = _change(_of_metric(a, row.cell), _of_metric(b, partner))
    is_baseline = row.cell.id not in a.primary and partner.id not in b.primary
    cost = None if is_baseline else _cost_change(row.cell, partner, a, b)
    some = [one for one in (change, cost) if one is not None]
    has_change = any(one.ratio is not None for one in some)
    return replace(
        row,
        before=_median(a, row.cell),
        after=_median(b, partner),
        change=change,
        cost=cost,
        refused=()
        if has_change
        else tuple(dict.fromkeys(one.reason for one in some if one.reason)),
        flags=tuple(_flags(row.cell, partner, a, b)),
    )


def _cost_change(before: Cell, after: Cell, a: ResultSet, b: ResultSet) -> Change:
    first, second = a.primary.get(before.id), b.primary.get(after.id)
    if first is None or second is None:
        side = "A" if first is None else "B"
        return Change(reason=reason_of(ReasonKind.BASELINE_IN_ONE, side=side))
    bases = first.baseline, second.baseline
    if bases[0] is not None and bases[1] is not None and identity(bases[0]) != identity(bases[1]):
        differ = tuple(unlike(bases[0], bases[1]))
        return Change(reason=reason_of(ReasonKind.OTHER_BASELINES, unlike=differ))
    return _change(_of_cost(first), _of_cost(second))


def _of_cost(row: Comparison) -> _Known | Reason:
    if row.cost is None or not 0 < row.cost < math.inf:
        return row.why_no_cost
    ends = None
    if row.low is not None and row.high is not None:
        ends = Interval(math.log(row.low) if row.low > 0 else -math.inf, math.log(row.high))
    return _Known(Estimated(math.log(row.cost), ends), row.replicates or row.pairs)


def _of_metric(side: ResultSet, cell: Cell) -> _Known | Reason:
    """Estimate the log of a metric in one session; failures are the worst value there is."""
    history, metric = side.histories[cell.id], side.metric(cell)
    if (why := history.why_unavailable) is not None:
        return why
    if not history.counted:
        return reason_of(ReasonKind.NOT_STARTED)
    columns = history.columns(metric, side.plan.repetition.variant)
    logs, places = _logs(columns.values, metric)
    if not len(logs):
        return _without_number(history)
    if not has_size(logs):
        return reason_of(ReasonKind.TRIALS_FAILED)
    instances = [trial.instance or f"block {block}" for block, trial in history.trials.items()]
    groups = [instances[place] for place in places]
    parts = components(tamed(logs), groups) if history.replicates is Replicates.INSTANCES else None
    if parts is not None and are_replicates(parts):
        values = means(logs, groups)
        return _Known(
            Estimated(estimate(values), nested_interval(logs, groups, LEVEL)), len(values)
        )
    return _Known(Estimated(estimate(logs), interval(logs, LEVEL)), len(logs))


def _without_number(history: History) -> Reason:
    """Return the last that trials said of how they ended, or that none of them has a number."""
    if history.last_reason:
        return reason_of(ReasonKind.TRIAL_SAID, said=history.last_reason)
    return reason_of(ReasonKind.TRIALS_WITHOUT_NUMBER)


def _logs(values: Array, metric: Metric) -> tuple[Array, list[int]]:
    """Return the logs, larger is worse, of what is known, and which values these are."""
    places = np.flatnonzero(~np.isnan(values))
    worse = -1.0 if metric.better is Better.HIGHER else 1.0
    with np.errstate(divide="ignore"):
        logs = worse * np.log(values[places])
    logs[np.isinf(values[places])] = math.inf
    return logs, places.tolist()


def _change(before: _Known | Reason, after: _Known | Reason) -> Change:
    """Divide B by A; the verdict comes later, when the whole column is known."""
    if isinstance(before, Reason) or isinstance(after, Reason):
        ends = (("A", before), ("B", after))
        sides = tuple((name, one) for name, one in ends if isinstance(one, Reason))
        return Change(reason=reason_of(ReasonKind.OF_SIDES, sides=sides))
    found = weighted_sum(((1.0, after.log), (-1.0, before.log)))
    if not math.isfinite(found.value):
        return Change(reason=reason_of(ReasonKind.NO_RATIO_OF_TRIALS))
    if found.interval is None:
        return Change(
            ratio=ratio(found.value),
            word=Word.UNDECIDED,
            reason=reason_of(ReasonKind.FEW_TRIALS),
        )
    low, high = ratios(found.interval)
    return Change(
        ratio=ratio(found.value),
        low=low,
        high=high,
        p=p_of_difference(after.log, after.replicates, before.log, before.replicates, LEVEL),
        word=Word.UNDECIDED,
    )


def _median(side: ResultSet, cell: Cell) -> float | None:
    values = side.histories[cell.id].columns(side.metric(cell), side.plan.repetition.variant).values
    finite = values[np.isfinite(values)]
    return middle(finite) if len(finite) else None


def _judged(rows: Sequence[CellChange], margin: float) -> list[CellChange]:
    """Return the verdicts: each column is a family of its own, for it asks another question."""
    changes = _verdicts([row.change for row in rows], margin)
    costs = iter(_verdicts([row.cost for row in rows if row.cost is not None], margin))
    return [
        replace(row, change=change, cost=None if row.cost is None else next(costs))
        for row, change in zip(rows, changes, strict=True)
    ]


def _verdicts(changes: Sequence[Change], margin: float) -> list[Change]:
    tested = [place for place, one in enumerate(changes) if one.p is not None]
    judged = list(changes)
    for place, p in zip(tested, holm([changes[i].p or 0.0 for i in tested]), strict=True):
        one = changes[place]
        judged[place] = replace(one, holm_p=p, word=_word(one, p, margin))
    return judged


def _word(one: Change, holm_p: float, margin: float) -> Word:
    assert one.low is not None and one.high is not None and one.ratio is not None  # noqa: S101, PT018
    if math.exp(-margin) < one.low and one.high < math.exp(margin):
        return Word.SAME
    if holm_p >= LEVEL:
        return Word.UNDECIDED
    return Word.WORSE if one.ratio > 1 else Word.BETTER


def _notes(a: ResultSet, b: ResultSet) -> Iterator[Flag]:
    if a.plan.study != b.plan.study:
        yield flag(FlagKind.OTHER_STUDY, before=a.plan.study, after=b.plan.study)
    ends = [("A", a), ("B", b)]
    for name, side in ends:
        if not side.facts.host:
            yield flag(FlagKind.HOST_NOT_STORED, side=name)
    has_userland = [bool(side.facts.userland.id) for _, side in ends]
    if has_userland[0] is not has_userland[1]:
        silent = "B" if has_userland[0] else "A"
        yield flag(FlagKind.USERLAND_NOT_STORED, side=silent)
    single = [name for name, side in ends if _has_single(side.plan)]
    if single:
        yield flag(FlagKind.SINGLE_INSTANCE, sides=tuple(single))


def _has_single(plan: Plan) -> bool:
    platforms = {cell.platform for cell in plan.cells}
    return bool(platforms) and plan.repetition.instances_of(*platforms) == 1


def _flags(before: Cell, after: Cell, a: ResultSet, b: ResultSet) -> Iterator[Flag]:
    for name, side, cell in (("A", a, before), ("B", b, after)):
        row = side.primary.get(cell.id)
        if row is not None and flag(FlagKind.NOT_TRUSTED) in row.flags:
            yield flag(FlagKind.SIDE_NOT_TRUSTED, side=name)
        counted = side.histories[cell.id].counted
        failed = sum(one.status in (Status.FAILED, Status.DNR) for one in counted)
        if failed:
            yield flag(FlagKind.SIDE_FAILED, side=name, failed=failed, trials=len(counted))
