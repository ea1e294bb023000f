"""Read the bytes that the host's disks really moved, to check the claims of disk benchmarks."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tare.experiment.probes.files import content

SECTOR_BYTES = 512
"""The unit of /proc/diskstats, whatever the disk's own is."""
BUSY_WRAPS_MS = 2**32
"""The number of bits in which the kernel prints a disk's busy time."""


@dataclass(frozen=True, slots=True)
class Moved:
    """Bytes read and written since boot by all disks together, for any process.

    ``busy_ms`` is for how long each disk had requests in hand, at ``at_s`` of the monotonic clock.
    """

    read_bytes: int
    written_bytes: int
    busy_ms: Mapping[str, int] = field(default_factory=dict)
    at_s: float = 0.0


def read(
    proc: Path = Path("/proc"),
    blocks: Path = Path("/sys/block"),
    read_file: Callable[[str], bytes] = content,
) -> Moved | None:
    """Sum over all disks that have hardware, real or virtual, behind them; None if there is none.

    Partitions, mappings, RAID and loops only pass on what such a disk moves and would count twice.
    Which disk a platform's files lie on need not be known: the sum can only be too large, so less
    than was claimed is proof.
    """
    read_sectors = written = 0
    busy_ms = {}
    try:
        lines = read_file(f"{proc}/diskstats").decode(errors="replace").splitlines()
    except OSError:
        return None
    for fields in map(str.split, lines):
        if os.path.exists(f"{blocks}/{fields[2]}/device"):  # noqa: PTH110 - of many devices
            read_sectors += int(fields[5])
            written += int(fields[9])
            busy_ms[fields[2]] = int(fields[12])
    if not busy_ms:
        return None
    at_s = time.monotonic()
    return Moved(SECTOR_BYTES * read_sectors, SECTOR_BYTES * written, busy_ms, at_s)


def is_counted(path: Path, devices: Path = Path("/sys/dev/block")) -> bool:
    """Return whether files at a path lie on disks that ``read`` counts.

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
    """Return the bytes moved between two readings, and how busy disks were; empty if unknown.

    ``disk_busy_share`` is the part of the time in which the busiest disk had a request in hand, for
    any process (``%util`` of iostat). The kernel looks once a tick, so that many short requests
    count for more than they took; and a disk that serves many at once can do more when it is at 1.
    """
    if before is None or after is None:
        return {}
    found = {
        "disk_read_bytes": float(after.read_bytes - before.read_bytes),
        "disk_written_bytes": float(after.written_bytes - before.written_bytes),
    }
    both = before.busy_ms.keys() & after.busy_ms.keys()
    over_ms = 1000 * (after.at_s - before.at_s)
    if both and over_ms > 0:
        busy_ms = max((after.busy_ms[d] - before.busy_ms[d]) % BUSY_WRAPS_MS for d in both)
        found["disk_busy_share"] = min(1.0, busy_ms / over_ms)
    return found
