"""What one reading of a file says: counters since boot, and levels of the moment.

A *figure* is a name, the device it is of (empty: of all), and a value in the base unit that the
name ends in. A file that says less than it should raises ValueError: nothing becomes a zero.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tare.monitors.disk import BUSY_WRAPS_MS, SECTOR_BYTES
from tare.monitors.noise import PRESSURES

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
MEMORY = ("memory_cached_bytes", *FAULTS)
NETWORK = ("network_received_bytes", "network_sent_bytes")
OURS = b"tare"
"""What the names of the network devices that Tare makes begin with."""

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_KIB = 1024


@dataclass(frozen=True, slots=True)
class Source:
    """A file that is read again and again, and the names of the figures that it tells.

    ``wraps`` has, by name, after which value a counter begins at 0 again. ``resets`` says that a
    write sets what it tells back to what it is now. ``made`` are devices that were made for some
    stack, besides those whose names begin with ``OURS``.
    """

    path: Path
    names: Sequence[str]
    parse: Parse
    wraps: Mapping[str, float] = field(default_factory=dict)
    resets: bool = False
    made: Collection[str] = ()


def of_host(cpus: Collection[int], proc: Path, sys: Path) -> list[Source]:
    """List what a host may tell; ``cpus`` are those whose clock rate is wanted."""
    disks = frozenset(name.encode() for name in hardware_disks(sys))
    links = frozenset(path.parent.name.encode() for path in sys.glob("class/net/*/device"))
    ends = bridged(sys)
    return [
        Source(proc / "stat", (*CPU, "run_queue", "blocked_tasks", "context_switches"), host_cpu),
        Source(proc / "meminfo", ("memory_used_bytes", "memory_cached_bytes"), host_memory),
        Source(proc / "vmstat", (*FAULTS, "swapped_pages"), host_faults),
        Source(
            proc / "diskstats",
            (*DISK, "disk_busy_s"),
            partial(host_disks, disks=disks),
            {"disk_busy_s": BUSY_WRAPS_MS / 1000},
        ),
        Source(
            proc / "net/dev",
            NETWORK,
            partial(host_network, links=links.union(one.encode() for one in ends)),
            made=ends,
        ),
        *(
            Source(
                proc / "pressure" / what,
                (f"psi_{what}_some_s", f"psi_{what}_full_s"),
                partial(host_pressure, what=what),
            )
            for what in PRESSURES
        ),
        *(_frequency(cpu, sys) for cpu in sorted(cpus)),
        *_energy(sys / "class/powercap"),
    ]


def of_group(path: str, root: Path, sys: Path) -> list[Source]:
    """List what a layer's control group may tell, v1 or v2, of all that is in it and below."""
    numbers = frozenset(number.encode() for number in hardware_disks(sys).values())
    if (root / "cgroup.controllers").exists():
        group = root / path
        return [
            Source(group / "cpu.stat", LAYER_CPU, group_cpu_v2),
            _level(group / "memory.current", "memory_bytes"),
            _level(group / "memory.peak", "memory_peak_bytes", resets=True),
            Source(group / "memory.stat", MEMORY, partial(group_memory, cached=b"\nfile ")),
            Source(group / "io.stat", DISK, partial(group_disks_v2, disks=numbers)),
            _level(group / "pids.current", "pids"),
        ]
    cpu, memory, blocks = (root / one / path for one in ("cpuacct", "memory", "blkio"))
    return [
        Source(cpu / "cpuacct.usage", LAYER_CPU[:1], group_cpu_v1),
        Source(cpu / "cpuacct.stat", LAYER_CPU[1:], group_cpu_split_v1),
        _level(memory / "memory.usage_in_bytes", "memory_bytes"),
        _level(memory / "memory.max_usage_in_bytes", "memory_peak_bytes", resets=True),
        Source(
            memory / "memory.stat",
            MEMORY,
            partial(group_memory, cached=b"\ntotal_cache ", prefix=b"total_"),
        ),
        *(
            Source(
                blocks / f"blkio.throttle.{file}_recursive",
                names,
                partial(group_disks_v1, names=names, disks=numbers),
            )
            for file, names in (("io_service_bytes", DISK[:2]), ("io_serviced", DISK[2:]))
        ),
        _level(root / "pids" / path / "pids.current", "pids"),
    ]


def hardware_disks(sys: Path) -> dict[str, str]:
    """Find the disks with hardware, real or virtual, behind them: name to major:minor.

    Others only pass on what such a disk moves, and would count it twice.
    """
    found = {}
    for device in sorted(sys.glob("block/*/device")):
        number = ""
        with contextlib.suppress(OSError):  # it goes at this moment
            number = (device.parent / "dev").read_text().strip()
        found[device.parent.name] = number
    return found


def bridged(sys: Path) -> frozenset[str]:
    """Find the devices on the bridges that Tare made: an engine gives them names of its own."""
    found = set()
    for master in sys.glob("class/net/*/master"):
        with contextlib.suppress(OSError):  # it goes at this moment
            if os.fsencode(master.readlink().name).startswith(OURS):
                found.add(master.parent.name)
    return frozenset(found)


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
    """Read /proc/meminfo: used is what cannot be had without swapping, cached is of files."""
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


def pss_bytes(content: bytes) -> int:
    """Read smaps_rollup: memory of a process, with shared pages split among those that share."""
    return _KIB * _after(content, b"\nPss:")


def _level(path: Path, name: str, *, resets: bool = False) -> Source:
    """Describe a file that holds one number."""

    def parse(content: bytes) -> Iterator[Figure]:
        yield name, "", int(content)

    return Source(path, (name,), parse, resets=resets)


def _frequency(cpu: int, sys: Path) -> Source:
    path = sys / f"devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq"

    def parse(content: bytes) -> Iterator[Figure]:
        yield "frequency_hz", f"cpu{cpu}", 1000 * int(content)

    return Source(path, ("frequency_hz",), parse)


def _energy(powercap: Path) -> list[Source]:
    """List RAPL's counters of packages and their memory; core and psys would count twice."""
    found = []
    for zone in sorted(powercap.glob("intel-rapl:*")):
        name = _text(zone / "name")
        if name == "dram":
            above = _text(powercap / zone.name.rpartition(":")[0] / "name")
            name = f"{above}/dram"
        elif not name.startswith("package"):
            continue
        found.append(_zone(zone, name))
    return found or [_zone(powercap / "intel-rapl:0", "")]


def _zone(zone: Path, name: str) -> Source:
    def parse(content: bytes) -> Iterator[Figure]:
        yield "energy_j", name, int(content) / 1e6

    most = _text(zone / "max_energy_range_uj")
    wraps = {"energy_j": int(most) / 1e6} if most.isdigit() else {}
    return Source(zone / "energy_uj", ("energy_j",), parse, wraps)


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def _after(content: bytes, key: bytes) -> int:
    """Give the number behind a key."""
    at = content.find(key)
    if at < 0:
        raise ValueError(f"it has no {key.decode().strip()!r}")
    return int(content[at + len(key) : at + len(key) + 32].split(None, 1)[0])
