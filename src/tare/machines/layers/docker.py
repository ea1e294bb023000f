"""A Docker container of the userland, kept alive by ``sleep`` and entered with ``docker exec``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from tare.core.errors import CommandFailed, LayerError
from tare.core.model import Limits
from tare.machines import instance, layer
from tare.machines.agent import AgentMachine, NoAgent
from tare.machines.agent.placement import MOUNTED_AT, can_connect
from tare.machines.backends import oci
from tare.machines.backends.docker import MOUNTS, Daemon, serving, usable
from tare.machines.backends.docker_storage import StorageDriver
from tare.machines.backends.switches import (
    CONFINEMENT,
    UPKEEP,
    capability_argv,
    limit_argv,
    switch_argv,
)
from tare.machines.cgroup import cgroup
from tare.machines.instance import Threads
from tare.machines.machine import Inner, Machine, check
from tare.machines.network import nat, rate
from tare.machines.switch import Switch

if TYPE_CHECKING:
    from tare.machines.userland import Userland

OCI = ("runc", "crun")
"""The runtimes whose containers are in the kernel that started them."""


@dataclass(frozen=True, kw_only=True)
class Layer(layer.Layer):
    """A container under a runtime, with a network and a storage for /data (a tmpfs ends with it).

    ``network: bridge`` is routed to; ``nat`` is that bridge behind an address of the outer machine
    that is translated, as published ports are. ``runtime`` is runc, crun, runsc (gVisor), or what a
    daemon that is already there knows.
    ``seccomp`` is Docker's filter of system calls. ``privileged`` takes that and all other
    confinement away: a layer nested in the container may have to mount or to make namespaces and
    groups. ``image`` is another image than the shared userland; the report then says so.
    ``capabilities: all`` gives root all the rights it has outside; Docker leaves it fourteen.
    ``apparmor``, ``init`` (a small init as process 1) and ``memory_limit`` (that of the study's
    limits; the CPUs are held always) can be turned ``off``. ``storage_driver`` is how the daemon
    stores images and containers; unless given, as it likes.
    """

    image: str = ""
    runtime: str = "runc"
    network: Literal["host", "bridge", "nat", "none"] = "host"
    storage: Literal["overlay", "volume", "tmpfs"] = "overlay"
    seccomp: bool = True
    privileged: bool = False
    # Left out unless asked for, so that cells of earlier studies keep their ids.
    capabilities: Literal["all"] | None = None
    apparmor: Literal["off"] | None = None
    init: Literal["off"] | None = None
    memory_limit: Literal["off"] | None = None
    storage_driver: StorageDriver | None = None

    switches = (
        *CONFINEMENT,
        Switch(
            name="storage", setting="storage", on="overlay", off="volume", shows=("data",),
            about="where /data is: in the container's own layer, or on a volume",
        ),
        Switch(
            name="network", setting="network", on="bridge", off="host",
            shows=("network_namespace",),
            about="a network namespace of its own on Docker's bridge, or the host's network",
        ),
        *UPKEEP,
    )  # fmt: skip

    packages = ("docker.io", "iproute2", "iptables")

    def probe(self, outer: Machine, userland: Userland | None) -> Mapping[str, str]:
        """See Layer.probe."""
        del userland
        return usable(outer, self.runtime, self._attached, self.storage_driver)

    def needs(self) -> tuple[str, ...]:
        """See Layer.needs; Docker's own package brings runc."""
        return (*self.packages, *({self.runtime} & {"crun", "runsc"}))

    @property
    def own_kernel(self) -> bool:  # type: ignore[override]  # here it depends on a setting
        """See Layer.own_kernel: gVisor's is one."""
        return self.runtime.startswith("runsc")

    def holds_processes(self) -> bool:
        """See Layer.holds_processes: an unknown runtime may boot a machine."""
        return self.runtime in OCI

    @property
    def _attached(self) -> str:
        """The network as Docker knows it."""
        return "bridge" if self.network == "nat" else self.network

    def own_system(self) -> str:
        """See Layer.own_system."""
        return f"the image {self.image}" if self.image else ""

    def commits(self, limits: Limits) -> int | None:
        """See Layer.commits: files on a tmpfs stay, and an unknown runtime may boot a machine."""
        keeps = self.storage == "tmpfs" or self.runtime not in oci.KNOWN
        return limits.memory_bytes if keeps else None

    def detected_as(self) -> tuple[str, ...]:
        """See Layer.detected_as; another runtime may be a kernel of its own (gVisor, Kata)."""
        if self.runtime in ("runc", "crun"):
            return ("docker",)
        return ("gvisor",) if self.runtime.startswith("runsc") else ("docker", "*")

    def no_disk(self) -> str:
        """See Layer.no_disk."""
        if self.own_kernel:
            return oci.GVISOR_CACHES
        if self.runtime not in OCI:
            return f"the runtime {self.runtime} may have its files in another machine"
        return "its /data is a tmpfs" if self.storage == "tmpfs" else ""

    def no_link(self) -> str:
        """See Layer.no_link."""
        if self._attached == "bridge":
            return ""
        return f"its network is `{self.network}`; give it `network: bridge`"

    def create(self, outer: Machine, site: layer.Site) -> Instance:
        """See Layer.create."""
        cgroup.refuse_uncounted_swap(outer, site.limits)
        daemon = serving(outer, site, self.storage_driver)
        image = self.image or daemon.image(site.userland)
        if daemon.own:
            # runsc makes none below a group that has no CPUs; the others make all that they need.
            prepare = cgroup.expect if self.runtime in OCI else cgroup.make
            prepare(outer, f"tare/{site.name}", site.scope)
        front = nat.make(outer, site) if self.network == "nat" else ""
        agent = self._agent_folder(outer, site, daemon)
        remove = daemon.remove_argv(site.name)
        site.scope.about_to_make("container", site.name, outer, remove)
        try:
            argv = self.create_argv(daemon, image, site, agent)
            check(outer, argv, timeout_s=site.deadline_s)
        except CommandFailed as error:
            raise LayerError(
                f"docker did not create {site.name} on {outer.name}: {error}"
            ) from error
        made = Instance(outer, site, daemon, agent)
        made.network, made.front, made.runtime = self.network, front, self.runtime
        if self._attached == "bridge":
            made.rates = rate.LinkRates(
                outer, site, lambda: rate.end_of(outer, daemon.pid(site.name))
            )
        return made

    def _agent_folder(self, outer: Machine, site: layer.Site, daemon: Daemon) -> str:
        """Make the folder through which a container has the agent as its main program, if it can.

        It is mounted, so a daemon of Tare's own has to run the container in the kernel that the
        socket is in; elsewhere the agent is pushed, at the cost of a client that stays.
        """
        folder = f"{site.folder}/{site.name}.agent"
        is_near = daemon.own and can_connect(outer, f"{folder}/socket")
        # Another image may have another user, without the right to write there.
        if site.agents is None or not is_near or self.runtime not in OCI or self.image:
            return ""
        site.scope.about_to_make("folder", folder, outer, ["rm", "-rf", folder])
        try:
            site.agents.install(outer, folder)
        except NoAgent:  # the reason is reported where it would be pushed
            return ""
        return folder

    def create_argv(
        self, daemon: Daemon, image: str, site: layer.Site, agent: str = ""
    ) -> list[str]:
        """Build the command that creates the container; ``agent`` is the folder of its agent."""
        runtime = daemon.runtime(self.runtime, self._attached, privileged=self.privileged)
        return [
            *daemon.client, "create", "--name", site.name, f"--runtime={runtime}",
            f"--network={self._attached}",
            *limit_argv(site.limits, site.cpuset, memory=not self.memory_limit),
            *switch_argv(self),
            *capability_argv(daemon.machine, self.capabilities), *MOUNTS[self.storage],
            *([f"--cgroup-parent=/tare/{site.name}"] if daemon.own else []),
            *(["--privileged"] if self.privileged else []),
            *(["--mount", f"type=bind,src={agent},dst={MOUNTED_AT}"] if agent else []),
            *(["--entrypoint", f"{MOUNTED_AT}/agent"] if agent else []),
            image, *([f"{MOUNTED_AT}/socket"] if agent else ["sleep", "infinity"]),
        ]  # fmt: skip


class Instance(instance.Instance):
    """One container; ``front`` is the address that is translated to its own, if any.

    ``agent`` is the folder of the agent that is its main program; empty where that is a sleep.
    """

    front = ""
    runtime = "runc"
    _behind = ""

    def __init__(self, outer: Machine, site: layer.Site, daemon: Daemon, agent: str = "") -> None:
        self.outer, self.site, self.daemon, self.agent = outer, site, daemon, agent
        enter = [*daemon.client, "exec", "--interactive", site.name]
        self.machine: Machine = Inner(outer, "docker", lambda argv: [*enter, *argv])
        self.cpuset, self.files_at = site.cpuset, daemon.root
        self.is_paused = False

    def start(self) -> None:
        """See Instance.start."""
        self._docker("start")

    def ready(self) -> None:
        """See Instance.ready."""
        agents = self.site.agents
        if agents is not None and self.agent and not isinstance(self.machine, AgentMachine):
            path, deadline_s = f"{self.agent}/socket", self.site.deadline_s
            self.machine = agents.connect(
                self.machine, self.outer, path, deadline_s, lambda: self.daemon.runs(self.site.name)
            )
        try:
            check(self.machine, ["mkdir", "-p", self.workdir], timeout_s=self.site.deadline_s)
        except CommandFailed as error:
            raise LayerError(f"{self.site.name} does not answer: {error}") from error

    def stop(self, *, hard: bool = False) -> None:
        """See Instance.stop. Docker loses a gVisor that is killed while it is paused."""
        if self.is_paused:
            self.resume()
        for verb in ("kill", "wait") if hard else ("stop",):
            self._docker(verb)

    def reboot(self, *, hard: bool = False) -> None:
        """See Instance.reboot."""
        if self.is_paused:
            self.resume()
        if hard:
            super().reboot(hard=True)
        else:
            self._docker("restart")

    def pause(self) -> None:
        """See Instance.pause. The daemon, which takes its time, is asked only where it must be.

        It does not know then: whatever it is to end is thawed first.
        """
        if self._freezer is None:
            self._docker("pause")
        else:
            self._freezer.freeze()
        self.is_paused = True

    def resume(self) -> None:
        """See Instance.resume."""
        if self._freezer is None:
            self._docker("unpause")
        else:
            self._freezer.thaw()
        self.is_paused = False

    def address(self) -> str | None:
        """See Instance.address."""
        if self.network not in ("bridge", "nat"):
            return super().address()
        own = self.daemon.address(self.site.name)
        if self.front and own != self._behind:  # at first, and when it was started anew
            nat.translate(self.outer, self.site, self.front, own)
            self._behind = own
        return self.front or own

    def confine(self, outer: Machine, limits: Limits) -> None:
        """See Instance.confine."""
        if not self.files_at and limits.optional:
            self.files_at = self.daemon.folder()
        super().confine(outer, limits)

    def threads(self) -> Threads:
        """See Instance.threads."""
        return Threads(cgroup=self._group)

    @cached_property
    def _group(self) -> str:
        # Asked once: it is wanted before every trial, and a client takes its time.
        return self.daemon.group(self.site.name)

    @cached_property
    def _freezer(self) -> cgroup.Group | None:
        # It is the same after a reboot. Of a runtime that is not known here (Kata) the processes
        # may not all be in the group.
        if self.runtime not in oci.KNOWN:
            return None
        group = self.daemon.freezer(self.site.name)
        if group is not None:  # a daemon waits 10 s for what is frozen to die, so that is thawed
            undo = ["sh", "-c", cgroup.THAW, group.path]
            self.site.scope.about_to_make("freeze", group.path, self.outer, undo)
        return group

    def _docker(self, verb: str) -> None:
        self.daemon.do(verb, self.site.name, self.site.deadline_s)
