"""Create, limit, freeze and remove control groups (v1 and v2) on any machine with a shell.

A group is a path such as ``tare/t1a2b/host-0`` below the root of every hierarchy. The scripts are
constant; what varies reaches them as arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tare.core.errors import CommandFailed, LayerError, Unavailable
from tare.core.model import Limits
from tare.machines.cgroup import freezer
from tare.machines.ledger import Scope
from tare.machines.machine import Host, Machine, check, text

# In v1 every controller is a tree of its own; a new cpuset has no CPUs until they are written, and
# takes no process before that. In v2 a controller must be handed down at each level above. ``cpu``
# makes each stack one competitor for CPU time; without it, one would compete by each process.
# ``blkio`` may be missing. Newer kernels count a disk there only once some group has been given a
# limit of it, which may be none.
MAKE = r"""
set -eu
path=$1 cpus=$2 memory=$3 swap=$4 quota=$5
root=/sys/fs/cgroup
# Nothing is forked where a shell can do it: in an emulated guest each process takes 60 ms.
IFS=/
set -- $path
unset IFS
if [ -f $root/cgroup.controllers ]; then
    at=$root
    for part; do
        has= gives=
        read -r has < "$at/cgroup.controllers" || :
        read -r gives < "$at/cgroup.subtree_control" || :
        for controller in cpuset cpu memory pids io; do
            case " $has " in *" $controller "*) ;; *) continue ;; esac
            case " $gives " in
            *" $controller "*) ;;
            *) echo +$controller > "$at/cgroup.subtree_control" ;;
            esac
        done
        at=$at/$part
        [ -d "$at" ] || mkdir -p "$at"
    done
    [ -z "$cpus" ] || echo "$cpus" > "$at/cpuset.cpus"
    [ -z "$memory" ] || echo "$memory" > "$at/memory.max"
    [ -z "$memory" ] || [ ! -f "$at/memory.swap.max" ] || echo "$swap" > "$at/memory.swap.max"
    [ -z "$quota" ] || echo "${quota}00000 100000" > "$at/cpu.max"
    exit 0
fi
for controller in cpuset memory cpu cpuacct freezer pids blkio; do
    [ $controller != blkio ] || [ -d $root/blkio ] || break
    [ -d $root/$controller ] || { echo "no cgroup controller $controller" >&2; exit 1; }
    at=$root/$controller
    for part; do
        [ -d "$at/$part" ] || mkdir -p "$at/$part"
        if [ $controller = cpuset ]; then
            for file in cpuset.cpus cpuset.mems; do
                now=
                read -r now < "$at/$part/$file" || :
                [ -n "$now" ] || { read -r now < "$at/$file"; echo "$now" > "$at/$part/$file"; }
            done
        fi
        at=$at/$part
    done
    case $controller in
    cpuset) [ -z "$cpus" ] || echo "$cpus" > "$at/cpuset.cpus" ;;
    memory)
        if [ -n "$memory" ]; then
            echo "$memory" > "$at/memory.limit_in_bytes"
            [ ! -f "$at/memory.memsw.limit_in_bytes" ] ||
                echo $((memory + swap)) > "$at/memory.memsw.limit_in_bytes"
        fi ;;
    cpu)
        if [ -n "$quota" ]; then
            echo 100000 > "$at/cpu.cfs_period_us"
            echo "${quota}00000" > "$at/cpu.cfs_quota_us"
        fi ;;
    blkio)
        for device in /sys/block/*/device; do
            number= counted=
            read -r number 2> /dev/null < "${device%device}dev" || continue
            while read -r one _; do [ "$one" != "$number" ] || counted=yes; done \
                < $root/blkio/blkio.throttle.io_service_bytes || :
            [ -n "$counted" ] ||
                echo "$number 0" 2> /dev/null > "$at/blkio.throttle.read_bps_device" || :
        done ;;
    esac
done
"""

# In v2 the root itself has no such file; where no group has any, only the boot says more.
COUNTS_SWAP = r"""
root=/sys/fs/cgroup
[ -f $root/cgroup.controllers ] || exec test -f $root/memory/memory.memsw.limit_in_bytes
for group in $root/*/; do
    [ ! -f "$group/memory.current" ] || exec test -f "$group/memory.swap.max"
done
[ -f /proc/swaps ] && ! grep -q swapaccount=0 /proc/cmdline
"""

# exec, so that the command is the very process that entered.
ENTER = r"""
path=$0
root=/sys/fs/cgroup
if [ -f $root/cgroup.controllers ]; then
    echo $$ > "$root/$path/cgroup.procs" || exit 125
else
    for controller in cpuset memory cpu cpuacct freezer pids; do
        echo $$ > "$root/$controller/$path/cgroup.procs" || exit 125
    done
    [ ! -d "$root/blkio/$path" ] || echo $$ > "$root/blkio/$path/cgroup.procs" || exit 125
fi
exec "$@"
"""

# A session keeps to the CPUs that are not measured, and all that it starts inherits that.
ON_ALL_CPUS = r"""
taskset --pid --cpu-list "$(cat /sys/devices/system/cpu/online)" $$ > /dev/null
exec "$0" "$@"
"""

# v1 takes the state that is asked for and may still be on the way there; v2 says when it is frozen.
FREEZE = r"""
path=$0 frozen=$1
root=/sys/fs/cgroup
tries=0
if [ -f $root/cgroup.controllers ]; then
    at=$root/$path
    echo "$frozen" > "$at/cgroup.freeze" || exit 1
    until grep -q "frozen $frozen" "$at/cgroup.events"; do
        tries=$((tries + 1))
        [ $tries -lt 200 ] || { echo "$at does not freeze or thaw" >&2; exit 1; }
        sleep 0.01
    done
    exit 0
fi
at=$root/freezer/$path
[ "$frozen" = 1 ] && state=FROZEN || state=THAWED
echo $state > "$at/freezer.state" || exit 1
while IFS= read -r now < "$at/freezer.state" && [ "$now" != $state ]; do
    tries=$((tries + 1))
    [ $tries -lt 200 ] || { echo "$at does not freeze or thaw" >&2; exit 1; }
    sleep 0.01
done
"""

# A group that is gone is as good as thawed.
THAW = r"""
for file in /sys/fs/cgroup/freezer/"$0"/freezer.state /sys/fs/cgroup/"$0"/cgroup.freeze; do
    [ "${file##*.}" = state ] && word=THAWED || word=0
    [ ! -f "$file" ] || echo $word > "$file" || [ ! -f "$file" ] || exit 1
done
"""

# What stays after a stop is waited for here; 20 s is far more than a kill takes.
KILL = r"""
path=$0
root=/sys/fs/cgroup
tree=$root/freezer
[ ! -f $root/cgroup.controllers ] || tree=$root
tries=0
while :; do
    pids=$(find "$tree/$path" -type d -exec sh -c 'cat "$0/cgroup.procs"' {} \; 2>/dev/null)
    [ -n "$pids" ] || exit 0
    kill -KILL $pids 2>/dev/null
    tries=$((tries + 1))
    [ $tries -lt 400 ] || { echo "processes in cgroup $path do not die: $pids" >&2; exit 1; }
    sleep 0.05
done
"""

# A frozen process does not die of a signal before it is thawed. The kernel gives no event for a v1
# group that has become empty, hence the short sleeps; 20 s is far more than a kill takes.
REMOVE = r"""
path=$0
root=/sys/fs/cgroup
groups() { find "$root"/$1/"$path" -depth -type d 2>/dev/null; }
trees=.
[ -f $root/cgroup.controllers ] || trees=$(cd $root && ls)
tries=0
while :; do
    left=
    for tree in $trees; do
        for group in $(groups $tree); do
            [ ! -f "$group/freezer.state" ] || echo THAWED > "$group/freezer.state" 2>/dev/null
            [ ! -f "$group/cgroup.freeze" ] || echo 0 > "$group/cgroup.freeze" 2>/dev/null
            for pid in $(cat "$group/cgroup.procs" 2>/dev/null); do
                kill -KILL "$pid" 2>/dev/null
            done
            rmdir "$group" 2>/dev/null || left=$group
        done
    done
    [ -n "$left" ] || break
    tries=$((tries + 1))
    [ $tries -lt 400 ] || { echo "cannot remove cgroup $left" >&2; exit 1; }
    sleep 0.05
done
# The groups above go too once nothing else is in them.
while path=${path%/*} && [ "$path" != "${path#tare}" ]; do
    for tree in $trees; do rmdir "$root/$tree/$path" 2>/dev/null; done
    [ "$path" != tare ] || break
done
exit 0
"""


def cpus_of(cpuset: str) -> list[int]:
    """List the CPUs of a list as the kernel writes it, such as ``0-2,5``; else raise ValueError."""
    ends = [part.split("-") for part in cpuset.split(",")]
    return [cpu for one in ends for cpu in range(int(one[0]), int(one[-1]) + 1)]


@dataclass(frozen=True, slots=True)
class Group:
    """A control group on a machine; removing it kills all processes in it and below."""

    machine: Machine
    path: str

    def enter_argv(self, argv: Sequence[str]) -> list[str]:
        """Build the command that runs argv inside the group."""
        return ["sh", "-c", ENTER, self.path, *argv]

    def boot_argv(self, argv: Sequence[str]) -> list[str]:
        """Build the command that runs argv inside the group on all CPUs, until they are held."""
        return self.enter_argv(["sh", "-c", ON_ALL_CPUS, *argv])

    def hold(self, cpuset: str, quota_cpus: int | None = None) -> None:
        """Limit the group to some CPUs, and to a quota of CPU time, from now on.

        Without CPUs or a quota that limit stays as it is.
        """
        check(self.machine, self._make_argv(cpuset, "", "", quota_cpus))

    def limit_argv(self, cpuset: str, limits: Limits | None) -> list[str]:
        """Build the command that makes the group, with limits where they are given."""
        if limits is None:
            return self._make_argv(cpuset, "", "", None)
        memory, swap = str(limits.memory_bytes), str(limits.swap_bytes)
        return self._make_argv(cpuset, memory, swap, limits.quota_cpus)

    def _make_argv(self, cpuset: str, memory: str, swap: str, quota: int | None) -> list[str]:
        given = [cpuset, memory, swap, "" if quota is None else str(quota)]
        return ["sh", "-c", MAKE, "make-cgroup", self.path, *given]

    def freeze(self) -> None:
        """Freeze all processes in it and below, or raise LayerError."""
        self._switch(frozen=True)

    def thaw(self) -> None:
        """Undo freeze, or raise LayerError."""
        self._switch(frozen=False)

    def kill(self) -> None:
        """Kill all processes in it and below, and wait until they are gone, or raise LayerError."""
        self.thaw()  # a frozen process does not die of a signal
        self._do(KILL)

    def _switch(self, *, frozen: bool) -> None:
        if isinstance(self.machine, Host):
            freezer.switch(self.path, frozen=frozen)
        else:
            self._do(FREEZE, str(int(frozen)))

    def _do(self, script: str, *arguments: str) -> None:
        try:
            check(self.machine, ["sh", "-c", script, self.path, *arguments])
        except CommandFailed as error:
            raise LayerError(f"cgroup {self.path} on {self.machine.name}: {error}") from error


def make(
    machine: Machine, path: str, scope: Scope, *, cpuset: str = "", limits: Limits | None = None
) -> Group:
    """Make a group, with limits where they are given, or raise LayerError.

    Raises Unavailable where the limits have swap that the kernel does not account for.
    """
    if limits is not None:
        refuse_uncounted_swap(machine, limits)
    expect(machine, path, scope)
    group = Group(machine, path)
    try:
        check(machine, group.limit_argv(cpuset, limits))
    except CommandFailed as error:
        raise LayerError(f"could not make the cgroup {path} on {machine.name}: {error}") from error
    return group


def refuse_uncounted_swap(machine: Machine, limits: Limits) -> None:
    """Raise Unavailable where limits have swap, and the kernel of a machine cannot limit it."""
    if limits.swap_bytes and machine.run(["sh", "-c", COUNTS_SWAP]).returncode != 0:
        raise Unavailable(
            f"the kernel of {machine.name} does not account for swap, so that no limit of it holds",
            "boot it with swapaccount=1, or leave `swap` out of the limits",
        )


def expect(machine: Machine, path: str, scope: Scope) -> None:
    """Record a group for removal that another program, such as an engine, is about to make."""
    scope.about_to_make("cgroup", path, machine, ["sh", "-c", REMOVE, path])


def of_process(machine: Machine, pid: str, controller: str = "cpuacct") -> str:
    """Find the group of a process, in the hierarchy of a controller: by default that of CPU time.

    That is the one hierarchy of v2 where v1 does not have the controller.
    """
    lines = text(machine, ["cat", f"/proc/{pid}/cgroup"]).splitlines()
    found = {}
    for line in lines:
        _, controllers, path = line.split(":", 2)
        for name in controllers.split(","):
            found[name] = path
    return found.get(controller, found.get("", "/")).strip("/")


def freezer_of(machine: Machine, ask: Sequence[str]) -> Group | None:
    """Find the group that freezes a container, where that can be written without a process.

    ``ask`` is the command that has an engine print the container's pid and id. None on other
    machines than the controlling host, where the engine does not know the container, and where the
    group does not bear the id: the engine may serve from a machine that has other processes.
    """
    if not isinstance(machine, Host):
        return None
    try:
        pid, own_id = text(machine, ask).split()
        path = of_process(machine, pid, "freezer")
    except (CommandFailed, ValueError):
        return None
    return Group(machine, path) if own_id in path and freezer.is_there(path) else None
