"""Files that boot a machine: disk, kernel, initial RAM disk, and the ssh key of root."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from tare.machines.machine import Machine, check

FILES = ("disk.img", "vmlinuz", "initrd", "key")


@dataclass(frozen=True, slots=True)
class Bootable:
    """The files of one, in a folder of the machine that will run it."""

    folder: Path

    @property
    def disk(self) -> Path:
        """The disk, a raw image that is only read: each guest writes to its own overlay."""
        return self.folder / "disk.img"

    @property
    def kernel(self) -> Path:
        """The Linux kernel; under Xen it is dom0's."""
        return self.folder / "vmlinuz"

    @property
    def initrd(self) -> Path:
        """The initial RAM disk of that kernel."""
        return self.folder / "initrd"

    @property
    def key(self) -> Path:
        """The private key that lets root in by ssh."""
        return self.folder / "key"


def make_key(host: Machine, folder: Path) -> Path:
    """Make the key in a folder, and give the public half; raises CommandFailed."""
    check(host, ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "key")])
    return folder / "key.pub"


def make_disk(host: Machine, folder: Path, tree: Path, size_bytes: int, timeout_s: float) -> None:
    """Put a tree on a disk in a folder, and remove the tree; raises CommandFailed."""
    disk = ["mke2fs", "-q", "-t", "ext4", "-d", str(tree), "-E", "lazy_itable_init=1",
            str(folder / "disk.img"), f"{size_bytes // 1024}k"]  # fmt: skip
    check(host, disk, timeout_s=timeout_s)
    shutil.rmtree(tree)
