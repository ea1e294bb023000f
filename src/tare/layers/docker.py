"""A Docker container of the userland, kept alive by ``sleep`` and entered with ``docker exec``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from tare import layer
from tare.engines.docker import Daemon, answering, installed, serving
from tare.errors import CommandFailed, LayerError, Unavailable
from tare.limits import cgroup
from tare.machine import Inner, Machine, check, text

if TYPE_CHECKING:
    from tare.userland import Userland

MOUNTS = {
    "overlay": (),
    "volume": ("--mount", "type=volume,dst=/data"),
    "tmpfs": ("--mount", "type=tmpfs,dst=/data"),
}
PID = "{{.State.Pid}}"
# Gone already is as good as removed; with a daemon of Tare's own that is dead, the container's
# processes go with its cgroup and its files with the daemon's folder.
REMOVE = r"""
name=$0 own=$1
shift
why=$("$@" rm --force --volumes "$name" 2>&1) && exit 0
case $why in *"No such container"*) exit 0 ;; esac
[ "$own" = own ] && ! "$@" version > /dev/null 2>&1 && exit 0
echo "$why" >&2
exit 1
"""


@dataclass(frozen=True, kw_only=True)
class Layer(layer.Layer):
    """A container under a runtime (as the daemon knows it), network mode and storage for /data.

    ``image`` names another image than the shared userland; the report then says so.
    """

    image: str = ""
    runtime: str = "runc"
    network: Literal["host", "bridge", "none"] = "host"
    storage: Literal["overlay", "volume", "tmpfs"] = "overlay"

    packages = ("docker.io", "iproute2", "iptables")

    def probe(self, outer: Machine, userland: Userland | None) -> Mapping[str, str]:
        """See Layer.probe."""
        del userland
        version = answering(outer) or installed(outer)
        if version is None:
            raise Unavailable(
                f"no Docker daemon answers and none is installed on {outer.name}",
                "apt-get install docker.io",
            )
        return {"docker.version": version, "docker.runtime": self.runtime}

    def own_system(self) -> str:
        """See Layer.own_system."""
        return f"the image {self.image}" if self.image else ""

    def create(self, outer: Machine, site: layer.Site) -> Instance:
        """See Layer.create."""
        daemon = serving(outer, site)
        image = self.image or daemon.image(site.userland)
        remove = ["sh", "-c", REMOVE, site.name, "own" if daemon.own else "other", *daemon.client]
        if daemon.own:  # the daemon makes the group; that it is there is ours to undo
            path = f"tare/{site.name}"
            site.scope.about_to_make("cgroup", path, outer, ["sh", "-c", cgroup.REMOVE, path])
        site.scope.about_to_make("container", site.name, outer, remove)
        try:
            check(outer, self.create_argv(daemon, image, site), timeout_s=site.deadline_s)
        except CommandFailed as error:
            raise LayerError(
                f"docker did not create {site.name} on {outer.name}: {error}"
            ) from error
        return Instance(outer, site, daemon)

    def create_argv(self, daemon: Daemon, image: str, site: layer.Site) -> list[str]:
        """Build the command that creates the container."""
        memory = str(site.limits.memory_bytes)
        # Without --memory-swap a container may use as much swap again as it has memory.
        return [
            *daemon.client, "create", "--name", site.name, "--init", f"--runtime={self.runtime}",
            f"--network={self.network}", f"--cpuset-cpus={site.cpuset}", f"--memory={memory}",
            f"--memory-swap={memory}", *MOUNTS[self.storage],
            *([f"--cgroup-parent=/tare/{site.name}"] if daemon.own else []),
            image, "sleep", "infinity",
        ]  # fmt: skip


class Instance(layer.Instance):
    """One container."""

    def __init__(self, outer: Machine, site: layer.Site, daemon: Daemon) -> None:
        self.outer, self.site, self.client = outer, site, daemon.client
        enter = [*self.client, "exec", "--interactive", site.name]
        self.machine = Inner(outer, "docker", lambda argv: [*enter, *argv])
        self.cpuset = site.cpuset

    def start(self) -> None:
        """See Instance.start."""
        self._docker("start")

    def ready(self) -> None:
        """See Instance.ready."""
        try:
            check(self.machine, ["mkdir", "-p", self.workdir], timeout_s=self.site.deadline_s)
        except CommandFailed as error:
            raise LayerError(f"{self.site.name} does not answer: {error}") from error

    def pause(self) -> None:
        """See Instance.pause."""
        self._docker("pause")

    def resume(self) -> None:
        """See Instance.resume."""
        self._docker("unpause")

    def threads(self) -> layer.Threads:
        """See Instance.threads."""
        return self._threads

    @cached_property
    def _threads(self) -> layer.Threads:
        # Asked once: it is wanted before every trial, and a client takes its time.
        pid = text(self.outer, [*self.client, "inspect", "--format", PID, self.site.name])
        return layer.Threads(cgroup=cgroup.of_process(self.outer, pid))

    def _docker(self, verb: str) -> None:
        try:
            argv = [*self.client, verb, self.site.name]
            check(self.outer, argv, timeout_s=self.site.deadline_s)
        except CommandFailed as error:
            raise LayerError(f"docker {verb} {self.site.name} failed: {error}") from error
