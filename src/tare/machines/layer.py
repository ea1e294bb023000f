"""The interface of a layer (create, start, stop, limits, ...), and how layers are found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, ClassVar

from tare.core.errors import ConfigError
from tare.core.model import Limits, Params, Scalar
from tare.core.model.cell import DISK, NETWORK
from tare.machines import layers
from tare.machines.agent import Agents
from tare.machines.switch import Switch

if TYPE_CHECKING:
    from tare.machines.instance import Instance
    from tare.machines.ledger import Scope, Services
    from tare.machines.machine import Machine
    from tare.machines.userland import Userland


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
