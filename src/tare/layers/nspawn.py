"""A container by systemd-nspawn, with or without systemd on the outer machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tare import layer
from tare.engines import tree
from tare.engines.keeper import Keeper
from tare.engines.namespaces import SERVE, call_argv
from tare.errors import Unavailable
from tare.limits import cgroup
from tare.machine import Inner, Machine

if TYPE_CHECKING:
    from tare.userland import Userland

PROPAGATE = "/run/systemd/nspawn/propagate"
# Where there is v2, nspawn makes two groups below its own, for itself and for what runs in the
# container, and takes what is called supervisor for its own half already. In v1 it leaves the
# controllers alone: there it stays where the limits are, and so does what it starts.
SUPERVISE = r"""
path=$0 root=/sys/fs/cgroup
for tree in $root $root/unified $root/systemd; do
    [ -f $root/cgroup.controllers ] || [ $tree != $root ] || continue
    [ -f $tree/cgroup.procs ] || continue
    mkdir -p "$tree/$path/supervisor" && echo $$ > "$tree/$path/supervisor/cgroup.procs" || exit 125
done
exec "$@"
"""
# The first process of the container is nspawn's only child once the container is set up.
LEAD = r"""
folder=$0
grep -qx "tare: ready" "$folder/log" && read -r keeper < "$folder/pid" || exit 125
echo $(cat "/proc/$keeper/task/$keeper/children") > "$folder/leader"
exec "$@"
"""


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
        group = Whole(outer, f"tare/{site.name}")
        # What is made last is removed first: that has to be the group that may be frozen.
        limits = group.payload.path
        cgroup.make(outer, limits, site.scope, cpuset=site.cpuset, limits=site.limits)
        cgroup.make(outer, group.path, site.scope)
        return Instance(site, Keeper(outer, group, folder), self.start_argv(site.name, folder))

    def start_argv(self, name: str, folder: str) -> list[str]:
        """Build the command that keeps the container up."""
        # No locks below /run that a killed nspawn would leave there: nobody else has this tree.
        return [
            "env", "SYSTEMD_NSPAWN_LOCK=0", "systemd-nspawn", "--quiet", f"--machine={name}",
            f"--directory={folder}/root", "--settings=no", "--register=no", "--keep-unit",
            "--console=pipe", "--link-journal=no", "--resolv-conf=off", "--timezone=off",
            # nspawn's own first process reaps orphans, and ends in order on this signal.
            "--as-pid2", "--kill-signal=SIGRTMIN+4",
            *(["--private-network"] if self.network == "none" else []),
            *(["--private-users=identity"] if self.userns else []),
            "sh", "-c", SERVE,
        ]  # fmt: skip


class Whole(cgroup.Group):
    """The group of a container with nspawn itself; the limits are on ``payload`` below it."""

    @property
    def payload(self) -> cgroup.Group:
        """The group in which the container is."""
        return cgroup.Group(self.machine, f"{self.path}/payload")

    def enter_argv(self, argv: Sequence[str]) -> list[str]:
        """See Group.enter_argv: for nspawn."""
        return self.payload.enter_argv(["sh", "-c", SUPERVISE, self.path, *argv])


class Instance(layer.Instance):
    """One nspawn, and what serves in its container."""

    def __init__(self, site: layer.Site, keeper: Keeper, start: Sequence[str]) -> None:
        self.site, self.keeper, self.start_argv = site, keeper, start
        call = call_argv(f"{keeper.folder}/leader", keeper.group.path)
        self.machine = Inner(keeper.machine, "nspawn", lambda argv: [*call, *argv])
        lead = ["sh", "-c", LEAD, keeper.folder, *call]
        self.first = Inner(keeper.machine, "nspawn", lambda argv: [*lead, *argv])
        self.cpuset = site.cpuset

    def start(self) -> None:
        """See Instance.start."""
        self.keeper.start(self.start_argv)

    def ready(self) -> None:
        """See Instance.ready."""
        self.keeper.await_answer(self.first, self.site.name, self.site.deadline_s)

    def stop(self, *, hard: bool = False) -> None:
        """See Instance.stop."""
        self.keeper.stop(self.site.name, self.site.deadline_s, hard=hard)

    def pause(self) -> None:
        """See Instance.pause."""
        self.keeper.group.freeze()

    def resume(self) -> None:
        """See Instance.resume."""
        self.keeper.group.thaw()

    def threads(self) -> layer.Threads:
        """See Instance.threads: the container and nspawn, which sleeps."""
        return layer.Threads(cgroup=self.keeper.group.path)
