"""A Debian host that is arm64, with virtualization of its own, all of it emulated.

It is made as a lab is, from the same recipe but for the architecture, and reached by ssh, as any
host of an architecture that is not the controlling host's.
"""

import shutil
import socket
from contextlib import contextmanager
from importlib.resources import files

from tare.core.home import home
from tare.machines.backends.lab_boot import KERNEL
from tare.machines.cgroup import cgroup
from tare.machines.ledger import Scope
from tare.machines.machine import await_true, check
from tare.machines.ssh import Connection
from tare.machines.userland import REMOVE_FOLDER, cache, foreign
from tare.machines.userland.architecture import CONSOLES
from tare.machines.userland.bootable import Bootable, make_disk, make_key
from tare.machines.userland.dpkg import installed
from tare.machines.userland.guest import IN_TREE
from tare.machines.userland.lab import DISK_BYTES, NEEDS_BYTES, SHELVES, SUITE
from tare.machines.userland.lab import PACKAGES as AMD64_PACKAGES
from tare.machines.userland.tree import bootstrap_argv

ARCH = "arm64"
AMD64_ONLY = ("linux-image-amd64", "qemu-system-x86", "libvirt-daemon-driver-xen")
PACKAGES = (
    *(name for name in AMD64_PACKAGES if name not in AMD64_ONLY and "xen" not in name),
    *("linux-image-arm64", "qemu-system-arm"),
    *("podman", "catatonit", "crun", "runsc", "bubblewrap", "systemd-container", "lxc"),
    "sysbench",  # the host alone is measured with its own
)
# Programs of the tree are emulated, those of dpkg and initramfs-tools too.
BUILD_S = 3600.0
MEMORY_MIB = 5120
CPUS = 2
BOOT_S = 900.0


def build(ledger):
    """Find or build the host's disk, kernel and key."""
    setup = files("tare.machines.userland").joinpath("lab_files/setup").read_text()
    recipe = {"suite": SUITE, "arch": ARCH, "packages": sorted(PACKAGES), "setup": setup}

    def make(folder, scope):
        host, tree = cache.builder(folder, scope), folder / "tree"
        able = foreign.able(host, ARCH)
        bootstrap = bootstrap_argv(recipe, tree)
        check(host, [*able, "unshare", "--mount", *bootstrap], timeout_s=BUILD_S)
        inside = [*able, "unshare", "--mount", "sh", "-c", IN_TREE, str(tree)]
        check(host, [*inside, "sh", "-c", setup], timeout_s=BUILD_S)
        shutil.copy(make_key(host, folder), tree / "root/.ssh/authorized_keys")
        for name in ("vmlinuz", "initrd"):
            (found,) = (tree / "boot").glob(f"{name}*-{ARCH}")
            shutil.copy(found, folder / name)
        versions = installed(tree)
        make_disk(host, folder, tree, DISK_BYTES, BUILD_S)
        return {**recipe, "versions": versions}

    return Bootable(cache.build(home() / "lab", recipe, ledger, NEEDS_BYTES, make))


@contextmanager
def booted(place):
    """Boot a host in a place and give the settings of the ssh layer that lead there."""
    scope, name = Scope(place.ledger), f"tare-{place.id}-arm64"
    image, folder = build(place.ledger), f"{place.folder}/{name}"
    scope.about_to_make("folder", folder, place.host, ["sh", "-c", REMOVE_FOLDER, folder])
    group = cgroup.make(place.host, f"tare/{name}", scope)
    try:
        for made in (folder, *(str(home() / shelf) for shelf in SHELVES)):
            check(place.host, ["mkdir", "-p", made])
        disk = ["qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", str(image.disk)]
        check(place.host, [*disk, f"{folder}/disk"])
        port = free_port()
        check(place.host, group.boot_argv(start_argv(image, folder, port)))
        await_host(
            place.host, folder, Connection("root", "127.0.0.1", port, str(image.key), "none")
        )
        yield {"address": "127.0.0.1", "port": port, "key": str(image.key)}
    finally:
        scope.close()


def start_argv(image, folder, port):
    """Build the command that boots it and returns; see the lab's."""
    shared = [
        word
        for tag in SHELVES
        for word in (
            "-fsdev", f"local,id={tag},path={home() / tag},security_model=none,readonly=on",
            "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}",
        )
    ]  # fmt: skip
    return [
        "qemu-system-aarch64",
        # EL2 for the host's own KVM. Signed pointers as QEMU computes them, not as hardware does,
        # which is many times slower.
        "-machine", "virt,virtualization=on,gic-version=3", "-cpu", "max,pauth-impdef=on,sve=off",
        "-accel", "tcg,thread=multi,tb-size=1024", "-smp", str(CPUS), "-m", f"{MEMORY_MIB}M",
        "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-daemonize",
        "-pidfile", f"{folder}/pid", "-serial", f"file:{folder}/console",
        "-kernel", str(image.kernel), "-initrd", str(image.initrd),
        "-append", f"{KERNEL} console={CONSOLES[ARCH]}",
        "-drive", f"file={folder}/disk,if=virtio,format=qcow2,cache=none",
        "-nic", f"user,model=virtio-net-pci,hostfwd=tcp:127.0.0.1:{port}-:22",
        "-device", "virtio-rng-pci", *shared,
    ]  # fmt: skip


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def await_host(host, folder, connection):
    """Wait until it says that it is up, and lets root in."""
    said = ["grep", "-aq", "tare: ready", f"{folder}/console"]
    is_up = await_true(lambda: host.run(said).returncode == 0, timeout_s=BOOT_S, every_s=1)
    assert is_up, host.run(["tail", "-n", "20", f"{folder}/console"]).stdout.decode()
    login = connection.wrap(["true"])
    assert await_true(lambda: host.run(login).returncode == 0, timeout_s=BOOT_S, every_s=1)
