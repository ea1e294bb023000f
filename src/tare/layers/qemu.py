"""A virtual machine under QEMU: stock Debian kernel, virtio, the userland on its disk."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tare import layer
from tare.errors import CommandFailed, LayerError, LayerTimedOut, Unavailable
from tare.limits import cgroup
from tare.machine import Inner, Machine, await_true, check, text
from tare.model import DiskCache, Limits
from tare.ssh import Connection
from tare.userland import REMOVE_FOLDER, Guest, kvm

if TYPE_CHECKING:
    from tare.userland import Userland

BINARY = "qemu-system-x86_64"
# The guest's own watchdogs would take a pause for a fault.
KERNEL_ARGUMENTS = "console=ttyS0 quiet net.ifnames=0 nowatchdog rcupdate.rcu_cpu_stall_suppress=1"
PORTS = (20000, 32000)
PORT_TRIES = 5
SSHD_S = 30.0
# O_DIRECT is 040000 (octal) in the flags that the kernel shows for an open file.
DISK_IS_DIRECT = r"""
pid=$(cat "$0/pid")
for file in /proc/"$pid"/fd/*; do
    [ "$(readlink "$file")" = "$0/disk" ] || continue
    flags=$(awk '/^flags:/ { print $2 }' "/proc/$pid/fdinfo/${file##*/}")
    [ $((flags & 040000)) -ne 0 ] || { echo no; exit; }
    echo yes
    exit
done
echo "QEMU does not hold $0/disk open" >&2
exit 1
"""


@dataclass(frozen=True, kw_only=True)
class Layer(layer.Layer):
    """A guest; ``auto`` takes KVM where a guest comes up on it, else emulation (TCG)."""

    accel: Literal["kvm", "tcg", "auto"] = "auto"

    packages = ("qemu-system-x86", "qemu-utils", "openssh-client", "socat")
    boots_guest = True
    own_kernel = True

    def probe(self, outer: Machine, userland: Userland | None) -> Mapping[str, str]:
        """See Layer.probe."""
        version = outer.run([BINARY, "--version"])
        if version.returncode != 0:
            raise Unavailable(f"{BINARY} is not installed on {outer.name}",
                              "apt-get install qemu-system-x86 qemu-utils")  # fmt: skip
        for tool, package in (("qemu-img", "qemu-utils"), ("socat", "socat")):
            if outer.run(["sh", "-c", 'command -v "$0"', tool]).returncode != 0:
                raise Unavailable(
                    f"{tool} is not installed on {outer.name}", f"apt-get install {package}"
                )
        facts = {"qemu.version": version.stdout.decode().splitlines()[0]}
        accel = self.accel
        if accel != "tcg":
            found = kvm.usable(outer, userland)
            if found and accel == "kvm":
                raise Unavailable(*found)
            accel = "tcg" if found else "kvm"
        return facts | {"qemu.accel": accel}

    def create(self, outer: Machine, site: layer.Site) -> Instance:
        """See Layer.create."""
        accel = self.probe(outer, site.userland)["qemu.accel"]
        guest = site.userland.guest(outer)
        folder = f"{site.folder}/{site.name}"
        site.scope.about_to_make("folder", folder, outer, ["sh", "-c", REMOVE_FOLDER, folder])
        group = cgroup.make(outer, f"tare/{site.name}", site.scope)
        disk = ["qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", str(guest.disk),
                f"{folder}/disk"]  # fmt: skip
        try:
            check(outer, ["mkdir", "-p", folder])
            check(outer, disk)
        except CommandFailed as error:
            raise LayerError(f"could not make a disk for {site.name}: {error}") from error
        return Instance(outer, site, group, guest, accel)


class Instance(layer.Instance):
    """One guest: a QEMU process in a cgroup, and a connection to the sshd inside."""

    def __init__(
        self, outer: Machine, site: layer.Site, group: cgroup.Group, guest: Guest, accel: str
    ) -> None:
        self.outer, self.site, self.group, self.guest, self.accel = outer, site, group, guest, accel
        self.folder = f"{site.folder}/{site.name}"
        self.cpuset = "0" if site.limits.cpus == 1 else f"0-{site.limits.cpus - 1}"
        self.connection: Connection | None = None

    def start(self) -> None:
        """See Instance.start.

        There is no way to ask QEMU for a free port, so a taken one is answered by another try.
        """
        for _ in range(PORT_TRIES):
            port = random.randrange(*PORTS)  # noqa: S311 - only to miss other sessions
            argv = start_argv(self.folder, self.guest, self.site.limits, self.accel, port)
            done = self.outer.run(self.group.enter_argv(argv), timeout_s=self.site.deadline_s)
            if b"Could not set up host forwarding rule" not in done.stderr:
                break
        if done.returncode != 0:
            why = done.stderr.decode(errors="replace").strip()[-400:]
            raise LayerError(f"qemu did not start {self.site.name} on {self.outer.name}: {why}")
        self.connection = Connection(
            "root", "127.0.0.1", port, str(self.guest.key), f"{self.folder}/ssh"
        )
        self.machine = Inner(self.outer, "qemu", self.connection.wrap)

    def ready(self) -> None:
        """See Instance.ready."""
        assert self.connection is not None, "start comes before ready"  # noqa: S101
        console = f"{self.folder}/console"
        said = ["grep", "-q", "tare: ready", console]
        lives = ["sh", "-c", 'kill -0 "$(cat "$0/pid")"', self.folder]
        if not await_true(
            lambda: self.outer.run(said).returncode == 0,
            timeout_s=self.site.deadline_s,
            alive=lambda: self.outer.run(lives).returncode == 0,
        ):
            tail = self.outer.run(["tail", "-n", "5", console]).stdout.decode(errors="replace")
            raise LayerTimedOut(
                f"the guest {self.site.name} did not come up within {self.site.deadline_s:.0f} s; "
                f"its console ends: {tail.strip()[-400:] or '(nothing was printed)'}"
            )
        self._connect(self.connection, lives)
        check(self.machine, ["mkdir", "-p", self.workdir])

    def hold(self) -> None:
        """See Instance.hold."""
        self.group.hold(self.site.cpuset)

    def pause(self) -> None:
        """See Instance.pause. The guest's clock stands still too, so that no timer is late."""
        self._monitor("stop", "paused")

    def resume(self) -> None:
        """See Instance.resume."""
        self._monitor("cont", "running")

    def disk_cache(self) -> DiskCache:
        """See Instance.disk_cache: whether QEMU really holds the disk open with O_DIRECT."""
        direct = text(self.outer, ["sh", "-c", DISK_IS_DIRECT, self.folder])
        return DiskCache.NONE if direct == "yes" else DiskCache.WRITEBACK

    def threads(self) -> layer.Threads:
        """See Instance.threads: the virtual CPUs are the critical path, the group is the bill."""
        return layer.Threads(cgroup=self.group.path, comm="CPU ")

    def _connect(self, connection: Connection, lives: Sequence[str]) -> None:
        """Connect, again and again: sshd becomes a daemon first, and listens a moment later."""
        refused: list[LayerError] = []

        def connects() -> bool:
            try:
                connection.open(self.outer, self.site.deadline_s)
            except LayerError as error:
                refused.append(error)
                return False
            return True

        if not await_true(
            connects, timeout_s=SSHD_S, alive=lambda: self.outer.run(lives).returncode == 0
        ):
            raise LayerTimedOut(
                f"the guest {self.site.name} booted, but its sshd did not let anybody in "
                f"within {SSHD_S:.0f} s: {refused[-1]}"
            ) from refused[-1]

    def _monitor(self, command: str, status: str) -> None:
        """Give a command, and believe only the status that QEMU then has.

        socat must wait for the answer: QEMU drops what it has not read when the other end hangs up.
        """
        to_monitor = ["socat", "-t", "10", "-", f"UNIX-CONNECT:{self.folder}/monitor"]
        asked = f"{command}\ninfo status\n".encode()
        done = self.outer.run(to_monitor, stdin=asked, timeout_s=20)
        if f"VM status: {status}".encode() not in done.stdout:
            why = done.stderr or done.stdout[-200:]
            raise LayerError(
                f"{self.site.name} did not take '{command}': {why.decode(errors='replace').strip()}"
            )


def start_argv(folder: str, guest: Guest, limits: Limits, accel: str, port: int) -> list[str]:
    """Build the command that boots the guest and returns.

    ``cache=none`` opens the disk with O_DIRECT: the host's memory is no second cache for the guest.
    ``debug-threads`` gives the threads of the virtual CPUs names that can be told apart.
    """
    engine = "tcg,thread=multi" if accel == "tcg" else "kvm"
    return [
        BINARY, "-accel", engine, "-cpu", "max" if accel == "tcg" else "host",
        "-name", f"{folder.rpartition('/')[2]},debug-threads=on",
        "-smp", str(limits.cpus), "-m", f"{limits.memory_bytes // 2**20}M",
        "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-daemonize",
        "-pidfile", f"{folder}/pid", "-serial", f"file:{folder}/console",
        "-chardev", f"socket,id=monitor,path={folder}/monitor,server=on,wait=off",
        "-mon", "chardev=monitor,mode=readline",
        "-kernel", str(guest.kernel), "-initrd", str(guest.initrd), "-append", KERNEL_ARGUMENTS,
        "-drive", f"file={folder}/disk,if=virtio,format=qcow2,cache={limits.disk_cache}",
        "-nic", f"user,model=virtio-net-pci,hostfwd=tcp:127.0.0.1:{port}-:22",
    ]  # fmt: skip
