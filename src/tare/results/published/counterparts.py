"""Which of our cells measure what a published row measures.

Each study's module says by ``measures(row)`` which workloads and metrics do. Platforms are found by
the study's own name for them, which its preset uses too, or else by the stack.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tare.core.model import Cell, Limits, Neighbour, NeighbourCpus, Scalar, neighbour_of
from tare.results.compare.reason import Reason, ReasonKind, reason_of
from tare.results.published.platforms import setting, technology

PLACES = frozenset({"host", "lab", "ssh"})
"""Layers that say where a stack is, not what it is made of."""
_WORDS = {"vsphere": "esxi"}
_LIMITS = re.compile(r"(\d+)cpu/(\d+)MiB")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stress:
    """What a published row had next to its workload.

    ``level`` is the share of the resource that both together used, None where the study gives a
    ``count`` of stressors instead; None of that: whatever number reached the level. ``held``: they
    were held by a reservation.
    """

    stressor: str
    level: float | None = None
    count: int | None = None
    held: bool = False

    def fits(self, neighbour: Neighbour) -> bool:
        """Whether a neighbour is that, where the workload is.

        One that is dialled by its intensity reaches no level.
        """
        return (
            neighbour.stressor == self.stressor
            and neighbour.level == self.level
            and neighbour.intensity == 1
            and neighbour.cpus is NeighbourCpus.SAME
            and not neighbour.platform
            and self.count in (None, neighbour.count)
            and self.held == (neighbour.reservation is not None)
        )

    @property
    def text(self) -> str:
        """The stress in words."""
        if self.count is not None:
            return f"{self.count} {self.stressor} stressor{'s' if self.count > 1 else ''}"
        level = f" at level {100 * self.level:g} %" if self.level is not None else ""
        return f"{self.stressor}{level}{', held by a reservation' if self.held else ''}"


@dataclass(frozen=True, slots=True)
class Measure:
    """A workload's metric that measures the same thing as a published row.

    A cell must have the parameters ``needed``, which say what is measured. ``studied`` are those of
    the row where the study's set-up has several levels: all else that differs follows from it.
    """

    workload: str
    metric: str
    needed: Mapping[str, Scalar] = field(default_factory=dict)
    studied: Mapping[str, Scalar] = field(default_factory=dict)
    note: str = ""
    """In what the study's measuring differs for certain."""
    cpus: int | None = None
    """The CPUs that the study's level gives; None where the row is of no such level."""
    stress: Stress | None = None
    """What neighbours do; None: there is none, and a cell that has one measures something else."""
    experiment: str = ""
    """The experiment of the study's set-up; empty: the first that the workload repeats."""

    def fits(self, cell: Cell) -> bool:
        """Whether a cell measures it."""
        neighbour = neighbour_of(cell.params)
        if self.stress is None or neighbour is None:
            if self.stress is not None or neighbour is not None:
                return False
        elif not self.stress.fits(neighbour):
            return False
        params = dict(cell.params)
        wanted = self.needed.items()
        has_cpus = self.cpus is None or self.cpus == cell.limits.cpus
        known = cell.workload == self.workload and has_cpus
        return known and all(params.get(key) == value for key, value in wanted)


def platforms_for(name: str, cells: Iterable[Cell]) -> tuple[str, ...]:
    """Find our platforms that are what a study calls so; those of its very name come first.

    A name alone is not believed where the stack is known to be something else: an emulator that
    was called kvm is not what the study measured.
    """
    words = words_of(name)
    stacks = {cell.platform: made_of(cell.path) for cell in cells}
    same = [one for one, stack in stacks.items() if stack == words]
    called = [one for one, stack in stacks.items() if stack in (words, "")]
    for wanted in (name, words):
        exact = [one for one in called if one.casefold() == wanted.casefold()]
        if exact:
            return tuple(exact)
    return tuple(same)


def words_of(name: str) -> str:
    """Return the technology in a study's name of a platform: native(CentOS)/docker is docker."""
    return technology(name).removeprefix("native/")


def setting_of(name: str) -> str:
    """Return what a study's name of a platform says besides technology and limits."""
    return setting(_LIMITS.sub("", name))


def made_of(path: tuple[str, ...]) -> str:
    """Return what a stack is made of in the words of studies; empty if they have no word for it."""
    layers = [_WORDS.get(one, one) for one in path if one not in PLACES]
    known = all(technology(layer) == layer for layer in layers)
    return "/".join(layers or ["native"]) if known else ""


def no_platform(name: str) -> Reason:
    """Return the reason that no result is of a study's platform of this name."""
    return reason_of(ReasonKind.NO_PLATFORM, platform=words_of(name) or name)


def has_limits(name: str, limits: Limits) -> bool:
    """Whether limits are those that a study's name of a platform says, if it says any."""
    found = _LIMITS.search(name)
    if found is None:
        return True
    return (int(found[1]), int(found[2]) * 2**20) == (limits.cpus, limits.memory_bytes)


def wanted_text(measures: Sequence[Measure], cells: Iterable[Cell]) -> str:
    """Name the workloads that would measure it, with what they need where they are there."""
    there = {cell.workload for cell in cells}
    names = []
    for one in measures:
        needed = [f"{name} {_text(value)}" for name, value in one.needed.items()]
        if one.cpus is not None:
            needed.append(f"{one.cpus} CPU" if one.cpus == 1 else f"{one.cpus} CPUs")
        if one.stress is not None:
            needed.append(f"next to {one.stress.text}")
        known = bool(needed) and one.workload in there
        names.append(f"{one.workload} ({', '.join(needed)})" if known else one.workload)
    return " or ".join(dict.fromkeys(names))


def _text(value: Scalar) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
