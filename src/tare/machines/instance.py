"""The interface of an instance: what a layer has made, from its start to its end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from typing import TYPE_CHECKING, ClassVar, Protocol

from tare.core.errors import LayerError, Unavailable
from tare.core.model import DiskCache, Limits
from tare.core.model.cell import NETWORK
from tare.machines.cgroup import readback
from tare.machines.cgroup.cgroup import Group
from tare.machines.cgroup.group_limits import GroupLimits, apply_limits, read_group
from tare.machines.cgroup.quota import set_quota
from tare.machines.cgroup.readback import Inside
from tare.machines.machine import get

if TYPE_CHECKING:
    from tare.machines.machine import Machine

NO_LIMIT = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Threads:
    """Which threads of the controlling host do an instance's work.

    ``cgroup`` is a path below the root of every hierarchy, such as ``tare/x``; all processes in it
    and below are the platform's. ``comm`` is a prefix of the names of those threads on the critical
    path (QEMU's vCPUs are ``CPU 0/...``); empty means all.
    """

    cgroup: str
    comm: str = ""


class Rates(Protocol):
    """Holds the link of an instance to the optional limits of the network."""

    def apply(self, values: Mapping[str, str]) -> None:
        """Hold it to rates, or to none, by the limits' names; bytes a second."""

    def read(self) -> dict[str, int]:
        """Read back the rates that hold now, by the limits' names, or raise LayerError."""


class Instance(ABC):
    """One made layer: verbs in the order of its life. Every verb raises LayerError on failure.

    There is no verb to delete: closing its site's scope removes all that was made for it, at any
    time, twice, and on a dead machine. What has no life of its own (a chroot, somebody's machine)
    leaves ``stop`` and ``reboot`` out; they then raise Unavailable.
    """

    machine: Machine
    """The machine inside; answers once ``ready`` has returned."""
    cpuset: str
    """The CPUs for the workload as they are numbered inside."""
    workdir: str = "/data"
    """An empty directory inside, on the storage that is to be measured."""
    takes_agent: ClassVar[bool] = True
    """Whether the machine inside can have an agent pushed into it through a shell."""
    shared: ClassVar[bool] = False
    """Whether instances of other stacks are in the same machine, so that it alone holds none."""
    passes_on: ClassVar[bool] = False
    """Whether others can be given a way through it to what is inside; see ``pass_on``."""
    network: str = "host"
    """Which network it was asked for, in its layer's words; ``none`` leads nowhere."""

    ports: tuple[int, int] | None = None
    """The only ports at which others reach it; None: all there are."""
    rates: Rates | None = None
    """Holds its link to rates, where it has one that no other uses."""
    files_at: str = ""
    """A path of the outer machine on the filesystem that its files or its disk are on."""
    confined: frozenset[str] = frozenset()
    """The optional limits, by name, that it may be held to now."""

    @abstractmethod
    def start(self) -> None:
        """Start what was created; it may still be booting when this returns."""

    @abstractmethod
    def ready(self) -> None:
        """Wait until the machine inside answers a command, or raise LayerError at the deadline."""

    def stop(self, *, hard: bool = False) -> None:
        """Stop it and wait until it stands; what was written to its disk is there after ``start``.

        In order (the processes inside are asked to end), or ``hard``, as if its power was cut.
        """
        del hard
        raise Unavailable("it cannot be stopped and started again")

    def reboot(self, *, hard: bool = False) -> None:
        """Reboot it, in order or by a reset; ``ready`` waits for it to be back."""
        self.stop(hard=hard)
        self.start()

    def hold(self) -> None:  # noqa: B027 - most layers hold what they start from the start
        """Limit it to its CPUs; an instance may use all CPUs until it has booted."""

    def pause(self) -> None:  # noqa: B027 - a layer without processes of its own has nothing to do
        """Pause it while others are measured."""

    def resume(self) -> None:  # noqa: B027 - as pause
        """Undo pause."""

    def disk_cache(self) -> DiskCache | None:
        """Read back how the host caches this layer's disk; None where it has no disk of its own."""
        return None

    def held(self, outer: Machine) -> GroupLimits | None:
        """Read back on the outer machine what the instance's control group holds it to.

        None where no group of that machine holds it. Raises LayerError.
        """
        group = self.holding_group(outer)
        if group is None:
            return None
        rates = self.rates.read() if self.rates and self.confined.intersection(NETWORK) else {}
        return replace(read_group(group.machine, group.path, self.files_at), **rates)

    def holding_group(self, outer: Machine) -> Group | None:
        """Return the control group that holds all of it, None where no group does."""
        threads = self.threads()
        return Group(outer, threads.cgroup) if threads else None

    def confine(self, outer: Machine, limits: Limits) -> None:
        """Hold it to the optional limits that are declared, and to no others, from now on.

        It can be done again at any time; it is to be done after each start. Raises Unavailable
        where nothing can hold it to them, LayerError.
        """
        declared = dict(limits.optional)
        undone = dict.fromkeys(sorted(self.confined - declared.keys()), NO_LIMIT)
        values = {**undone, **{name: str(number) for name, number in declared.items()}}
        if not values:
            return
        self.confined |= declared.keys()  # also where only some of them could be written
        of_link = {name: values.pop(name) for name in NETWORK if name in values}
        group = self.holding_group(outer) if values else None
        if group is not None:
            apply_limits(group.machine, group.path, values, self.files_at)
        elif values:
            raise Unavailable(
                f"no control group of {outer.name} holds {self.machine.name}",
                f"leave {', '.join(values)} out of `limits:`",
            )
        if of_link and self.rates is None:
            raise Unavailable(
                f"{self.machine.name} has no link of its own that could be held",
                f"leave {', '.join(of_link)} out of `limits:`",
            )
        if of_link and self.rates:
            self.rates.apply(of_link)
        self.confined = frozenset(declared)

    def ration(self, outer: Machine, cpus: float | None) -> None:
        """Hold it to a quota of CPU time, in CPUs, while it runs; None takes the quota away.

        Raises Unavailable where no group can hold it to that, LayerError.
        """
        group = self.holding_group(outer)
        if group is None:
            raise Unavailable(
                f"no control group of {outer.name} holds {self.machine.name}",
                "leave cpus out of `reservation:`",
            )
        set_quota(group.machine, group.path, cpus)

    def inside(self) -> Inside:
        """Read back what a command inside really gets, or raise CommandFailed."""
        return readback.read(self.machine)

    def address(self) -> str | None:
        """Return the IPv4 address at which the outer machine reaches the machine inside.

        None: it has the outer machine's own network. Raises Unavailable where it has no address,
        LayerError where it should have one.
        """
        if self.network == "none":
            raise Unavailable(
                f"the network of {self.machine.name} is `none`, which leads nowhere",
                f"give {self.machine.name.rpartition('/')[2]} another `network:`",
            )
        return None

    def gateway(self) -> str:
        """Return the outer machine's IPv4 address as the machine inside sees it.

        By default where its default route leads, as proc_net(5) has it; raises LayerError where
        there is none.
        """
        for line in get(self.machine, "/proc/net/route").decode().splitlines()[1:]:
            _, destination, gateway, *_ = line.split()
            if destination == "00000000":
                return str(IPv4Address(int(gateway, 16).to_bytes(4, "little")))
        raise LayerError(f"no way leads from {self.machine.name} to the host")

    def route_to(self, address: str) -> None:  # noqa: B027 - what is on this host has the way
        """Add a route from the machine inside to an address that the outer one knows; works twice.

        Raises Unavailable where that cannot be.
        """

    def pass_on(self, address: str) -> None:
        """Add a route from the outer machine to an address that only the inner one knows; works
        twice.

        Raises Unavailable where that cannot be.
        """
        raise Unavailable(f"{address} is reached only from inside {self.machine.name}")

    def threads(self) -> Threads | None:
        """Return which threads of the outer machine do the work, or None if that is unknown."""
        return None
