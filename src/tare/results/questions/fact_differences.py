"""Stored facts of two sets of results that are not the same: what changed around the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from tare.core.model import Cell, Facts, Preconditions, Scalar, Scalars
from tare.results.compare.result_set import ResultSet

STATES = ("load", "steal", "swap_used_bytes")
"""Facts of a host that are those of a moment."""

READINGS = (
    *("loop_s", "clock_read_s", "filesystem_device", "memory_given_bytes", "affinity"),
    "weaknesses_known",
)
"""What is read inside a platform and is no setting of it."""


@dataclass(frozen=True, slots=True)
class Changed:
    """A named value that is not the same on both sides; None: that side does not have it."""

    name: str
    before: Scalar | None
    after: Scalar | None


class Whose(StrEnum):
    """What a fact is of."""

    HOST = "host"
    SESSION = "session"
    TARE = "tare"
    PEER = "peer"
    GUESTS = "guests"
    PLATFORM = "platform"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A fact that is not the same in both sets; ``platform`` is empty of what is of none.

    ``is_mitigation`` says that its name is that of a weakness of the CPU, its values those of what
    the kernel does about it.
    """

    whose: Whose
    changed: Changed
    platform: str = ""
    is_mitigation: bool = False


@dataclass(frozen=True, slots=True)
class FlagsDiffer:
    """CPU flags of a platform that only one of the two sets has."""

    platform: str
    before: tuple[str, ...]
    after: tuple[str, ...]


def differences(
    a: ResultSet, b: ResultSet, partners: Mapping[str, Cell]
) -> Iterator[Difference | FlagsDiffer]:
    """List the stored facts of host, Tare, peer and platforms that are not the same."""
    of_host = list(host_differences(a.facts, b.facts))
    yield from of_host
    yield from _of(Whose.TARE, a.facts.tare, b.facts.tare)
    yield from _of(Whose.PEER, a.facts.peer, b.facts.peer)
    kernels = [_named("kernel", one.facts.userland.kernel) for one in (a, b)]
    yield from _of(Whose.GUESTS, kernels[0], kernels[1])
    of_all = {(one.changed, one.is_mitigation) for one in of_host}
    names = dict.fromkeys(
        (a.plan.cells_by_id[first].platform, one.platform) for first, one in partners.items()
    )
    for first, second in names:
        for one in _of_platform(first, a.facts, b.facts, second):
            if (one.changed, one.is_mitigation) not in of_all:
                yield one
        yield from _flags_of(first, *_preconditions(first, a.facts, b.facts, second))


def host_differences(before: Facts, after: Facts) -> Iterator[Difference]:
    """List the facts of two hosts that are not the same, but for what passes."""
    of_host = _of(Whose.HOST, before.host, after.host)
    yield from (one for one in of_host if one.changed.name not in STATES)
    if before.host and after.host:
        yield from _of_mitigations(Whose.HOST, before.mitigations, after.mitigations)
    cpusets = [_named("cpuset", one.cpuset) for one in (before, after)]
    yield from _of(Whose.SESSION, cpusets[0], cpusets[1])


def _named(name: str, value: str) -> Scalars:
    return {name: value} if value else {}


def _of(whose: Whose, before: Scalars, after: Scalars, platform: str = "") -> Iterator[Difference]:
    for one in differing(before, after):
        yield Difference(whose=whose, changed=one, platform=platform)


def _of_mitigations(
    whose: Whose, before: Mapping[str, str], after: Mapping[str, str], platform: str = ""
) -> Iterator[Difference]:
    for one in _changes(before, after):
        yield Difference(whose=whose, changed=one, platform=platform, is_mitigation=True)


def _of_platform(name: str, before: Facts, after: Facts, second: str) -> Iterator[Difference]:
    whose = Whose.PLATFORM
    yield from _of(whose, before.platform(name).probe, after.platform(second).probe, name)
    ours, other = _preconditions(name, before, after, second)
    if not ours or not other:
        return
    for one in _changes(ours.values, other.values):
        if one.name not in READINGS:
            yield Difference(whose=whose, changed=one, platform=name)
    yield from _of_mitigations(whose, ours.mitigations, other.mitigations, name)


def _preconditions(
    name: str, before: Facts, after: Facts, second: str
) -> tuple[Preconditions, Preconditions]:
    return before.platform(name).preconditions, after.platform(second).preconditions


def _flags_of(platform: str, ours: Preconditions, other: Preconditions) -> Iterator[FlagsDiffer]:
    first, second = ours.cpu_flags, other.cpu_flags
    if first and second and first != second:
        yield FlagsDiffer(platform, tuple(sorted(first - second)), tuple(sorted(second - first)))


def differing(before: Scalars, after: Scalars) -> Iterator[Changed]:
    """List what is not the same; where one side has nothing at all, nothing is known."""
    if before and after:
        yield from _changes(before, after)


def _changes(before: Scalars, after: Scalars) -> Iterator[Changed]:
    for name in dict.fromkeys((*before, *after)):
        if before.get(name) != after.get(name):
            yield Changed(name, before.get(name), after.get(name))
