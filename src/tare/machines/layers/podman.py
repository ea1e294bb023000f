"""A Podman container: no daemon, a root that is nobody's image, entered with ``podman exec``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from tare.core.errors import CommandFailed, LayerError
from tare.core.model import Limits
from tare.machines import instance, layer
from tare.machines.backends import oci, tree
from tare.machines.backends.podman import Podman, own, ulimits, usable
from tare.machines.backends.switches import (
    CONFINEMENT,
    UPKEEP,
    capability_argv,
    limit_argv,
    switch_argv,
)
from tare.machines.cgroup.cgroup import Group, refuse_uncounted_swap
from tare.machines.instance import Threads
from tare.machines.machine import Inner, Machine, check
from tare.machines.switch import Switch

if TYPE_CHECKING:
    from tare.machines.userland import Userland


@dataclass(frozen=True, kw_only=True)
class Layer(layer.Layer):
    """A container whose root is a layer of its own over the userland's tree.

    ``storage`` says where /data is: with the root, on a volume (the outer machine's filesystem), or
    on a tmpfs, which ends with the container. ``seccomp`` is Podman's filter of system calls.
    ``privileged`` takes that and all other confinement away, which a layer nested in the container
    may need. ``capabilities``, ``apparmor``, ``init`` and ``memory_limit`` are as docker's; Podman
    leaves root eleven capabilities. Podman's own bridge is not offered: it changes the machine's
    packet filter.
    """

    runtime: Literal["crun", "runc"] = "crun"
    network: Literal["host", "none"] = "host"
    storage: Literal["overlay", "volume", "tmpfs"] = "overlay"
    seccomp: bool = True
    privileged: bool = False
    # Left out unless asked for, so that cells of earlier studies keep their ids.
    capabilities: Literal["all"] | None = None
    apparmor: Literal["off"] | None = None
    init: Literal["off"] | None = None
    memory_limit: Literal["off"] | None = None

    switches = (
        *CONFINEMENT,
        Switch(
            name="storage", setting="storage", on="overlay", off="volume", shows=("data",),
            about="where /data is: in the container's own layer, or on a volume",
        ),
        *UPKEEP,
    )  # fmt: skip

    packages = ("podman", "catatonit")

    def probe(self, outer: Machine, userland: Userland | None) -> Mapping[str, str]:
        """See Layer.probe."""
        del userland
        version, runtime = usable(outer), oci.usable(outer, self.runtime, self.network)
        return {"podman.version": version, "podman.runtime": runtime}

    def needs(self) -> tuple[str, ...]:
        """See Layer.needs."""
        return (*self.packages, self.runtime)

    def commits(self, limits: Limits) -> int | None:
        """See Layer.commits: files on a tmpfs stay."""
        return limits.memory_bytes if self.storage == "tmpfs" else None

    def no_disk(self) -> str:
        """See Layer.no_disk."""
        return "its /data is a tmpfs" if self.storage == "tmpfs" else ""

    def create(self, outer: Machine, site: layer.Site) -> Instance:
        """See Layer.create."""
        refuse_uncounted_swap(outer, site.limits)
        folder = tree.writable(outer, site)
        podman = own(outer, site, folder, self.runtime)
        if self.storage == "overlay":
            try:
                check(outer, ["umount", f"{folder}/root/data"])
            except CommandFailed as error:
                raise LayerError(f"no /data in the root of {site.name}: {error}") from error
        argv = self.create_argv(
            folder, site, *ulimits(outer), *capability_argv(outer, self.capabilities)
        )
        podman.do(*argv, timeout_s=site.deadline_s)
        made = Instance(outer, site, podman)
        made.network = self.network
        return made

    def create_argv(self, folder: str, site: layer.Site, *options: str) -> list[str]:
        """Build what creates the container."""
        return [
            "create", "--name", site.name, "--rootfs", f"--network={self.network}",
            f"--cgroup-parent=/tare/{site.name}",
            *limit_argv(site.limits, site.cpuset, memory=not self.memory_limit),
            *switch_argv(self), "--log-driver=none",
            *options,
            *(["--mount", "type=tmpfs,dst=/data"] if self.storage == "tmpfs" else []),
            *(["--privileged"] if self.privileged else []),
            f"{folder}/root", "sleep", "infinity",
        ]  # fmt: skip


class Instance(instance.Instance):
    """One container, kept by the conmon that Podman leaves behind."""

    def __init__(self, outer: Machine, site: layer.Site, podman: Podman) -> None:
        self.site, self.podman = site, podman
        enter = podman.argv("exec", "--interactive", site.name)
        self.machine = Inner(outer, "podman", lambda argv: [*enter, *argv])
        self.cpuset, self.files_at = site.cpuset, site.folder
        self.is_paused = False

    def start(self) -> None:
        """See Instance.start."""
        self._podman("start")

    def ready(self) -> None:
        """See Instance.ready."""
        try:
            check(self.machine, ["mkdir", "-p", self.workdir], timeout_s=self.site.deadline_s)
        except CommandFailed as error:
            raise LayerError(f"{self.site.name} does not answer: {error}") from error

    def stop(self, *, hard: bool = False) -> None:
        """See Instance.stop. Podman cannot end what is paused."""
        if self.is_paused:
            self.resume()
        self._podman("stop", *(["--time=0"] if hard else []))

    def reboot(self, *, hard: bool = False) -> None:
        """See Instance.reboot."""
        if self.is_paused:
            self.resume()
        self._podman("restart", *(["--time=0"] if hard else []))

    def pause(self) -> None:
        """See Instance.pause. Podman is not asked where its container's freezer can be written."""
        if self._freezer is None:
            self._podman("pause")
        else:
            self._freezer.freeze()
        self.is_paused = True

    def resume(self) -> None:
        """See Instance.resume."""
        if self._freezer is None:
            self._podman("unpause")
        else:
            self._freezer.thaw()
        self.is_paused = False

    def threads(self) -> Threads:
        """See Instance.threads."""
        return Threads(cgroup=self._group)

    @cached_property
    def _group(self) -> str:
        # Asked once: it is wanted before every trial, and each call of Podman takes its time.
        return self.podman.group_of(self.site.name)

    @cached_property
    def _freezer(self) -> Group | None:
        # It is the same after a reboot.
        return self.podman.freezer_of(self.site.name)

    def _podman(self, verb: str, *options: str) -> None:
        self.podman.do(verb, *options, self.site.name, timeout_s=self.site.deadline_s)
