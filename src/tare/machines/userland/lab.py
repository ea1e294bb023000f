"""Build the lab's disk: Debian with systemd, as a KVM host, container host and Xen dom0."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from tare.core.errors import CommandFailed, LayerError, Unavailable
from tare.core.home import home
from tare.machines.ledger import Ledger, Scope
from tare.machines.machine import check
from tare.machines.userland import cache
from tare.machines.userland.bootable import Bootable, make_disk, make_key
from tare.machines.userland.dpkg import installed
from tare.machines.userland.guest import IN_TREE
from tare.machines.userland.tree import bootstrap_argv

RECIPE_VERSION = 1
SUITE = "bookworm"
SHELVES = ("userland", "guest")
"""What a lab sees of the controlling host's cache, below ``tree.SHARED``."""
PACKAGES = (
    *("systemd-sysv", "dbus", "udev", "kmod", "procps", "e2fsprogs", "zstd"),
    *("openssh-server", "openssh-client", "iproute2", "iptables", "dnsmasq-base", "socat"),
    *("linux-image-amd64", "initramfs-tools", "qemu-system-x86", "qemu-utils", "docker.io"),
    *("libvirt-daemon-system", "libvirt-daemon-driver-qemu", "libvirt-daemon-driver-lxc"),
    *("libvirt-daemon-driver-xen", "libvirt-clients"),
    *("xen-hypervisor-4.17-amd64", "xen-utils-4.17", "qemu-system-xen"),
)
DISK_BYTES = 16 * 2**30
NEEDS_BYTES = 5_000_000_000
BUILD_S = 900.0


@dataclass(frozen=True, slots=True)
class Image(Bootable):
    """What boots a lab, in a folder of the controlling host."""

    versions: Mapping[str, str]

    @property
    def xen(self) -> Path:
        """The Xen hypervisor, unpacked: an ELF file that QEMU loads by the multiboot protocol."""
        return self.folder / "xen"


def is_built() -> bool:
    """Return whether the disk is there without building anything."""
    return cache.find(home() / "lab", _recipe()) is not None


def build_lab(ledger: Ledger) -> Image:
    """Find or build the lab's disk, or raise Unavailable or LayerError."""

    def make(folder: Path, scope: Scope) -> Mapping[str, object]:
        try:
            return {**_recipe(), "versions": _make(folder, scope)}
        except CommandFailed as error:
            raise LayerError(f"the lab's disk could not be built: {error}") from error

    folder = cache.build(home() / "lab", _recipe(), ledger, NEEDS_BYTES, make)
    manifest = json.loads((folder / cache.MANIFEST).read_text())
    return Image(folder, manifest["versions"])


def _setup() -> str:
    return files("tare.machines.userland").joinpath("lab_files/setup").read_text()


def _recipe() -> Mapping[str, object]:
    return {
        "version": RECIPE_VERSION,
        "suite": SUITE,
        "packages": sorted(PACKAGES),
        "disk_bytes": DISK_BYTES,
        "setup": _setup(),
    }


def _make(folder: Path, scope: Scope) -> Mapping[str, str]:
    for tool, package in (
        ("mmdebstrap", "mmdebstrap"),
        ("mke2fs", "e2fsprogs"),
        ("ssh-keygen", "openssh-client"),
    ):
        if shutil.which(tool) is None:
            raise Unavailable(f"{tool} is not installed", f"apt-get install {package}")
    host, tree = cache.builder(folder, scope), folder / "tree"
    bootstrap = bootstrap_argv({"suite": SUITE, "packages": sorted(PACKAGES)}, tree)
    check(host, ["unshare", "--mount", *bootstrap], timeout_s=BUILD_S)
    inside = ["unshare", "--mount", "sh", "-c", IN_TREE, str(tree)]
    check(host, [*inside, "sh", "-c", _setup()], timeout_s=BUILD_S)
    shutil.copy(make_key(host, folder), tree / "root/.ssh/authorized_keys")
    for name in ("vmlinuz", "initrd"):
        (found,) = (tree / "boot").glob(f"{name}*-amd64")
        shutil.copy(found, folder / name)
    (packed,) = (tree / "boot").glob("xen-*-amd64.gz")
    (folder / "xen").write_bytes(gzip.decompress(packed.read_bytes()))
    versions = installed(tree)
    make_disk(host, folder, tree, DISK_BYTES, BUILD_S)
    return versions
