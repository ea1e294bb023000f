"""Write optional limits into an instance's control group, and read back what it is held to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tare.core.completed import tail_of
from tare.core.errors import CommandFailed, LayerError, Unavailable
from tare.core.model.cell import DISK
from tare.machines.cgroup import disk
from tare.machines.cgroup.disk import NOT_OFFERED
from tare.machines.machine import Machine, text

# A quota further out holds it too, so those of the groups around are read with its own. In v1 the
# limit of swap is that of memory and swap together.
READ = (
    r"""
path=$0
root=/sys/fs/cgroup
cpu=$root memory=$root pids=$root
[ -f $root/cgroup.controllers ] || cpu=$root/cpu memory=$root/memory pids=$root/pids
at=$cpu/$path
while [ "$at" != "$cpu" ]; do
    quota=max period=100000
    if [ -f "$at/cpu.max" ]; then
        read -r quota period < "$at/cpu.max"
    elif [ -f "$at/cpu.cfs_quota_us" ]; then
        read -r quota < "$at/cpu.cfs_quota_us"
        read -r period < "$at/cpu.cfs_period_us"
    fi
    case $quota in max | -1) ;; *) echo "quota $quota $period" ;; esac
    at=${at%/*}
done
awk '/^SwapTotal/ { print "swap", $2 * 1024 }' /proc/meminfo
at=$memory/$path
if [ -f "$at/memory.swap.max" ]; then
    read -r swap < "$at/memory.swap.max"
    [ "$swap" = max ] || echo "swap $swap"
elif [ -f "$at/memory.memsw.limit_in_bytes" ]; then
    read -r both < "$at/memory.memsw.limit_in_bytes"
    read -r memory < "$at/memory.limit_in_bytes"
    echo "swap $((both - memory))"
fi
case /$path in
*/tare/*)
    at=$path
    while parent=${at%/*} && [ "${parent##*/}" != tare ]; do at=$parent; done
    weight=100
    if [ -f "$cpu/$at/cpu.weight" ]; then
        read -r weight < "$cpu/$at/cpu.weight"
    elif [ -f "$cpu/$at/cpu.shares" ]; then
        read -r shares < "$cpu/$at/cpu.shares"
        weight=$(((shares * 100 + 512) / 1024))
    fi
    echo "weight $weight" ;;
esac
at=$pids/$path
while [ "$at" != "$pids" ]; do
    processes=max
    [ ! -f "$at/pids.max" ] || read -r processes < "$at/pids.max"
    [ "$processes" = max ] || echo "processes $processes"
    at=${at%/*}
done
"""
    + disk.READ
    + "exit 0\n"
)

# A weight counts among the groups of one parent, and instances are those below tare: so each group
# from there to the instance's own has it. In v1 100 is 1024 shares.
# Each value is empty, for what stays as it is, a number, or "none", which is what all have that are
# held to nothing.
APPLY = r"""
set -eu
path=$0 processes=$1 weight=$2
[ "$weight" != none ] || weight=100
root=/sys/fs/cgroup
pids=$root/pids cpu=$root/cpu file=cpu.shares value=$((weight * 1024 / 100))
[ ! -f $root/cgroup.controllers ] || pids=$root cpu=$root file=cpu.weight value=$weight
refuse() { echo "$1" >&2; exit 3; }
if [ "$processes" = none ]; then
    [ ! -f "$pids/$path/pids.max" ] || echo max > "$pids/$path/pids.max"
elif [ -n "$processes" ]; then
    [ -f "$pids/$path/pids.max" ] || refuse "it is no group of the pids controller"
    echo "$processes" > "$pids/$path/pids.max"
fi
if [ -n "$weight" ]; then
    case /$path in */tare/*) ;; *) refuse "it does not compete with the groups below tare" ;; esac
    at=$path
    while [ "${at##*/}" != tare ]; do
        [ -f "$cpu/$at/$file" ] || refuse "it is no group of the cpu controller"
        echo "$value" > "$cpu/$at/$file"
        at=${at%/*}
    done
fi
"""

DEFAULT_WEIGHT = 100
OF_GROUP = ("processes", "cpu_weight")
"""The optional limits that a group has whatever disk its files lie on."""


@dataclass(frozen=True, slots=True)
class GroupLimits:
    """The smallest quota of CPU time that holds a group, as CPUs, None where there is none.

    ``swap_bytes`` is what it may swap, which is no more than there is swap. The others have the
    names of the optional limits; None is no limit, and a weight of 100 is the kernel's default.
    Those of the network are of the instance's link, which no group has.
    """

    quota_cpus: float | None = None
    swap_bytes: int = 0
    processes: int | None = None
    cpu_weight: int = DEFAULT_WEIGHT
    disk_read_bytes_per_s: int | None = None
    disk_write_bytes_per_s: int | None = None
    disk_reads_per_s: int | None = None
    disk_writes_per_s: int | None = None
    network_out_bytes_per_s: int | None = None
    network_in_bytes_per_s: int | None = None


def read_group(machine: Machine, path: str, files_at: str = "") -> GroupLimits:
    """Read what a group holds its processes to, or raise LayerError.

    One that cannot be seen from the machine, as from a container around it, says nothing. Limits of
    other disks than that on which ``files_at`` lies do not count; empty: those of any disk do.
    """
    try:
        lines = text(machine, ["sh", "-c", READ, path]).splitlines()
    except CommandFailed as error:
        raise LayerError(f"cgroup {path} on {machine.name} cannot be read: {error}") from error
    quotas: list[float] = []
    swaps: list[int] = []
    processes: list[int] = []
    weights: list[int] = []
    disks: dict[str, int] = {}
    own_disk = _disk_of(machine, files_at) if files_at and _has_disk(lines) else ""
    for name, *numbers in (line.split() for line in lines):
        if name == "quota":
            quotas.append(int(numbers[0]) / int(numbers[1]))
        elif name == "processes":
            processes.append(int(numbers[0]))
        elif name == "weight":
            weights.append(int(numbers[0]))
        elif name in DISK:
            if own_disk and numbers[1:] != [own_disk]:
                continue
            disks[name] = min(int(numbers[0]), disks.get(name, int(numbers[0])))
        else:
            swaps.append(int(float(numbers[0])))
    return GroupLimits(
        quota_cpus=min(quotas, default=None),
        swap_bytes=min(swaps, default=0),
        processes=min(processes, default=None),
        cpu_weight=min(weights, default=DEFAULT_WEIGHT),
        **disks,
    )


def _disk_of(machine: Machine, files_at: str) -> str:
    """Return the disk on which files lie; where they lie on none, what no disk is called."""
    try:
        return disk.find(machine, files_at)
    except Unavailable:
        return "none"


def _has_disk(lines: Iterable[str]) -> bool:
    return any(line.startswith(DISK) for line in lines)


def apply_limits(machine: Machine, path: str, values: Mapping[str, str], files_at: str) -> None:
    """Write optional limits into a group, which holds them at once.

    ``values`` are numbers, or "none" for what no longer holds, by the names of the limits; those
    of the network are no group's. ``files_at`` is where the files lie whose disk is meant. Raises
    Unavailable where the group offers no such limit, LayerError where it is not taken.
    """
    if values.keys() & OF_GROUP:
        given = [values.get(name, "") for name in OF_GROUP]
        done = machine.run(["sh", "-c", APPLY, path, *given])
        where = f"the cgroup {path} on {machine.name} cannot be limited: {tail_of(done.stderr)}"
        if done.returncode == NOT_OFFERED:
            raise Unavailable(where, "change that limit below `limits:`, or leave it out")
        if done.returncode != 0:
            raise LayerError(where)
    of_disk = {name: value for name, value in values.items() if name in DISK}
    if of_disk and not files_at:
        raise Unavailable(
            f"it is not known on which disk of {machine.name} the files of {path} lie",
            f"leave {', '.join(of_disk)} out of `limits:`",
        )
    if of_disk:
        disk.apply(machine, path, disk.find(machine, files_at), of_disk)
