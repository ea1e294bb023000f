"""A bubblewrap sandbox: namespaces made by an ordinary user, who has no privileges in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tare.core.errors import CommandFailed, LayerError, Unavailable
from tare.machines import instance, layer
from tare.machines.backends import tree
from tare.machines.backends.instance_process import InstanceProcess
from tare.machines.backends.namespaces import INIT, enter_argv
from tare.machines.cgroup import cgroup
from tare.machines.instance import Threads
from tare.machines.machine import Inner, Machine, check

if TYPE_CHECKING:
    from tare.machines.userland import Userland

NOBODY = "65534"
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
# With any other number inside than 0, bubblewrap nests a second user namespace to map it, and what
# it owns cannot be entered from the one that holds the processes.
UNSHARE = (
    "bwrap", "--unshare-user", "--uid", "0", "--gid", "0", "--unshare-pid", "--unshare-ipc",
    "--unshare-uts",
)  # fmt: skip
# A process that only enters namespaces keeps privileges that bubblewrap drops.
AS_IN_THE_SANDBOX = ("setpriv", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--")
READY = "tare: ready"
MAKE = 'mkdir "$0/data" && chown "$1:$1" "$0/data"'
# The userland's folder is closed to an ordinary user; what is mounted here is seen by nobody else.
STAGE = r"""
set -eu
tree=$0 data=$1
shift
mount -t tmpfs -o mode=755 tare /mnt
mkdir /mnt/tree /mnt/data
mount --bind "$tree" /mnt/tree
mount --bind "$data" /mnt/data
exec "$@"
"""
FIX = (
    "sysctl user.max_user_namespaces=10000 kernel.apparmor_restrict_unprivileged_userns=0; "
    "in a container: docker: { privileged: true }"
)


@dataclass(frozen=True, kw_only=True)
class Layer(layer.Layer):
    """A sandbox made by the user ``nobody``: root inside is nobody outside, without capabilities.

    Its root is bubblewrap's own: /usr, /etc, /var and /opt of the userland, which cannot be
    written, and a tmpfs where programs expect to write. /data is on the outer machine's filesystem.
    There is no filter of system calls: bubblewrap brings none of its own.
    """

    network: Literal["host", "none"] = "host"

    packages = ("bubblewrap",)

    def probe(self, outer: Machine, userland: Userland | None) -> Mapping[str, str]:
        """See Layer.probe."""
        del userland
        version = outer.run(["bwrap", "--version"])
        if version.returncode != 0:
            raise Unavailable(f"{outer.name} has no bwrap", "apt-get install bubblewrap")
        if outer.run(["test", "-w", "/sys/fs/cgroup"]).returncode != 0:
            raise Unavailable(f"cgroups cannot be made on {outer.name}", "run Tare as root")
        done = outer.run([*AS_NOBODY, *UNSHARE, "--ro-bind", "/", "/", "--proc", "/proc", "true"])
        if done.returncode != 0:
            why = done.stderr.decode(errors="replace").strip()
            raise Unavailable(f"an ordinary user cannot make a sandbox on {outer.name}: {why}", FIX)
        return {"bubblewrap.version": version.stdout.decode().strip()}

    def create(self, outer: Machine, site: layer.Site) -> Instance:
        """See Layer.create."""
        folder = tree.own_folder(outer, site)
        group = cgroup.make(
            outer, f"tare/{site.name}", site.scope, cpuset=site.cpuset, limits=site.limits
        )
        try:
            check(outer, ["sh", "-c", MAKE, folder, NOBODY])
        except CommandFailed as error:
            raise LayerError(f"could not make {folder}/data on {outer.name}: {error}") from error
        start = self.start_argv(site.userland.tree(outer), folder)
        made = Instance(site, InstanceProcess(outer, group, folder), start)
        made.network = self.network
        return made

    def start_argv(self, tree_path: str, folder: str) -> list[str]:
        """Build the command that keeps the sandbox up."""
        parts = ("usr", "etc", "var", "opt")
        links = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
        variables = [entry.split("=", 1) for entry in tree.ENVIRONMENT]
        return [
            "unshare", "--mount", "sh", "-c", STAGE, tree_path, f"{folder}/data",
            *AS_NOBODY, *UNSHARE, *(["--unshare-net"] if self.network == "none" else []),
            "--hostname", "tare", "--as-pid-1",
            *(word for name in parts for word in ("--ro-bind", f"/mnt/tree/{name}", f"/{name}")),
            *(word for name in links for word in ("--symlink", f"usr/{name}", f"/{name}")),
            "--proc", "/proc", "--dev", "/dev", "--ro-bind", "/sys", "/sys",
            *(word for at in ("/tmp", "/run", "/root", "/var/tmp") for word in ("--tmpfs", at)),  # noqa: S108
            "--bind", "/mnt/data", "/data", "--chdir", "/", "--clearenv",
            *(word for name, value in variables for word in ("--setenv", name, value)),
            "--", "sh", "-c", f"echo '{READY}'\n{INIT}",
        ]  # fmt: skip


class Instance(instance.Instance):
    """One sandbox; the bwrap that made it keeps it up, and commands enter its namespaces."""

    def __init__(self, site: layer.Site, process: InstanceProcess, start: list[str]) -> None:
        self.site, self.process, self.start_argv = site, process, start
        group = process.group
        enter = [*enter_argv(f"{process.folder}/leader", group.path), *AS_IN_THE_SANDBOX]
        self.machine = Inner(
            process.machine, "bubblewrap", lambda argv: group.enter_argv([*enter, *argv])
        )
        first = [*process.lead_argv(READY), *group.enter_argv(enter)]
        self.first = Inner(process.machine, "bubblewrap", lambda argv: [*first, *argv])
        self.cpuset, self.files_at = site.cpuset, site.folder

    def start(self) -> None:
        """See Instance.start."""
        self.process.start(self.start_argv)

    def ready(self) -> None:
        """See Instance.ready."""
        self.process.await_answer(self.first, self.site.name, self.site.deadline_s)

    def stop(self, *, hard: bool = False) -> None:
        """See Instance.stop: its first process is ended, which bwrap does not outlive."""
        tell = self.process.signal_argv("TERM", "leader")
        self.process.stop(self.site.name, self.site.deadline_s, tell=tell, hard=hard)

    def pause(self) -> None:
        """See Instance.pause."""
        self.process.group.freeze()

    def resume(self) -> None:
        """See Instance.resume."""
        self.process.group.thaw()

    def threads(self) -> Threads:
        """See Instance.threads."""
        return Threads(cgroup=self.process.group.path)
