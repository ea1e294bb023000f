"""The lab: a Debian host with emulated hardware virtualization, for layers the hardware refuses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tare.core.errors import CommandFailed, LayerError, Unavailable
from tare.core.model import DiskCache, Limits
from tare.machines import instance, layer
from tare.machines.backends.lab import find, serving
from tare.machines.backends.lab_boot import BINARY, LINUX_CPUS, NEEDS_MIB
from tare.machines.backends.lab_machine import Hypervisor, Lab
from tare.machines.cgroup import cgroup
from tare.machines.instance import Threads
from tare.machines.machine import Host, Machine, check
from tare.machines.network.addresses import CABLE_BITS
from tare.machines.network.route import Routes
from tare.machines.network.tap import PLUG
from tare.machines.userland import lab

if TYPE_CHECKING:
    from tare.machines.userland import Userland

TOOLS = {
    BINARY: "qemu-system-x86",
    "qemu-img": "qemu-utils",
    "socat": "socat",
    "ssh": "openssh-client",
}


@dataclass(frozen=True, kw_only=True)
class Layer(layer.Layer):
    """One machine for all instances: plain Linux with KVM, or Xen with Linux as its dom0.

    A stack may begin with it: ``lab/kvm`` is ``kvm`` on the lab on this host.
    """

    hypervisor: Hypervisor = "kvm"

    packages = tuple(TOOLS.values())
    runs_userland = False
    own_kernel = True
    shared = True
    nominal_start_s = 60.0

    def probe(self, outer: Machine, userland: Userland | None) -> Mapping[str, str]:
        """See Layer.probe."""
        del userland
        if not isinstance(outer, Host):
            raise Unavailable(
                f"a lab is opened on the controlling host, not on {outer.name}",
                f"run Tare itself on {outer.name}",
            )
        for tool, package in TOOLS.items():
            if outer.run(["sh", "-c", 'command -v "$0"', tool]).returncode != 0:
                raise Unavailable(
                    f"{tool} is not installed on {outer.name}", f"apt-get install {package}"
                )
        if not lab.is_built() and outer.run(["mmdebstrap", "--version"]).returncode != 0:
            raise Unavailable("mmdebstrap is not installed", "apt-get install mmdebstrap")
        version = outer.run([BINARY, "--version"]).stdout.decode().splitlines()[0]
        up = find(self.hypervisor)
        return {
            "lab.qemu": version,
            "lab.hypervisor": self.hypervisor,
            "lab.machine": "up" if up is not None and up.lives() else "booted for the session",
        }

    def commits(self, limits: Limits) -> int:
        """See Layer.commits; one that is up took its memory when it was booted."""
        del limits
        up = find(self.hypervisor)
        return 0 if up is not None and up.lives() else NEEDS_MIB * 2**20

    def holds_processes(self) -> bool:
        """See Layer.holds_processes: the group is one of the lab's own kernel."""
        return True

    def own_system(self) -> str:
        """See Layer.own_system."""
        return "the lab's own Debian"

    def caveat(self) -> str:
        """See Layer.caveat."""
        return (
            "measured in a lab: hardware virtualization emulated by QEMU TCG; "
            "ratios inside the lab say nothing about hardware"
        )

    def detected_as(self) -> tuple[str, ...]:
        """See Layer.detected_as."""
        return ("qemu-tcg",) if self.hypervisor == "kvm" else ("*",)

    def create(self, outer: Machine, site: layer.Site) -> Instance:
        """See Layer.create."""
        self.probe(outer, None)
        return Instance(serving(outer, site, self.hypervisor), site)


class Instance(instance.Instance):
    """The use that one stack makes of the lab."""

    shared = True
    passes_on = True
    takes_agent = False  # it is awake only for the commands of those that use it

    def __init__(self, of: Lab, site: layer.Site) -> None:
        self.lab, self.site = of, site
        self.machine: Machine = of.machine
        self._is_plugged = False
        self._ways = Routes(of.outer, of.machine, site)
        there = LINUX_CPUS[of.hypervisor]
        first = max(0, there - site.limits.cpus) if site.limits.is_pinned else 0
        self.cpuset = ",".join(map(str, range(first, there)))
        self.workdir = f"/var/tmp/{site.name}"  # noqa: S108 - on the disk, and its name is Tare's

    def start(self) -> None:
        """See Instance.start."""
        self.lab.take(self.site.name)

    def ready(self) -> None:
        """See Instance.ready."""
        inside = self.lab.machine
        remove = ["rm", "-rf", "--one-file-system", self.workdir]
        self.site.scope.about_to_make("folder", self.workdir, inside, remove)
        try:
            check(inside, ["mkdir", "-p", self.workdir])
        except CommandFailed as error:
            raise LayerError(f"the lab does not answer: {error}") from error

    def hold(self) -> None:
        """Limit what runs in the lab itself; layers inside limit their own instances."""
        group = cgroup.make(
            self.lab.machine,
            f"tare/{self.site.name}",
            self.site.scope,
            cpuset=self.cpuset,
            limits=self.site.limits,
        )
        self.machine = self.lab.machine.held(group)

    def pause(self) -> None:
        """See Instance.pause."""
        self.lab.drop(self.site.name)

    def resume(self) -> None:
        """See Instance.resume."""
        self.lab.take(self.site.name)

    def disk_cache(self) -> DiskCache:
        """See Instance.disk_cache: it is booted without a cache, whatever the limits say."""
        return DiskCache.NONE

    def address(self) -> str:
        """See Instance.address: its end of the cable is set up when somebody asks for it."""
        cable = self.lab.cable
        if not self._is_plugged:
            try:
                plug = ["sh", "-c", PLUG, f"{cable.address}/{CABLE_BITS}", cable.gateway]
                check(self.lab.machine, plug)
            except CommandFailed as error:
                raise LayerError(f"the lab has no network of its own: {error}") from error
            self._is_plugged = True
        return cable.address

    def gateway(self) -> str:
        """See Instance.gateway: the host's end of the cable."""
        return self.lab.cable.gateway

    def route_to(self, address: str) -> None:
        """See Instance.route_to: by the cable, for QEMU's own network lets no answer in."""
        self._ways.out(address, self.address(), self.gateway())

    def pass_on(self, address: str) -> None:
        """See Instance.pass_on."""
        self._ways.into(address, self.address(), self.gateway())

    def holding_group(self, outer: Machine) -> cgroup.Group:
        """See Instance.holding_group: not the lab as a whole is held, but one stack in it."""
        del outer
        return cgroup.Group(self.lab.machine, f"tare/{self.site.name}")

    def threads(self) -> Threads:
        """See Instance.threads.

        The CPU time is that of the whole lab, where all others are paused.
        """
        return Threads(cgroup=self.lab.group, comm="CPU ")
