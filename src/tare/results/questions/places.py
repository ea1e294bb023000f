"""One platform among those that a mix is advised about: its slowdown, and what it rests on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tare.core.model.group import Group
from tare.results.compare.columns import has_numbers
from tare.results.compare.result_set import ResultSet
from tare.results.questions.constraints import Constrained, Keeps, constrained
from tare.results.questions.isolation_loss import isolation_loss
from tare.results.questions.mix_costs import Costs, Mix


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


def place_of(known: Costs, name: str, mix: Mix, sources: Sequence[ResultSet]) -> Place:
    """Return what is known of one platform."""
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
        constraints=(
            *constrained(known.cell(name), mix.constraints, sources),
            *isolation_loss(known.cell(name), known.shares, mix.constraints, sources),
        ),
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


def _range(
    shares: Mapping[Group, float], costs: Mapping[Group, float]
) -> tuple[float, float] | None:
    if len(shares) < 2:
        return None
    sums = [sum_without(key, shares, costs) for key in shares]
    return min(sums), max(sums)


def sum_without(
    left_out: Group, shares: Mapping[Group, float], costs: Mapping[Group, float]
) -> float:
    """Return the slowdown of a mix without one of its parts."""
    rest = math.fsum(share for key, share in shares.items() if key != left_out)
    return math.fsum(share * costs[key] for key, share in shares.items() if key != left_out) / rest


def slowdown_of(place: Place) -> float:
    """Return a place's slowdown; one that is not known sorts last."""
    return math.inf if place.slowdown is None else place.slowdown
