"""Make a guest's disk as a qcow2 overlay of the shared image, and check how the host caches it."""

from __future__ import annotations

from tare.core.errors import CommandFailed, LayerError
from tare.core.model import DiskCache
from tare.machines.machine import Machine, check, text
from tare.machines.userland import DISK_BYTES

# The open files of the process that serves the disk show whether the host caches it. O_DIRECT in
# the (octal) flags that the kernel shows is another bit on arm64.
DIRECT = "case $(uname -m) in aarch64) direct=0200000 ;; *) direct=040000 ;; esac\n"
IS_DIRECT = (
    DIRECT
    + r"""
for file in /proc/[0-9]*/fd/*; do
    [ "$(readlink "$file")" = "$0" ] || continue
    flags=$(awk '/^flags:/ { print $2 }' "${file%/fd/*}/fdinfo/${file##*/}")
    [ $((flags & direct)) -ne 0 ] && echo yes || echo no
    exit
done
echo "no process holds $0 open" >&2
exit 1
"""
)


# The file system is on the whole disk. It can grow while it is mounted, which takes a second.
GROW = r"""
device=$(awk '$2 == "/" { print $1; exit }' /proc/mounts)
resize2fs "$device" > /dev/null && stat -f -c '%b %S' /
"""
OF_DISK = 0.9
"""The part of a disk that its file system must have: inodes and the journal take the rest."""


def check_size(size_bytes: int | None) -> None:
    """Raise ValueError where a disk would be smaller than the image below it."""
    if size_bytes is not None and (size_bytes < DISK_BYTES or size_bytes % 2**20):
        raise ValueError(
            f"disk_size_bytes: {size_bytes} was given; expected whole MiB, {DISK_BYTES} "
            f"({DISK_BYTES // 2**30}GiB) or more"
        )


def make(
    outer: Machine, backing: str, path: str, size_bytes: int | None = None, form: str = "raw"
) -> None:
    """Make a qcow2 disk above one that is only read, or raise CommandFailed.

    It is as large as the one below unless ``size_bytes`` are given, and takes no more room on the
    outer machine than is written to it.
    """
    create = ["qemu-img", "create", "-q", "-f", "qcow2", "-F", form, "-b", backing, path]
    check(outer, create if size_bytes is None else [*create, str(size_bytes)])


def grow(machine: Machine, size_bytes: int, timeout_s: float) -> None:
    """Grow a guest's file system to the size of its disk, or raise LayerError."""
    try:
        done = check(machine, ["sh", "-c", GROW], timeout_s=timeout_s)
        blocks, block_bytes = map(int, done.stdout.split())
    except (CommandFailed, ValueError) as error:
        raise LayerError(f"{machine.name} cannot grow its file system: {error}") from error
    if blocks * block_bytes < OF_DISK * size_bytes:
        raise LayerError(
            f"the file system of {machine.name} has {blocks * block_bytes / 2**30:.1f} GiB; "
            f"disk_size asked for {size_bytes / 2**30:.1f} GiB"
        )


def cache(outer: Machine, path: str) -> DiskCache:
    """Read back whether the disk in use is held open with O_DIRECT, or raise CommandFailed."""
    direct = text(outer, ["sh", "-c", IS_DIRECT, path])
    return DiskCache.NONE if direct == "yes" else DiskCache.WRITEBACK
