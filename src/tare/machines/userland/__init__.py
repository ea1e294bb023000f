"""Build the Debian root filesystem that all platforms run, as a tree, a tar, an image or a disk.

The same tree, built once from Debian packages, is what every stack runs: a directory for chroots, a
tar for container engines, a disk for guests. Versions that differ between stacks are the classic
confound; here they cannot.
"""

from tare.machines.userland.architecture import Arch
from tare.machines.userland.cache import REMOVE_FOLDER
from tare.machines.userland.guest import DISK_BYTES, Guest
from tare.machines.userland.guest import DOCKER_ROOT as PREPARED_DOCKER
from tare.machines.userland.system import System
from tare.machines.userland.tree import Userland

__all__ = ["DISK_BYTES", "PREPARED_DOCKER", "REMOVE_FOLDER", "Arch", "Guest", "System", "Userland"]
