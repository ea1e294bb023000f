"""Bytes that the host's disks really moved: what a tool claims to have moved is held against it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

SECTOR_BYTES = 512
"""The unit of /proc/diskstats, whatever the disk's own is."""


@dataclass(frozen=True, slots=True)
class Moved:
    """Bytes read and written since boot by all disks together, for whomever."""

    read_bytes: int
    written_bytes: int


def read(proc: Path = Path("/proc"), blocks: Path = Path("/sys/block")) -> Moved | None:
    """Sum over all disks that have hardware, real or virtual, behind them; None if there is none.

    Partitions, mappings, RAID and loops only pass on what such a disk moves and would count twice.
    Which disk a platform's files lie on need not be known: the sum can only be too large, so less
    than was claimed is proof.
    """
    read_sectors = written = disks = 0
    try:
        lines = (proc / "diskstats").read_text().splitlines()
    except OSError:
        return None
    for fields in map(str.split, lines):
        if (blocks / fields[2] / "device").exists():
            disks += 1
            read_sectors += int(fields[5])
            written += int(fields[9])
    return Moved(SECTOR_BYTES * read_sectors, SECTOR_BYTES * written) if disks else None


def is_counted(path: Path, devices: Path = Path("/sys/dev/block")) -> bool:
    """Say whether files at a path lie on disks that ``read`` counts.

    Not those in memory, on the network, or on a filesystem of many disks (btrfs, ZFS), which may
    compress as well and has no device of its own.
    """
    try:
        number = path.stat().st_dev
    except OSError:
        return False
    device = devices / f"{os.major(number)}:{os.minor(number)}"
    return device.exists() and _has_hardware(device.resolve())


def _has_hardware(device: Path) -> bool:
    if (device / "partition").exists():
        device = device.parent
    below = list((device / "slaves").glob("*"))
    if below:
        return all(_has_hardware(one.resolve()) for one in below)
    return (device / "device").exists()


def between(before: Moved | None, after: Moved | None) -> dict[str, float]:
    """Give what was moved between two readings; nothing where it is not known."""
    if before is None or after is None:
        return {}
    return {
        "disk_read_bytes": float(after.read_bytes - before.read_bytes),
        "disk_written_bytes": float(after.written_bytes - before.written_bytes),
    }
