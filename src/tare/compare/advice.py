"""Which platform suits a mix of work: expected slowdown, ties, constraints, and what is not known.

The weights of a mix are the shares of time that its work takes on the baseline, so a platform whose
costs are ``c`` takes ``sum(share * c)`` times as long: the *expected slowdown* (METHOD.md 2.9). The
weighted geometric mean stands beside it as an *index*; it is no time that anybody waits.

**Intervals.** The costs' intervals are those of ``tare show``. Their arms are weighted, squared and
added (``between.weighted_sum``), which takes the workloads' errors for independent: each cost is
paired in blocks with a baseline cell of its own.

**Ties.** Two platforms are set beside each other as either is beside the baseline: their trials are
paired in the same blocks, workload by workload, with the shares of time that the mix has on the
second, ``share * c / sum(share * c)``; these shares are taken as they were measured. That is
narrower and truer than two intervals that overlap, because the noise of the baseline is in neither.
(In a duet only the baseline stands beside another; there the two costs are divided.) Platforms
whose interval holds 1, or that have none, are tied. Each such interval holds with 95 %, not all of
them together. Platforms share a letter if and only if they are tied.

Nothing is filled in: a platform without a cost for a part of the mix has no place in the ranking.
Isolation, start and memory are constraints and no part of the slowdown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import cached_property
from itertools import combinations, product
from string import ascii_letters
from typing import TypeGuard

import numpy as np

from tare.compare.between import Side, weighted_sum
from tare.compare.comparison import Comparison, measured
from tare.compare.conditions import about
from tare.compare.instances import MAKES_ITS_OWN
from tare.compare.pairing import Group, baselines, group, has_numbers
from tare.model import Cell, Design, Unit
from tare.stats.description import middle
from tare.stats.ratio import ratio
from tare.stats.schedule import level
from tare.stats.sequential import Verdict
from tare.stats.signed_rank import Interval
from tare.stats.values import Estimated

_TIMES = (Unit.SECOND, Unit.PER_SECOND, Unit.BYTE_PER_SECOND)
"""Metrics that say how long a unit of work takes, so that a share of time has a meaning."""


@dataclass(frozen=True, kw_only=True)
class Constraints:
    """The most that a platform may take; None is no constraint.

    ``startup_s`` is until it answers a command, ``memory_bytes`` what an instance takes of its
    host, ``isolation_loss`` by which part work becomes slower beside a greedy neighbour.
    """

    startup_s: float | None = None
    memory_bytes: int | None = None
    isolation_loss: float | None = None


@dataclass(frozen=True, slots=True)
class Mix:
    """Shares of native time by what is compared with each other; they sum to 1."""

    shares: Mapping[Group, float]
    constraints: Constraints = Constraints()


class Keeps(StrEnum):
    """Whether a platform keeps a constraint."""

    KEPT = "kept"
    BROKEN = "broken"
    MISSING = "missing measurement"


@dataclass(frozen=True, slots=True, kw_only=True)
class Constrained:
    """One constraint of one platform: the median of ``n`` values, and where they are from."""

    name: str
    limit: float
    keeps: Keeps
    value: float | None = None
    n: int = 0
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One platform. All numbers are ratios to the baseline, above 1 is worse.

    ``rank`` counts platforms that keep all constraints, or may; it is None for others and for
    those that lack a cost: these have no ``slowdown`` either. ``letters`` are shared by ties.
    ``without`` are the least and the largest slowdown if one workload is left out. ``completed``
    of ``trials`` ran to their end.
    """

    platform: str
    rank: int | None = None
    slowdown: float | None = None
    low: float | None = None
    high: float | None = None
    index: float | None = None
    letters: str = ""
    worst: tuple[Group, float] | None = None
    without: tuple[float, float] | None = None
    measured: int = 0
    completed: int = 0
    trials: int = 0
    constraints: tuple[Constrained, ...] = ()

    @property
    def is_excluded(self) -> bool:
        """Whether it breaks a constraint."""
        return any(one.keeps is Keeps.BROKEN for one in self.constraints)


@dataclass(frozen=True, slots=True)
class Swap:
    """A share at which the first two platforms would be equal, the other shares in proportion."""

    workload: Group
    share: float
    needed: float


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Without one workload another platform would be first."""

    workload: Group
    first: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A measurement that is missing, or too imprecise where it matters."""

    platform: str
    workload: Group | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """Platforms, best first; then those that break a constraint, then those that lack a number.

    ``untrusted`` are parts of the mix whose A/A control differs from its baseline.
    """

    places: tuple[Place, ...]
    swap: Swap | None
    left_out: tuple[LeftOut, ...]
    missing: tuple[Gap, ...]
    undecided: tuple[Gap, ...]
    untrusted: tuple[Group, ...] = ()

    @property
    def first(self) -> tuple[str, ...]:
        """The platforms that are first: the best one and those tied with it, in their order."""
        ranked = [place for place in self.places if place.rank is not None]
        best = set(ranked[0].letters) if ranked else set()
        return tuple(place.platform for place in ranked if best & set(place.letters))


def has_time(side: Side, key: Group) -> bool:
    """Whether a share of time has a meaning for what is measured first of a workload."""
    return side.plan.metrics[key[0]][0].unit in _TIMES


def advise(side: Side, mix: Mix, lifecycles: Sequence[Side] = ()) -> Advice:
    """Rank the platforms of a study for a mix.

    ``lifecycles`` are results of lifecycle studies, in which the same platforms may have been
    started; of these come start and memory.
    """
    known = _Known(side, mix)
    places = [_place(known, name, mix, (side, *lifecycles)) for name in known.platforms]
    whole = sorted((one for one in places if one.slowdown is not None), key=_slowdown)
    able = [one for one in whole if not one.is_excluded]
    letters = _letters([one.platform for one in able], known)
    ranked = [replace(one, rank=_rank(one, able), letters=letters[one.platform]) for one in able]
    rest = [one for one in whole if one.is_excluded]
    lacking = [one for one in places if one.slowdown is None]
    return Advice(
        places=(*ranked, *rest, *lacking),
        swap=_swap(known, ranked),
        left_out=tuple(_left_out(known, ranked)),
        missing=tuple(_missing(known, places)),
        undecided=tuple(_undecided(known, ranked)),
        untrusted=tuple(
            group(row.cell)
            for row in side.primary.values()
            if row.cell.control
            and row.verdict in (Verdict.SLOWER, Verdict.FASTER)
            and group(row.cell) in known.shares
        ),
    )


def _slowdown(place: Place) -> float:
    return math.inf if place.slowdown is None else place.slowdown


def _rank(place: Place, able: Sequence[Place]) -> int:
    return 1 + sum(_slowdown(one) < _slowdown(place) for one in able)


class _Known:
    """The costs of all platforms for the parts of a mix that have a share."""

    def __init__(self, side: Side, mix: Mix) -> None:
        self.side = side
        self.shares = {key: share for key, share in mix.shares.items() if share > 0}
        self.cells: dict[tuple[str, Group], Cell] = {
            (cell.platform, group(cell)): cell
            for cell in side.plan.cells
            if not cell.control and cell.injected is None
        }
        self.baseline = side.plan.baseline
        self.platforms = tuple(dict.fromkeys(name for name, _ in self.cells))

    @cached_property
    def references(self) -> Mapping[Group, Cell]:
        return baselines(self.side.plan)

    def cost(self, platform: str, key: Group) -> Estimated | None:
        """Give a cost with its interval, if it is finite and above 0; that of the baseline is 1."""
        if platform == self.baseline and (platform, key) in self.cells:
            return Estimated(1.0, Interval(1.0, 1.0)) if self._has_trials(key) else None
        row = self.row(platform, key)
        return None if row is None else _estimated(row)

    def row(self, platform: str, key: Group) -> Comparison | None:
        """Give the comparison with the baseline that decides."""
        cell = self.cells.get((platform, key))
        return None if cell is None else self.side.primary.get(cell.id)

    def costs(self, platform: str) -> dict[Group, float]:
        """Give the costs that are known."""
        found = ((key, self.cost(platform, key)) for key in self.shares)
        return {key: one.value for key, one in found if one is not None}

    def relative(self, platform: str, other: str) -> Estimated | None:
        """Give by which factor a platform is slower than another for the mix; None: not known."""
        theirs = self.costs(other)
        if theirs.keys() != self.shares.keys():
            return None
        total = math.fsum(share * theirs[key] for key, share in self.shares.items())
        terms = []
        for key, share in self.shares.items():
            one = self._beside(platform, other, key)
            if one is None:
                return None
            terms.append((share * theirs[key] / total, one))
        return weighted_sum(terms)

    def are_apart(self, one: str, other: str) -> bool:
        """Whether it is known which of two platforms is faster for the mix."""
        if one == self.baseline:
            one, other = other, one
        found = self.relative(one, other)
        if found is None or found.interval is None:
            return False
        return found.interval.low > 1 or found.interval.high < 1

    def why_no_cost(self, platform: str, key: Group) -> str:
        """Say why a platform has no cost for a part of the mix."""
        row = self.row(platform, key)
        if row is not None:
            return row.reason or row.why_no_cost or "its cost has no size"
        if (platform, key) not in self.cells:
            return "the study does not measure it"
        cell = self.cells[platform, key]
        history = self.side.histories[cell.id]
        return history.unavailable or history.last_reason or "no trial of the baseline has a number"

    def _beside(self, platform: str, other: str, key: Group) -> Estimated | None:
        if other == self.baseline:
            return self.cost(platform, key)
        if self.side.plan.repetition.design is Design.DUET:
            return self._divided(platform, other, key)
        cell, base = self.cells.get((platform, key)), self.cells.get((other, key))
        if cell is None or base is None:
            return None
        plan = self.side.plan
        row = Comparison(
            cell=cell,
            baseline=base,
            metric=self.side.metric(cell),
            primary=True,
            level=level(plan.repetition.max_blocks),
            variant=plan.repetition.variant,
        )
        return _estimated(measured(row, self.side.histories, plan.repetition))

    def _divided(self, platform: str, other: str, key: Group) -> Estimated | None:
        mine, theirs = self.cost(platform, key), self.cost(other, key)
        if mine is None or theirs is None:
            return None
        found = weighted_sum(((1.0, _log(mine)), (-1.0, _log(theirs))))
        ends = found.interval
        return Estimated(
            ratio(found.value),
            None if ends is None else Interval(ratio(ends.low), ratio(ends.high)),
        )

    def _has_trials(self, key: Group) -> bool:
        history = self.side.histories[self.references[key].id]
        return any(has_numbers(trial) for trial in history.counted)


def _estimated(row: Comparison) -> Estimated | None:
    if row.cost is None or not 0 < row.cost < math.inf:
        return None
    ends = None if row.low is None or row.high is None else Interval(row.low, row.high)
    return Estimated(row.cost, ends)


def _log(one: Estimated) -> Estimated:
    ends = one.interval
    if ends is not None:
        ends = Interval(math.log(ends.low) if ends.low > 0 else -math.inf, math.log(ends.high))
    return Estimated(math.log(one.value), ends)


# One platform


def _place(known: _Known, name: str, mix: Mix, sources: Sequence[Side]) -> Place:
    costs = known.costs(name)
    cells = [known.cells[name, key] for key in known.shares if (name, key) in known.cells]
    counted = [one for cell in cells for one in known.side.histories[cell.id].counted]
    worst = max(costs, key=costs.__getitem__, default=None)
    place = Place(
        platform=name,
        measured=len(costs),
        worst=None if worst is None else (worst, costs[worst]),
        completed=sum(map(has_numbers, counted)),
        trials=len(counted),
        constraints=tuple(_constraints(known, name, mix.constraints, sources)),
    )
    found = known.relative(name, known.baseline) if len(costs) == len(known.shares) else None
    if found is None:
        return place
    low, high = found.interval or (None, None)
    return replace(
        place,
        slowdown=found.value,
        low=None if low is None else max(0.0, low),
        high=high,
        index=math.exp(math.fsum(share * math.log(costs[k]) for k, share in known.shares.items())),
        without=_range(known.shares, costs),
    )


def _sum_without(
    left_out: Group, shares: Mapping[Group, float], costs: Mapping[Group, float]
) -> float:
    rest = math.fsum(share for key, share in shares.items() if key != left_out)
    return math.fsum(share * costs[key] for key, share in shares.items() if key != left_out) / rest


def _range(
    shares: Mapping[Group, float], costs: Mapping[Group, float]
) -> tuple[float, float] | None:
    if len(shares) < 2:
        return None
    sums = [_sum_without(key, shares, costs) for key in shares]
    return min(sums), max(sums)


def _constraints(
    known: _Known, name: str, constraints: Constraints, sources: Sequence[Side]
) -> Iterator[Constrained]:
    cell = next(cell for (platform, _), cell in known.cells.items() if platform == name)
    for one in fields(constraints):
        limit = getattr(constraints, one.name)
        if limit is None:
            continue
        values, source = _MEASURES[one.name](cell, sources)
        if not values:
            yield Constrained(name=one.name, limit=limit, keeps=Keeps.MISSING)
            continue
        value = _middle(values)
        keeps = Keeps.KEPT if value <= limit else Keeps.BROKEN
        yield Constrained(
            name=one.name, limit=limit, keeps=keeps, value=value, n=len(values), source=source
        )


_Values = tuple[list[float], str]


def _startup_s(cell: Cell, sources: Sequence[Side]) -> _Values:
    """Give how long instances took until they answered, in seconds each.

    A lifecycle study says it of one layer by itself; else there is what opening the instances of
    this study took, once each.
    """
    values, source = _of_lives(cell, sources, ("create", "boot"))
    if values:
        return values, source
    listed = about(sources[0].facts, cell.platform).get("start_s")
    found = [one for one in listed if isinstance(one, int | float)] if _is_list(listed) else []
    return [float(s) for s in found if math.isfinite(s)], "opening its instances in this study"


def _memory_bytes(cell: Cell, sources: Sequence[Side]) -> _Values:
    """Give by how much less memory the host had for each instance, in bytes."""
    return _of_lives(cell, sources, ("host_memory",))


def _nothing(cell: Cell, sources: Sequence[Side]) -> _Values:
    del cell, sources
    return [], ""


_MEASURES: Mapping[str, Callable[[Cell, Sequence[Side]], _Values]] = {
    "startup_s": _startup_s,
    "memory_bytes": _memory_bytes,
    "isolation_loss": _nothing,
}
_UNKNOWN = {
    "startup_s": "how long it starts: name results of a lifecycle study of it as well",
    "memory_bytes": "what it takes of its host: name results of a lifecycle study of it as well",
    "isolation_loss": "what it loses beside a greedy neighbour: no results of Tare tell",
}


def _of_lives(cell: Cell, sources: Sequence[Side], names: Sequence[str]) -> _Values:
    """Give the sum of some metrics of a platform's lifecycle, for each trial and instance.

    Only under the same limits: what a guest takes and how it boots depends on its memory.
    Of several lifecycle cells those with the fewest instances at once count, and of these the one
    with the largest median: what is promised has to hold with a cold cache too.
    """
    found = []
    for side in sources:
        for one in side.plan.cells:
            same = (one.stack, one.settings, one.limits) == (cell.stack, cell.settings, cell.limits)
            if one.workload != MAKES_ITS_OWN or one.control or not same:
                continue
            count, cache = (dict(one.params).get(key, 1) for key in ("count", "cache"))
            many = count if isinstance(count, int) else 1
            samples = [t.samples for t in side.histories[one.id].counted if has_numbers(t)]
            values = [
                math.fsum(each[name] for name in names) / (many if "host_memory" in names else 1)
                for each in samples
                if all(math.isfinite(each.get(name, math.nan)) for name in names)
            ]
            if values:
                source = f"lifecycle study: {' and '.join(names)}, {many} at once, cache {cache}"
                found.append((many, -_middle(values), values, source))
    best = min(found, default=None, key=lambda one: one[:2])
    return ([], "") if best is None else (best[2], best[3])


def _middle(values: Sequence[float]) -> float:
    return middle(np.array(values, dtype=np.float64))


def _is_list(found: object) -> TypeGuard[list[object]]:
    return isinstance(found, list)


# All of them together


def _letters(names: Sequence[str], known: _Known) -> dict[str, str]:
    """Give platforms letters so that two share one if and only if they are tied (Piepho 2004)."""
    tied = [set(names)] if names else []
    for one, other in combinations(names, 2):
        if known.are_apart(one, other):
            halves = [
                half
                for some in tied
                for half in (
                    [some - {one}, some - {other}] if one in some and other in some else [some]
                )
            ]
            unique = [some for place, some in enumerate(halves) if some not in halves[:place]]
            tied = [some for some in unique if not any(some < larger for larger in unique)]
    tied.sort(key=lambda some: [name not in some for name in names])
    return {
        name: "".join(_letter(n) for n, some in enumerate(tied) if name in some) for name in names
    }


def _letter(number: int) -> str:
    """Give one sign a number; beyond the alphabet any letter that is not in it will do."""
    return ascii_letters[number] if number < len(ascii_letters) else chr(0x100 + number)


def _swap(known: _Known, ranked: Sequence[Place]) -> Swap | None:
    """Find the smallest change of one share that makes the first two equal.

    The others keep their proportions. None if no share from 0 to 1 does.
    """
    if len(ranked) < 2 or len(known.shares) < 2:
        return None
    best, second = (known.costs(place.platform) for place in ranked[:2])
    swaps = []
    for key, share in known.shares.items():
        gain = second[key] - best[key]
        rest = _sum_without(key, known.shares, second) - _sum_without(key, known.shares, best)
        needed = rest / (rest - gain) if rest != gain else math.nan
        if 0 <= needed <= 1:
            swaps.append(Swap(key, share, needed))
    return min(swaps, default=None, key=lambda one: round(abs(one.needed - one.share), 12))


def _left_out(known: _Known, ranked: Sequence[Place]) -> Iterator[LeftOut]:
    costs = {place.platform: known.costs(place.platform) for place in ranked}
    for key in known.shares if len(ranked) > 1 and len(known.shares) > 1 else ():
        sums = {name: _sum_without(key, known.shares, one) for name, one in costs.items()}
        first = min(sums, key=sums.__getitem__)
        if sums[first] < sums[ranked[0].platform]:
            yield LeftOut(key, first)


def _missing(known: _Known, places: Sequence[Place]) -> Iterator[Gap]:
    for place in places:
        for key in known.shares:
            if known.cost(place.platform, key) is None:
                why = known.why_no_cost(place.platform, key)
                yield Gap(platform=place.platform, workload=key, reason=why)
    for place in places:
        for one in place.constraints:
            if one.keeps is Keeps.MISSING:
                why = f"{one.name}: {_UNKNOWN[one.name]}"
                yield Gap(platform=place.platform, workload=None, reason=why)


def _undecided(known: _Known, ranked: Sequence[Place]) -> Iterator[Gap]:
    """List the undecided costs that by themselves could move a platform past its neighbour."""
    for place, key in product(ranked, known.shares):
        row = known.row(place.platform, key)
        if row is None or row.verdict is not Verdict.UNDECIDED or row.cost is None:
            continue
        if row.low is None or row.high is None:
            why = f"its cost of {row.cost:.3f} has no interval yet"
            yield Gap(platform=place.platform, workload=key, reason=why)
            continue
        slowdown, share = _slowdown(place), known.shares[key]
        least, most = (slowdown + share * (end - row.cost) for end in (row.low, row.high))
        others = (one for one in ranked if one is not place)
        passed = [
            one.platform
            for one in others
            if least <= _slowdown(one) <= slowdown or slowdown <= _slowdown(one) <= most
        ]
        if passed:
            why = (
                f"its cost is anywhere from {row.low:.3f} to {row.high:.3f}, which alone can move "
                f"it past {', '.join(passed)}"
            )
            yield Gap(platform=place.platform, workload=key, reason=why)
