"""Groups of cells that differ in one number: what scaling is drawn along."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tare.core.model import INJECTED, Scalar
from tare.present.view.findings import CellGroup, Findings
from tare.present.view.names import params_text

LEVELS = 3
"""Two points make a line whatever lies between."""


@dataclass(frozen=True)
class Family:
    """Groups that differ in one numeric factor, by its level; ``along`` are those that go with it.

    A factor goes with another if each level of one has one level of the other, as memory that
    grows with the CPUs: then nobody can say which of them it was.
    """

    name: str
    factor: str
    along: tuple[str, ...]
    groups: Mapping[float, CellGroup]


def families(found: Findings) -> list[Family]:
    """Find the numeric factors of the study and the groups that lie along them."""
    by_workload: dict[str, list[CellGroup]] = {}
    for group in found.groups:
        by_workload.setdefault(group.workload, []).append(group)
    return [one for groups in by_workload.values() for one in _families(groups)]


def _families(groups: Sequence[CellGroup]) -> Iterator[Family]:
    factors = [_factors(group) for group in groups]
    names = [
        name
        for name in factors[0]
        if len({one.get(name) for one in factors}) >= LEVELS and all(name in one for one in factors)
    ]
    taken: set[str] = set()
    for name in names:
        if name in taken:
            continue
        along = tuple(one for one in names if one != name and _together(factors, name, one))
        taken |= {name, *along}
        alike: dict[object, dict[float, CellGroup]] = {}
        for group, levels in zip(groups, factors, strict=True):
            alike.setdefault(_rest(group, {name, *along}), {})[levels[name]] = group
        for members in alike.values():
            if len(members) >= LEVELS:
                yield Family(_family_name(groups, members, name, along), name, along, members)


def _factors(group: CellGroup) -> dict[str, float]:
    """Return the numbers that a group has: its parameters and its limits."""
    params = _params(group)
    return _limits(group, params) | params


def _params(group: CellGroup) -> dict[str, float]:
    return {
        name: float(value)
        for name, value in group.params
        if isinstance(value, int | float) and not isinstance(value, bool) and name != INJECTED
    }


def _limits(group: CellGroup, params: Collection[str]) -> dict[str, float]:
    """Return the limits that are numbers, with names that no parameter has."""
    limits = {"cpus": float(group.limits.cpus), "memory_bytes": float(group.limits.memory_bytes)}
    return {f"limit {name}" if name in params else name: v for name, v in limits.items()}


def _together(factors: Sequence[Mapping[str, float]], one: str, other: str) -> bool:
    pairs = {(levels[one], levels[other]) for levels in factors}
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


def _rest(group: CellGroup, without: set[str]) -> object:
    """Return all that must be alike for two groups to lie on one line."""
    named: dict[str, Scalar] = dict(group.params)
    params = tuple((name, value) for name, value in named.items() if name not in without)
    levels = _limits(group, _params(group))
    limits = tuple(level for name, level in levels.items() if name not in without)
    return params, limits, group.limits.disk_cache, group.limits.unusual


def _family_name(
    groups: Sequence[CellGroup], members: Mapping[float, CellGroup], name: str, along: Sequence[str]
) -> str:
    one = next(iter(members.values()))
    varied = [
        (key, value)
        for key, value in one.params
        if key not in (name, *along) and len({dict(group.params).get(key) for group in groups}) > 1
    ]
    return " · ".join([one.workload, *([params_text(tuple(varied))] if varied else [])])
