"""How many instances do a cell's work at once, as it is written in its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tare.core.model.cell import Params

KEYS = COUNT, CPUS = ("instances", "instance_cpus")
"""The parameters of a cell that say so."""

MOST = 1024
"""More instances at once than this are a mistake."""


FIT, MEMORY_EACH, READY_P50, READY_P99, SLOWEST = (
    "instances_that_fit",
    "memory_each",
    "ready_p50",
    "ready_p99",
    "slowest",
)
"""The metrics of a trial that adds instances until an objective breaks."""


class InstanceCpus(StrEnum):
    """Which CPUs instances that work at once run on, where platforms are held to their own."""

    SHARED = "shared"
    """All of them on the same."""
    OWN = "own"
    """Each on a set of its own, as long as the host has one; then they share these in turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instances:
    """Some instances of a platform that all do the same work, begun at one moment.

    ``overcommit`` allows them more memory together than the host has, behind a guard that ends them
    where the host comes into danger. Raises ValueError on a ``count`` that cannot be.
    """

    count: int
    cpus: InstanceCpus = InstanceCpus.SHARED
    overcommit: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if not 1 <= self.count <= MOST:
            raise ValueError(f"count: {self.count} was given; expected 1 to {MOST}")

    @property
    def params(self) -> Params:
        """The parameters of a cell that say so; overcommitted memory changes no result."""
        return ((COUNT, self.count), (CPUS, self.cpus.value))

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the instances among the parts of a trial."""
        return tuple(str(number) for number in range(1, self.count + 1))


def instances_of(params: Params) -> Instances | None:
    """Return the instances that a cell's parameters name; None: its scenario counts none."""
    found = dict(params)
    if COUNT not in found:
        return None
    cpus = InstanceCpus(str(found.get(CPUS, InstanceCpus.SHARED)))
    return Instances(count=int(found[COUNT]), cpus=cpus)


def without_instances(params: Params) -> Params:
    """Return parameters that cells share whose numbers of instances alone differ."""
    return tuple(one for one in params if one[0] != COUNT)
