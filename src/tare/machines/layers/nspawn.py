"""A container by systemd-nspawn, with or without systemd on the outer machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tare.core.errors import CommandFailed, LayerError, Unavailable
from tare.machines import instance, layer
from tare.machines.backends import tree
from tare.machines.backends.instance_process import InstanceProcess
from tare.machines.backends.namespaces import SERVE, call_argv
from tare.machines.cgroup import cgroup
from tare.machines.instance import Threads
from tare.machines.machine import Inner, Machine, check

if TYPE_CHECKING:
    from tare.machines.userland import Userland

PROPAGATE = "/run/systemd/nspawn/propagate"
# nspawn makes two groups below its own, for itself and for the container, but not among the v1
# controllers: there it stays with what it starts. Where v2 is mounted as well its own group is
# here.
ENTER_V2 = r"""
path=$0
for tree in /sys/fs/cgroup/unified /sys/fs/cgroup/systemd; do
    [ -f $tree/cgroup.procs ] || continue
    mkdir -p "$tree/$path" && echo $$ > "$tree/$path/cgroup.procs" || exit 125
done
exec "$@"
"""
# The container sees the limits of its own group only, in v2 that of nspawn's making.
IN_V2 = '[ ! -f /sys/fs/cgroup/cgroup.controllers ] || exec "$0" "$@"'
READY = "tare: ready"


@dataclass(frozen=True, kw_only=True)
class Layer(layer.Layer):
    """A container with nspawn's own filter of system calls and its own choice of capabilities.

    With ``userns`` it has a user namespace in which each user is the same as outside: what it costs
    is that of any mapping, and the userland needs no other owners.
    """

    network: Literal["host", "none"] = "host"
    userns: bool = False

    packages = ("systemd-container",)

    def probe(self, outer: Machine, userland: Userland | None) -> Mapping[str, str]:
        """See Layer.probe."""
        del userland
        version = outer.run(["systemd-nspawn", "--version"])
        if version.returncode != 0:
            raise Unavailable(
                f"systemd-nspawn is not installed on {outer.name}",
                "apt-get install systemd-container",
            )
        if outer.run(["test", "-w", "/sys/fs/cgroup"]).returncode != 0:
            raise Unavailable(f"cgroups cannot be made on {outer.name}", "run Tare as root")
        return {"nspawn.version": version.stdout.decode().splitlines()[0]}

    def create(self, outer: Machine, site: layer.Site) -> Instance:
        """See Layer.create."""
        at = f"{PROPAGATE}/{site.name}"
        site.scope.about_to_make("folder", at, outer, ["rm", "-rf", at])
        folder = tree.writable(outer, site)
        path = f"tare/{site.name}"
        group = cgroup.make(outer, path, site.scope, cpuset=site.cpuset, limits=site.limits)
        made = Instance(
            site, InstanceProcess(outer, group, folder), self.start_argv(site.name, folder)
        )
        made.network = self.network
        return made

    def start_argv(self, name: str, folder: str) -> list[str]:
        """Build the command that keeps the container up."""
        # No locks below /run that a killed nspawn would leave there: nobody else has this tree.
        return [
            "sh", "-c", ENTER_V2, f"tare/{name}",
            "env", "SYSTEMD_NSPAWN_LOCK=0", "systemd-nspawn", "--quiet", f"--machine={name}",
            f"--directory={folder}/root", "--settings=no", "--register=no", "--keep-unit",
            "--console=pipe", "--link-journal=no", "--resolv-conf=off", "--timezone=off",
            # nspawn's own first process reaps orphans, and ends in order on this signal.
            "--as-pid2", "--kill-signal=SIGRTMIN+4",
            *(["--private-network"] if self.network == "none" else []),
            *(["--private-users=identity"] if self.userns else []),
            "sh", "-c", SERVE,
        ]  # fmt: skip


class Instance(instance.Instance):
    """One nspawn, and what serves in its container."""

    def __init__(self, site: layer.Site, process: InstanceProcess, start: Sequence[str]) -> None:
        self.site, self.process, self.start_argv = site, process, start
        call = call_argv(f"{process.folder}/leader", process.group.path)
        self.machine = Inner(process.machine, "nspawn", lambda argv: [*call, *argv])
        # The first process of the container is nspawn's only child once that is set up.
        first = [*process.lead_argv(READY), *call]
        self.first = Inner(process.machine, "nspawn", lambda argv: [*first, *argv])
        self.cpuset, self.files_at = site.cpuset, site.folder

    def start(self) -> None:
        """See Instance.start."""
        self._do(self.process.group.limit_argv(self.site.cpuset, self.site.limits))
        self.process.start(self.start_argv)

    def ready(self) -> None:
        """See Instance.ready."""
        self.process.await_answer(self.first, self.site.name, self.site.deadline_s)
        container = cgroup.Group(self.process.machine, f"{self.process.group.path}/payload")
        limit = container.limit_argv(self.site.cpuset, self.site.limits)
        self._do(["sh", "-c", IN_V2, *limit])

    def stop(self, *, hard: bool = False) -> None:
        """See Instance.stop."""
        if not hard:
            self.process.stop(self.site.name, self.site.deadline_s)
        # In v2 a group that has groups below it takes no process: it is made anew at the start.
        self._do(["sh", "-c", cgroup.REMOVE, self.process.group.path])

    def pause(self) -> None:
        """See Instance.pause."""
        self.process.group.freeze()

    def resume(self) -> None:
        """See Instance.resume."""
        self.process.group.thaw()

    def threads(self) -> Threads:
        """See Instance.threads: the container and nspawn, which sleeps."""
        return Threads(cgroup=self.process.group.path)

    def _do(self, argv: Sequence[str]) -> None:
        try:
            check(self.process.machine, argv, timeout_s=self.site.deadline_s)
        except CommandFailed as error:
            raise LayerError(f"{self.site.name}: {error}") from error
