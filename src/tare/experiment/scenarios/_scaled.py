"""A workload that runs in several instances at once."""

from __future__ import annotations

from dataclasses import dataclass

from tare.core.model import InstanceCpus, Instances
from tare.experiment.scenarios._wrapped import Wrapped


@dataclass(frozen=True, kw_only=True)
class Scaled(Wrapped):
    """A workload, and how many instances of a platform run it at once.

    Each instance has the workload's command and roles for itself. What it measures is what the
    workload measures: the mean over the instances.
    """

    instances: Instances

    @property
    def homes(self) -> tuple[str, ...]:
        """The homes of the roles of one of its instances."""
        return tuple(self.workload.all_roles().homes()) or ("",)

    def parts_of(self, instance: str) -> tuple[str, ...]:
        """Return the names of the parts of a trial that one of its instances has."""
        homes = self.homes
        return (instance,) if len(homes) == 1 else tuple(f"{instance}.{home}" for home in homes)

    def parts(self) -> tuple[str, ...]:
        """Return the names of all parts of a trial, those of an instance together."""
        return tuple(part for one in self.instances.parts for part in self.parts_of(one))

    def cpu_sets(self) -> list[int]:
        """Return which set of CPUs each part of a trial has."""
        count = len(self.homes)
        is_shared = self.instances.cpus is InstanceCpus.SHARED
        return [n % count if is_shared else n for n in range(count * self.instances.count)]

    def expected_s(self) -> float:
        """See Measured.expected_s: the most, that of one after another."""
        return self.workload.expected_s() * self.instances.count

    def disk_bytes(self) -> int:
        """See Measured.disk_bytes: that of all instances."""
        return self.workload.disk_bytes() * self.instances.count

    def overcommits(self) -> bool:
        """See Measured.overcommits."""
        return self.instances.overcommit
