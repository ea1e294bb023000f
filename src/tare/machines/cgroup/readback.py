"""Read CPUs, memory and other limits inside a machine, and compare them with the declared ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tare.core.model import CpuLimit, DiskCache, Limits
from tare.core.model.cell import NETWORK
from tare.machines.cgroup.cgroup import cpus_of
from tare.machines.cgroup.group_limits import GroupLimits
from tare.machines.machine import Machine, text

# nproc honours affinity and cpuset. A container in v1 sees its own group as the root of the tree, a
# chroot sees the whole tree: so the path of the own group is tried first.
READ = r"""
echo "cpus $(nproc)"
echo "total $(awk '/^MemTotal/ { print $2 * 1024 }' /proc/meminfo)"
own() { awk -F: -v want="$1" '{ n = split($2, c, ","); if (want == "" && $2 == "") print $3;
    for (i = 1; i <= n; i++) if (want != "" && c[i] == want) print $3 }' /proc/self/cgroup; }
root=/sys/fs/cgroup
for file in "$root$(own "")/memory.max" "$root/memory.max" \
    "$root/memory$(own memory)/memory.limit_in_bytes" "$root/memory/memory.limit_in_bytes"; do
    [ -f "$file" ] || continue
    echo "limit $(cat "$file")"
    break
done
echo "swap $(awk '/^SwapTotal/ { print $2 * 1024 }' /proc/meminfo)"
# In v1 the limit is of memory and swap together.
for at in "$root$(own "")" "$root" "$root/memory$(own memory)" "$root/memory"; do
    if [ -f "$at/memory.swap.max" ]; then
        echo "swap_limit $(cat "$at/memory.swap.max")"
    elif [ -f "$at/memory.memsw.limit_in_bytes" ]; then
        echo "swap_limit $(($(cat "$at/memory.memsw.limit_in_bytes") - \
            $(cat "$at/memory.limit_in_bytes")))"
    elif [ ! -f "$at/memory.max" ] && [ ! -f "$at/memory.limit_in_bytes" ]; then
        continue
    fi
    break
done
# What confines a command and what it stands on; a file that is not there says nothing.
awk '/^(Seccomp|NoNewPrivs|CapEff|Speculation_Store_Bypass|SpeculationIndirectBranch):/ {
    name = $1; sub(/:$/, "", name); $1 = ""; print "in." name $0 }' /proc/self/status
awk '{ for (i = 7; i < NF; i++) if ($i == "-") { type = $(i + 1); from = $(i + 2) }
    if ($5 == "/data") own = type
    if ($5 == "/") { root = type; device = from } }
    END { print "in.data", (own == "" ? root " of the root" : own " of its own mount")
        print "in.root_device", device }' /proc/self/mountinfo
awk -F': ' '/^model name/ { print "in.cpu_model " $2; exit }' /proc/cpuinfo
one() { [ -r "$2" ] && read -r found < "$2" && echo "in.$1 $found"; }
one init /proc/1/comm
one apparmor /proc/self/attr/current
echo "in.network_namespace $(readlink /proc/self/ns/net)"
driver=$(readlink /sys/class/net/eth0/device/driver) && echo "in.eth0_driver ${driver##*/}"
exit 0
"""
_CONFINEMENT = "in."

MEMORY_SLACK = (0.85, 1.02)
"""A guest's kernel keeps some of its memory; what is beyond this is worth a warning."""
ROUNDED = 0.001
"""tc(8) writes at least four digits of a rate, and rounds it down."""
SWAP_SLACK_BYTES = 2**16
"""The kernel counts both in pages, of up to this size."""


@dataclass(frozen=True, slots=True)
class Inside:
    """What was read inside a machine; ``disk_cache`` is None where it has no disk of its own.

    ``swap_bytes`` is the swap that may be used in addition to the memory. ``quota_cpus`` is
    the quota of CPU time that holds it, as CPUs, which was read on the machine around it; None is
    no quota. ``group`` is all that was read there, None where no group of that machine holds it.
    ``confinement`` is what holds a command there and what it stands on, in the kernel's own words
    (``Seccomp``, ``CapEff``, the filesystem of /data): from it a ladder sees what its switches did.
    """

    cpus: int
    memory_bytes: int
    disk_cache: DiskCache | None = None
    swap_bytes: int = 0
    quota_cpus: float | None = None
    confinement: Mapping[str, str] = field(default_factory=dict, compare=False)
    group: GroupLimits | None = None


def read(machine: Machine, disk_cache: DiskCache | None = None) -> Inside:
    """Read what a machine gives to a command that runs in it, or raise CommandFailed."""
    lines = text(machine, ["sh", "-c", READ]).splitlines()
    found = dict(parts for line in lines if len(parts := line.split(maxsplit=1)) == 2)
    confinement = {
        name.removeprefix(_CONFINEMENT): value
        for name, value in found.items()
        if name.startswith(_CONFINEMENT)
    }
    total = int(float(found["total"]))
    limit = found.get("limit", "max")
    memory = total if limit == "max" else min(total, int(limit))
    confinement["memory_limit"] = limit
    swap, swap_limit = int(float(found.get("swap", 0))), found.get("swap_limit", "max")
    swap = swap if swap_limit == "max" else min(swap, int(swap_limit))
    return Inside(int(found["cpus"]), memory, disk_cache, swap, confinement=confinement)


def refusals(limits: Limits, inside: Inside, cpuset: str = "") -> list[str]:
    """Return differences that make a comparison worthless: the platform must not be measured.

    ``cpuset`` lists the CPUs that its innermost layer says it may run on; where limits pin nothing
    these may be more than they say.
    """
    found = []
    wanted = limits.cpus
    if not limits.is_pinned and cpuset:
        wanted = max(wanted, len(cpus_of(cpuset)))
    if inside.cpus != wanted:
        found.append(f"{inside.cpus} CPUs inside, {wanted} were to be given")
    if not _has_its_quota(limits, inside):
        quota, asked = _quota(inside.quota_cpus), _quota(limits.quota_cpus)
        found.append(f"it has {quota}, {asked} was to be given")
    for name, number in limits.optional:
        held = None if inside.group is None else getattr(inside.group, name)
        if not is_held(name, held, number):
            given = "no limit" if held is None else f"a limit of {held}"
            found.append(f"{name}: its group has {given}, {number} was to be given")
    if inside.disk_cache not in (None, limits.disk_cache):
        found.append(f"disk cache mode is {inside.disk_cache}, not {limits.disk_cache}")
    return found


def warnings(limits: Limits, inside: Inside) -> list[str]:
    """Return warnings that a reader of the numbers must know."""
    found = []
    low, high = (slack * limits.memory_bytes for slack in MEMORY_SLACK)
    if not low <= inside.memory_bytes <= high:
        given, wanted = inside.memory_bytes / 2**20, limits.memory_bytes / 2**20
        found.append(f"{given:.0f} MiB of memory inside, {wanted:.0f} MiB were to be given")
    if abs(inside.swap_bytes - limits.swap_bytes) > SWAP_SLACK_BYTES:
        given, wanted = inside.swap_bytes / 2**20, limits.swap_bytes / 2**20
        found.append(f"{given:.0f} MiB of swap inside, {wanted:.0f} MiB were to be given")
    if limits.cpu_limit is CpuLimit.NONE and inside.cpus > limits.cpus:
        found.append(
            f"under cpu_limit: none it may use {inside.cpus} CPUs, where a virtual machine has "
            f"{limits.cpus}"
        )
    return found


def is_held(name: str, held: int | None, number: int) -> bool:
    """Return whether a limit is the declared one; that of a link is read back rounded down."""
    if held is None or name not in NETWORK:
        return held == number
    return number * (1 - ROUNDED) <= held <= number


def _has_its_quota(limits: Limits, inside: Inside) -> bool:
    """Return whether the quota is the one asked for; none is as good as one of all its CPUs."""
    given = inside.quota_cpus
    if limits.quota_cpus is None:
        return given is None or given >= inside.cpus
    return given == limits.quota_cpus


def _quota(cpus: float | None) -> str:
    return "no quota" if cpus is None else f"a quota of {cpus:g} CPUs"
