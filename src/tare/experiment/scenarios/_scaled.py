"""A workload that runs in several instances at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tare.core.model import FileAccess, InstanceCpus, Instances, Sample
from tare.work.roles import Role
from tare.work.workload import Course, Output, Workload


@dataclass(frozen=True, kw_only=True)
class Scaled(Workload):
    """A workload, and how many instances of a platform run it at once.

    Each instance has the workload's command and roles for itself. What it measures is what the
    workload measures: the mean over the instances.
    """

    each: Workload
    instances: Instances

    def __post_init__(self) -> None:
        """Take over what a workload says as a class."""
        for name in ("metrics", "packages", "programs", "spins", "recorded"):
            object.__setattr__(self, name, getattr(self.each, name))

    @property
    def homes(self) -> tuple[str, ...]:
        """The homes of the roles of one of its instances."""
        return tuple(self.each.all_roles().homes()) or ("",)

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

    def roles(self) -> Sequence[Role]:
        """See Measured.roles: those of one instance."""
        return self.each.roles()

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        return self.each.command()

    def place(self) -> str:
        """See Workload.place."""
        return self.each.place()

    def parse(self, output: Output) -> Iterator[Sample]:
        """See Workload.parse: of one instance."""
        return self.each.parse(output)

    def courses(self, output: Output) -> Iterator[Course]:
        """See Workload.courses: of one instance."""
        return self.each.courses(output)

    def prepare(self) -> Sequence[str] | None:
        """See Workload.prepare: in each instance."""
        return self.each.prepare()

    def before_trial(self) -> Sequence[str] | None:
        """See Workload.before_trial: in each instance."""
        return self.each.before_trial()

    def tools(self) -> Sequence[str]:
        """See Workload.tools."""
        return self.each.tools()

    def expected_s(self) -> float:
        """See Measured.expected_s: the most, that of one after another."""
        return self.each.expected_s() * self.instances.count

    def file_access(self) -> FileAccess:
        """See Measured.file_access."""
        return self.each.file_access()

    def disk_bytes(self) -> int:
        """See Measured.disk_bytes: that of all instances."""
        return self.each.disk_bytes() * self.instances.count

    def overcommits(self) -> bool:
        """See Measured.overcommits."""
        return self.instances.overcommit
