"""Read the CPU quota and swap limit of an instance's control group."""

from __future__ import annotations

from dataclasses import dataclass

from tare.core.errors import CommandFailed, LayerError
from tare.machines.machine import Machine, text

# A quota further out holds it too, so those of the groups around are read with its own. In v1 the
# limit of swap is that of memory and swap together.
READ = r"""
path=$0
root=/sys/fs/cgroup
cpu=$root memory=$root
[ -f $root/cgroup.controllers ] || cpu=$root/cpu memory=$root/memory
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
exit 0
"""


@dataclass(frozen=True, slots=True)
class GroupLimits:
    """The smallest quota of CPU time that holds a group, as CPUs, None where there is none.

    ``swap_bytes`` is what it may swap, which is no more than there is swap.
    """

    quota_cpus: float | None = None
    swap_bytes: int = 0


def read_group(machine: Machine, path: str) -> GroupLimits:
    """Read what a group holds its processes to, or raise LayerError.

    One that cannot be seen from the machine, as from a container around it, says nothing.
    """
    try:
        lines = text(machine, ["sh", "-c", READ, path]).splitlines()
    except CommandFailed as error:
        raise LayerError(f"cgroup {path} on {machine.name} cannot be read: {error}") from error
    quotas, swaps = [], []
    for name, *numbers in (line.split() for line in lines):
        if name == "quota":
            quotas.append(int(numbers[0]) / int(numbers[1]))
        else:
            swaps.append(int(float(numbers[0])))
    return GroupLimits(min(quotas, default=None), min(swaps, default=0))
