"""Keep the userland's image in a cache, so that a new Docker daemon need not import it.

An import takes the daemon some four seconds of checksums and compression. The files that it makes
(of Docker's storage driver overlay2) are never rewritten, only replaced. So they are kept next to
the userland as hard links, and the next daemon finds them in its root when it starts: the tree as a
read-only mount, the small files that describe it as copies. A daemon that stores images in another
way finds no image there, and imports it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.machines.machine import Host, Machine, check

if TYPE_CHECKING:
    from tare.machines.userland import Userland

COPY_S = 120.0
# With a second tree, another image is there too: then nothing is kept.
KEEP = r"""
set -e
root=$0 new=$1 kept=$2
trees=$(find "$root/overlay2" -mindepth 1 -maxdepth 1 ! -name l 2> /dev/null | wc -l)
[ "$trees" = 1 ] && [ ! -d "$kept" ] || exit 0
mkdir "$new"
cp -al "$root/image" "$root/overlay2" "$new/"
rm -rf "$new/image/overlay2/layerdb/mounts"
mv -T "$new" "$kept"
"""
# The daemon mounts its root (to be shared) and the folder of the trees on themselves unless they
# are mounts already: that would hide the mount in them.
GIVE = r"""
set -e
root=$0 kept=$1
[ -d "$kept" ] || exit 0
mkdir -p "$root/overlay2"
mount --bind "$root" "$root"
mount --make-shared "$root"
mount --bind "$root/overlay2" "$root/overlay2"
mount --make-private "$root/overlay2"
cp -a "$kept/image" "$root/"
cp -a "$kept/overlay2/l" "$root/overlay2/"
for tree in "$kept"/overlay2/*/diff; do
    id=$(basename "${tree%/diff}")
    mkdir -p "$root/overlay2/$id/diff"
    cp -a "$kept/overlay2/$id/link" "$root/overlay2/$id/"
    mount -o bind,ro "$tree" "$root/overlay2/$id/diff"
done
"""


def give(machine: Machine, userland: Userland, root: str) -> None:
    """Put the image that was kept, if there is one, into the root of a daemon yet to be started.

    Raises CommandFailed. The mount is removed with the root (``REMOVE_FOLDER``).
    """
    if isinstance(machine, Host):
        check(machine, ["sh", "-c", GIVE, root, _kept(userland)], timeout_s=COPY_S)


def keep(machine: Machine, userland: Userland, root: str) -> None:
    """Store the image that a daemon has just imported, before it makes any container.

    Raises CommandFailed. What is unfinished is in the daemon's own folder, and removed with it.
    """
    if isinstance(machine, Host):
        argv = ["sh", "-c", KEEP, root, f"{root}/kept", _kept(userland)]
        check(machine, argv, timeout_s=COPY_S)


def _kept(userland: Userland) -> str:
    return str(userland.folder / "docker")
