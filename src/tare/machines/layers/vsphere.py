"""A virtual machine under vCenter or ESXi: a clone of a template, or a machine there is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tare.core.errors import CommandFailed, LayerError, LayerTimedOut, Unavailable
from tare.core.model import Limits
from tare.machines import instance, layer
from tare.machines.backends.vsphere import ASK_S, Server, client_version, usable
from tare.machines.backends.vsphere_api import OFF
from tare.machines.layers.ssh import chosen_cpus
from tare.machines.machine import Inner, Machine, await_true, check, text
from tare.machines.ssh import Connection

if TYPE_CHECKING:
    from tare.machines.userland import Userland

CLONE_S = 1800.0  # a whole disk is copied, perhaps from another datastore
# Differs after each boot: a kernel has another id, a container a younger first process.
BOOT = 'cat /proc/sys/kernel/random/boot_id; sed "s/.*) //" /proc/1/stat | cut -d " " -f 20'


@dataclass(frozen=True, kw_only=True)
class Layer(Server, layer.Layer):
    """A clone of ``template``, or the existing ``vm``: one of the two, by name or inventory path.

    ``pool`` (or a cluster) and ``datastore`` are the template's own if empty. ``extra_config`` is a
    JSON object of a clone's advanced options. ``guest_user`` and the private ``key`` are for ssh.
    """

    template: str = ""
    vm: str = ""
    pool: str = ""
    datastore: str = ""
    extra_config: str = "{}"
    guest_user: str = "root"
    guest_port: int = 22
    key: str = ""

    packages = ("openssh-client",)
    runs_userland = False
    own_kernel = True
    has_group = False

    def __post_init__(self) -> None:
        """Refuse what says neither where nor what."""
        super().__post_init__()
        if bool(self.template) == bool(self.vm):
            raise ValueError("expected either template, which is cloned, or vm, which is used")

    def probe(self, outer: Machine, userland: Userland | None) -> Mapping[str, str]:
        """See Layer.probe."""
        del userland
        if outer.run(["ssh", "-V"]).returncode != 0:
            raise Unavailable(f"no ssh client on {outer.name}", "apt-get install openssh-client")
        return usable(self, outer, clones=bool(self.template))

    def lacks(self, limits: Limits) -> str:
        """See Layer.lacks."""
        if limits.quota_cpus is None:
            return super().lacks(limits)
        return "what a machine under vSphere gets of the CPUs is its server's to decide, in MHz"

    def commits(self, limits: Limits) -> int:
        """See Layer.commits: none of this host's."""
        del limits
        return 0

    def own_system(self) -> str:
        """See Layer.own_system."""
        return f"the system of {self.template or self.vm}"

    def create(self, outer: Machine, site: layer.Site) -> Instance:
        """See Layer.create."""
        client_version(outer)
        # Asked first, so that nothing is in the ledger of a server that would not remove it either.
        state = self.ask(outer, ASK_S, "state", self.template or self.vm)
        if self.template:
            undo = self.argv("destroy", self.template, site.name)
            site.scope.about_to_make("virtual machine", site.name, outer, undo)
            self.ask(outer, CLONE_S, "clone", self.template, site.name, *self.clone_flags(site))
        elif state == OFF:  # what was on stays on
            undo = self.argv("release", self.vm)
            site.scope.about_to_make("power", self.vm, outer, undo)
        made = Instance(outer, site, self)
        hang_up = made.connection.hang_up_argv()
        site.scope.about_to_make("connection", site.name, outer, hang_up)
        return made

    def clone_flags(self, site: layer.Site) -> list[str]:
        """Return what a clone is to be."""
        memory_mib = site.limits.memory_bytes // 2**20
        return [f"--cpus={site.limits.cpus}", f"--memory-mib={memory_mib}", f"--pool={self.pool}",
                f"--datastore={self.datastore}", f"--extra={self.extra_config}"]  # fmt: skip


class Instance(instance.Instance):
    """One virtual machine, and a connection to the sshd inside."""

    def __init__(self, outer: Machine, site: layer.Site, of: Layer) -> None:
        self.outer, self.site, self.of = outer, site, of
        self.name = site.name if of.template else of.vm
        control = f"{site.folder}/{site.name}.ssh"
        self.connection = Connection(of.guest_user, "", of.guest_port, of.key, control)
        self.workdir = f"/var/tmp/{site.name}"  # noqa: S108 - on the disk, and its name is Tare's
        self.boot = self.ended = ""

    def start(self) -> None:
        """See Instance.start."""
        self._ask("power-on")

    def ready(self) -> None:
        """See Instance.ready.

        The tools in the guest report an address, and its sshd accepts a login.
        """
        refused: list[str] = []

        def lets_in() -> bool:
            address = self._ask("address")
            try:
                self._connect(replace(self.connection, address=address))
            except (CommandFailed, LayerError) as error:
                refused.append(str(error))
                self._hang_up()
                return False
            return True

        if not await_true(lets_in, timeout_s=self.site.deadline_s):
            raise LayerTimedOut(f"{self.name} accepted no login: {refused[-1]}")

    def stop(self, *, hard: bool = False) -> None:
        """See Instance.stop."""
        self._end("power-off" if hard else "shutdown")

    def reboot(self, *, hard: bool = False) -> None:
        """See Instance.reboot."""
        self._end("reset" if hard else "reboot")

    def pause(self) -> None:
        """See Instance.pause: a clone's memory is written to the datastore until it resumes.

        A machine that is only used stays on: all instances of a platform are on that one.
        """
        if self.of.template:
            self._ask("suspend")

    def resume(self) -> None:
        """See Instance.resume."""
        self._ask("power-on")
        if self.machine.run(["true"], timeout_s=self.site.deadline_s).returncode != 0:
            raise LayerError(f"{self.name} was resumed and does not answer")

    def address(self) -> str | None:
        """See Instance.address."""
        raise Unavailable(
            f"{self.name} is on a network of its server's, which has no way back to a machine "
            "that is only known here",
            "run Tare itself in a machine on that network",
        )

    def _ask(self, verb: str) -> str:
        return self.of.ask(self.outer, self.site.deadline_s, verb, self.name)

    def _end(self, verb: str) -> None:
        self._hang_up()  # a machine whose power is cut does not say goodbye
        self.ended = self.boot
        self._ask(verb)

    def _hang_up(self) -> None:
        self.outer.run(self.connection.hang_up_argv())

    def _connect(self, connection: Connection) -> None:
        check(self.outer, ["mkdir", "-p", self.site.folder])  # for the connection's socket
        connection.open(self.outer, self.site.deadline_s)
        bare = Inner(self.outer, "vsphere", connection.wrap, ephemeral=bool(self.of.template))
        boot = text(bare, ["sh", "-c", BOOT])
        if boot == self.ended:
            raise LayerError("it still runs as before the reboot")
        if self.of.vm and not self.boot:
            remove = ["rm", "-rf", "--one-file-system", self.workdir]
            self.site.scope.about_to_make("folder", self.workdir, bare, remove)
        check(bare, ["mkdir", "-p", self.workdir])
        allowed = text(bare, ["sh", "-c", "grep Cpus_allowed_list /proc/self/status"])
        # A clone has just these; a machine there is has the CPUs it has.
        self.cpuset = chosen_cpus(allowed.split()[1], self.site.limits)
        pin = ["taskset", "--cpu-list", self.cpuset]
        self.machine = replace(bare, wrap=lambda argv: connection.wrap([*pin, *argv]))
        self.boot, self.ended = boot, ""
