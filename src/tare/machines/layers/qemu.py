"""A virtual machine under QEMU: stock Debian kernel, virtio, the userland on its disk."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from tare.core.errors import CommandFailed, LayerError, Unavailable
from tare.core.model import DiskCache, Limits
from tare.core.model.cell import NETWORK
from tare.machines import layer
from tare.machines.backends import guest_disk as disks
from tare.machines.backends import qemu, tree
from tare.machines.cgroup import cgroup
from tare.machines.layers._qemu_guest import Guest
from tare.machines.layers._qemu_image import Own
from tare.machines.machine import Machine, text
from tare.machines.network import nat, rate, tap
from tare.machines.ssh import Connection
from tare.machines.switch import Switch
from tare.machines.userland import System, architecture, kvm

if TYPE_CHECKING:
    from tare.machines.userland import Userland

HELD = (
    Switch(
        name="cache", setting="cache", on="writeback", off="none", shows=("disk_cache",),
        about="the host's memory as a second cache of the disk, QEMU's default, or O_DIRECT",
    ),
    Switch(
        name="vcpus", setting="vcpus", on=None, off="pinned", shows=("vcpus",),
        about="virtual CPUs that the host moves among the guest's CPUs, or each on one of its own",
    ),
)  # fmt: skip
"""How the host holds a guest, which the guest does not see."""


@dataclass(frozen=True, kw_only=True)
class Layer(layer.Layer, qemu.Hardware):
    """A guest; ``accel: auto`` takes KVM where a guest comes up on it, else emulation (TCG).

    ``os`` is the Debian that is booted and serves containers; those run the shared userland on any.
    ``image`` is a disk of the user's own (qcow2 or raw, only read) instead, booted by its own
    loader from ``firmware``; ``user`` logs in there with the private key in the file ``key``.
    ``netdev`` is how other machines reach it: a ``tap`` device, or QEMU's own network of ``user``
    mode, which translates in QEMU's process. ``cache`` is how the host caches its disk, where that
    is not left to the study's limits. ``vcpus: pinned`` gives each virtual CPU a CPU of its own.
    ``disk_size_bytes`` is how large its disk is; unless given, as large as the image that is built.
    """

    accel: Literal["kvm", "tcg", "auto"] = "auto"
    os: Literal["bookworm", "trixie"] = "bookworm"
    image: str = ""
    firmware: Literal["bios", "uefi"] = "bios"
    user: str = "root"
    key: str = ""
    netdev: Literal["tap", "user"] = "tap"
    cache: Literal["none", "writeback"] | None = None
    vcpus: Literal["pinned"] | None = None
    disk_size_bytes: int | None = None

    switches = (*qemu.SWITCHES, *HELD)
    # With the flavour left to itself, emulated devices would bring another kernel with them.
    ladder_settings = (("kernel", "generic"),)

    packages = ("qemu-utils", "openssh-client", "socat", "iproute2")
    boots_guest = True
    own_kernel = True
    nominal_start_s = 10.0

    def __post_init__(self) -> None:
        """Refuse what cannot be, with ValueError."""
        super().__post_init__()
        disks.check_size(self.disk_size_bytes)
        if self.image and self.disk_size_bytes:
            raise ValueError("disk_size_bytes: the image has a size; expected it to be left out")
        if self.board == "microvm" and self.accel == "tcg":
            raise ValueError(f"machine: {NO_CLOCK}; expected pc or q35")
        if not self.image and (self.key or self.user != "root" or self.firmware == "uefi"):
            raise ValueError("image is missing; key, user and firmware are those of an image")
        if self.image and not self.key:
            raise ValueError("key is missing; expected the file of the key that opens the image")
        if self.image and not self.image.startswith("/"):
            raise ValueError("image: expected a path that begins with /")
        if self.image and (self.board == "microvm" or (self.arch, self.firmware) == ARM_BIOS):
            raise ValueError("image: it boots by BIOS on pc and q35, by firmware: uefi on arm64")

    @property
    def system(self) -> System:
        """What the shared guest is made of."""
        return System(suite=self.os, arch=self.arch, kernel=self.flavour)

    def needs(self) -> tuple[str, ...]:
        """See Layer.needs."""
        uefi = (qemu.UEFI_PACKAGES[self.arch],) if self.firmware == "uefi" else ()
        return (qemu.PACKAGES[self.arch], *self.packages, *uefi)

    def detected_as(self) -> tuple[str, ...]:
        """See Layer.detected_as."""
        return {"kvm": ("kvm",), "tcg": ("qemu-tcg",), "auto": ("kvm", "qemu-tcg")}[self.accel]

    def held_to(self, limits: Limits) -> Limits:
        """See Layer.held_to."""
        return replace(limits, disk_cache=DiskCache(self.cache)) if self.cache else limits

    def lacks(self, limits: Limits) -> str:
        """See Layer.lacks."""
        if self.vcpus != "pinned" or limits.is_pinned:
            return super().lacks(limits)
        return f"vcpus: pinned needs CPUs of its own, and cpu_limit: {limits.cpu_limit} gives none"

    def commits(self, limits: Limits) -> int:
        """See Layer.commits; huge pages are reserved before, and asked for when it is made."""
        return 0 if self.hugepages else limits.memory_bytes

    def own_system(self) -> str:
        """See Layer.own_system."""
        if self.image:
            return f"the image {self.image}"
        return f"Debian {self.os}" if self.os != "bookworm" else ""

    def caveat(self) -> str:
        """See Layer.caveat."""
        if self.arch == architecture.HERE:
            return ""
        return f"another architecture is compared: {self.arch}, and programs built for it"

    def prepare(self, host: Machine, userland: Userland) -> None:
        """See Layer.prepare."""
        if not self.image:
            userland.guest(host, self.system)

    def probe(self, outer: Machine, userland: Userland | None) -> Mapping[str, str]:
        """See Layer.probe."""
        version = outer.run([self.binary, "--version"])
        if version.returncode != 0:
            raise Unavailable(f"{self.binary} is not installed on {outer.name}",
                              f"apt-get install {qemu.PACKAGES[self.arch]} qemu-utils")  # fmt: skip
        for tool, package in (("qemu-img", "qemu-utils"), ("socat", "socat"), ("ip", "iproute2")):
            if outer.run(["sh", "-c", 'command -v "$0"', tool]).returncode != 0:
                raise Unavailable(
                    f"{tool} is not installed on {outer.name}", f"apt-get install {package}"
                )
        self._refuse_missing(outer)
        facts = {"qemu.version": version.stdout.decode().splitlines()[0]}
        accel = self.accel
        own = architecture.of(outer) if accel != "tcg" else self.arch
        if self.arch != own and accel == "kvm":
            raise Unavailable(
                f"KVM runs guests of the machine's own architecture: {outer.name} is {own}, a "
                f"guest of {self.arch} was asked for",
                f"arch: {own}, or emulate it: qemu-tcg",
            )
        if self.arch != own:
            accel = "tcg"
        if accel != "tcg":
            found = kvm.usable(outer, userland)
            if found and accel == "kvm":
                raise Unavailable(*found)
            accel = "tcg" if found else "kvm"
        if self.board == "microvm" and accel == "tcg":
            raise Unavailable(NO_CLOCK, "machine: pc, or a host with hardware virtualization")
        if not self.image:
            facts["qemu.kernel"] = self.system.kernel_package
        return facts | {"qemu.accel": accel}

    def no_link(self) -> str:
        """See Layer.no_link: QEMU's own network is in its process, and has no end outside."""
        # An image's system may do anything with a second network, and a microvm mix up the two.
        if self.netdev == "user" or self.image or self.board == "microvm":
            return "its one network is in QEMU; leave out netdev:, image: and machine: microvm"
        return ""

    def create(self, outer: Machine, site: layer.Site) -> Guest:
        """See Layer.create."""
        accel = self.probe(outer, site.userland)["qemu.accel"]
        if self.hugepages:
            qemu.refuse_too_few_huge_pages(outer, site.limits.memory_bytes)
        folder = f"{site.folder}/{site.name}"
        if self.image:
            boot, key = qemu.firmware_argv(self, self.firmware), self.key
            backing, form = self.image, _format(outer, self.image)
        else:
            guest = site.userland.guest(outer, self.system)
            boot, key = qemu.kernel_argv(self, str(guest.kernel), str(guest.initrd)), str(guest.key)
            backing, form = str(guest.disk), "raw"
        tree.own_folder(outer, site)
        front = nat.make(outer, site) if site.reached and self.netdev == "user" else ""
        ports = nat.ports() if front else None
        published = self.published_argv(front, ports) if ports else []
        is_held = any(name in NETWORK for name, _ in site.limits.optional)
        has_cable = (site.reached or is_held) and not self.no_link()
        cable = tap.make(outer, site) if has_cable else None
        if cable:
            boot = [*self.cable_argv(cable.device), *boot]
        group = cgroup.make(outer, f"tare/{site.name}", site.scope)
        try:
            disks.make(outer, backing, f"{folder}/disk", self.disk_size_bytes, form)
        except CommandFailed as error:
            raise LayerError(f"could not make a disk for {site.name}: {error}") from error
        connection = Connection(self.user, "127.0.0.1", 0, key, f"{folder}/ssh")

        def start(port: int) -> list[str]:
            limits = self.held_to(site.limits)
            return [*self.argv(folder, limits, accel, port, published), *boot]

        made = (Own if self.image else Guest)(outer, site, group, connection, start)
        # It has none of the devices that a PC is reset by; a new QEMU is one for certain.
        made.resets = self.board != "microvm"
        made.cable, made.front = cable, front
        if cable:
            made.rates = rate.LinkRates(outer, site, lambda: cable.device)
        made.ports = ports
        made.is_pinned = self.vcpus == "pinned"
        made.grows_to = self.disk_size_bytes
        return made

    def _refuse_missing(self, outer: Machine) -> None:
        """Refuse files and CPU models that are not there."""
        uefi = qemu.UEFI[self.arch] if self.firmware == "uefi" else ""
        for what, path in (("image", self.image), ("key", self.key), ("UEFI", uefi)):
            if path and outer.run(["test", "-f", path]).returncode != 0:
                fix = f"apt-get install {qemu.UEFI_PACKAGES[self.arch]}"
                raise Unavailable(
                    f"there is no {what} {path} on {outer.name}",
                    fix if path == uefi else f"correct {what}: in the study",
                )
        model = self.cpu.partition(",")[0]
        if model and model != "host":
            known = outer.run([self.binary, "-cpu", "help"]).stdout.decode().split()
            if model not in known:
                raise Unavailable(
                    f"QEMU on {outer.name} knows no CPU {model}", f"{self.binary} -cpu help"
                )


ARM_BIOS = ("arm64", "bios")
# The kernel has nothing to measure the rate of the CPU's counter by, and gets it from KVM only.
NO_CLOCK = "a microvm that is emulated has no clock"


def _format(outer: Machine, image: str) -> str:
    """Read a disk image's format, or raise LayerError."""
    try:
        found = json.loads(text(outer, ["qemu-img", "info", "--output=json", image]))
    except CommandFailed as error:
        raise LayerError(f"{image} is no disk image: {error}") from error
    return str(found["format"])
