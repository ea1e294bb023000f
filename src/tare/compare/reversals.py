"""What would change a ranking, and which measurement is missing for a surer one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from tare.compare.constraints import Keeps
from tare.compare.mix_costs import Costs
from tare.compare.pairing import Group
from tare.compare.places import Place, slowdown_of, sum_without
from tare.stats.sequential import Verdict


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


def swap_of(known: Costs, ranked: Sequence[Place]) -> Swap | None:
    """Find the smallest change of one share that makes the first two equal.

    The others keep their proportions. None if no share from 0 to 1 does.
    """
    if len(ranked) < 2 or len(known.shares) < 2:
        return None
    best, second = (known.costs(place.platform) for place in ranked[:2])
    swaps = []
    for key, share in known.shares.items():
        gain = second[key] - best[key]
        rest = sum_without(key, known.shares, second) - sum_without(key, known.shares, best)
        needed = rest / (rest - gain) if rest != gain else math.nan
        if 0 <= needed <= 1:
            swaps.append(Swap(key, share, needed))
    return min(swaps, default=None, key=lambda one: round(abs(one.needed - one.share), 12))


def left_out_of(known: Costs, ranked: Sequence[Place]) -> Iterator[LeftOut]:
    """List the parts of the mix without which another platform would be first."""
    costs = {place.platform: known.costs(place.platform) for place in ranked}
    for key in known.shares if len(ranked) > 1 and len(known.shares) > 1 else ():
        sums = {name: sum_without(key, known.shares, one) for name, one in costs.items()}
        first = min(sums, key=sums.__getitem__)
        if sums[first] < sums[ranked[0].platform]:
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
                why = f"{one.name}: {one.reason}"
                yield Gap(platform=place.platform, workload=None, reason=why)


def undecided_of(known: Costs, ranked: Sequence[Place]) -> Iterator[Gap]:
    """List the undecided costs that by themselves could move a platform past its neighbour."""
    for place, key in product(ranked, known.shares):
        row = known.row(place.platform, key)
        if row is None or row.verdict is not Verdict.UNDECIDED or row.cost is None:
            continue
        if row.low is None or row.high is None:
            why = f"its cost of {row.cost:.3f} has no interval yet"
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
            why = (
                f"its cost is anywhere from {row.low:.3f} to {row.high:.3f}, which alone can move "
                f"it past {', '.join(passed)}"
            )
            yield Gap(platform=place.platform, workload=key, reason=why)
