"""Build the disk image of the virtual machines: the userland, a kernel, container engines."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from tare.core.errors import CommandFailed, LayerError, Unavailable
from tare.core.home import ON_OTHER_MACHINES, home
from tare.machines.cgroup import cgroup
from tare.machines.ledger import Ledger, Scope
from tare.machines.machine import Host, Machine, await_true, check
from tare.machines.userland import cache, foreign
from tare.machines.userland.architecture import CONSOLES, Arch
from tare.machines.userland.bootable import Bootable, make_disk, make_key
from tare.machines.userland.dpkg import installed
from tare.machines.userland.system import SAME, System, place_kernel

RECIPE_VERSION = 2
PACKAGES = ("openssh-server", "docker.io", "iptables", "iproute2", "kmod", "busybox-static")
# From trixie on the client is a package of its own.
MORE_PACKAGES = {"trixie": ("docker-cli",)}
DISK_BYTES = 8 * 2**30
NEEDS_BYTES = 5_000_000_000
BUILD_S = 900.0
DOCKER_ROOT = f"{ON_OTHER_MACHINES}/docker"


def tree_path(userland: str) -> str:
    """Return where a userland's tree is on any machine but the controlling host, if it is there."""
    return f"{ON_OTHER_MACHINES}/userland/{userland}/tree"


# In a mount namespace of its own, so that no mount outlives the command. The tree gets the host's
# resolver for as long as apt runs.
IN_TREE = r"""
set -eu
tree=$0
mount --bind "$tree" "$tree"
mount --rbind /proc "$tree/proc"
mount --rbind /sys "$tree/sys"
mount --rbind /dev "$tree/dev"
cp -L /etc/resolv.conf "$tree/etc/resolv.conf"
exec chroot "$tree" "$@"
"""
# No postinst may start a daemon in the tree.
INSTALL = r"""
set -eu
export DEBIAN_FRONTEND=noninteractive
printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d
apt-get update -qq
kernel=$1
shift
apt-get install -y -qq --no-install-recommends "$@"
cd /var/cache/apt/archives
image=$(apt-cache depends --important "$kernel" | awk '/Depends:/ { print $2; exit }')
apt-get download -qq -o APT::Sandbox::User=root "$image"
dpkg-deb -x "$image"_*.deb /var/lib/tare-kernel
echo "$image" > /var/lib/tare-kernel/name
dpkg-deb -f "$image"_*.deb Version > /var/lib/tare-kernel/version
rm -rf /var/cache/apt/*.bin /var/cache/apt/archives/*.deb /var/lib/apt/lists/* \
    /usr/sbin/policy-rc.d
"""


@dataclass(frozen=True, slots=True)
class Guest(Bootable):
    """What boots a guest, in a folder of the machine that will run it."""

    kernel_version: str
    arch: Arch = "amd64"

    @property
    def id(self) -> str:
        """The content address."""
        return self.folder.name


@dataclass(frozen=True, slots=True)
class Base:
    """What a guest is made of: built trees, and what layers inside the guest need in addition.

    ``tar`` is the guest's own tree, with the packages in ``versions``. ``shared`` is what it has
    for containers under the name of the userland: the same one, unless its system is another.
    """

    userland: str
    tar: Path
    versions: Mapping[str, str]
    nested: tuple[str, ...] = ()
    system: System = SAME
    shared: Path | None = None

    @property
    def packages(self) -> list[str]:
        """The packages of the guest in addition to its tree."""
        return sorted({*PACKAGES, *MORE_PACKAGES.get(self.system.suite, ()), *self.nested})


def build_guest(base: Base, ledger: Ledger) -> Guest:
    """Find or build the guest of a userland, or raise Unavailable or LayerError."""

    def make(folder: Path, scope: Scope) -> Mapping[str, object]:
        try:
            return {**_recipe(base), **_make(folder, base, scope)}
        except CommandFailed as error:
            raise LayerError(f"the guest could not be built: {error}") from error

    folder = cache.build(home() / "guest", _recipe(base), ledger, NEEDS_BYTES, make)
    return _built(folder, base)


def kernel_version(base: Base) -> str | None:
    """Return the version of the kernel in the guest of a userland.

    None if there is no guest yet.
    """
    folder = cache.find(home() / "guest", _recipe(base))
    return None if folder is None else _built(folder, base).kernel_version


def _built(folder: Path, base: Base) -> Guest:
    manifest = json.loads((folder / cache.MANIFEST).read_text())
    return Guest(folder, manifest["kernel_version"], base.system.arch)


def _recipe(base: Base) -> Mapping[str, object]:
    scripts = files("tare.machines.userland").joinpath("files")
    recipe = {
        "version": RECIPE_VERSION,
        "userland": base.userland,
        "packages": base.packages,
        "kernel": base.system.kernel_package,
        "disk_bytes": DISK_BYTES,
        "files": {script.name: script.read_text() for script in scripts.iterdir()},
    }
    another = {"system": base.tar.parent.name, "drivers": base.system.drivers}
    if base.system.arch != SAME.arch:
        another |= {"console": CONSOLES[base.system.arch]}
    return recipe if base.system == SAME else recipe | another


def _make(folder: Path, base: Base, scope: Scope) -> Mapping[str, object]:
    host = cache.builder(folder, scope)
    for tool in ("mke2fs", "ssh-keygen"):
        if shutil.which(tool) is None:
            raise Unavailable(
                f"{tool} is not installed", "apt-get install e2fsprogs openssh-client"
            )
    tree = folder / "tree"
    tree.mkdir()
    check(host, ["tar", "-xf", str(base.tar), "-C", str(tree)], timeout_s=BUILD_S)
    able = foreign.able(host, base.system.arch)
    inside = [*able, "unshare", "--mount", "sh", "-c", IN_TREE, str(tree)]
    install = ["sh", "-c", INSTALL, "install", base.system.kernel_package, *base.packages]
    check(host, [*inside, *install], timeout_s=2 * BUILD_S if able else BUILD_S)
    _refuse_changed(tree, base.versions)
    kernel = place_kernel(host, folder, tree, inside, base.system)
    if able:  # its dockerd does not run here; the guest imports the image when it is needed
        _place_tree(host, tree, base)
    else:
        _place_image(host, tree, base, inside, scope)
    authorized = tree / "root/.ssh/authorized_keys"
    authorized.parent.mkdir(mode=0o700, exist_ok=True)
    authorized.write_text(make_key(host, folder).read_text())
    init = tree / "sbin/tare-init"
    init.write_text(files("tare.machines.userland").joinpath("files/tare-init").read_text())
    init.chmod(0o755)
    make_disk(host, folder, tree, DISK_BYTES, BUILD_S)
    return kernel


def _refuse_changed(tree: Path, versions: Mapping[str, str]) -> None:
    now = installed(tree)
    changed = [name for name, version in versions.items() if now.get(name) != version]
    if changed:
        raise LayerError(
            f"the guest would have other versions than the userland of {', '.join(changed)}; "
            "the archive has moved on: remove the cached userland with `tare clean --cache`"
        )


def _place_tree(host: Machine, tree: Path, base: Base) -> None:
    """Put the userland into the guest's system, as a directory and as a tar for engines."""
    known = tree / tree_path(base.userland).lstrip("/")
    known.unlink(missing_ok=True)  # a system that is the userland has the link to itself
    known.mkdir(parents=True)
    check(host, ["tar", "-xf", str(base.shared or base.tar), "-C", str(known)], timeout_s=BUILD_S)
    tar = known.parent / "tree.tar"
    shutil.copy(base.shared or base.tar, tar)
    sign(host, known, tar, base.userland)


def sign(host: Machine, tree: Path, tar: Path, name: str) -> None:
    """Write a file into a userland that says that its root is the tree."""
    at = tree_path(name).lstrip("/")
    if (tree / at).is_symlink():
        return
    (tree / at).parent.mkdir(parents=True)
    (tree / at).symlink_to("/")
    first = Path(at).parts[:3]  # var/lib/tare, with what lies below
    append = ["tar", "-rf", str(tar), "-C", str(tree), "--owner=0", "--group=0"]
    check(host, [*append, str(Path(*first))])


def _place_image(host: Machine, tree: Path, base: Base, inside: list[str], scope: Scope) -> None:
    """Put the userland into the guest's Docker by the guest's own dockerd.

    Importing it inside a guest under emulation takes minutes; here it takes seconds, and the
    version that wrote the files is the one that will read them.
    """
    shutil.copy(base.shared or base.tar, tree / "tree.tar")
    # A sibling of the build's group: in v2 a group that holds processes can have none below it.
    group = cgroup.make(Host(), f"tare/{tree.parent.name}-docker", scope)
    socket = "unix:///run/tare-build.sock"
    daemon = ["dockerd", "--host", socket, "--data-root", DOCKER_ROOT, "--exec-root",
              "/run/tare-build", "--pidfile", "/run/tare-build.pid", "--bridge", "none",
              "--iptables=false", "--ip-forward=false"]  # fmt: skip
    client = [*inside, "docker", "--host", socket]
    serve = 'setsid "$@" > "$0" 2>&1 < /dev/null &'
    log = tree.parent / "dockerd.log"
    check(host, group.enter_argv(["sh", "-c", serve, str(log), *inside, *daemon]))
    answers = await_true(lambda: host.run([*client, "version"]).returncode == 0, timeout_s=60)
    if not answers:
        raise LayerError(f"the guest's dockerd does not start here: {log.read_text()[-600:]}")
    import_it = [*client, "import", "/tree.tar", f"tare-userland:{base.userland}"]
    check(host, import_it, timeout_s=BUILD_S)
    scope.ledger.remove(scope.entries.pop())
    (tree / "tree.tar").unlink()
    log.unlink()
    # What Docker unpacked is the userland's tree, and serves the other layers inside the guest.
    (unpacked,) = (tree / DOCKER_ROOT.lstrip("/") / "overlay2").glob("*/diff")
    known = tree / tree_path(base.userland).lstrip("/")
    known.parent.mkdir(parents=True, exist_ok=True)
    known.unlink(missing_ok=True)
    known.symlink_to(f"/{unpacked.relative_to(tree)}")
