"""The machine outside every stack: it loads a service in one, or serves a command in one.

It runs the same userland, in a network namespace at the other end of a cable to the host, on the
CPUs that no trial is measured on. So the baseline too is reached over a network and not by the
host's loopback, and what loads it takes no CPU time from it (docs/decisions/0017).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from ipaddress import IPv4Address

from tare import layer
from tare.errors import LayerError
from tare.layer import Instance, Threads
from tare.ledger import Scope
from tare.machine import Machine, get
from tare.model import Complaint, ComplaintKind, HostCost, Limits
from tare.runner.service import Endpoint, Server, free_ports, serving
from tare.runner.session import Session
from tare.stack import Stack, put_agent
from tare.workload import Service, Workload

BUSY_LIMIT = 0.9
"""Share of its CPUs, or of one CPU by one thread, above which it may be what limits the trial."""


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


def outside_of(session: Session, limits: Limits, deadline_s: float) -> Outside:
    """Give the machine outside of trials under some limits; makes it once, or raises LayerError."""
    measured = session.cpus(limits.cpus)
    rest = [cpu for cpu in session.everything if cpu not in measured]
    cpus = rest or measured

    def make(scope: Scope) -> Outside:
        site = session.site(f"outside-{len(cpus)}", replace(limits, cpus=len(cpus)), deadline_s)
        site = replace(site, cpuset=",".join(map(str, cpus)), scope=scope)
        instance = layer.load("host", network="cable").create(session.host, site)
        instance.start()
        instance.ready()
        if why := put_agent(instance, site):
            raise LayerError(f"the machine outside has no agent, as the others have: {why}")
        address = instance.address()
        if address is None:
            raise LayerError("the machine outside has no network of its own")
        return Outside(instance, address, _gateway(instance.machine), cpus, is_apart=bool(rest))

    return session.services.once(f"outside {cpus}", session.host, make, lambda _: True)


def _gateway(machine: Machine) -> str:
    """Read where a machine's default route leads to, as proc_net(5) has it."""
    for line in get(machine, "/proc/net/route").decode().splitlines()[1:]:
        _, destination, gateway, *_ = line.split()
        if destination == "00000000":
            return str(IPv4Address(int(gateway, 16).to_bytes(4, "little")))
    raise LayerError(f"no way leads from {machine.name} to the host")


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
