"""Find the disk on which files lie, and hold a control group's use of it to bytes and operations.

cgroup v1 counts what the processes of a group do themselves: direct I/O, reads, and what they sync.
What the kernel writes back later for them is charged to nobody there, so no limit holds it.
"""

from __future__ import annotations

from collections.abc import Mapping

from tare.core.completed import tail_of
from tare.core.errors import LayerError, Unavailable
from tare.core.model.cell import DISK
from tare.machines.machine import Machine

NOT_OFFERED = 3
"""The status of a script where a machine, or the engine that made a group, does not offer it."""

# The files that are written in an overlay lie where its upper directory is. A filesystem that
# shows a number of its own (btrfs) has its device as its source. A limit is on a whole disk, never
# on a partition.
FIND = r"""
at=$0
refuse() { echo "$1" >&2; exit 3; }
while :; do
    mount=$(findmnt --noheadings --raw --output MAJ:MIN,FSTYPE,SOURCE,OPTIONS --target "$at") ||
        refuse "$at is on no filesystem that can be found"
    set -- $mount
    [ "$2" = overlay ] || break
    upper=${4#*,upperdir=}
    [ "$upper" != "$4" ] || refuse "$at is on an overlay that is only read"
    at=${upper%%,*}
    [ -d "$at" ] || refuse "the overlay's directory $at is another machine's"
done
number=$1
if [ ! -e "/sys/dev/block/$number" ] && [ -b "${3%%[*}" ]; then
    number=$(lsblk --nodeps --noheadings --raw --output MAJ:MIN "${3%%[*}")
fi
[ -e "/sys/dev/block/$number" ] || refuse "$at is on $2, which is on no disk"
[ ! -e "/sys/dev/block/$number/partition" ] || read -r number < "/sys/dev/block/$number/../dev"
echo "$number"
"""

# Each value is empty, for what stays as it is, a number, or "none". In v1 a limit is one of the
# group itself, and not of it and those below it together.
APPLY = r"""
set -eu
path=$0 disk=$1
shift
root=/sys/fs/cgroup
refuse() { echo "$1" >&2; exit 3; }
if [ -f $root/cgroup.controllers ]; then
    line=
    for key in rbps wbps riops wiops; do
        [ "$1" != none ] || { shift; set -- max "$@"; }
        [ -z "$1" ] || line="$line $key=$1"
        shift
    done
    [ -f "$root/$path/io.max" ] || refuse "it is no group of the io controller"
    echo "$disk$line" > "$root/$path/io.max"
    exit 0
fi
at=$root/blkio/$path
for key in read_bps write_bps read_iops write_iops; do
    value=$1
    shift
    [ -n "$value" ] || continue
    file=$at/blkio.throttle.${key}_device
    if [ "$value" = none ]; then
        [ ! -f "$file" ] || echo "$disk 0" > "$file"
        continue
    fi
    [ -f "$file" ] || refuse "it is no group of the blkio controller"
    below=$(find "$at" -mindepth 2 -name cgroup.procs -exec cat {} +)
    [ -z "$below" ] || refuse "cgroup v1 holds no groups below it, and there are some"
    echo "$disk $value" > "$file"
done
"""

# For group_limits.READ, which has $path and $root. Each limit is printed with its disk. In v2 the
# groups around it hold it too.
READ = r"""
limit() {
    case $2 in "" | max | 0) ;; *) echo "$1 $2 $3" ;; esac
}
at=$path
if [ -f $root/cgroup.controllers ]; then
    while [ -n "$at" ]; do
        [ ! -f "$root/$at/io.max" ] || while read -r disk rbps wbps riops wiops; do
            limit disk_read_bytes_per_s "${rbps#*=}" "$disk"
            limit disk_write_bytes_per_s "${wbps#*=}" "$disk"
            limit disk_reads_per_s "${riops#*=}" "$disk"
            limit disk_writes_per_s "${wiops#*=}" "$disk"
        done < "$root/$at/io.max"
        case $at in */*) at=${at%/*} ;; *) at= ;; esac
    done
else
    for pair in disk_read_bytes_per_s:read_bps disk_write_bytes_per_s:write_bps \
        disk_reads_per_s:read_iops disk_writes_per_s:write_iops; do
        file=$root/blkio/$path/blkio.throttle.${pair#*:}_device
        [ ! -f "$file" ] || while read -r disk most; do
            limit "${pair%:*}" "$most" "$disk"
        done < "$file"
    done
fi
"""


def find(machine: Machine, path: str) -> str:
    """Find the whole disk on which a file or folder lies, as ``major:minor``.

    Raises Unavailable where it is on none.
    """
    done = machine.run(["sh", "-c", FIND, path])
    if done.returncode != 0:
        raise Unavailable(
            f"no disk of {machine.name} can be held: {tail_of(done.stderr)}",
            f"leave {', '.join(DISK)} out of `limits:`",
        )
    return done.stdout.decode().strip()


def apply(machine: Machine, path: str, disk: str, values: Mapping[str, str]) -> None:
    """Write limits of a disk into a group; ``values`` are numbers or "none", by the limits' names.

    Raises Unavailable where the group offers no such limit, LayerError where it is not taken.
    """
    given = [values.get(name, "") for name in DISK]
    done = machine.run(["sh", "-c", APPLY, path, disk, *given])
    if done.returncode == 0:
        return
    where = f"the cgroup {path} on {machine.name} cannot be limited: {tail_of(done.stderr)}"
    if done.returncode == NOT_OFFERED:
        raise Unavailable(where, "leave the limits of the disk out of `limits:`")
    raise LayerError(where)
