"""Change the quota of CPU time of a control group (v1 and v2) while its processes run."""

from __future__ import annotations

from tare.core.completed import tail_of
from tare.core.errors import LayerError, Unavailable
from tare.machines.machine import Machine

PERIOD_US = 100_000
"""The kernel's own period; its quota is at least a millisecond of it."""

# Status 3: the kernel, or the engine that made the group, does not offer it there.
SET = r"""
path=$0 quota=$1 period=$2
root=/sys/fs/cgroup
if [ -f $root/cgroup.controllers ]; then
    file=$root/$path/cpu.max
    [ -f "$file" ] || { echo "it is no group of the cpu controller" >&2; exit 3; }
    echo "$quota $period" > "$file" || exit 1
    exit 0
fi
at=$root/cpu/$path
[ -f "$at/cpu.cfs_quota_us" ] || { echo "it is no group of the cpu controller" >&2; exit 3; }
[ "$quota" != max ] || quota=-1
# A period cannot be changed below a quota that would then be too much.
echo -1 > "$at/cpu.cfs_quota_us" && echo "$period" > "$at/cpu.cfs_period_us" &&
    echo "$quota" > "$at/cpu.cfs_quota_us" || exit 1
"""
_NOT_OFFERED = 3


def set_quota(machine: Machine, path: str, cpus: float | None) -> None:
    """Hold a group to a quota of CPU time, in CPUs, from now on; None: to none of its own.

    Raises Unavailable where the group offers no quota, LayerError where it is not taken.
    """
    quota = "max" if cpus is None else str(round(cpus * PERIOD_US))
    done = machine.run(["sh", "-c", SET, path, quota, str(PERIOD_US)])
    if done.returncode == 0:
        return
    where = f"the cgroup {path} on {machine.name} takes no quota: {tail_of(done.stderr)}"
    if done.returncode == _NOT_OFFERED:
        raise Unavailable(where, "leave cpus out of `reservation:`")
    raise LayerError(where)
