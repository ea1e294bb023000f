"""Write optional limits into an instance's control group, and read back what it is held to."""

from __future__ import annotations

from dataclasses import dataclass

from tare.core.completed import tail_of
from tare.core.errors import CommandFailed, LayerError, Unavailable
from tare.core.model import Limits
from tare.core.model.cell import OPTIONAL
from tare.machines.machine import Machine, text

# A quota further out holds it too, so those of the groups around are read with its own. In v1 the
# limit of swap is that of memory and swap together.
READ = r"""
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
exit 0
"""

# A weight counts among the groups of one parent, and instances are those below tare: so each group
# from there to the instance's own has it. In v1 100 is 1024 shares.
# Status 3: the kernel, or the engine that made the group, does not offer it there.
APPLY = r"""
set -eu
path=$0 processes=$1 weight=$2
root=/sys/fs/cgroup
pids=$root/pids cpu=$root/cpu file=cpu.shares value=$((weight * 1024 / 100))
[ ! -f $root/cgroup.controllers ] || pids=$root cpu=$root file=cpu.weight value=$weight
refuse() { echo "$1" >&2; exit 3; }
if [ -n "$processes" ]; then
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
_NOT_OFFERED = 3


DEFAULT_WEIGHT = 100


@dataclass(frozen=True, slots=True)
class GroupLimits:
    """The smallest quota of CPU time that holds a group, as CPUs, None where there is none.

    ``swap_bytes`` is what it may swap, which is no more than there is swap. The others have the
    names of the optional limits; None is no limit, and a weight of 100 is the kernel's default.
    """

    quota_cpus: float | None = None
    swap_bytes: int = 0
    processes: int | None = None
    cpu_weight: int = DEFAULT_WEIGHT


def read_group(machine: Machine, path: str) -> GroupLimits:
    """Read what a group holds its processes to, or raise LayerError.

    One that cannot be seen from the machine, as from a container around it, says nothing.
    """
    try:
        lines = text(machine, ["sh", "-c", READ, path]).splitlines()
    except CommandFailed as error:
        raise LayerError(f"cgroup {path} on {machine.name} cannot be read: {error}") from error
    quotas, swaps, processes, weights = [], [], [], []
    for name, *numbers in (line.split() for line in lines):
        if name == "quota":
            quotas.append(int(numbers[0]) / int(numbers[1]))
        elif name == "processes":
            processes.append(int(numbers[0]))
        elif name == "weight":
            weights.append(int(numbers[0]))
        else:
            swaps.append(int(float(numbers[0])))
    return GroupLimits(
        quota_cpus=min(quotas, default=None),
        swap_bytes=min(swaps, default=0),
        processes=min(processes, default=None),
        cpu_weight=min(weights, default=DEFAULT_WEIGHT),
    )


def apply_limits(machine: Machine, path: str, limits: Limits) -> None:
    """Write the optional limits that are declared into a group, which holds them at once.

    Raises Unavailable where the group offers no such limit, LayerError where it is not taken.
    """
    if not limits.optional:
        return
    declared = dict(limits.optional)
    given = [str(declared.get(name, "")) for name in OPTIONAL]
    done = machine.run(["sh", "-c", APPLY, path, *given])
    if done.returncode == 0:
        return
    where = f"the cgroup {path} on {machine.name} cannot be limited: {tail_of(done.stderr)}"
    if done.returncode == _NOT_OFFERED:
        raise Unavailable(where, "change that limit below `limits:`, or leave it out")
    raise LayerError(where)
