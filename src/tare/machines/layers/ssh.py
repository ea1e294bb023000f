"""Any machine that runs sshd: bare metal, a cloud VM, a board. Its own system, not the userland."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import TYPE_CHECKING

from tare.core.errors import CommandFailed, LayerError, Unavailable
from tare.core.model import Limits
from tare.machines import instance, layer
from tare.machines.machine import Inner, Machine, check, text
from tare.machines.network.route import Routes
from tare.machines.ssh import Connection

if TYPE_CHECKING:
    from tare.machines.userland import Userland


@dataclass(frozen=True, kw_only=True)
class Layer(layer.Layer):
    """A machine at an address; ``key`` is the path of a private key on the outer machine.

    A memory limit cannot be set from outside; the CPUs are limited by affinity.
    What it really gives is read back inside and printed where it differs.
    """

    address: str = ""
    user: str = "root"
    port: int = 22
    key: str = ""

    packages = ("openssh-client",)
    runs_userland = False
    has_group = False

    def __post_init__(self) -> None:
        """Refuse a machine without an address."""
        if not self.address:
            raise ValueError("address is missing; expected the name or address of a machine")

    def probe(self, outer: Machine, userland: Userland | None) -> Mapping[str, str]:
        """See Layer.probe."""
        del userland
        version = outer.run(["ssh", "-V"])
        if version.returncode != 0:
            raise Unavailable(f"no ssh client on {outer.name}", "apt-get install openssh-client")
        return {"ssh.client": version.stderr.decode().strip(), "ssh.address": self.address}

    def lacks(self, limits: Limits) -> str:
        """See Layer.lacks."""
        if limits.quota_cpus is None:
            return super().lacks(limits)
        return f"nothing here holds {self.address} to a quota of CPU time"

    def commits(self, limits: Limits) -> int:
        """See Layer.commits: none of this host's."""
        del limits
        return 0

    def own_system(self) -> str:
        """See Layer.own_system."""
        return f"the system of {self.address}"

    def detected_as(self) -> tuple[str, ...]:
        """See Layer.detected_as."""
        return ("*",)

    def create(self, outer: Machine, site: layer.Site) -> Instance:
        """See Layer.create."""
        return Instance(outer, site, self)


class Instance(instance.Instance):
    """One connection, and a directory over there."""

    passes_on = True

    def __init__(self, outer: Machine, site: layer.Site, of: Layer) -> None:
        self.outer, self.site = outer, site
        control = f"{site.folder}/{site.name}.ssh"
        self.connection = Connection(of.user, of.address, of.port, of.key, control)
        self.bare = Inner(outer, "ssh", self.connection.wrap, ephemeral=outer.ephemeral)
        self.workdir = f"/var/tmp/{site.name}"  # noqa: S108 - on the disk, and its name is Tare's
        self.cpuset = site.cpuset
        self.machine = self.bare
        self._address = self._gateway = ""
        self._ways = Routes(outer, self.bare, site)

    def start(self) -> None:
        """See Instance.start."""
        hang_up = self.connection.hang_up_argv()
        self.site.scope.about_to_make("connection", self.site.name, self.outer, hang_up)
        self.connection.open(self.outer, self.site.deadline_s)

    def ready(self) -> None:
        """See Instance.ready."""
        remove = ["rm", "-rf", "--one-file-system", self.workdir]
        self.site.scope.about_to_make("folder", self.workdir, self.bare, remove)
        try:
            check(self.bare, ["mkdir", "-p", self.workdir])
            allowed = text(self.bare, ["sh", "-c", "grep Cpus_allowed_list /proc/self/status"])
        except CommandFailed as error:
            raise LayerError(f"{self.bare.name} does not answer: {error}") from error
        self.cpuset = chosen_cpus(allowed.split()[1], self.site.limits)
        pin = ["taskset", "--cpu-list", self.cpuset]
        wrap = self.connection.wrap
        self.machine = Inner(
            self.outer, "ssh", lambda argv: wrap([*pin, *argv]), ephemeral=self.outer.ephemeral
        )

    def address(self) -> str:
        """See Instance.address."""
        if not self._address:
            name = self.connection.address
            found = self.outer.run(["getent", "ahostsv4", name]).stdout.decode().split()
            if not found:
                raise Unavailable(
                    f"{name} has no IPv4 address on {self.outer.name}",
                    "give the layer ssh its `address:` in IPv4",
                )
            if IPv4Address(found[0]).is_loopback:
                raise Unavailable(
                    f"{name} is {found[0]} on {self.outer.name}: a port of that machine leads to "
                    "it, and no other",
                    "give the layer ssh an `address:` that the two have on a network",
                )
            self._address = found[0]
        return self._address

    def gateway(self) -> str:
        """See Instance.gateway: where the connection comes from, by sshd(8)."""
        if not self._gateway:
            gateway = text(self.bare, ["sh", "-c", "echo ${SSH_CONNECTION%% *}"])
            self._gateway = gateway.strip()
        return self._gateway

    def route_to(self, address: str) -> None:
        """See Instance.route_to: what only the outer machine knows is reached by way of it."""
        self._ways.out(address, self.address(), self.gateway())

    def pass_on(self, address: str) -> None:
        """See Instance.pass_on."""
        self._ways.into(address, self.address(), self.gateway())


def chosen_cpus(allowed: str, limits: Limits) -> str:
    """Choose CPUs of a list such as ``0-3,8``: all where limits pin nothing, else the last ones.

    The first ones serve interrupts.
    """
    if not limits.is_pinned:
        return allowed
    cpus = [
        cpu
        for part in allowed.split(",")
        for cpu in range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1)
    ]
    return ",".join(map(str, cpus[-limits.cpus :]))
