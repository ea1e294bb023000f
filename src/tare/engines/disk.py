"""A guest's disk: a layer of its own above the image that all guests read, and how it is cached."""

from __future__ import annotations

from tare.machine import Machine, check, text
from tare.model import DiskCache

# Whoever serves the disk says by its open files whether the host caches it. O_DIRECT is 040000
# (octal) in the flags that the kernel shows.
IS_DIRECT = r"""
for file in /proc/[0-9]*/fd/*; do
    [ "$(readlink "$file")" = "$0" ] || continue
    flags=$(awk '/^flags:/ { print $2 }' "${file%/fd/*}/fdinfo/${file##*/}")
    [ $((flags & 040000)) -ne 0 ] && echo yes || echo no
    exit
done
echo "no process holds $0 open" >&2
exit 1
"""


def make(outer: Machine, backing: str, path: str) -> None:
    """Make a qcow2 disk above a raw one that is only read, or raise CommandFailed."""
    create = ["qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw"]
    check(outer, [*create, "-b", backing, path])


def cache(outer: Machine, path: str) -> DiskCache:
    """Read back whether the disk in use is held open with O_DIRECT, or raise CommandFailed."""
    direct = text(outer, ["sh", "-c", IS_DIRECT, path])
    return DiskCache.NONE if direct == "yes" else DiskCache.WRITEBACK
