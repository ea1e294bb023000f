"""A guest's disk as a block device of the outer machine, which that machine does not cache."""

from __future__ import annotations

from tare.core.errors import CommandFailed, LayerError
from tare.machines.cgroup.cgroup import Group
from tare.machines.ledger import Scope
from tare.machines.machine import Machine, await_true, check

DEVICES = 128
# A device that another server takes in between is busy, and the next one is tried. The server
# answers its caller a moment before the kernel has the device.
SERVE = r"""
set -u
folder=$0 most=$1
shift
modprobe nbd nbds_max="$most" 2> /dev/null
for entry in /sys/block/nbd*; do
    [ -e "$entry/size" ] && [ ! -e "$entry/pid" ] || continue
    why=$("$@" --connect="/dev/${entry##*/}" "$folder/disk" 2>&1) || continue
    tries=0
    until [ -e "$entry/pid" ] || [ $tries -ge 200 ]; do
        tries=$((tries + 1))
        sleep 0.05
    done
    echo "/dev/${entry##*/}"
    exit 0
done
echo "${why:-no free device nbd* (the module nbd is not there, or all are in use)}" >&2
exit 1
"""
# The device's server is known by the disk that it was started with.
DISCONNECT = r"""
for entry in /sys/block/nbd*; do
    read -r task 2> /dev/null < "$entry/pid" || continue
    if tr '\0' '\n' < "/proc/$task/cmdline" | grep -qxF "$0/disk"; then
        qemu-nbd --disconnect "/dev/${entry##*/}" > /dev/null
    fi
done
"""
SERVES = r'tr "\0" "\n" < "/proc/$(cat "$0/server.pid")/cmdline" | grep -qxF "$0/disk"'
END_S = 20.0


def record(outer: Machine, folder: str, scope: Scope) -> None:
    """Record the device of a folder's disk, to be disconnected when the scope is closed."""
    undo = ["sh", "-c", DISCONNECT, folder]
    scope.about_to_make("network block device", f"{folder}/disk", outer, undo)


def attach(outer: Machine, folder: str, group: Group) -> str:
    """Show the qcow2 image ``disk`` of a folder as a block device, and give its name.

    The server lives in the group. Raises LayerError.
    """
    serve = ["sh", "-c", SERVE, folder, str(DEVICES), *serve_argv(folder)]
    try:
        done = check(outer, group.enter_argv(serve))
    except CommandFailed as error:
        raise LayerError(f"could not attach {folder}/disk on {outer.name}: {error}") from error
    return done.stdout.decode().strip()


def detach(outer: Machine, folder: str, group: Group) -> None:
    """Disconnect the device in order, so that its image is whole, and end what is left in the
    group.

    Succeeds where there is none; raises LayerError.
    """
    try:
        check(outer, ["sh", "-c", DISCONNECT, folder])
    except CommandFailed as error:
        raise LayerError(f"{folder}/disk cannot be detached: {error}") from error
    serves = ["sh", "-c", SERVES, folder]
    if not await_true(lambda: outer.run(serves).returncode != 0, timeout_s=END_S):
        raise LayerError(f"the server of {folder}/disk did not end within {END_S:.0f} s")
    group.kill()


def serve_argv(folder: str) -> list[str]:
    """Build the command that serves the disk, past the page cache, and returns once it does."""
    return [
        "qemu-nbd", "--fork", f"--pid-file={folder}/server.pid", "--format=qcow2",
        "--cache=none", "--aio=native",
    ]  # fmt: skip
