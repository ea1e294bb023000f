"""Parse files of /proc and of control groups into counters since boot and momentary levels.

A *figure* is a name, the device it is of (empty: of all), and a value in the base unit that the
name ends in. A file that says less than it should raises ValueError: nothing becomes a zero.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tare.experiment.probes.disk import SECTOR_BYTES

Figure = tuple[str, str, float]
Parse = Callable[[bytes], Iterator[Figure]]

LEVELS = frozenset(
    {
        *("run_queue", "blocked_tasks", "memory_used_bytes", "memory_cached_bytes"),
        *("frequency_hz", "memory_bytes", "memory_peak_bytes", "pids", "pss_bytes"),
    }
)
"""Figures that go up and down; all others only grow."""
CPU = ("cpu_user_s", "cpu_system_s", "cpu_guest_s", "cpu_iowait_s", "cpu_steal_s", "cpu_idle_s")
"""What a host's CPU time is spent on; together they are all of it, and none is in another."""
LAYER_CPU = ("cpu_s", "cpu_user_s", "cpu_system_s")
DISK = ("disk_read_bytes", "disk_written_bytes", "disk_reads", "disk_writes")
FAULTS = ("page_faults", "major_faults")
NETWORK = ("network_received_bytes", "network_sent_bytes")
OURS = b"tare"
"""What the names of the network devices that Tare makes begin with."""

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_KIB = 1024


@dataclass(frozen=True, slots=True)
class Source:
    """A file that is read repeatedly, and the names of the figures in it.

    ``wraps`` has, by name, after which value a counter begins at 0 again. ``resets`` says that a
    write resets its value to the current one. ``made`` are devices that were made for some stack,
    in addition to those whose names begin with ``OURS``. ``looks_further`` says that parsing it
    reads other files too, and so has to be done at once.
    """

    path: Path
    names: Sequence[str]
    parse: Parse
    wraps: Mapping[str, float] = field(default_factory=dict)
    resets: bool = False
    made: Collection[str] = ()
    looks_further: bool = False


def host_cpu(content: bytes) -> Iterator[Figure]:
    """Read /proc/stat: CPU time of all CPUs, tasks that want one, and context switches.

    The kernel counts a guest's time among the user's too; here it is not. The run queue is without
    the thread that reads it.
    """
    name, *ticks = content[: content.index(b"\n")].split()
    if name != b"cpu":
        raise ValueError("it does not begin with the CPU times")
    user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice = map(int, ticks[:10])
    spent = (
        user + nice - guest - guest_nice, system + irq + softirq, guest + guest_nice,
        iowait, steal, idle,
    )  # fmt: skip
    for figure, count in zip(CPU, spent, strict=True):
        yield figure, "", count * _TICK_S
    yield "run_queue", "", max(0, _after(content, b"\nprocs_running ") - 1)
    yield "blocked_tasks", "", _after(content, b"\nprocs_blocked ")
    yield "context_switches", "", _after(content, b"\nctxt ")


def host_memory(content: bytes) -> Iterator[Figure]:
    """Read /proc/meminfo: used is what is not available without swapping, cached is of files."""
    total, available = _after(content, b"MemTotal:"), _after(content, b"\nMemAvailable:")
    yield "memory_used_bytes", "", _KIB * (total - available)
    cached = _after(content, b"\nBuffers:") + _after(content, b"\nCached:")
    yield "memory_cached_bytes", "", _KIB * cached


def host_faults(content: bytes) -> Iterator[Figure]:
    """Read /proc/vmstat: page faults, those of them that waited for a disk, and swapping."""
    yield "page_faults", "", _after(content, b"\npgfault ")
    yield "major_faults", "", _after(content, b"\npgmajfault ")
    if b"\npswpin " in content:  # a kernel without swap has no such line
        swapped = _after(content, b"\npswpin ") + _after(content, b"\npswpout ")
        yield "swapped_pages", "", swapped


def host_disks(content: bytes, disks: Collection[bytes]) -> Iterator[Figure]:
    """Read /proc/diskstats: what each of some disks moved, and how long it had requests."""
    for line in content.splitlines():
        if line.split(None, 3)[2] not in disks:  # of many devices, few are wanted
            continue
        fields = line.split()
        disk = fields[2].decode(errors="replace")
        yield "disk_read_bytes", disk, SECTOR_BYTES * int(fields[5])
        yield "disk_written_bytes", disk, SECTOR_BYTES * int(fields[9])
        yield "disk_reads", disk, int(fields[3])
        yield "disk_writes", disk, int(fields[7])
        yield "disk_busy_s", disk, int(fields[12]) / 1000


def host_network(content: bytes, links: Collection[bytes]) -> Iterator[Figure]:
    """Read /proc/net/dev: bytes through real devices and through those that Tare made."""
    for line in content.splitlines()[2:]:
        name, _, counts = line.strip().partition(b":")
        if name not in links and not name.startswith(OURS):
            continue
        fields = counts.split()
        link = name.decode(errors="replace")
        for figure, count in zip(NETWORK, (fields[0], fields[8]), strict=True):
            yield figure, link, int(count)


def host_pressure(content: bytes, what: str) -> Iterator[Figure]:
    """Read /proc/pressure: for how long some task, or all that could run, waited."""
    for line in content.decode().splitlines():
        kind, *_, total = line.split()
        yield f"psi_{what}_{kind}_s", "", int(total.removeprefix("total=")) / 1e6


def group_cpu_v2(content: bytes) -> Iterator[Figure]:
    """Read cpu.stat."""
    for name, key in zip(LAYER_CPU, ("usage", "user", "system"), strict=True):
        yield name, "", _after(b"\n" + content, f"\n{key}_usec ".encode()) / 1e6


def group_cpu_v1(content: bytes) -> Iterator[Figure]:
    """Read cpuacct.usage."""
    yield "cpu_s", "", int(content) / 1e9


def group_cpu_split_v1(content: bytes) -> Iterator[Figure]:
    """Read cpuacct.stat: the same time split in two, in ticks."""
    yield "cpu_user_s", "", _after(b"\n" + content, b"\nuser ") * _TICK_S
    yield "cpu_system_s", "", _after(b"\n" + content, b"\nsystem ") * _TICK_S


def group_memory(content: bytes, cached: bytes, prefix: bytes = b"") -> Iterator[Figure]:
    """Read memory.stat, of the group and below: pages of files, and faults.

    Those that a hypervisor takes for its guest are among them. The kernel adds up what its CPUs
    have counted when that is more than some dozens for each, so fewer may be missing.
    """
    content = b"\n" + content
    yield "memory_cached_bytes", "", _after(content, cached)
    for name, key in zip(FAULTS, (b"pgfault ", b"pgmajfault "), strict=True):
        line = b"\n" + prefix + key
        if line in content:  # not in v2 before Linux 4.12
            yield name, "", _after(content, line)


def group_disks_v2(content: bytes, disks: Collection[bytes]) -> Iterator[Figure]:
    """Read io.stat, summed over some disks; a group that has moved nothing yet has no line."""
    total = dict.fromkeys((b"rbytes", b"wbytes", b"rios", b"wios"), 0)
    for line in content.splitlines():
        number, *fields = line.split()
        if number not in disks:
            continue
        for key, _, count in (one.partition(b"=") for one in fields):
            if key in total:
                total[key] += int(count)
    for name, moved in zip(DISK, total.values(), strict=True):
        yield name, "", moved


def group_disks_v1(
    content: bytes, names: Sequence[str], disks: Collection[bytes]
) -> Iterator[Figure]:
    """Read a file of blkio, bytes or operations, summed over some disks."""
    if not content.rpartition(b"Total ")[2].strip().isdigit():
        raise ValueError("it does not end with the total")
    total = {b"Read": 0, b"Write": 0}
    for line in content.splitlines():
        number, *fields = line.split()
        if number in disks and fields[0] in total:
            total[fields[0]] += int(fields[1])
    for name, moved in zip(names, total.values(), strict=True):
        yield name, "", moved


def uncounted_disks(
    content: bytes, names: Sequence[str], disks: Collection[bytes]
) -> Iterator[Figure]:
    """Raise ValueError: zeros stand in the file because nothing was counted."""
    del content, names
    listed = ", ".join(sorted(one.decode() for one in disks))
    raise ValueError(
        f"this kernel counts the traffic of the disk {listed} only once a group has had a limit"
    )


def pss_bytes(content: bytes) -> int:
    """Read smaps_rollup: memory of a process, with shared pages split among those that share."""
    return _KIB * _after(content, b"\nPss:")


def _after(content: bytes, key: bytes) -> int:
    """Return the number behind a key."""
    at = content.find(key)
    if at < 0:
        raise ValueError(f"it has no {key.decode().strip()!r}")
    return int(content[at + len(key) : at + len(key) + 32].split(None, 1)[0])
