"""The host itself: a chroot into the userland, held by a cgroup to what every stack gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tare import layer
from tare.errors import CommandFailed, LayerError, Unavailable
from tare.limits import cgroup
from tare.machine import Inner, Machine, check
from tare.userland import REMOVE_FOLDER

if TYPE_CHECKING:
    from tare.userland import Userland

# The userland stays as it was built: writes go to a directory of the instance's own. The workload's
# directory is not on that overlay but on the host's own filesystem.
MOUNT = r"""
set -eu
tree=$0 folder=$1
mkdir -p "$folder/upper" "$folder/work" "$folder/root" "$folder/data"
mount -t overlay tare -o "lowerdir=$tree,upperdir=$folder/upper,workdir=$folder/work" "$folder/root"
mkdir -p "$folder/root/data"
mount --bind "$folder/data" "$folder/root/data"
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


@dataclass(frozen=True, kw_only=True)
class Layer(layer.Layer):
    """No virtualization at all: the baseline."""

    def probe(self, outer: Machine, userland: Userland | None) -> Mapping[str, str]:
        """See Layer.probe."""
        del userland
        if outer.run(["test", "-w", "/sys/fs/cgroup"]).returncode != 0:
            raise Unavailable(f"cgroups cannot be made on {outer.name}", "run Tare as root")
        version = "test -f /sys/fs/cgroup/cgroup.controllers"
        is_v2 = outer.run(["sh", "-c", version]).returncode == 0
        return {"host.cgroup": "v2" if is_v2 else "v1"}

    def create(self, outer: Machine, site: layer.Site) -> Instance:
        """See Layer.create."""
        return Instance(outer, site)


class Instance(layer.Instance):
    """A mounted tree and a cgroup; there is nothing to start."""

    def __init__(self, outer: Machine, site: layer.Site) -> None:
        folder = f"{site.folder}/{site.name}"
        remove = ["sh", "-c", REMOVE_FOLDER, folder]
        site.scope.about_to_make("folder", folder, outer, remove)
        try:
            check(outer, ["sh", "-c", MOUNT, site.userland.tree(outer), folder])
        except CommandFailed as error:
            raise LayerError(f"could not mount the userland on {outer.name}: {error}") from error
        path = f"tare/{site.name}"
        group = cgroup.make(outer, path, site.scope, cpuset=site.cpuset, limits=site.limits)
        chroot = ["env", "-i", *ENVIRONMENT, "chroot", f"{folder}/root"]
        # A cgroup or a network link made in a chroot is the outer machine's, and outlives it.
        self.machine = Inner(
            outer,
            "chroot",
            lambda argv: group.enter_argv([*chroot, *argv]),
            ephemeral=outer.ephemeral,
        )
        self.cpuset = site.cpuset
        self.path = path

    def start(self) -> None:
        """See Instance.start."""

    def ready(self) -> None:
        """See Instance.ready."""
        check(self.machine, ["true"])

    def threads(self) -> layer.Threads:
        """See Instance.threads."""
        return layer.Threads(cgroup=self.path)
