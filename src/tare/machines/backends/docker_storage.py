"""Docker's storage drivers (overlay2, btrfs, ...), and why one is not available.

A daemon has one for all that it keeps. Names and removals are those of Docker's list of deprecated
features: aufs went with 24.0, devicemapper with 25.0.
"""

from __future__ import annotations

import re
from typing import Literal

from tare.core.errors import LayerError, Unavailable
from tare.machines.machine import Machine

StorageDriver = Literal["overlay2", "devicemapper", "btrfs", "zfs", "vfs", "aufs"]

REMOVED_IN = {"aufs": 24, "devicemapper": 25}
"""The first major version of Docker that has a driver no more."""
IN_KERNEL = {
    "overlay2": ("grep -qw overlay /proc/filesystems || modprobe overlay", "overlay"),
    "aufs": ("grep -qw aufs /proc/filesystems || modprobe aufs", "aufs"),
    # The pool's target is a module of its own; without a list of targets its module is asked for.
    "devicemapper": (
        "dmsetup targets 2> /dev/null | grep -q ^thin-pool || modprobe dm_thin_pool",
        "dm_thin_pool",
    ),
}
"""How to see whether the kernel can do it, and the module that brings it."""
NEEDS = {
    "btrfs": "set TARE_HOME to a folder on btrfs, or another storage_driver",
    "zfs": "set TARE_HOME to a folder on zfs, or another storage_driver",
    # Without udev nobody tells libdevmapper that a device is there, and dockerd refuses that.
    "devicemapper": "a machine on which udev runs, or another storage_driver",
}
"""What else than the kernel a driver needs."""
REFUSED = re.compile(r"error initializing graphdriver: (.*)|storage[- ]driver.*(?:removed|support)")

# Its devices outlive the daemon: thin ones first, then their pool, then the loops below that. The
# names begin with device and inode of the folder (moby, daemon/graphdriver/devmapper/deviceset.go).
REMOVE_POOL = r"""
at=$0/devicemapper
[ -d "$at" ] || exit 0
awk -v folder="$0/" 'index($5 "/", folder) == 1 { print $5 }' /proc/self/mountinfo |
    sort -r | while read -r on; do umount "$on" || umount -l "$on"; done
read -r device inode <<END
$(stat -c '%d %i' "$at")
END
name=docker-$((device >> 8 & 4095)):$((device & 255 | device >> 12 & 1048320))-$inode
for kind in 'grep -v -e -pool$' cat; do
    dmsetup ls 2> /dev/null | awk '{ print $1 }' | grep "^$name-" | $kind |
        while read -r one; do dmsetup remove --retry "$one"; done
done
for file in "$at"/devicemapper/*; do
    losetup -j "$file" | while IFS=: read -r loop _; do losetup -d "$loop"; done
done
! dmsetup ls 2> /dev/null | grep -q "^$name-"
"""


def refuse_other(machine: Machine, asked: StorageDriver) -> None:
    """Raise Unavailable where the daemon that answers on a machine has another driver."""
    ask = ["docker", "info", "--format", "{{.Driver}}"]
    has = machine.run(ask, timeout_s=20).stdout.decode().strip()
    if has != asked:
        raise Unavailable(
            f"the Docker daemon of {machine.name} has the storage driver {has or '(unknown)'}, "
            f"{asked} was asked for",
            f'set "storage-driver": "{asked}" in /etc/docker/daemon.json and restart the daemon '
            "(it then sees other images), or end the daemon: then Tare starts one of its own",
        )


def refuse_missing(machine: Machine, version: str, asked: StorageDriver) -> None:
    """Raise Unavailable where a daemon that is to be started cannot have a driver."""
    found = re.search(r"(\d+)\.\d+", version)
    gone = REMOVED_IN.get(asked)
    if found and gone and int(found[1]) >= gone:
        raise Unavailable(
            f"Docker {gone}.0 removed the storage driver {asked}, and {machine.name} has "
            f"{version.partition(',')[0]}",
            f"install a Docker before {gone}.0",
        )
    there, module = IN_KERNEL.get(asked, ("true", ""))
    if machine.run(["sh", "-c", there]).returncode != 0:
        raise Unavailable(
            f"the kernel of {machine.name} lacks {module}, which the storage driver {asked} needs",
            f"modprobe {module}, or boot a kernel that has it",
        )


def refuse_refused(machine: Machine, log: str, asked: StorageDriver) -> None:
    """Raise Unavailable where the log of a daemon that has ended says that it was the driver."""
    errors = [found for line in log.splitlines() if (found := REFUSED.search(line))]
    if errors:
        said = re.search(rf'level=error msg="(.*?)" storage-driver={asked}$', log, re.MULTILINE)
        why = (errors[-1][1] or errors[-1][0]) + (f" ({said[1]})" if said else "")
        raise Unavailable(
            f"dockerd on {machine.name} does not take the storage driver {asked}: {why}",
            NEEDS.get(asked, "another storage_driver"),
        )


def check_taken(machine: Machine, client: tuple[str, ...], asked: StorageDriver) -> None:
    """Read back from a daemon that was started which driver it has, or raise LayerError."""
    done = machine.run([*client, "info", "--format", "{{.Driver}}"], timeout_s=20)
    has = done.stdout.decode().strip()
    if has != asked:
        raise LayerError(
            f"dockerd on {machine.name} was to store by {asked}, and stores by {has or 'nothing'}"
        )
