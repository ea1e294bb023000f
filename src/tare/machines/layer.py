"""The interface of a layer (create, start, stop, limits, ...), and how layers are found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from ipaddress import IPv4Address
from pkgutil import iter_modules
from typing import TYPE_CHECKING, ClassVar, Protocol

from tare.core.errors import ConfigError, LayerError, Unavailable
from tare.core.model import DiskCache, Limits, Params, Scalar
from tare.core.model.cell import DISK, NETWORK
from tare.machines import layers
from tare.machines.agent import Agents
from tare.machines.cgroup import readback
from tare.machines.cgroup.cgroup import Group
from tare.machines.cgroup.group_limits import GroupLimits, apply_limits, read_group
from tare.machines.cgroup.quota import set_quota
from tare.machines.cgroup.readback import Inside
from tare.machines.machine import get

if TYPE_CHECKING:
    from tare.machines.ledger import Scope, Services
    from tare.machines.machine import Machine
    from tare.machines.userland import Userland


NO_LIMIT = "none"
OFF = "off"
"""The value of a setting that takes away what is done where the setting is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Everything that a layer needs to make an instance, in addition to the outer machine.

    ``name`` is unique on the host and begins with ``tare-``: whatever is made bears it. ``folder``
    is a directory below which files of that name may be made on the outer machine. ``cpuset`` lists
    the CPUs of the outer machine that the workload may use (``"1"``, ``"0-3"``). What is made is
    written in ``scope`` first, with what removes it; that is all the clean-up a layer has to do.
    """

    name: str
    session: str
    folder: str
    limits: Limits
    cpuset: str
    scope: Scope
    services: Services
    userland: Userland
    deadline_s: float = 120.0
    reached: bool = False
    """Whether another machine has to reach the machine inside: what that takes may cost a boot."""
    agents: Agents | None = None
    """Puts an agent into the machine inside.

    None: every command is started by the layer's client.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Threads:
    """Which threads of the controlling host do an instance's work.

    ``cgroup`` is a path below the root of every hierarchy, such as ``tare/x``; all processes in it
    and below are the platform's. ``comm`` is a prefix of the names of those threads on the critical
    path (QEMU's vCPUs are ``CPU 0/...``); empty means all.
    """

    cgroup: str
    comm: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """One thing that a layer does by default and that can be turned off: a step of a ladder.

    ``on`` is what the engine itself does when nobody asks for anything else, which need not be the
    default of the layer's ``setting``; ``off`` is the bare end. None is a setting left out.
    ``about`` is one sentence of what it is. ``shows`` names what is read back inside
    (``Inside.confinement``) of which at least one differs where the switch has an effect.
    """

    name: str
    setting: str
    on: Scalar | None
    off: Scalar | None
    about: str
    shows: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, str]:
        """The two positions in words, on and off."""
        return _word(self.on, self.off), _word(self.off, self.on)


def _word(value: Scalar | None, other: Scalar | None) -> str:
    if value is None:
        return "on" if other == OFF else "default"
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


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
        return replace(read_group(group.machine, group.path), **rates)

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


class Layer(ABC):
    """One step of virtualization.

    A concrete layer is a frozen dataclass named Layer in a module of its own under
    tare/machines/layers; its fields are its settings, all with defaults. The module's name is the
    layer's name, with ``-`` for ``_``. A layer talks to the outer machine only by running commands
    there.
    """

    packages: ClassVar[tuple[str, ...]] = ()
    """The Debian packages that the outer machine must have, whatever the settings."""
    runs_userland: ClassVar[bool] = True
    """Whether it can take the shared userland, which is then built before anything is opened."""
    boots_guest: ClassVar[bool] = False
    """Whether it boots the guest that has the userland on its disk."""
    own_kernel: ClassVar[bool] = False
    """Whether what runs inside sees another kernel, with its own account of the memory."""

    switches: ClassVar[tuple[Switch, ...]] = ()
    """What a ladder takes apart, in the order of its rows (docs/decisions/0026-the-ladder.md)."""
    ladder_settings: ClassVar[Params] = ()
    """Settings that all platforms of a ladder share, so that a switch turns nothing else."""

    nominal_start_s: ClassVar[float] = 1.0
    """From create to ready on a laptop of today, for estimates before anything is run."""

    @property
    def name(self) -> str:
        """The name used in stacks, such as ``qemu-tcg``."""
        return type(self).__module__.rpartition(".")[2].replace("_", "-")

    @abstractmethod
    def probe(self, outer: Machine, userland: Userland | None) -> Mapping[str, str]:
        """Return what would be used (versions, settings), or raise Unavailable.

        Without a userland only what is known without building one is returned.
        """

    def needs(self) -> tuple[str, ...]:
        """List the packages that the outer machine must have for these settings."""
        return self.packages

    def held_to(self, limits: Limits) -> Limits:
        """Return what it is to give under a study's limits, which its settings may override."""
        return limits

    def lacks(self, limits: Limits) -> str:
        """Return why it cannot give limits of some kind; empty where it can."""
        if limits.optional and not self.has_group:
            names = ", ".join(dict(limits.optional))
            return f"no control group holds what {self.name} makes, so nothing limits its {names}"
        if limits.processes is not None and not self.holds_processes():
            return f"no control group counts the processes of {self.name}, which has its own kernel"
        return ""

    def cannot_hold(self, limits: Limits) -> str:
        """Return why it cannot hold all that is in it to limits of disk and network.

        It is asked of the outermost layer. Empty where it can.
        """
        for names, why in ((DISK, self.no_disk()), (NETWORK, self.no_link())):
            declared = [name for name, _ in limits.optional if name in names]
            if declared and why:
                return f"nothing holds {self.name} to {', '.join(declared)}: {why}"
        return ""

    def no_disk(self) -> str:
        """Return why there is no disk that could be held for what it makes; empty: there is one."""
        return ""

    def no_link(self) -> str:
        """Return why it makes nothing with a link of its own; empty where it does."""
        return "it has the network of the machine around it, which others use too"

    has_group: ClassVar[bool] = True
    """Whether a control group that can be written from here holds what it makes."""

    def holds_processes(self) -> bool:
        """Return whether each process inside is one that its control group counts."""
        return not self.own_kernel

    shared: ClassVar[bool] = False
    """Whether all instances of a session are in one machine, whose memory is committed once."""

    def commits(self, limits: Limits) -> int | None:
        """Return the bytes of this host's memory that an instance may keep until it is closed.

        None: the memory limit is only a cap on what runs at the moment. 0: its memory is another
        machine's, or was set apart before.
        """
        return limits.memory_bytes if self.boots_guest else None

    def own_system(self) -> str:
        """Return what it runs instead of the shared userland; empty where it runs that."""
        return ""

    def caveat(self) -> str:
        """Return a warning for readers of numbers measured through it; usually empty."""
        return ""

    def prepare(self, host: Machine, userland: Userland) -> None:
        """Build on the controlling host what instances are made of, before any is made.

        Raises Unavailable where a tool or room is missing, LayerError where a build fails.
        """
        if self.boots_guest:
            userland.guest(host)

    def detected_as(self) -> tuple[str, ...]:
        """Return the name of the steps of ``tare.machines.detection`` that it may be seen as from
        inside, any one of them.

        ``""`` among them: it need not show at all (a chroot). ``"*"``: what is inside cannot be
        known beforehand (somebody's machine), as it is where detection does not know the name.
        None at all: nothing inside can be asked.
        """
        return (self.name,)

    @abstractmethod
    def create(self, outer: Machine, site: Site) -> Instance:
        """Make an instance, not yet started; what it makes is in the ledger before it is made."""


def names() -> list[str]:
    """List every layer there is, without importing any; ``_name`` is no layer."""
    modules = (module.name for module in iter_modules(layers.__path__))
    return sorted({name.replace("_", "-") for name in modules if not name.startswith("_")})


def kind(name: str) -> type[Layer]:
    """Find a layer's class by its name, or raise ConfigError."""
    if name not in names():
        raise ConfigError(f"no layer is called {name!r}; there are: {', '.join(names())}")
    try:
        return import_module(f"tare.machines.layers.{name.replace('-', '_')}").Layer  # type: ignore[no-any-return]
    except (ImportError, SyntaxError, AttributeError) as error:  # a plug-in's
        raise ConfigError(f"layer {name} cannot be loaded: {error}") from error


def load(name: str, **settings: Scalar) -> Layer:
    """Make a layer from its name and settings, or raise ConfigError."""
    try:
        return kind(name)(**settings)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"layer {name}: {error}") from None
