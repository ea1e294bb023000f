"""Measure disturbances during a trial: stolen CPU time, other load, pressure, swapping, heat.

Everything is a counter or a reading of the moment, taken right before and right after the trial, so
that nothing of this runs while it is measured. What this kernel does not report is left out.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from tare.core.model import Complaint, ComplaintKind, HostCost
from tare.experiment.probes.files import KeptFiles

STEAL_LIMIT = 0.05
FOREIGN_LIMIT = 0.10
"""Shares of the trial's time on its own CPUs above which its numbers are suspect.

Below them the randomized blocks spread the disturbance evenly; above, a single trial can be wrong.
"""
MEMORY_LIMIT = 0.10
"""Share of the trial in which some task of the host waited for memory (PSI, ``some``).

A reclaim that is felt comes in stalls of this size; below it is the kernel's ordinary work. CPU and
I/O pressure are stored and have no limit: both are of the whole host, where a trial makes its own,
and what other work took of its CPUs is known better from the CPU time.
"""
FREQUENCY_LIMIT = 0.90
"""Mean clock rate over the base rate below which a CPU was held back, by heat or a power cap.

Idle states do not lower it: both of its counters pause in them. Swapping and heat events need
no limit: one event means that a trial waited for a disk, or ran on a slower clock than the others.
Throttling by a cgroup's quota (``HostCost``) belongs to the platform, not to the host's noise.
"""

PRESSURES = ("cpu", "memory", "io")

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_VMSTAT = {
    b"\npswpin ": "swapped_pages",
    b"\npswpout ": "swapped_pages",
    b"\npgmajfault ": "major_faults",
}
_MPERF, _APERF = 0xE7, 0xE8


@dataclass(frozen=True, slots=True)
class Reading:
    """Counters since boot, of some CPUs and of the whole host; what is not known is not there.

    ``counts`` are events, ``stalled_s`` the PSI totals by name such as ``cpu_some``. ``cycles`` are
    those of APERF and MPERF, summed over the CPUs; ``frequency_hz`` is of the moment, their mean.
    """

    busy_s: float
    steal_s: float
    counts: Mapping[str, int]
    stalled_s: Mapping[str, float]
    load: float
    cycles: tuple[int, int] | None
    frequency_hz: float | None


def read(
    cpus: Collection[int],
    proc: Path = Path("/proc"),
    devices: Path = Path("/sys/devices/system/cpu"),
    registers: Path = Path("/dev/cpu"),
    files: KeptFiles | None = None,
) -> Reading:
    """Read what this host reports of the CPUs that trials are pinned to, and of itself.

    ``files`` are those that stay open for the next reading.
    """
    if files is None:
        with contextlib.closing(KeptFiles()) as opened:
            return read(cpus, proc, devices, registers, opened)
    stat = files.content(f"{proc}/stat")
    busy_s, steal_s = _cpu_times(cpus, stat)
    switches = stat.partition(b"\nctxt ")[2].split(None, 1)[0]
    counts = {"swapped_pages": 0, "major_faults": 0, "context_switches": int(switches)}
    paging = b"\n" + files.content(f"{proc}/vmstat")
    for name, figure in _VMSTAT.items():
        counts[figure] += int(paging.partition(name)[2].partition(b"\n")[0] or 0)
    heat = [
        _number(files, f"{devices}/cpu{cpu}/thermal_throttle/{of}_throttle_count")
        for cpu in cpus
        for of in ("core", "package")
    ]
    if any(count is not None for count in heat):
        counts["heat_throttles"] = round(sum(count or 0.0 for count in heat))
    rates = [_number(files, f"{devices}/cpu{cpu}/cpufreq/scaling_cur_freq") for cpu in cpus]
    known = [1000 * rate for rate in rates if rate is not None]
    return Reading(
        busy_s,
        steal_s,
        counts,
        dict(_pressure(files, proc)),
        float(files.content(f"{proc}/loadavg").split(None, 1)[0]),
        _cycles(cpus, registers),
        mean(known) if known else None,
    )


def cpu_times(cpus: Collection[int], proc: Path = Path("/proc")) -> tuple[float, float]:
    """Read the busy and the stolen seconds of some CPUs since boot."""
    return _cpu_times(cpus, (proc / "stat").read_bytes())


def _cpu_times(cpus: Collection[int], stat: bytes) -> tuple[float, float]:
    busy = steal = 0
    for line in stat.partition(b"\nintr ")[0].splitlines():
        name, *ticks = line.split()
        if not name.startswith(b"cpu"):
            break
        if name[3:] and int(name[3:]) in cpus:
            user, nice, system, _idle, _iowait, irq, softirq, stolen = map(int, ticks[:8])
            busy += user + nice + system + irq + softirq
            steal += stolen
    return busy * _TICK_S, steal * _TICK_S


def between(  # noqa: PLR0913 - two readings, and what is known of the trial between them
    before: Reading,
    after: Reading,
    duration_s: float,
    cpus: int,
    cost: HostCost | None,
    others_s: float = 0.0,
) -> dict[str, float]:
    """Return what happened between two readings around a trial; see docs/reference/results.md.

    ``steal`` and ``foreign`` are shares of the time of the trial's CPUs, ``psi_*`` of its duration.
    ``others_s`` is the CPU time on them of the trial's other parts, which is not foreign.
    """
    duration_s = max(duration_s, 1e-9)
    available = duration_s * cpus
    found = {"steal": _steal_s(before, after) / available}
    if cost is not None:
        found["foreign"] = max(0.0, _foreign_s(before, after, cost) - others_s) / available
    for name, stalled_s in after.stalled_s.items():
        found[f"psi_{name}"] = (stalled_s - before.stalled_s.get(name, stalled_s)) / duration_s
    for name, count in after.counts.items():
        found[name] = count - before.counts.get(name, count)
    found["load"] = after.load
    ratio = _frequency_ratio(before, after)
    if ratio is not None:
        found["frequency_ratio"] = ratio
    if after.frequency_hz is not None:
        found["frequency_hz"] = after.frequency_hz
    return found


def disturbances(
    seen: Mapping[str, float], duration_s: float, cpus: int, *, foreign_counts: bool = True
) -> list[Complaint]:
    """Return what makes a trial suspect, from what ``between`` gave.

    Ticks are 10 ms, so short trials get slack.

    ``foreign_counts`` is False where the verdicts rest on a variant that leaves foreign CPU time
    out of account anyway.
    """
    slack = 3 * _TICK_S / max(duration_s, 1e-9)
    found = []
    if seen["steal"] - slack / cpus > STEAL_LIMIT:
        found.append(Complaint(ComplaintKind.STOLEN, {"share": seen["steal"]}))
    foreign = seen.get("foreign", 0.0)
    if foreign_counts and foreign - slack / cpus > FOREIGN_LIMIT:
        found.append(Complaint(ComplaintKind.FOREIGN, {"share": foreign}))
    waited = seen.get("psi_memory_some", 0.0)
    if waited - slack > MEMORY_LIMIT:
        found.append(Complaint(ComplaintKind.MEMORY, {"share": waited}))
    if seen["swapped_pages"] > 0:
        found.append(Complaint(ComplaintKind.SWAPPED, {"pages": seen["swapped_pages"]}))
    if seen.get("heat_throttles", 0) > 0:
        found.append(Complaint(ComplaintKind.HEAT, {"times": seen["heat_throttles"]}))
    ratio = seen.get("frequency_ratio", 1.0)
    if ratio < FREQUENCY_LIMIT:
        found.append(Complaint(ComplaintKind.SLOW_CLOCK, {"ratio": ratio}))
    return found


def _steal_s(before: Reading, after: Reading) -> float:
    # The counter goes back by a tick now and then in guests of some hypervisors.
    return max(0.0, after.steal_s - before.steal_s)


def _foreign_s(before: Reading, after: Reading, cost: HostCost) -> float:
    return after.busy_s - before.busy_s - cost.all_cpu_s


def _frequency_ratio(before: Reading, after: Reading) -> float | None:
    """Divide the cycles run by those at the base rate (Intel SDM vol. 3B, 15.2)."""
    if before.cycles is None or after.cycles is None:
        return None
    run, base = (now - then for now, then in zip(after.cycles, before.cycles, strict=True))
    return run / base if base > 0 and run > 0 else None


def _pressure(files: KeptFiles, proc: Path) -> Iterator[tuple[str, float]]:
    """Read the totals of PSI; a kernel without it, or that has it switched off, has none."""
    for what in PRESSURES:
        try:
            lines = files.content(f"{proc}/pressure/{what}").decode().splitlines()
        except OSError:
            continue
        for line in lines:
            kind, *_, total = line.split()
            yield f"{what}_{kind}", int(total.removeprefix("total=")) / 1e6


def _cycles(cpus: Collection[int], registers: Path) -> tuple[int, int] | None:
    """Read APERF and MPERF where the kernel offers its module msr; they count only awake cycles."""
    run = base = 0
    for cpu in cpus:
        try:
            file = os.open(f"{registers}/{cpu}/msr", os.O_RDONLY)
        except OSError:
            return None
        try:
            run += int.from_bytes(os.pread(file, 8, _APERF), "little")
            base += int.from_bytes(os.pread(file, 8, _MPERF), "little")
        except OSError:
            return None
        finally:
            os.close(file)
    return run, base


def _number(files: KeptFiles, path: str) -> float | None:
    with contextlib.suppress(OSError, ValueError):
        return float(files.content(path))
    return None
