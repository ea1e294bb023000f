"""Choose what boots a guest: Debian suite, architecture, kernel, initial RAM disk."""

from __future__ import annotations

import lzma
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal

from tare.machines.machine import Machine, check, text
from tare.machines.userland.architecture import CONSOLES, Arch
from tare.machines.userland.cpio import archive

BUILD_S = 900.0
DRIVERS = ("virtio_pci", "virtio_blk", "virtio_net", "xen_blkfront", "xen_netfront")
# What the cloud flavour leaves out, or has built in; ext4 looks for its checksums when it mounts.
GENERIC_DRIVERS = (
    "virtio_mmio", "nvme", "ahci", "ata_piix", "sd_mod", "e1000", "crc32c_generic", "ext4",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """What boots a guest: a Debian suite (the userland's own if empty), and a kernel's flavour."""

    suite: str = ""
    arch: Arch = "amd64"
    kernel: Literal["cloud", "generic"] = "cloud"

    @property
    def kernel_package(self) -> str:
        """The package that depends on the newest kernel."""
        return f"linux-image-{'cloud-' if self.kernel == 'cloud' else ''}{self.arch}"

    @property
    def drivers(self) -> tuple[str, ...]:
        """What the initial RAM disk loads."""
        return DRIVERS + (GENERIC_DRIVERS if self.kernel == "generic" else ())


SAME = System()
"""The suite of an amd64 userland and the kernel that boots fastest."""

AMD64_CONSOLE = b"/dev/ttyS0"
"""What stands in the first program of the initial RAM disk."""


def place_kernel(
    host: Machine, folder: Path, tree: Path, inside: Sequence[str], system: System
) -> Mapping[str, object]:
    """Move a tree's unpacked kernel next to it, and its modules into it; return its version.

    ``inside`` are the words before a command that is to run in the tree.
    """
    unpacked = tree / "var/lib/tare-kernel"
    (image,) = (unpacked / "boot").glob("vmlinuz-*")
    release = image.name.removeprefix("vmlinuz-")
    (tree / "lib/modules").mkdir(exist_ok=True)
    (modules,) = (at for at in unpacked.glob("**/lib/modules") if (at / release).is_dir())
    shutil.move(modules / release, tree / "lib/modules" / release)
    check(host, [*inside, "depmod", release], timeout_s=BUILD_S)
    shown = [text(host, [*inside, "modprobe", "-S", release, "--show-depends", driver])
             for driver in system.drivers]  # fmt: skip
    needed = dict.fromkeys(
        line.split()[1] for lines in shown for line in lines.splitlines()
        if line.startswith("insmod ")
    )  # fmt: skip
    init = files("tare.machines.userland").joinpath("files/initramfs-init").read_bytes()
    init = init.replace(AMD64_CONSOLE, f"/dev/{CONSOLES[system.arch]}".encode())
    content = {"init": init, "bin/busybox": (tree / "bin/busybox").read_bytes()}
    for order, module in enumerate(needed):
        packed = (tree / module.lstrip("/")).read_bytes()
        plain = lzma.decompress(packed) if module.endswith(".xz") else packed
        content[f"modules/{order:02d}.ko"] = plain
    (folder / "initrd").write_bytes(archive(content))
    shutil.copy(image, folder / "vmlinuz")
    version = (unpacked / "version").read_text().strip()
    shutil.rmtree(unpacked)
    return {"kernel_release": release, "kernel_version": version}
