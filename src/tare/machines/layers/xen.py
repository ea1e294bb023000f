"""A Xen domain, PV or PVH, of the userland's guest; the outer machine is a dom0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tare.core.completed import tail_of
from tare.core.errors import CommandFailed, LayerError, LayerTimedOut, Unavailable
from tare.core.model import DiskCache, Limits
from tare.machines import instance, layer
from tare.machines.backends import guest_disk as disk
from tare.machines.backends import nbd
from tare.machines.backends.tree import own_folder
from tare.machines.cgroup import cgroup
from tare.machines.machine import Inner, Machine, await_true, check, put, text
from tare.machines.network import link as links
from tare.machines.network.addresses import LINK_BITS
from tare.machines.ssh import Connection

if TYPE_CHECKING:
    from tare.machines.userland import Userland

# The guest's own watchdogs would take a pause for a fault.
KERNEL_ARGUMENTS = (
    "console=hvc0 quiet net.ifnames=0 nowatchdog rcupdate.rcu_cpu_stall_suppress=1 "
    "tare.console=/dev/hvc0 tare.root=/dev/xvda"
)
DESTROY = '! xl domid "$0" > /dev/null 2>&1 || xl destroy "$0"'
BOOT_ID = ("cat", "/proc/sys/kernel/random/boot_id")
SAY_S = 3.0
AS = "vdev=xvda,access=rw,"  # what stands behind target belongs to its name


@dataclass(frozen=True, kw_only=True)
class Layer(layer.Layer):
    """A domain: ``pv`` needs no hardware virtualization, ``pvh`` uses it, both emulate nothing.

    ``disk_size_bytes`` is how large its disk is; unless given, as large as the image that is built.
    """

    type: Literal["pv", "pvh"] = "pvh"
    disk_size_bytes: int | None = None

    packages = ("xen-utils-4.17", "qemu-system-xen", "qemu-utils", "iproute2", "openssh-client")
    boots_guest = True
    own_kernel = True
    has_group = False
    nominal_start_s = 10.0

    def __post_init__(self) -> None:
        """Refuse a disk that is too small, with ValueError."""
        disk.check_size(self.disk_size_bytes)

    def probe(self, outer: Machine, userland: Userland | None) -> Mapping[str, str]:
        """See Layer.probe."""
        del userland
        version = outer.run(["xl", "info", "xen_version"])
        if version.returncode != 0:
            why = version.stderr.decode(errors="replace").strip().splitlines()
            raise Unavailable(
                f"{outer.name} is no Xen dom0 ({why[-1] if why else 'xl info failed'})",
                "boot the host with Xen (apt-get install xen-system-amd64), or measure lab/xen",
            )
        return {"xen.version": version.stdout.decode().strip(), "xen.type": self.type}

    def lacks(self, limits: Limits) -> str:
        """See Layer.lacks."""
        if limits.quota_cpus is None:
            return super().lacks(limits)
        return "Xen schedules its domains itself, and has no quota of CPU time as Linux has"

    def commits(self, limits: Limits) -> int:
        """See Layer.commits: it is Xen's, which refuses what does not fit."""
        del limits
        return 0

    def create(self, outer: Machine, site: layer.Site) -> Instance:
        """See Layer.create."""
        self.probe(outer, None)
        return Instance(outer, site, self.type, self.disk_size_bytes)


class Instance(instance.Instance):
    """One domain of the site's name, with a bridge, a disk and a configuration of its own."""

    def __init__(
        self, outer: Machine, site: layer.Site, kind: str, disk_bytes: int | None = None
    ) -> None:
        self.outer, self.site = outer, site
        guest = site.userland.guest(outer)
        self.folder = own_folder(outer, site)
        self.cpuset = "0" if site.limits.cpus == 1 else f"0-{site.limits.cpus - 1}"
        link = links.make(outer, site)
        self.server = cgroup.make(outer, f"tare/{site.name}", site.scope)
        nbd.record(outer, self.folder, site.scope)
        site.scope.about_to_make("domain", site.name, outer, ["sh", "-c", DESTROY, site.name])
        try:
            disk.make(outer, str(guest.disk), f"{self.folder}/disk", disk_bytes)
            self.physical = int(text(outer, ["xl", "info", "nr_cpus"]))
        except CommandFailed as error:
            raise LayerError(f"could not prepare {site.name} on {outer.name}: {error}") from error
        self.kind, self.guest, self.link = kind, guest, link
        control = f"{self.folder}/ssh"
        self.connection = Connection("root", link.address, 22, str(guest.key), control)
        self.machine = Inner(outer, "xen", self.connection.wrap)
        self.booted = ""
        self.grows_to = disk_bytes

    def start(self) -> None:
        """See Instance.start."""
        device = f"format=qcow2,backendtype=qdisk,{AS}target={self.folder}/disk"
        try:
            # The server that Xen brings cannot open a disk past the page cache: another one can.
            if self.site.limits.disk_cache is DiskCache.NONE:
                at = nbd.attach(self.outer, self.folder, self.server)
                device = f"format=raw,backendtype=phy,{AS}target={at}"
            config = configuration(self, device)
            put(self.outer, config.encode(), f"{self.folder}/config")
        except CommandFailed as error:
            raise LayerError(f"no disk for {self.site.name}: {error}") from error
        # -e: without it a process of xl would remain and remove the domain when it has ended, late.
        self._xl("create", "-q", "-e", f"{self.folder}/config")

    def ready(self) -> None:
        """See Instance.ready: it accepts a login, and is not the boot before a reboot."""
        refused: list[str] = []

        def answers() -> bool:
            try:
                self.connection.open(self.outer, self.site.deadline_s)
            except LayerError as error:
                refused.append(str(error))
                return False
            return self._boot_id() not in ("", self.booted)

        if not await_true(answers, timeout_s=self.site.deadline_s, alive=self._lives):
            raise LayerTimedOut(
                f"the domain {self.site.name} had no login within {self.site.deadline_s:.0f} s "
                f"({refused[-1] if refused else 'it had not rebooted'}); its console ends: "
                f"{self._console()}"
            )
        self.booted = self._boot_id()
        check(self.machine, ["mkdir", "-p", self.workdir])
        if self.grows_to is not None:
            disk.grow(self.machine, self.grows_to, self.site.deadline_s)
            self.grows_to = None  # it stays so

    def stop(self, *, hard: bool = False) -> None:
        """See Instance.stop; in order, the guest's first process powers it off."""
        if not hard:
            self.machine.run(["sh", "-c", "kill -TERM 1"])
            if not await_true(lambda: not self._lives(), timeout_s=self.site.deadline_s):
                raise LayerTimedOut(f"the domain {self.site.name} did not power off")
        try:  # one that has powered off is there until it is removed
            check(self.outer, ["sh", "-c", DESTROY, self.site.name])
        except CommandFailed as error:
            raise LayerError(f"{self.site.name} cannot be destroyed: {error}") from error
        self.outer.run(self.connection.hang_up_argv())
        nbd.detach(self.outer, self.folder, self.server)

    def pause(self) -> None:
        """See Instance.pause."""
        self._xl("pause", self.site.name)

    def resume(self) -> None:
        """See Instance.resume."""
        self._xl("unpause", self.site.name)

    def disk_cache(self) -> DiskCache:
        """See Instance.disk_cache."""
        return disk.cache(self.outer, f"{self.folder}/disk")

    def address(self) -> str:
        """See Instance.address."""
        return self.link.address

    def _lives(self) -> bool:
        done = self.outer.run(["xl", "list", self.site.name])
        # The last line is: name, id, memory, CPUs, state, time; an s in the state is a shutdown.
        state = done.stdout.decode().split()[-2:-1]
        return done.returncode == 0 and "s" not in state[0]

    def _boot_id(self) -> str:
        return self.machine.run(BOOT_ID, timeout_s=10).stdout.decode().strip()

    def _console(self) -> str:
        said = self.outer.run(["xl", "console", self.site.name], timeout_s=SAY_S).stdout
        return tail_of(said) or "(nothing was printed)"

    def _xl(self, *words: str) -> None:
        try:
            check(self.outer, ["xl", *words], timeout_s=self.site.deadline_s)
        except CommandFailed as error:
            raise LayerError(f"xl {words[0]} {self.site.name} failed: {error}") from error


def configuration(of: Instance, disk: str) -> str:
    """Write a domain's configuration; its CPUs are the host's last ones: the first serve dom0."""
    limits, link = of.site.limits, of.link
    values: dict[str, object] = {
        "name": of.site.name,
        "type": of.kind,
        "kernel": str(of.guest.kernel),
        "ramdisk": str(of.guest.initrd),
        "extra": f"{KERNEL_ARGUMENTS} tare.address={link.address}/{LINK_BITS} "
        f"tare.gateway={link.gateway}",
        "vcpus": limits.cpus,
        "cpus": f"{max(0, of.physical - limits.cpus) if limits.is_pinned else 0}-{of.physical - 1}",
        "memory": limits.memory_bytes // 2**20,
        "disk": [disk],
        "vif": [f"bridge={link.bridge}"],
    }
    return "".join(f"{key} = {_quoted(value)}\n" for key, value in values.items())


def _quoted(value: object) -> str:
    if isinstance(value, list):
        return f"[ {', '.join(map(_quoted, value))} ]"
    return str(value) if isinstance(value, int) else '"' + str(value).replace('"', '\\"') + '"'
