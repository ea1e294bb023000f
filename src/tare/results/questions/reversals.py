"""What would change a ranking, and which measurement is missing for a surer one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from tare.core.model.group import Group
from tare.results.compare.reason import Reason, ReasonKind, reason_of
from tare.results.questions.constraints import Keeps
from tare.results.questions.mix_costs import Costs
from tare.results.questions.places import Place, slowdown_of, sum_without
from tare.results.stats.sequential import Verdict


@dataclass(frozen=True, slots=True)
class Swap:
    """A share at which two platforms would be equal, the other shares in proportion.

    None in ``workload`` and numbers if no share of a single workload makes them so.
    """

    before: str
    behind: str
    workload: Group | None = None
    share: float | None = None
    needed: float | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Without one workload another platform would be first, and not by luck."""

    workload: Group
    first: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A measurement that is missing, or too imprecise where it matters."""

    platform: str
    workload: Group | None
    reason: Reason


def swaps_of(known: Costs, ranked: Sequence[Place]) -> Iterator[Swap]:
    """Compare each platform with the next that it is not tied with: what would make them equal?

    It is the smallest change of one share, from 0 to 1, where the others keep their proportions.
    """
    for number, one in enumerate(ranked) if len(known.shares) > 1 else ():
        behind = ranked[number + 1 :]
        other = next((each for each in behind if not set(one.letters) & set(each.letters)), None)
        if other is not None:
            yield _swap(known, one.platform, other.platform)


def _swap(known: Costs, before: str, behind: str) -> Swap:
    best, second = known.costs(before), known.costs(behind)
    swaps = []
    for key, share in known.shares.items():
        gain = second[key] - best[key]
        rest = sum_without(key, known.shares, second) - sum_without(key, known.shares, best)
        needed = rest / (rest - gain) if rest != gain else math.nan
        if 0 <= needed <= 1:
            change = round(abs(needed - share), 12)
            swaps.append((change, Swap(before, behind, key, share, abs(needed))))
    return min(swaps, default=(0.0, Swap(before, behind)), key=lambda one: one[0])[1]


def left_out_of(known: Costs, ranked: Sequence[Place]) -> Iterator[LeftOut]:
    """List the parts of the mix without which another platform would be first.

    One that would then only be tied with the first of all does not count.
    """
    costs = {place.platform: known.costs(place.platform) for place in ranked}
    for key in known.shares if len(ranked) > 1 and len(known.shares) > 1 else ():
        sums = {name: sum_without(key, known.shares, one) for name, one in costs.items()}
        first, best = min(sums, key=sums.__getitem__), ranked[0].platform
        if sums[first] < sums[best] and known.without(key).are_apart(first, best):
            yield LeftOut(key, first)


def missing_of(known: Costs, places: Sequence[Place]) -> Iterator[Gap]:
    """List the costs and the constraints of which nothing was measured."""
    for place in places:
        for key in known.shares:
            if known.cost(place.platform, key) is None:
                why = known.why_no_cost(place.platform, key)
                yield Gap(platform=place.platform, workload=key, reason=why)
    for place in places:
        for one in place.constraints:
            if one.keeps is Keeps.MISSING:
                why = reason_of(ReasonKind.CONSTRAINT, name=one.name, why=one.reason)
                yield Gap(platform=place.platform, workload=None, reason=why)


def undecided_of(known: Costs, ranked: Sequence[Place]) -> Iterator[Gap]:
    """List the undecided costs that by themselves could move a platform past its neighbour."""
    for place, key in product(ranked, known.shares):
        row = known.row(place.platform, key)
        if row is None or row.verdict is not Verdict.UNDECIDED or row.cost is None:
            continue
        if row.low is None or row.high is None:
            why = reason_of(ReasonKind.NO_INTERVAL_YET, cost=row.cost)
            yield Gap(platform=place.platform, workload=key, reason=why)
            continue
        slowdown, share = slowdown_of(place), known.shares[key]
        least, most = (slowdown + share * (end - row.cost) for end in (row.low, row.high))
        others = (one for one in ranked if one is not place)
        passed = [
            one.platform
            for one in others
            if least <= slowdown_of(one) <= slowdown or slowdown <= slowdown_of(one) <= most
        ]
        if passed:
            why = reason_of(
                ReasonKind.MAY_OVERTAKE, low=row.low, high=row.high, platforms=tuple(passed)
            )
            yield Gap(platform=place.platform, workload=key, reason=why)
