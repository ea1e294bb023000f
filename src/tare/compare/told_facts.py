"""Stored facts of two sets of results that are not the same: what changed around the numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from tare.compare.side import Side
from tare.model import Cell, Facts, Scalars, Unit
from tare.parameter import unit_of

MOST = 4
"""As many names, or reasons, are told; others are counted."""

STATES = ("load", "steal", "swap_used_bytes")
"""Facts of a host that are those of a moment."""

READINGS = (
    *("loop_s", "clock_read_s", "filesystem_device", "memory_given_bytes", "affinity"),
    *("cpu_flags", "weaknesses_known"),
)
"""What is read inside a platform and is no setting of it; flags are told by their number."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact that is not the same in both: of the host or, ``platform: fact``, of a platform."""

    what: str
    before: str
    after: str


def differences(a: Side, b: Side, partners: Mapping[str, Cell]) -> Iterator[Difference]:
    """List the stored facts of host, Tare, peer and platforms that are not the same."""
    of_host = list(host_differences(a.facts, b.facts))
    yield from of_host
    of_tare = differing(a.facts.tare, b.facts.tare)
    yield from (replace(one, what=f"Tare's {one.what}") for one in of_tare)
    of_peer = differing(a.facts.peer, b.facts.peer)
    yield from (replace(one, what=f"the peer's {one.what}") for one in of_peer)
    before, after = a.facts.userland.kernel, b.facts.userland.kernel
    if before and after and before != after:
        yield Difference("kernel of guests", before, after)
    names = dict.fromkeys(
        (a.plan.cells_by_id[mine].platform, one.platform) for mine, one in partners.items()
    )
    for mine, theirs in names:
        for one in _of_platform((a, mine), (b, theirs)):
            if one not in of_host:
                yield replace(one, what=f"{mine}: {one.what}")


def host_differences(before: Facts, after: Facts) -> Iterator[Difference]:
    """List the facts of two hosts that are not the same, but for what passes."""
    yield from (one for one in differing(before.host, after.host) if one.what not in STATES)
    cpus = (facts.cpuset for facts in (before, after))
    yield from differing(*({"CPUs of the session": one} if one else {} for one in cpus))


def _of_platform(before: tuple[Side, str], after: tuple[Side, str]) -> Iterator[Difference]:
    ours, other = (side.facts.platform(name) for side, name in (before, after))
    yield from differing(ours.probe, other.probe)
    mine, theirs = ours.preconditions, other.preconditions
    for one in differing(mine, theirs):
        if one.what not in READINGS and not one.what.startswith("sha256."):
            yield one
    lost, new = _flags_of(mine) - _flags_of(theirs), _flags_of(theirs) - _flags_of(mine)
    if (lost or new) and _flags_of(mine) and _flags_of(theirs):
        told = [named(sorted(some), ", ") or "none more" for some in (lost, new)]
        yield Difference("CPU flags only there", *told)


def _flags_of(reading: Scalars) -> set[str]:
    return set(str(reading.get("cpu_flags", "")).split())


def differing(before: Scalars, after: Scalars) -> Iterator[Difference]:
    """List what is not the same; where one side tells nothing at all, nothing is known."""
    for name in dict.fromkeys((*before, *after)) if before and after else ():
        if before.get(name) != after.get(name):
            yield Difference(name, text(before.get(name)), text(after.get(name)))


def text(value: object) -> str:
    """Write a fact."""
    if value is None or value == "":
        return "not told"
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def as_read(name: str, value: object) -> str:
    """Write a value as people read it: with its unit, sizes in the largest that keeps them whole.

    ``report.numbers`` writes them alike, but may not be asked from here.
    """
    if isinstance(value, bool):
        return text(value)
    if isinstance(value, int) and unit_of(name) is Unit.BYTE:
        units = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
        fits = ((size, unit) for size, unit in units if value and value % size == 0)
        size, unit = next(fits, (1, "B"))
        return f"{value // size:,} {unit}"
    is_time = isinstance(value, int | float) and unit_of(name) is Unit.SECOND
    return f"{value:g} s" if is_time else text(value)


def named(names: Iterable[str], between_them: str) -> str:
    """Write the first few names, and how many more there are."""
    every = list(names)
    more = [f"and {len(every) - MOST} more"] if len(every) > MOST else []
    return between_them.join([*every[:MOST], *more])
