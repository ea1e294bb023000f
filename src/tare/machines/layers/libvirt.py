"""Domains under libvirt: QEMU and Xen guests, LXC containers, by the same verbs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tare.core.errors import CommandFailed, LayerError, Unavailable
from tare.core.model import Limits
from tare.machines import layer
from tare.machines.backends import guest_disk as disk
from tare.machines.backends import libvirt, qemu, tree
from tare.machines.cgroup import cgroup
from tare.machines.layers._libvirt_domain import Container, Domain, Guest
from tare.machines.machine import Machine
from tare.machines.userland import System, architecture, kvm
from tare.machines.userland.architecture import HERE, NAMES

if TYPE_CHECKING:
    from tare.machines.userland import Userland

PACKAGES = {
    "qemu": ("libvirt-daemon-driver-qemu", qemu.PACKAGES[HERE], "qemu-utils", "iproute2"),
    "lxc": ("libvirt-daemon-driver-lxc", "util-linux"),
    "xen": ("libvirt-daemon-driver-xen", "qemu-utils", "iproute2"),
}
TOOLS = {"qemu": (f"qemu-system-{NAMES[HERE]}", "qemu-img", "ip"), "lxc": ("nsenter",),
         "xen": ("qemu-img", "ip")}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Layer(layer.Layer):
    """A domain of the hypervisor at ``uri``, which is asked through virsh.

    Where nobody answers at ``qemu:///system`` or ``lxc:///system``, a libvirtd of Tare's own does.
    ``type`` is QEMU's: ``auto`` takes KVM where a guest comes up on it, else emulation.
    ``guest`` is Xen's. ``disk_size_bytes`` is how large a guest's disk is; unless given, as large
    as the image that is built.
    """

    uri: str = "qemu:///system"
    type: Literal["auto", "kvm", "qemu"] = "auto"
    guest: Literal["xenpv", "xenpvh"] = "xenpvh"
    disk_size_bytes: int | None = None

    packages = ("libvirt-clients", "libvirt-daemon", "openssh-client")
    nominal_start_s = 10.0

    def __post_init__(self) -> None:
        """Refuse a hypervisor that cannot be given the userland, with ValueError."""
        if self.driver not in PACKAGES:
            known = ", ".join(f"{name}:///system" for name in PACKAGES)
            raise ValueError(f"uri: {self.uri} cannot run the userland; expected one like {known}")
        disk.check_size(self.disk_size_bytes)
        if self.disk_size_bytes and not self.boots_guest:
            raise ValueError("disk_size_bytes: a container has no disk of its own; leave it out")

    @property
    def driver(self) -> str:
        """The hypervisor."""
        return libvirt.driver(self.uri)

    @property
    def boots_guest(self) -> bool:  # type: ignore[override]  # here it depends on a setting
        """See Layer.boots_guest."""
        return self.driver != "lxc"

    @property
    def own_kernel(self) -> bool:  # type: ignore[override]  # as above
        """See Layer.own_kernel."""
        return self.boots_guest

    @property
    def has_group(self) -> bool:  # type: ignore[override]  # as above
        """See Layer.has_group: Xen's domains are not processes of Linux."""
        return self.driver != "xen"

    def needs(self) -> tuple[str, ...]:
        """See Layer.needs."""
        return (*self.packages, *PACKAGES[self.driver])

    def detected_as(self) -> tuple[str, ...]:
        """See Layer.detected_as."""
        if self.driver != "qemu":
            return (self.driver,)
        return {"kvm": ("kvm",), "qemu": ("qemu-tcg",), "auto": ("kvm", "qemu-tcg")}[self.type]

    def probe(self, outer: Machine, userland: Userland | None) -> Mapping[str, str]:
        """See Layer.probe."""
        facts = {"libvirt.version": libvirt.usable(outer, self.uri), "libvirt.uri": self.uri}
        for tool in TOOLS[self.driver]:
            if outer.run(["sh", "-c", 'command -v "$0"', tool]).returncode != 0:
                packages = " ".join(self.needs())
                raise Unavailable(
                    f"{tool} is not installed on {outer.name}", f"apt-get install {packages}"
                )
        if self.driver != "qemu":
            return facts
        kind: str = self.type
        if kind != "qemu":
            found = kvm.usable(outer, userland)
            if found and kind == "kvm":
                raise Unavailable(*found)
            kind = "qemu" if found else "kvm"
        return facts | {"libvirt.type": kind}

    def lacks(self, limits: Limits) -> str:
        """See Layer.lacks."""
        if self.driver != "xen" and limits.cpu_weight is not None:
            return "libvirt has one group for all its domains, whose weight cannot be that of one"
        if self.driver != "xen" or limits.quota_cpus is None:
            return super().lacks(limits)
        return "Xen schedules its domains itself, and has no quota of CPU time as Linux has"

    def no_disk(self) -> str:
        """See Layer.no_disk."""
        return "Tare does not hold the disks of libvirt's domains yet"

    def no_link(self) -> str:
        """See Layer.no_link."""
        return "it is a domain of libvirt's, whose network Tare does not hold yet"

    def commits(self, limits: Limits) -> int | None:
        """See Layer.commits: Xen's memory is not this Linux's."""
        return 0 if self.driver == "xen" else super().commits(limits)

    def create(self, outer: Machine, site: layer.Site) -> Domain:
        """See Layer.create."""
        facts = self.probe(outer, site.userland)
        daemon = libvirt.serving(outer, site, self.uri)
        folder = tree.own_folder(outer, site)
        try:
            if self.driver == "lxc":
                cgroup.refuse_uncounted_swap(outer, site.limits)
                return Container(outer, site, daemon, folder)
            kind = facts.get("libvirt.type", self.guest)
            image = str(site.userland.guest(outer, System(arch=architecture.of(outer))).disk)
            disk.make(outer, image, f"{folder}/disk", self.disk_size_bytes)
            made = Guest(outer, site, daemon, folder, kind)
        except CommandFailed as error:
            raise LayerError(f"could not prepare {site.name} on {outer.name}: {error}") from error
        made.grows_to = self.disk_size_bytes
        return made
