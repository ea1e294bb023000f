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
differ (``tare.stats.hierarchy``) their means are the values. The two are independent: the logs are
subtracted, and the arms of the intervals are squared and added, below and above by themselves
(Zou and Donner 2008). p is the level at which the interval would reach 0, by Student's t with
Satterthwaite's degrees of freedom. Arms that hold at all looks are wider than need be for one: of
equal sessions with 8 to 20 blocks and unequal noise, simulated, 1 % had a p below 5 % by the cost
and 4 % by the metric.

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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

import numpy as np

from tare.compare.comparison import Comparison
from tare.compare.conditions import Facts, about
from tare.compare.instances import MAKES_ITS_OWN
from tare.compare.pairing import History, histories
from tare.compare.study import Comparisons, compare
from tare.errors import ResultsError
from tare.model import Better, Cell, Metric, Plan, Status, Trial
from tare.stats.description import middle
from tare.stats.hierarchy import are_replicates, components, means, nested_interval, tamed
from tare.stats.holm import holm
from tare.stats.ratio import ratio, ratios
from tare.stats.sequential import has_size
from tare.stats.signed_rank import Array, Interval, estimate, interval
from tare.stats.two_sample import satterthwaite
from tare.stats.values import Estimated

LEVEL = 0.05
MOST = 4
"""As many names, or reasons, are told; others are counted."""

STATES = ("load", "steal", "swap_used_bytes", "detected")
"""Facts of a host that are those of a moment, or stand in other facts too."""
READINGS = (
    *("loop_s", "clock_read_s", "filesystem_device", "memory_given_bytes", "affinity"),
    *("cpu_flags", "weaknesses_known"),
)
"""What is read inside a platform and is no setting of it; flags are told by their number."""


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
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellChange:
    """One cell of A beside the same cell of B.

    ``platform_in_b`` is its platform's name there. ``before`` and ``after`` are medians of the
    workload's first metric in its own unit, by the variant that decides. ``cost`` is None for the
    baseline, which has no cost. ``refused`` says why the two cannot be compared: then there is no
    change at all.
    """

    cell: Cell
    platform_in_b: str = ""
    metric: Metric
    before: float | None = None
    after: float | None = None
    change: Change = Change()
    cost: Change | None = None
    refused: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()

    @property
    def word(self) -> Word:
        """The verdict: that of the cost, and for the baseline that of the metric."""
        return self.change.word if self.cost is None else self.cost.word


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact that is not the same in both: of the host or, ``platform: fact``, of a platform."""

    what: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """Two result sets beside each other; rows in the order of A's plan, controls left out.

    ``only_in_b`` are cells that A has not. ``margin`` is a ratio minus one.
    """

    rows: tuple[CellChange, ...]
    only_in_b: tuple[Cell, ...]
    differences: tuple[Difference, ...]
    notes: tuple[str, ...]
    margin: float


@dataclass(frozen=True)
class Side:
    """One of the two result sets: its plan, its trials and the facts stored with them."""

    plan: Plan
    trials: Sequence[Trial]
    facts: Facts

    @cached_property
    def comparisons(self) -> Comparisons:
        """What the set says by itself."""
        return compare(self.plan, self.trials, self.facts)

    @cached_property
    def primary(self) -> Mapping[str, Comparison]:
        """The comparison of each cell with its baseline that decides, by the cell's id."""
        return {row.cell.id: row for row in self.comparisons.comparisons if row.primary}

    @cached_property
    def histories(self) -> Mapping[str, History]:
        """The trials that count, by the cell's id."""
        return histories(self.plan, self.trials)

    def metric(self, cell: Cell) -> Metric:
        """Give the metric that decides about a cell."""
        return self.plan.metrics[cell.workload][0]


def between(a: Side, b: Side) -> Between:
    """Set B beside A; ResultsError if there is no cell that can be compared."""
    partners, why_alone = _matched(_cells(a), _cells(b))
    margin = min(a.plan.repetition.margin, b.plan.repetition.margin)
    everywhere = list(_refusals_of_all(a, b))
    rows = []
    for cell in _cells(a):
        partner = partners.get(cell.id)
        if partner is None:
            rows.append(CellChange(cell=cell, metric=a.metric(cell), refused=(why_alone[cell.id],)))
            continue
        row = CellChange(cell=cell, platform_in_b=partner.platform, metric=a.metric(cell))
        refused = (*everywhere, *_refusals(a, b, cell, partner))
        if refused:
            rows.append(replace(row, refused=refused))
        else:
            rows.append(_compared(row, partner, a, b))
    if all(row.refused for row in rows):
        raise ResultsError(f"nothing in the two can be compared: {_why_nothing(rows)}")
    taken = {cell.id for cell in partners.values()}
    return Between(
        rows=tuple(_judged(rows, math.log1p(margin))),
        only_in_b=tuple(cell for cell in _cells(b) if cell.id not in taken),
        differences=tuple(differences(a, b, partners)),
        notes=tuple(_notes(a, b)),
        margin=margin,
    )


def _cells(side: Side) -> list[Cell]:
    return [cell for cell in side.plan.cells if not cell.control]


def _why_nothing(rows: Sequence[CellChange]) -> str:
    reasons = dict.fromkeys(why for row in rows for why in row.refused)
    return _named(reasons, "; ") or "A has no cell"


# Which cell is which


def _matched(
    before: Sequence[Cell], after: Sequence[Cell]
) -> tuple[dict[str, Cell], dict[str, str]]:
    """Find for each cell of A the one of B that is the same, or say why there is none.

    What a platform is counts, its stack and settings, and not what it is called; of several that
    are the same the one of the same name.
    """
    found: dict[str, Cell] = {}
    by_id = {cell.id: cell for cell in after}
    found = {cell.id: by_id[cell.id] for cell in before if cell.id in by_id}
    taken = {cell.id for cell in found.values()}
    reasons = {}
    for cell in before:
        if cell.id in found:
            continue
        free = [one for one in after if one.id not in taken and _is(one) == _is(cell)]
        if free:
            found[cell.id] = free[0]
            taken.add(free[0].id)
        else:
            reasons[cell.id] = _why_alone(cell, [one for one in after if one.id not in taken])
    return found, reasons


def _is(cell: Cell) -> tuple[object, ...]:
    return cell.stack, cell.settings, cell.workload, cell.params, cell.limits


def _why_alone(cell: Cell, others: Sequence[Cell]) -> str:
    """Say in what the most alike cell of B differs, of those of the same workload and platform."""
    alike = [one for one in others if one.workload == cell.workload]
    alike = [one for one in alike if one.stack == cell.stack or one.platform == cell.platform]
    if not alike:
        return f"B has no {cell.workload} on {cell.platform}"
    told = min((list(_unlike(cell, one)) for one in alike), key=len)
    return f"B measured it otherwise: {_named(told, ', ')}"


def _unlike(one: Cell, other: Cell) -> Iterator[str]:
    if one.stack != other.stack:
        yield f"stack {one.stack} in A, {other.stack} in B"
    pairs: list[tuple[str, Mapping[str, object], Mapping[str, object]]] = [
        ("setting", dict(one.settings), dict(other.settings)),
        ("parameter", dict(one.params), dict(other.params)),
        ("limit", _limits(one), _limits(other)),
    ]
    for kind, mine, theirs in pairs:
        for name in dict.fromkeys((*mine, *theirs)):
            if mine.get(name) != theirs.get(name):
                yield f"{kind} {name} {_text(mine.get(name))} in A, {_text(theirs.get(name))} in B"


def _limits(cell: Cell) -> dict[str, object]:
    limits = cell.limits
    return {
        "cpus": limits.cpus,
        "memory_bytes": limits.memory_bytes,
        "disk_cache": limits.disk_cache.value,
    }


# What cannot be compared


def _refusals_of_all(a: Side, b: Side) -> Iterator[str]:
    """Say what makes any number of the two another thing."""
    mine, theirs = a.plan.repetition, b.plan.repetition
    if mine.design is not theirs.design:
        yield f"the design is {mine.design.value} in A and {theirs.design.value} in B"
    if mine.variant is not theirs.variant:
        yield f"A decides by the variant {mine.variant.value}, B by {theirs.variant.value}"
    ours, other = (_mapping(side.facts.get("userland")) for side in (a, b))
    if ours.get("id") and other.get("id") and ours["id"] != other["id"]:
        versions = _mapping(ours.get("versions")), _mapping(other.get("versions"))
        told = [f"{one.what} {one.before} and {one.after}" for one in _differing(*versions)]
        packages = f" ({_named(told, ', ')})" if told else ""
        yield f"the userland inside is another{packages}"


def _refusals(a: Side, b: Side, before: Cell, after: Cell) -> Iterator[str]:
    """Say why two cells that are the same did not measure the same."""
    mine, theirs = a.metric(before), b.metric(after)
    if mine != theirs:
        told = [f"{one.name} ({one.unit.value}, {one.better.value})" for one in (mine, theirs)]
        yield f"its first metric is {told[0]} in A and {told[1]} in B"
    readings = _reading(a, before.platform), _reading(b, after.platform)
    files = [
        one.what.removeprefix("sha256.")
        for one in _differing(*readings)
        if one.what.startswith("sha256.") and one.what in readings[0] and one.what in readings[1]
    ]
    if files:
        yield f"the files inside that it measures with are others: {_named(files, ', ')}"


# The numbers


@dataclass(frozen=True, slots=True)
class _Known:
    """The log of a cost in one session, and how many independent values it rests on."""

    log: Estimated
    replicates: int


def _compared(row: CellChange, partner: Cell, a: Side, b: Side) -> CellChange:
    change = _change(_of_metric(a, row.cell), _of_metric(b, partner))
    is_baseline = row.cell.id not in a.primary and partner.id not in b.primary
    return replace(
        row,
        before=_median(a, row.cell),
        after=_median(b, partner),
        change=change,
        cost=None if is_baseline else _cost_change(row.cell, partner, a, b),
        flags=tuple(_flags(row.cell, partner, a, b)),
    )


def _cost_change(before: Cell, after: Cell, a: Side, b: Side) -> Change:
    mine, theirs = a.primary.get(before.id), b.primary.get(after.id)
    if mine is None or theirs is None:
        return Change(reason=f"it is the baseline in {'A' if mine is None else 'B'} alone")
    bases = mine.baseline, theirs.baseline
    if bases[0] is not None and bases[1] is not None and _is(bases[0]) != _is(bases[1]):
        told = ", ".join(_unlike(bases[0], bases[1]))
        return Change(reason=f"the baselines are not the same: {told}")
    return _change(_of_cost(mine), _of_cost(theirs))


def _of_cost(row: Comparison) -> _Known | str:
    if row.cost is None or not 0 < row.cost < math.inf:
        return row.reason or row.why_no_cost or "its cost has no size"
    ends = None
    if row.low is not None and row.high is not None:
        ends = Interval(math.log(row.low) if row.low > 0 else -math.inf, math.log(row.high))
    return _Known(Estimated(math.log(row.cost), ends), row.replicates or row.pairs)


def _of_metric(side: Side, cell: Cell) -> _Known | str:
    """Estimate the log of a metric in one session; failures are the worst value there is."""
    history, metric = side.histories[cell.id], side.metric(cell)
    if history.unavailable is not None:
        return history.unavailable
    columns = history.columns(metric, side.plan.repetition.variant)
    logs, places = _logs(columns.values, metric)
    if not len(logs):
        return history.last_reason or "none of its trials has a number"
    if not has_size(logs):
        return "too many of its trials failed"
    instances = [trial.instance or f"block {block}" for block, trial in history.trials.items()]
    groups = [instances[place] for place in places]
    parts = components(tamed(logs), groups) if cell.workload != MAKES_ITS_OWN else None
    if parts is not None and are_replicates(parts):
        values = means(logs, groups)
        return _Known(
            Estimated(estimate(values), nested_interval(logs, groups, LEVEL)), len(values)
        )
    return _Known(Estimated(estimate(logs), interval(logs, LEVEL)), len(logs))


def _logs(values: Array, metric: Metric) -> tuple[Array, list[int]]:
    """Give the logs, larger is worse, of what is known, and which values these are."""
    places = np.flatnonzero(~np.isnan(values))
    worse = -1.0 if metric.better is Better.HIGHER else 1.0
    with np.errstate(divide="ignore"):
        logs = worse * np.log(values[places])
    logs[np.isinf(values[places])] = math.inf
    return logs, places.tolist()


def _change(before: _Known | str, after: _Known | str) -> Change:
    """Divide B by A; the verdict comes later, when the whole column is known."""
    silent = [
        f"{name}: {one}" for name, one in (("A", before), ("B", after)) if isinstance(one, str)
    ]
    if isinstance(before, str) or isinstance(after, str):
        return Change(reason="; ".join(silent))
    found = weighted_sum(((1.0, after.log), (-1.0, before.log)))
    if not math.isfinite(found.value):
        return Change(reason="too many trials have no ratio")
    if found.interval is None:
        return Change(
            ratio=ratio(found.value),
            word=Word.UNDECIDED,
            reason="too few trials for an interval",
        )
    low, high = ratios(found.interval)
    return Change(
        ratio=ratio(found.value),
        low=low,
        high=high,
        p=_p(found, before, after),
        word=Word.UNDECIDED,
    )


def weighted_sum(terms: Iterable[tuple[float, Estimated]]) -> Estimated:
    """Add independent estimates, each times a weight, which may be negative.

    The arms of the intervals are squared and added, below and above by themselves, so that a skewed
    interval stays skewed (Zou and Donner 2008). No interval if one of the terms has none.
    """
    terms = [(weight, one) for weight, one in terms if weight]
    value = math.fsum(weight * one.value for weight, one in terms)
    below, above = [], []
    for weight, (centre, ends) in terms:
        if ends is None:
            return Estimated(value, None)
        arms = [weight * (centre - ends.low), weight * (ends.high - centre)]
        if weight < 0:
            arms = [-arms[1], -arms[0]]
        below.append(max(arms[0], 0.0))
        above.append(max(arms[1], 0.0))
    return Estimated(value, Interval(value - math.hypot(*below), value + math.hypot(*above)))


def _p(found: Estimated, before: _Known, after: _Known) -> float:
    """Give the level at which the interval would reach 0."""
    from scipy.special import stdtr, stdtrit  # only here: it takes long to load

    assert found.interval is not None  # noqa: S101 - the caller has looked
    up = found.value > 0
    arm = found.value - found.interval.low if up else found.interval.high - found.value
    if math.isinf(arm) or found.value == 0:
        return 1.0
    parts = [_arm(after.log, below=up) ** 2, _arm(before.log, below=not up) ** 2]
    if arm <= 0 or max(parts) == 0:
        return 0.0
    largest = max(parts)
    counts = max(2, after.replicates), max(2, before.replicates)
    freedom = satterthwaite(parts[0] / largest, counts[0], parts[1] / largest, counts[1])
    t = float(stdtrit(freedom, 1 - LEVEL / 2)) * abs(found.value) / arm
    return float(2 * stdtr(freedom, -t))


def _arm(one: Estimated, *, below: bool) -> float:
    assert one.interval is not None  # noqa: S101 - a sum with an interval has terms that have one
    return one.value - one.interval.low if below else one.interval.high - one.value


def _median(side: Side, cell: Cell) -> float | None:
    values = side.histories[cell.id].columns(side.metric(cell), side.plan.repetition.variant).values
    finite = values[np.isfinite(values)]
    return middle(finite) if len(finite) else None


# The verdicts


def _judged(rows: Sequence[CellChange], margin: float) -> list[CellChange]:
    """Give the verdicts: each column is a family of its own, for it asks another question."""
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


# What else is to be known


def differences(a: Side, b: Side, partners: Mapping[str, Cell]) -> Iterator[Difference]:
    """List the stored facts of host, Tare and platforms that are not the same."""
    of_host = list(host_differences(a.facts, b.facts))
    yield from of_host
    ours, other = (_mapping(side.facts.get("tare")) for side in (a, b))
    yield from (replace(one, what=f"Tare's {one.what}") for one in _differing(ours, other))
    ours, other = (_mapping(side.facts.get("userland")) for side in (a, b))
    if ours.get("kernel") and other.get("kernel") and ours["kernel"] != other["kernel"]:
        yield Difference("kernel of guests", _text(ours["kernel"]), _text(other["kernel"]))
    names = dict.fromkeys(
        (a.plan.cells_by_id[mine].platform, one.platform) for mine, one in partners.items()
    )
    for mine, theirs in names:
        for one in _of_platform((a, mine), (b, theirs)):
            if one not in of_host:
                yield replace(one, what=f"{mine}: {one.what}")


def host_differences(before: Facts, after: Facts) -> Iterator[Difference]:
    """List the facts of two hosts that are not the same, but for what passes."""
    mine, theirs = _mapping(before.get("host")), _mapping(after.get("host"))
    yield from (one for one in _differing(mine, theirs) if one.what not in STATES)
    cpus = (_mapping(facts.get("session")).get("cpuset") for facts in (before, after))
    yield from _differing(*({"CPUs of the session": one} if one else {} for one in cpus))


def _of_platform(before: tuple[Side, str], after: tuple[Side, str]) -> Iterator[Difference]:
    probes = [_mapping(about(side.facts, name).get("probe")) for side, name in (before, after)]
    yield from _differing(*probes)
    mine, theirs = _reading(*before), _reading(*after)
    for one in _differing(mine, theirs):
        if one.what not in READINGS and not one.what.startswith("sha256."):
            yield one
    lost, new = _flags_of(mine) - _flags_of(theirs), _flags_of(theirs) - _flags_of(mine)
    if (lost or new) and _flags_of(mine) and _flags_of(theirs):
        told = [_named(sorted(some), ", ") or "none more" for some in (lost, new)]
        yield Difference("CPU flags only there", *told)


def _flags_of(reading: Mapping[str, object]) -> set[str]:
    return set(str(reading.get("cpu_flags", "")).split())


def _notes(a: Side, b: Side) -> Iterator[str]:
    if a.plan.study != b.plan.study:
        yield f"The studies are called {a.plan.study} (A) and {b.plan.study} (B)."
    ends = [("A", a), ("B", b)]
    for name, side in ends:
        if not side.facts.get("host"):
            yield f"{name} says nothing of its host: what changed there is not known."
    has_userland = [bool(_mapping(side.facts.get("userland")).get("id")) for _, side in ends]
    if has_userland[0] is not has_userland[1]:
        silent = "B" if has_userland[0] else "A"
        yield f"{silent} does not say which userland it ran, so that the tools may be others."
    single = [name for name, side in ends if side.plan.repetition.instances == 1]
    if single:
        yield (
            f"One instance of each platform in {' and '.join(single)}: if instances differ, what "
            "looks like a change may be the luck of one."
        )


def _flags(before: Cell, after: Cell, a: Side, b: Side) -> Iterator[str]:
    for name, side, cell in (("A", a, before), ("B", b, after)):
        row = side.primary.get(cell.id)
        yield from (
            f"In {name}: {flag}" for flag in (row.flags if row else ()) if "NOT TRUSTED" in flag
        )
        counted = side.histories[cell.id].counted
        failed = sum(one.status in (Status.FAILED, Status.DNR) for one in counted)
        if failed:
            yield f"In {name}: {failed} of {len(counted)} trials failed."


def _mapping(found: object) -> Mapping[str, object]:
    return found if isinstance(found, Mapping) else {}


def _reading(side: Side, platform: str) -> Mapping[str, object]:
    return _mapping(about(side.facts, platform).get("preconditions"))


def _differing(before: Mapping[str, object], after: Mapping[str, object]) -> Iterator[Difference]:
    """List what is not the same; where one side tells nothing at all, nothing is known."""
    for name in dict.fromkeys((*before, *after)) if before and after else ():
        if before.get(name) != after.get(name):
            yield Difference(str(name), _text(before.get(name)), _text(after.get(name)))


def _text(value: object) -> str:
    if value is None or value == "":
        return "not told"
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def _named(names: Iterable[str], between_them: str) -> str:
    every = list(names)
    more = [f"and {len(every) - MOST} more"] if len(every) > MOST else []
    return between_them.join([*every[:MOST], *more])
