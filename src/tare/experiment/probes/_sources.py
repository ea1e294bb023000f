"""List the files to read for a host, a machine or a layer's control group, with their parsers."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path

from tare.experiment.probes import _parsers as readings
from tare.experiment.probes._parsers import DISK, LAYER_CPU, Figure, Parse, Source
from tare.experiment.probes.disk import BUSY_WRAPS_MS
from tare.experiment.probes.noise import PRESSURES

_MEMORY = ("memory_cached_bytes", *readings.FAULTS)


def of_host(cpus: Collection[int], proc: Path, sys: Path) -> Sequence[Source]:
    """List the sources of a host; ``cpus`` are those whose clock rate is wanted."""
    names = tuple(_listed(f"{sys}/class/net"))
    ends = bridged(sys, names)
    links = _hardware_links(sys, names)
    disks = frozenset(hardware_disks(sys))
    zones = tuple(_listed(f"{sys}/class/powercap"))
    return _of_host(tuple(sorted(cpus)), proc, sys, disks, links, ends, zones)


@lru_cache(maxsize=32)
def _of_host(  # noqa: PLR0913 - what a host's sources are made of, to be known again
    cpus: Sequence[int],
    proc: Path,
    sys: Path,
    disks: frozenset[str],
    links: frozenset[str],
    ends: frozenset[str],
    _zones: Sequence[str],
) -> Sequence[Source]:
    """List them, as long as the same devices are there."""
    return (
        *of_machine(proc, _encoded(disks), _encoded(links | ends), made=ends),
        *(_frequency(cpu, sys) for cpu in cpus),
        *_energy(sys / "class/powercap"),
    )


@lru_cache(maxsize=4)
def _hardware_links(sys: Path, names: Sequence[str]) -> frozenset[str]:
    """Find the network devices with hardware behind them, which they do not lose."""
    return frozenset(name for name in names if (sys / "class/net" / name / "device").exists())


def _encoded(names: Iterable[str]) -> frozenset[bytes]:
    return frozenset(name.encode() for name in names)


def of_machine(
    proc: Path,
    disks: Collection[bytes],
    links: Collection[bytes],
    *,
    cpu: Parse = readings.host_cpu,
    made: Collection[str] = (),
) -> list[Source]:
    """List the sources in /proc of any kernel, of some disks and network devices.

    See ``Source``.
    """
    return [
        Source(
            proc / "stat", (*readings.CPU, "run_queue", "blocked_tasks", "context_switches"), cpu
        ),
        Source(
            proc / "meminfo", ("memory_used_bytes", "memory_cached_bytes"), readings.host_memory
        ),
        Source(proc / "vmstat", (*readings.FAULTS, "swapped_pages"), readings.host_faults),
        Source(
            proc / "diskstats",
            (*DISK, "disk_busy_s"),
            partial(readings.host_disks, disks=disks),
            {"disk_busy_s": BUSY_WRAPS_MS / 1000},
        ),
        Source(
            proc / "net/dev",
            readings.NETWORK,
            partial(readings.host_network, links=links),
            made=made,
        ),
        *(
            Source(
                proc / "pressure" / what,
                (f"psi_{what}_some_s", f"psi_{what}_full_s"),
                partial(readings.host_pressure, what=what),
            )
            for what in PRESSURES
        ),
    ]


def of_group(path: str, root: Path, sys: Path) -> Sequence[Source]:
    """List the sources of a layer's control group, v1 or v2, for all processes in it and below."""
    is_v2 = (root / "cgroup.controllers").exists()
    numbers = _encoded(hardware_disks(sys).values())
    return _of_group(path, root, numbers, is_v2, is_v2 or _counts_disks(root, numbers))


@lru_cache(maxsize=256)
def _of_group(
    path: str, root: Path, numbers: frozenset[bytes], is_v2: bool, counts_disks: bool
) -> Sequence[Source]:
    """List them, as long as the same disks are there, by their numbers."""
    of_disks = readings.group_disks_v1 if counts_disks else readings.uncounted_disks
    if is_v2:
        group = root / path
        return [
            Source(group / "cpu.stat", LAYER_CPU, readings.group_cpu_v2),
            _level(group / "memory.current", "memory_bytes"),
            _level(group / "memory.peak", "memory_peak_bytes", resets=True),
            Source(
                group / "memory.stat", _MEMORY, partial(readings.group_memory, cached=b"\nfile ")
            ),
            Source(group / "io.stat", DISK, partial(readings.group_disks_v2, disks=numbers)),
            _level(group / "pids.current", "pids"),
        ]
    cpu, memory, blocks = (root / one / path for one in ("cpuacct", "memory", "blkio"))
    return [
        Source(cpu / "cpuacct.usage", LAYER_CPU[:1], readings.group_cpu_v1),
        Source(cpu / "cpuacct.stat", LAYER_CPU[1:], readings.group_cpu_split_v1),
        _level(memory / "memory.usage_in_bytes", "memory_bytes"),
        _level(memory / "memory.max_usage_in_bytes", "memory_peak_bytes", resets=True),
        Source(
            memory / "memory.stat",
            _MEMORY,
            partial(readings.group_memory, cached=b"\ntotal_cache ", prefix=b"total_"),
        ),
        *(
            Source(
                blocks / f"blkio.throttle.{file}_recursive",
                names,
                partial(of_disks, names=names, disks=numbers),
            )
            for file, names in (("io_service_bytes", DISK[:2]), ("io_serviced", DISK[2:]))
        ),
        _level(root / "pids" / path / "pids.current", "pids"),
    ]


def _counts_disks(root: Path, numbers: frozenset[bytes]) -> bool:
    """Return whether v1 counts the traffic of some disk, which its root then lists.

    Newer kernels (seen: 6.18) do so only once some group has been given a limit of it, be it none.
    """
    try:
        lines = (root / "blkio/blkio.throttle.io_service_bytes").read_bytes().splitlines()
    except OSError:  # what is missing is the group's file too, which says so
        return True
    return not numbers or any(line.split()[0] in numbers for line in lines if line)


def hardware_disks(sys: Path) -> Mapping[str, str]:
    """Find the disks with hardware, real or virtual, behind them: name to major:minor.

    Others only pass on what such a disk moves, and would count it twice.
    """
    return _hardware_disks(sys, tuple(_listed(f"{sys}/block")))


@lru_cache(maxsize=4)
def _hardware_disks(sys: Path, names: Sequence[str]) -> Mapping[str, str]:
    """Find them among these; what has hardware does not lose it while it is there."""
    found = {}
    for name in names:
        if (sys / "block" / name / "device").exists():
            number = ""
            with contextlib.suppress(OSError):  # it goes at this moment
                number = (sys / "block" / name / "dev").read_text().strip()
            found[name] = number
    return found


def bridged(sys: Path, names: Iterable[str] | None = None) -> frozenset[str]:
    """Find the devices on the bridges that Tare made: an engine gives them names of its own."""
    found = set()
    for name in _listed(f"{sys}/class/net") if names is None else names:
        with contextlib.suppress(OSError):  # it has no master, or goes at this moment
            master = os.readlink(f"{sys}/class/net/{name}/master")  # noqa: PTH115 - of many devices
            if os.fsencode(master.rpartition("/")[2]).startswith(readings.OURS):
                found.add(name)
    return frozenset(found)


def _listed(folder: str) -> list[str]:
    """List the names in a folder; none where there is no such folder."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - before every trial
    except OSError:
        return []


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
