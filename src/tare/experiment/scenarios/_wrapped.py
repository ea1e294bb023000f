"""A workload that does what another one does, in other circumstances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tare.core.model import FileAccess, Sample
from tare.work.roles import Role
from tare.work.workload import Course, Output, Workload


@dataclass(frozen=True, kw_only=True)
class Wrapped(Workload):
    """All that it says of itself is what its ``workload`` says, unless a subclass says otherwise.

    What a workload has as a class it has as an instance.
    """

    workload: Workload

    def __post_init__(self) -> None:
        """Take over what a workload says as a class."""
        for name in ("metrics", "packages", "programs", "spins", "recorded"):
            object.__setattr__(self, name, getattr(self.workload, name))

    def roles(self) -> Sequence[Role]:
        """See Measured.roles."""
        return self.workload.roles()

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        return self.workload.command()

    def place(self) -> str:
        """See Workload.place."""
        return self.workload.place()

    def parse(self, output: Output) -> Iterator[Sample]:
        """See Workload.parse."""
        return self.workload.parse(output)

    def courses(self, output: Output) -> Iterator[Course]:
        """See Workload.courses."""
        return self.workload.courses(output)

    def prepare(self) -> Sequence[str] | None:
        """See Workload.prepare."""
        return self.workload.prepare()

    def before_trial(self) -> Sequence[str] | None:
        """See Workload.before_trial."""
        return self.workload.before_trial()

    def warm_up(self) -> Sequence[str] | None:
        """See Workload.warm_up."""
        return self.workload.warm_up()

    def tools(self) -> Sequence[str]:
        """See Workload.tools."""
        return self.workload.tools()

    def expected_s(self) -> float:
        """See Measured.expected_s."""
        return self.workload.expected_s()

    def file_access(self) -> FileAccess:
        """See Measured.file_access."""
        return self.workload.file_access()

    def disk_bytes(self) -> int:
        """See Measured.disk_bytes."""
        return self.workload.disk_bytes()
