"""Run programs of another architecture during a build, by QEMU's user-mode emulation."""

from __future__ import annotations

from tare.core.completed import tail_of
from tare.core.errors import Unavailable
from tare.machines.machine import Machine, text
from tare.machines.userland.architecture import NAMES, Arch

REGISTRATION = "/usr/lib/binfmt.d/qemu-{name}.conf"
REGISTERED = "/proc/sys/fs/binfmt_misc/qemu-{name}"

# A kernel from 6.7 on keeps interpreters by user namespace: one is made for the command, so that
# nothing is registered on the host. All users are mapped to themselves, for a tree has files of
# many; only a process outside the new namespace may write that, so it is started first.
IN_NAMESPACE = r"""
set -eu
me=$$ before=$(readlink /proc/$$/ns/user)
{
    until now=$(readlink /proc/$me/ns/user) && [ "$now" != "$before" ]; do sleep 0.01; done
    echo "0 0 4294967295" > /proc/$me/uid_map
    echo "0 0 4294967295" > /proc/$me/gid_map
} > /dev/null 2>&1 < /dev/null &
exec unshare --user --mount sh -c '
    set -eu
    tries=0
    until grep -q . /proc/self/gid_map; do
        tries=$((tries + 1))
        [ $tries -lt 500 ] || { echo "no users in the new namespace" >&2; exit 1; }
        sleep 0.01
    done
    at=/proc/sys/fs/binfmt_misc
    mount -t binfmt_misc binfmt_misc $at
    cat "$0" > $at/register
    exec "$@"
' "$0" "$@"
"""


def able(machine: Machine, arch: Arch) -> list[str]:
    """Return the words before a command that let it run programs of an architecture.

    There are none where the machine runs them by itself. Raises Unavailable.
    """
    name = NAMES[arch]
    if text(machine, ["uname", "-m"]) == name:
        return []
    registered = machine.run(["cat", REGISTERED.format(name=name)]).stdout.decode().split()
    if "enabled" in registered:
        return []
    within = ["sh", "-c", IN_NAMESPACE, REGISTRATION.format(name=name)]
    done = machine.run([*within, "true"])
    if done.returncode != 0:
        why = tail_of(done.stderr)
        raise Unavailable(
            f"programs for {arch} cannot be run on {machine.name}: {why}",
            "apt-get install qemu-user-static binfmt-support",
        )
    return within
