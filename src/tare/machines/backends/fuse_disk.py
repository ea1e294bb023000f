"""Serve a guest's disk as an uncached file through FUSE, for user-mode Linux.

Only for clients with one request at a time: before version 10.1 QEMU's FUSE export takes the
next request into the buffer of a write that is still under way, and the disk is damaged.
"""

from __future__ import annotations

from tare.core.errors import CommandFailed, LayerError
from tare.machines.cgroup.cgroup import Group
from tare.machines.machine import Machine, await_true, check

BINARY = "qemu-storage-daemon"
# A server that was killed leaves its mount.
SERVE = r"""
set -eu
folder=$0
[ -c /dev/fuse ] || modprobe fuse
! grep -q " $folder/export " /proc/self/mountinfo || umount -l "$folder/export"
: > "$folder/export"
exec "$@"
"""
# The server removes the file when it has ended in order.
END = 'pid=$(cat "$0" 2> /dev/null) && kill -TERM "$pid"'
END_S = 20.0


def serve(outer: Machine, folder: str, group: Group) -> None:
    """Show the qcow2 image ``disk`` of a folder as a raw file ``export`` there, by FUSE.

    The server lives in the group; removing the folder removes the mount. Raises LayerError.
    """
    argv = group.enter_argv(["sh", "-c", SERVE, folder, *serve_argv(folder)])
    try:
        check(outer, argv)
    except CommandFailed as error:
        raise LayerError(f"could not serve {folder}/disk on {outer.name}: {error}") from error


def end(outer: Machine, folder: str, group: Group) -> None:
    """End the server in order, so that its image is whole, and whatever is left in its group.

    Succeeds where there is none; raises LayerError.
    """
    outer.run(["sh", "-c", END, f"{folder}/server.pid"])
    await_true(lambda: outer.run(["test", "-e", f"{folder}/server.pid"]).returncode != 0,
               timeout_s=END_S)  # fmt: skip
    group.kill()


def serve_argv(folder: str) -> list[str]:
    """Build the command that serves the disk, and returns once it does.

    The export itself is never cached: what is written to it is written to the image, which is open
    with O_DIRECT.
    """
    return [
        BINARY, "--daemonize", "--pidfile", f"{folder}/server.pid",
        "--blockdev", f"driver=file,node-name=file,filename={folder}/disk,cache.direct=on",
        "--blockdev", "driver=qcow2,node-name=disk,file=file,cache.direct=on",
        "--export", f"fuse,id=export,node-name=disk,mountpoint={folder}/export,writable=on",
    ]  # fmt: skip
