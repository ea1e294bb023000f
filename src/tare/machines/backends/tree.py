"""A writable root from the userland's tree, for every layer that runs one in a directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.core.errors import CommandFailed, LayerError
from tare.machines.machine import Machine, check
from tare.machines.userland import REMOVE_FOLDER

if TYPE_CHECKING:
    from tare.machines.layer import Site

# The userland stays as it was built: writes go to a directory of the instance's own. The workload's
# directory is not on that overlay but on the outer machine's own filesystem.
MOUNT = r"""
set -eu
tree=$0 folder=$1
mkdir -p "$folder/upper" "$folder/work" "$folder/root" "$folder/data"
mount -t overlay tare -o "lowerdir=$tree,upperdir=$folder/upper,workdir=$folder/work" "$folder/root"
mkdir -p "$folder/root/data"
mount --bind "$folder/data" "$folder/root/data"
"""
# For what runs in the root without namespaces of its own.
MOUNT_KERNEL = r"""
set -eu
folder=$0
mount -t proc proc "$folder/root/proc"
mount --rbind /sys "$folder/root/sys"
mount --rbind /dev "$folder/root/dev"
mount --make-rslave "$folder/root/sys"
mount --make-rslave "$folder/root/dev"
"""
ENVIRONMENT = (
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME=/root",
)


def own_folder(outer: Machine, site: Site) -> str:
    """Make an instance's folder, of which nothing stays, or raise LayerError."""
    folder = f"{site.folder}/{site.name}"
    site.scope.about_to_make("folder", folder, outer, ["sh", "-c", REMOVE_FOLDER, folder])
    try:
        check(outer, ["mkdir", "-p", folder])
    except CommandFailed as error:
        raise LayerError(f"could not make {folder} on {outer.name}: {error}") from error
    return folder


def writable(outer: Machine, site: Site, *, kernel: bool = False) -> str:
    """Mount a writable userland, with /data in it, as ``root`` in a folder; gives the folder.

    With ``kernel`` there are /proc, /sys and /dev of the outer machine in it too. Raises
    LayerError where the folder's filesystem cannot hold an overlay.
    """
    folder = own_folder(outer, site)
    try:
        check(outer, ["sh", "-c", MOUNT, site.userland.tree(outer), folder])
        if kernel:
            check(outer, ["sh", "-c", MOUNT_KERNEL, folder])
    except CommandFailed as error:
        raise LayerError(f"could not mount the userland on {outer.name}: {error}") from error
    return folder
