"""An LXC container of the userland, configured as lxc-create would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tare.core.errors import CommandFailed, LayerError, Unavailable
from tare.machines import instance, layer
from tare.machines.backends import tree
from tare.machines.backends.namespaces import INIT
from tare.machines.cgroup import cgroup
from tare.machines.instance import Threads
from tare.machines.ledger import Scope
from tare.machines.machine import Inner, Machine, check

if TYPE_CHECKING:
    from tare.machines.userland import Userland

CONFIGS = "/usr/share/lxc/config"
NETWORKS = {"host": "none", "none": "empty"}  # what LXC calls none is the outer machine's network
# The first errors are the cause; what LXC prints itself only says that there were some.
ERRORS = ("sed", "-n", "s/.* ERROR .* - //p")
START = 'rm -f "$0/log" && cat > "$0/config" && exec "$@"'
# In v1 a new cpuset has no CPUs and takes no process. LXC sees to that for a group right below the
# root only, and this one is there already.
INHERIT = r"""
at=/sys/fs/cgroup/cpuset/$0/cgroup.clone_children
[ ! -f "$at" ] || echo 1 > "$at"
"""
REMOVE_LOCKS = r"""
rm -rf "$0"
rmdir -p --ignore-fail-on-non-empty "$(dirname "$0")" 2> /dev/null
exit 0
"""


@dataclass(frozen=True, kw_only=True)
class Layer(layer.Layer):
    """A container; the userland has no init, so a shell is its first process.

    ``seccomp`` is LXC's common filter. ``apparmor`` is a profile that is loaded on the outer
    machine, or "generated". With ``userns`` it has a user namespace in which each user is the same
    as outside: what it costs is that of any mapping, and the userland needs no other owners.
    """

    network: Literal["host", "none"] = "host"
    seccomp: bool = True
    apparmor: str = "unconfined"
    userns: bool = False

    packages = ("lxc",)

    def probe(self, outer: Machine, userland: Userland | None) -> Mapping[str, str]:
        """See Layer.probe."""
        del userland
        version = outer.run(["lxc-start", "--version"])
        if version.returncode != 0:
            raise Unavailable(f"LXC is not installed on {outer.name}", "apt-get install lxc")
        if outer.run(["test", "-w", "/sys/fs/cgroup"]).returncode != 0:
            raise Unavailable(f"cgroups cannot be made on {outer.name}", "run Tare as root")
        return {"lxc.version": version.stdout.decode().strip()}

    def create(self, outer: Machine, site: layer.Site) -> Instance:
        """See Layer.create."""
        cgroup.refuse_uncounted_swap(outer, site.limits)
        _record_locks(outer, site)
        folder = tree.writable(outer, site)
        group = cgroup.make(outer, f"tare/{site.name}", site.scope)
        check(outer, ["sh", "-c", INHERIT, group.path])
        # In v2 a group that holds processes can have none below it, so LXC is started in a sibling
        # of those that it makes; it makes them in every hierarchy there is, and all are below ours.
        cgroup.make(outer, f"{group.path}/start", site.scope)
        made = Instance(site, group, self.config(folder, group.path))
        made.network = self.network
        return made

    def config(self, folder: str, group: str) -> str:
        """Write the container's configuration."""
        lines = [
            f"lxc.include = {CONFIGS}/common.conf",
            *([f"lxc.include = {CONFIGS}/userns.conf"] if self.userns else []),
            f"lxc.uts.name = {folder.rpartition('/')[2]}",
            f"lxc.rootfs.path = dir:{folder}/root",
            f"lxc.cgroup.dir.monitor = {group}/run/monitor",
            f"lxc.cgroup.dir.container = {group}/run/container",
            f"lxc.net.0.type = {NETWORKS[self.network]}",
            f"lxc.apparmor.profile = {self.apparmor}",
            # An empty value takes back what was included.
            f"lxc.seccomp.profile = {CONFIGS}/common.seccomp" if self.seccomp
            else "lxc.seccomp.profile =",
            # Left to the container's init otherwise, and inside one shows what it gets there.
            "lxc.mount.auto = cgroup:mixed:force",
            "lxc.mount.entry = shm dev/shm tmpfs nosuid,nodev,create=dir 0 0",
            "lxc.signal.halt = SIGTERM",
            *([f"lxc.idmap = {kind} 0 0 65536" for kind in "ug"] if self.userns else []),
        ]  # fmt: skip
        return "".join(f"{line}\n" for line in lines)


def _record_locks(outer: Machine, site: layer.Site) -> None:
    """Record for removal the folder in which LXC keeps a lock for each container."""
    locks = f"/run/lxc/lock{site.folder}"

    def make(scope: Scope) -> None:
        scope.about_to_make("folder", locks, outer, ["sh", "-c", REMOVE_LOCKS, locks])

    site.services.once("lxc locks", outer, make, lambda _: True)


class Instance(instance.Instance):
    """One container; LXC looks for its configuration in the folder of its name."""

    def __init__(self, site: layer.Site, group: cgroup.Group, config: str) -> None:
        self.outer, self.site, self.group = group.machine, site, group
        self.container = cgroup.Group(group.machine, f"{group.path}/run/container")
        self.folder, self.config = f"{site.folder}/{site.name}", config
        self.client = ["-P", site.folder, "-n", site.name]
        environment = [f"--set-var={variable}" for variable in tree.ENVIRONMENT]
        self.enter = ["lxc-attach", *self.client, "--clear-env", *environment, "--"]
        self.machine = Inner(self.outer, "lxc", lambda argv: [*self.enter, *argv])
        self.cpuset, self.files_at = site.cpuset, site.folder

    def start(self) -> None:
        """See Instance.start. LXC returns once the container's init runs."""
        argv = ["lxc-start", *self.client, "-o", f"{self.folder}/log", "-l", "ERROR",
                "--", "sh", "-c", INIT]  # fmt: skip
        sibling = cgroup.Group(self.outer, f"{self.group.path}/start")
        argv = sibling.enter_argv(["sh", "-c", START, self.folder, *argv])
        self._do(argv, self.config.encode())
        # LXC makes the group anew each time; the limits are where those inside can see them.
        self._do(self.container.limit_argv(self.site.cpuset, self.site.limits))

    def ready(self) -> None:
        """See Instance.ready."""
        self._do([*self.enter, "true"])

    def stop(self, *, hard: bool = False) -> None:
        """See Instance.stop."""
        self.group.thaw()  # LXC's monitor is in the group, and is asked
        # Longer than the container's init takes to end; LXC kills what is left then.
        self._do(["lxc-stop", *self.client, *(["--kill"] if hard else ["-t", "10"])])
        # It says so before its groups are gone, and would refuse to start with them there.
        self._do(["sh", "-c", cgroup.REMOVE, f"{self.group.path}/run"])

    def pause(self) -> None:
        """See Instance.pause."""
        self.group.freeze()

    def resume(self) -> None:
        """See Instance.resume."""
        self.group.thaw()

    def threads(self) -> Threads:
        """See Instance.threads: the container and LXC's monitor, which sleeps."""
        return Threads(cgroup=self.group.path)

    def holding_group(self, outer: Machine) -> cgroup.Group:
        """See Instance.holding_group."""
        del outer
        return self.container

    def _do(self, argv: Sequence[str], stdin: bytes = b"") -> None:
        try:
            check(self.outer, argv, stdin=stdin, timeout_s=self.site.deadline_s)
        except CommandFailed as error:
            said = self.outer.run([*ERRORS, f"{self.folder}/log"]).stdout.decode(errors="replace")
            cause = "; ".join(said.splitlines()[:3]) or str(error)
            raise LayerError(f"{self.site.name} on {self.outer.name}: {cause[:400]}") from error
