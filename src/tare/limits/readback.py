"""What a machine really gives, read inside it, against what every stack was to get."""

from __future__ import annotations

from dataclasses import dataclass

from tare.machine import Machine, text
from tare.model import DiskCache, Limits

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
"""

MEMORY_SLACK = (0.85, 1.02)
"""A guest's kernel keeps some of its memory; what is beyond this is worth a warning."""


@dataclass(frozen=True, slots=True)
class Inside:
    """What was read inside a machine; ``disk_cache`` is None where it has no disk of its own."""

    cpus: int
    memory_bytes: int
    disk_cache: DiskCache | None = None


def read(machine: Machine, disk_cache: DiskCache | None = None) -> Inside:
    """Read what a machine gives to a command that runs in it, or raise CommandFailed."""
    found = dict(line.split(maxsplit=1) for line in text(machine, ["sh", "-c", READ]).splitlines())
    total = int(float(found["total"]))
    limit = found.get("limit", "max")
    memory = total if limit == "max" else min(total, int(limit))
    return Inside(int(found["cpus"]), memory, disk_cache)


def refusals(limits: Limits, inside: Inside) -> list[str]:
    """Say what makes a comparison worthless: the platform must not be measured."""
    found = []
    if inside.cpus != limits.cpus:
        found.append(f"{inside.cpus} CPUs inside, {limits.cpus} were to be given")
    if inside.disk_cache not in (None, limits.disk_cache):
        found.append(f"disk cache mode is {inside.disk_cache}, not {limits.disk_cache}")
    return found


def warnings(limits: Limits, inside: Inside) -> list[str]:
    """Say what the reader must know beside the numbers."""
    low, high = (slack * limits.memory_bytes for slack in MEMORY_SLACK)
    if low <= inside.memory_bytes <= high:
        return []
    given, wanted = inside.memory_bytes / 2**20, limits.memory_bytes / 2**20
    return [f"{given:.0f} MiB of memory inside, {wanted:.0f} MiB were to be given"]
