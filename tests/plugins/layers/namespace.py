"""Namespaces without an engine: ``unshare`` makes them, ``nsenter`` enters them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tare import plugin
from tare.plugin import (
    INIT,
    Inner,
    InstanceProcess,
    Machine,
    Site,
    Threads,
    Unavailable,
    Userland,
    cgroup,
    enter_argv,
    tree,
)

UNSHARE = ("unshare", "--mount", "--pid", "--uts", "--ipc", "--fork", "--kill-child")
READY = "tare: ready"
# These mounts are made inside the new namespace, so they end with it.
KEEP = r"""
set -eu
root=$0 name=$1 ready=$2 init=$3
hostname "$name"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
echo "$ready"
exec chroot "$root" sh -c "$init"
"""


@dataclass(frozen=True, kw_only=True)
class Layer(plugin.Layer):
    """The userland in mount, PID, IPC and UTS namespaces of its own."""

    hostname: str = "tare"

    packages = ("util-linux",)

    def probe(self, outer: Machine, userland: Userland | None) -> Mapping[str, str]:
        """See Layer.probe."""
        del userland
        done = outer.run([*UNSHARE, "unshare", "--version"])
        if done.returncode != 0:
            why = done.stderr.decode(errors="replace").strip()
            raise Unavailable(f"no namespaces on {outer.name}: {why}", "run Tare as root")
        return {"namespace.unshare": done.stdout.decode().strip()}

    def detected_as(self) -> tuple[str, ...]:
        """See Layer.detected_as."""
        return ("namespaces",)

    def create(self, outer: Machine, site: Site) -> Instance:
        """See Layer.create."""
        folder = tree.writable(outer, site)
        group = cgroup.make(
            outer, f"tare/{site.name}", site.scope, cpuset=site.cpuset, limits=site.limits
        )
        return Instance(site, InstanceProcess(outer, group, folder), self.start_argv(folder))

    def start_argv(self, folder: str) -> list[str]:
        """Build the command that keeps the namespaces."""
        return [*UNSHARE, "sh", "-c", KEEP, f"{folder}/root", self.hostname, READY, INIT]


class Instance(plugin.Instance):
    """One set of namespaces, and the cgroup that everything in them runs in."""

    def __init__(self, site: Site, process: InstanceProcess, start: list[str]) -> None:
        self.site, self.process, self.start_argv = site, process, start
        group = process.group
        enter = group.enter_argv(enter_argv(f"{process.folder}/leader", group.path))
        self.machine = Inner(
            process.machine,
            "namespace",
            lambda argv: [*enter, *argv],
            ephemeral=process.machine.ephemeral,  # a cgroup made inside is the outer machine's
        )
        first = [*process.lead_argv(READY), *enter]
        self.first = Inner(process.machine, "namespace", lambda argv: [*first, *argv])
        self.cpuset = site.cpuset

    def start(self) -> None:
        """See Instance.start."""
        self.process.start(self.start_argv)

    def ready(self) -> None:
        """See Instance.ready."""
        self.process.await_answer(self.first, self.site.name, self.site.deadline_s)

    def stop(self, *, hard: bool = False) -> None:
        """See Instance.stop."""
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
