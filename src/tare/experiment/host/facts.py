"""Read facts of the host (CPU, kernel, memory, virtualization), and list sources of noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tare.core.errors import LayerError
from tare.core.model import Scalar
from tare.machines import detection
from tare.machines.machine import Machine, check

PROC = Path("/proc")
LOAD_LIMIT = 0.25
STEAL_LIMIT = 0.01

# Only what every POSIX shell has built in. Each line is printed behind the name of its file; of
# long files only what stands before the first empty line: the first of all CPUs.
FILES = r"""
cpu=/sys/devices/system/cpu
for file in \
    /proc/sys/kernel/osrelease /proc/sys/kernel/arch /proc/stat /proc/loadavg /proc/pressure/cpu \
    /sys/devices/system/clocksource/clocksource0/current_clocksource \
    /sys/kernel/mm/transparent_hugepage/enabled /sys/kernel/mm/ksm/run \
    $cpu/online $cpu/smt/active $cpu/intel_pstate/no_turbo $cpu/cpufreq/boost \
    $cpu/cpu*/cpufreq/scaling_governor $cpu/vulnerabilities/*
do
    line=
    IFS= read -r line < "$file"
    [ -z "$line" ] || printf '%s:%s\n' "$file" "$line"
done 2> /dev/null
for file in /etc/os-release /proc/cpuinfo /proc/meminfo /proc/mounts; do
    [ ! -r "$file" ] || while IFS= read -r line && [ -n "$line" ]; do
        printf '%s:%s\n' "$file" "$line"
    done < "$file"
done
"""
# What detection asks for comes first, and is not asked again.
SCRIPT = detection.SCRIPT + FILES
CPU = "/sys/devices/system/cpu"
CLOCKSOURCE = "/sys/devices/system/clocksource/clocksource0"
# Clocks that are read without entering the kernel; all others cost a call, or an exit of the guest.
FAST_CLOCKS = ("tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter")


@dataclass(frozen=True, slots=True)
class NoiseSource:
    """A source of noise on the host: what it is, why it matters, how to fix it."""

    what: str
    why: str
    fix: str


def host_facts(machine: Machine) -> dict[str, Scalar]:
    """Read a machine's facts; what cannot be read has no key.

    ``load`` is that of the last minute, ``steal`` the stolen part of all CPU time since boot;
    ``mitigation.*`` are the CPU's weaknesses that concern it, in the kernel's words.
    """
    return read_facts(check(machine, ["sh", "-c", SCRIPT]).stdout.decode(errors="replace"))


def read_facts(printed: str) -> dict[str, Scalar]:
    """Read the facts out of what SCRIPT printed."""
    stack = detection.read(printed)
    files = _lines(printed)
    first = {path: lines[0] for path, lines in files.items()}
    system = _table(files.get("/etc/os-release", []), "=")
    cpu = _table(files.get("/proc/cpuinfo", []), ":")
    memory = {
        name: int(size.split()[0]) * 1024
        for name, size in _table(files.get("/proc/meminfo", []), ":").items()
    }
    mounts = [line.split() for line in files.get("/proc/mounts", [])]
    kinds = [kind for _, _, kind, *_ in mounts]
    roots = [kind for _, at, kind, *_ in mounts if at == "/"]
    governors = {line for path, line in first.items() if path.endswith("/scaling_governor")}
    facts: dict[str, Scalar | None] = {
        "kernel": first.get("/proc/sys/kernel/osrelease"),
        "architecture": first.get("/proc/sys/kernel/arch"),
        "os": system.get("PRETTY_NAME", "").strip("\"'"),
        "cpu_model": cpu.get("model name"),
        "cpus": _count(first.get(f"{CPU}/online", "")),
        "memory_bytes": memory.get("MemTotal"),
        "swap_bytes": memory.get("SwapTotal"),
        "swap_used_bytes": _difference(memory.get("SwapTotal"), memory.get("SwapFree")),
        "vendor": first.get("/sys/class/dmi/id/sys_vendor"),
        "product": first.get("/sys/class/dmi/id/product_name"),
        "hypervisor": detection.hypervisor(stack),
        "container": detection.container(stack),
        "cgroup": "v1" if "cgroup" in kinds else "v2" if "cgroup2" in kinds else None,
        "clocksource": first.get(f"{CLOCKSOURCE}/current_clocksource"),
        "governor": ", ".join(sorted(governors)),
        "turbo": _turbo(first),
        "smt": _is(first.get(f"{CPU}/smt/active"), "1"),
        "thp": first.get("/sys/kernel/mm/transparent_hugepage/enabled", "")
        .partition("[")[2]
        .partition("]")[0],
        "ksm": _is(first.get("/sys/kernel/mm/ksm/run"), "1"),
        "steal": _steal(first.get("/proc/stat", "")),
        "load": float(first["/proc/loadavg"].split()[0]) if "/proc/loadavg" in first else None,
        "psi": "/proc/pressure/cpu" in first,
        "root_filesystem": roots[-1] if roots else None,
    }
    facts |= {f"mitigation.{name}": line for name, line in mitigations(printed).items()}
    return {name: value for name, value in facts.items() if value is not None and value != ""}


def mitigations(printed: str) -> dict[str, str]:
    """Return the CPU's weaknesses that concern a machine, in the kernel's words, by name."""
    weaknesses = f"{CPU}/vulnerabilities/"
    return {
        path.removeprefix(weaknesses): lines[0]
        for path, lines in _lines(printed).items()
        if path.startswith(weaknesses) and lines[0] != "Not affected"
    }


def _lines(printed: str) -> dict[str, list[str]]:
    """Return what SCRIPT printed of each file."""
    files: dict[str, list[str]] = {}
    for path, _, line in (line.partition(":") for line in printed.splitlines()):
        files.setdefault(path, []).append(line.strip())
    return files


def noise(facts: Mapping[str, Scalar]) -> list[NoiseSource]:
    """Return what makes a host noisy or its numbers less trustworthy, the worst first."""
    cpus = int(facts.get("cpus", 0))
    load, steal = float(facts.get("load", 0)), float(facts.get("steal", 0))
    used = int(facts.get("swap_used_bytes", 0))
    clock, governor = facts.get("clocksource"), facts.get("governor")
    below, around = facts.get("hypervisor"), facts.get("container")
    advice = [
        (below is not None, f"this host is itself a guest of {below}",
         "'host' is not bare metal here: a virtual machine on it is a nested one, and neighbours "
         "that cannot be seen share its hardware",
         "use a physical machine, or state with every number what 'host' is"),
        (around is not None, f"this host is itself a container ({around})",
         "'host' is not bare metal here: its limits are set outside, where they cannot be seen",
         "run Tare outside the container"),
        (0 < cpus < 2, "there is only one CPU",
         "Tare, the kernel and emulated devices take their time from the workload",
         "use a host with 2 CPUs or more"),
        (cpus > 0 and load > LOAD_LIMIT * cpus, f"the load is {load:.2f} on {cpus} CPUs",
         "what else runs takes CPU time, caches and disk from the workload",
         "see what runs with: top -b -n 1 | head -n 20; stop it or wait"),
        (steal > STEAL_LIMIT, f"{100 * steal:.1f} % of the CPU time since boot was stolen",
         "the hypervisor gave it to others, and it may not show inside guests",
         "use an instance with dedicated CPUs"),
        (used > 0, f"{used / 2**20:.0f} MiB of swap are in use",
         "a trial that touches a swapped page waits for the disk", "swapoff -a"),
        (governor not in (None, "performance"), f"the CPU frequency governor is {governor}",
         "the clock rate follows the load, so a slower stack may also run at another rate",
         f"echo performance | tee {CPU}/cpu*/cpufreq/scaling_governor"),
        (facts.get("turbo") is True, "turbo is on",
         "the clock rate depends on temperature and on how many CPUs are busy",
         f"echo 1 > {CPU}/intel_pstate/no_turbo || echo 0 > {CPU}/cpufreq/boost"),
        (facts.get("smt") is True, "SMT (hyper-threading) is on",
         "two CPUs share one core: what runs on the other slows the workload",
         f"echo off > {CPU}/smt/control"),
        (facts.get("ksm") is True, "KSM merges equal pages of guests",
         "its scanning takes CPU time, and a write to a merged page costs a copy",
         "echo 2 > /sys/kernel/mm/ksm/run"),
        (clock not in (None, *FAST_CLOCKS), f"the clock source is {clock}",
         "every look at the clock is a system call or an exit of the guest",
         f"echo tsc > {CLOCKSOURCE}/current_clocksource"),
        (facts.get("cgroup") == "v1", "cgroups are version 1",
         "buffered writes escape I/O limits, and a cgroup has no pressure figures of its own",
         "add systemd.unified_cgroup_hierarchy=1 to the kernel's command line and reboot"),
    ]  # fmt: skip
    return [NoiseSource(what, why, fix) for holds, what, why, fix in advice if holds]


def _table(lines: list[str], separator: str) -> dict[str, str]:
    pairs = (line.partition(separator) for line in lines)
    return {name.strip(): value.strip() for name, _, value in pairs}


def _count(ranges: str) -> int | None:
    """Count the CPUs of a list such as ``0-3,8``."""
    ends = [part.split("-") for part in ranges.split(",")] if ranges else []
    return sum(int(end[-1]) - int(end[0]) + 1 for end in ends) or None


def _difference(total: int | None, free: int | None) -> int | None:
    return None if total is None or free is None else total - free


def _is(line: str | None, wanted: str) -> bool | None:
    return None if line is None else line == wanted


def _turbo(first: Mapping[str, str]) -> bool | None:
    intel = _is(first.get(f"{CPU}/intel_pstate/no_turbo"), "0")
    return _is(first.get(f"{CPU}/cpufreq/boost"), "1") if intel is None else intel


def _steal(stat: str) -> float | None:
    """Return the stolen part of the time since boot; what guests took is in ``user`` already."""
    ticks = [int(word) for word in stat.split()[1:9]]
    return round(ticks[7] / sum(ticks), 6) if len(ticks) == 8 and sum(ticks) > 0 else None


def available_bytes(proc: Path = PROC) -> int:
    """Read how much memory this host can give without swapping, or raise LayerError."""
    for line in (proc / "meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    raise LayerError(f"{proc}/meminfo has no MemAvailable")
