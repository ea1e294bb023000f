"""The machines at the two ends of a trial's command: in a stack, and outside of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tare.layer import Instance, Threads
from tare.machine import NOT_FOUND, Machine
from tare.model import Complaint, ComplaintKind, HostCost
from tare.stack import Stack
from tare.trial.service import Endpoint, Server, free_ports, serving
from tare.workload import Service, Workload

BUSY_LIMIT = 0.9
"""Share of its CPUs, or of one CPU by one thread, above which it may be what limits the trial."""

NOT_IN_USERLAND = (NOT_FOUND, 126)
"""Statuses of a command that is not there, or is no program."""


@dataclass(frozen=True, slots=True)
class Outside:
    """The machine, its address, the host's address as it sees it, and the CPUs it is held to.

    ``is_apart`` says whether no trial has any of its CPUs.
    """

    instance: Instance
    address: str
    gateway: str
    cpus: Sequence[int]
    is_apart: bool

    @property
    def machine(self) -> Machine:
        """Where commands run."""
        return self.instance.machine

    def threads(self) -> Threads:
        """Say which threads of the host are its own."""
        found = self.instance.threads()
        assert found is not None  # noqa: S101 - it is a layer of this host
        return found

    def use(self, cost: HostCost, busiest_s: float, duration_s: float) -> Mapping[str, float]:
        """Give what it did during a trial, as ``Trial.noise`` has it: shares of CPU time.

        ``outside_cpu`` is of all its CPUs, ``outside_thread`` of one, by its busiest thread;
        ``duration_s`` is how long there was work.
        """
        return {
            "outside_cpu": cost.all_cpu_s / (len(self.cpus) * duration_s),
            "outside_thread": busiest_s / duration_s,
        }

    def complaints(self, used: Mapping[str, float], *, spins: bool = False) -> Iterator[Complaint]:
        """Return why a trial's number may be the outside's and not the stack's.

        What ``spins`` uses its CPU for waiting too, so that this shows nothing.
        """
        most = max(used["outside_cpu"], used["outside_thread"])
        if most > BUSY_LIMIT and not spins:
            yield Complaint(ComplaintKind.OUTSIDE_BUSY, {"share": min(most, 1.0)})
        if not self.is_apart:
            yield Complaint(ComplaintKind.OUTSIDE_SHARED)


@dataclass(frozen=True, slots=True)
class Command:
    """What a trial runs and where; with a service, also what answers it and what is outside."""

    machine: Machine
    argv: Sequence[str]
    outside: Outside | None = None
    server: Server | None = None


@dataclass(frozen=True, slots=True)
class Ends:
    """The machines of a workload in one instance: where its command runs, where its service.

    Without a service both are the one machine inside. ``name`` is that of its directory there; on
    the machine outside, which is the same for all instances, ``label`` is added.
    """

    stack: Stack
    workload: Workload
    name: str
    label: str = ""
    outside: Outside | None = None

    @property
    def _inside(self) -> tuple[Machine, str]:
        return self.stack.machine, f"{self.stack.workdir}/{self.name}"

    @property
    def _apart(self) -> tuple[Machine, str]:
        assert self.outside is not None  # noqa: S101 - it is made for whatever has a service
        return self.outside.machine, f"{self.outside.instance.workdir}/{self.name}-{self.label}"

    def command_at(self) -> tuple[Machine, str]:
        """Give the machine of the command, and its directory there."""
        service = self.workload.service()
        return self._apart if service is not None and service.under_test else self._inside

    @contextmanager
    def joined(self) -> Iterator[Command]:
        """Have the service up, if there is one, and give the command that it answers.

        Raises Unavailable where the stack cannot be reached or lacks the service's program,
        LayerError if the service cannot be started.
        """
        machine, directory = self.command_at()
        service = self.workload.service()
        if service is None:
            yield Command(machine, in_directory(directory, self.workload.command()))
            return
        published = self.stack.ports() if service.under_test else None
        endpoint = Endpoint(self._address(service), published or free_ports())
        server_machine, at = self._inside if service.under_test else self._apart
        with serving(server_machine, service, endpoint, f"{at}-service") as server:
            argv = in_directory(directory, endpoint.fill(self.workload.command()))
            yield Command(machine, argv, self.outside, server)

    def _address(self, service: Service) -> str:
        assert self.outside is not None  # noqa: S101 - as above
        inside = self.stack.address()  # also where nothing is served there: it must have a network
        return (inside or self.outside.gateway) if service.under_test else self.outside.address


def in_directory(directory: str, argv: Sequence[str]) -> list[str]:
    """Build the command that runs argv in a directory, in the language that parsers know."""
    return ["env", "-C", directory, "LC_ALL=C", *argv]
