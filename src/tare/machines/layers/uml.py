"""User-mode Linux: a paravirtualized kernel that is an ordinary process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tare.core.errors import CommandFailed, LayerError, LayerTimedOut, Unavailable
from tare.core.model import DiskCache
from tare.machines import instance, layer
from tare.machines.backends import fuse_disk as direct
from tare.machines.backends import guest_disk as disk
from tare.machines.backends import tree, uml
from tare.machines.backends.instance_process import InstanceProcess
from tare.machines.cgroup import cgroup
from tare.machines.instance import Threads
from tare.machines.machine import Inner, Machine, await_true, check
from tare.machines.network import rate, tap
from tare.machines.network.tap import Tap
from tare.machines.ssh import Connection

if TYPE_CHECKING:
    from tare.machines.userland import Guest, Userland

# Its memory is a file there; /dev/shm may be far too small. The kernel adds a random gap to it.
MAKE_MEMORY = 'mkdir "$0/memory" && mount -t tmpfs -o size="$1",mode=700 tare "$0/memory"'
# A panic says much more after the line that says why.
LAST_WORDS = 'grep -am1 "Kernel panic" "$0/log" || tail -n 5 "$0/log"'


@dataclass(frozen=True, kw_only=True)
class Layer(layer.Layer):
    """A guest with one CPU: this kernel can have no more.

    It opens its disk through the host's cache and no other way, which is what the disk cache mode
    ``writeback`` means. For ``none`` a server shows it a file that is not cached.
    """

    packages = (*uml.TOOLS.values(), "openssh-client", "kmod")
    boots_guest = True
    own_kernel = True
    nominal_start_s = 4.0

    def probe(self, outer: Machine, userland: Userland | None) -> Mapping[str, str]:
        """See Layer.probe."""
        del userland
        version = uml.usable(outer)
        uml.boots(outer)
        return {"uml.version": version}

    def no_disk(self) -> str:
        """See Layer.no_disk."""
        return "another process than its kernel, in a group of its own, reads and writes its disk"

    def no_link(self) -> str:
        """See Layer.no_link."""
        return ""

    def create(self, outer: Machine, site: layer.Site) -> Instance:
        """See Layer.create."""
        if site.limits.cpus > 1:
            raise Unavailable(
                f"user-mode Linux has one CPU, {site.limits.cpus} were to be given",
                "measure it in a study whose limits have cpus: 1",
            )
        uml.usable(outer)
        guest = site.userland.guest(outer)
        folder = tree.own_folder(outer, site)
        cable = tap.make(outer, site)
        try:
            check(outer, ["sh", "-c", MAKE_MEMORY, folder, str(site.limits.memory_bytes + 2**30)])
            if site.limits.disk_cache is DiskCache.NONE:
                disk.make(outer, str(guest.disk), f"{folder}/disk")
        except CommandFailed as error:
            raise LayerError(f"could not prepare {site.name} on {outer.name}: {error}") from error
        return Instance(outer, site, folder, guest, cable)


class Instance(instance.Instance):
    """One kernel and what serves its disk, each in a group of its own."""

    cpuset = "0"

    def __init__(
        self, outer: Machine, site: layer.Site, folder: str, guest: Guest, cable: Tap
    ) -> None:
        self.outer, self.site, self.folder = outer, site, folder
        self.rates = rate.LinkRates(outer, site, lambda: cable.device)
        self.argv = uml.start_argv(folder, guest, site.limits, cable)
        self.cable = cable
        # What waits for a file cannot be frozen before the file's server has answered.
        both, self.kernel, self.server = (
            cgroup.make(outer, f"tare/{site.name}{part}", site.scope, cpuset=site.cpuset)
            for part in ("", "/kernel", "/disk")
        )
        if site.limits.quota_cpus is not None:
            both.hold("", site.limits.quota_cpus)
        self.path = both.path
        self.process = InstanceProcess(outer, self.kernel, folder)
        self.connection = Connection("root", cable.address, 22, str(guest.key), f"{folder}/ssh")
        # Nothing tells the client that a kernel which was killed is gone.
        hang_up = self.connection.hang_up_argv()
        site.scope.about_to_make("connection", site.name, outer, hang_up)
        self.machine = Inner(outer, "uml", self.connection.wrap)

    def start(self) -> None:
        """See Instance.start."""
        if self.site.limits.disk_cache is DiskCache.NONE:
            direct.serve(self.outer, self.folder, self.server)
        self.process.start(self.argv)

    def ready(self) -> None:
        """See Instance.ready."""
        deadline_s = self.site.deadline_s
        self._await(
            lambda: self._said("tare: ready"), deadline_s, f"did not come up in {deadline_s:.0f} s"
        )
        self._await(self._connects, deadline_s, f"accepted no login for {deadline_s:.0f} s")
        try:
            check(self.machine, ["mkdir", "-p", self.workdir])
        except CommandFailed as error:
            raise self._failed(f"does not answer: {error}") from error

    def stop(self, *, hard: bool = False) -> None:
        """See Instance.stop; in order, its first process powers it off."""
        if not hard:
            if not self.process.lives():
                raise self._failed("")
            self.machine.run(["sh", "-c", "kill -TERM 1"], timeout_s=20)
            deadline_s = self.site.deadline_s
            if not await_true(lambda: not self.process.lives(), timeout_s=deadline_s, every_s=0.02):
                raise self._failed(f"did not power off in {deadline_s:.0f} s")
            if not self._said("reboot: System halted"):
                raise self._failed("")
        self.kernel.kill()
        self.server.kill()
        self.outer.run(self.connection.hang_up_argv())

    def pause(self) -> None:
        """See Instance.pause."""
        self.kernel.freeze()

    def resume(self) -> None:
        """See Instance.resume."""
        self.kernel.thaw()

    def disk_cache(self) -> DiskCache:
        """See Instance.disk_cache."""
        return disk.cache(self.outer, f"{self.folder}/disk")

    def address(self) -> str:
        """See Instance.address."""
        return self.cable.address

    def threads(self) -> Threads:
        """See Instance.threads: every process inside is one outside too, under the same name."""
        return Threads(cgroup=self.path, comm=uml.BINARY)

    def _connects(self) -> bool:
        try:
            self.connection.open(self.outer, self.site.deadline_s)
        except LayerError:
            return False
        return True

    def _said(self, words: str) -> bool:
        return self.outer.run(["grep", "-qa", words, f"{self.folder}/log"]).returncode == 0

    def _await(self, condition: Callable[[], bool], timeout_s: float, what: str) -> None:
        if not await_true(condition, timeout_s=timeout_s, every_s=0.02, alive=self.process.lives):
            raise self._failed(what)

    def _failed(self, what: str) -> LayerError:
        said = self.outer.run(["sh", "-c", LAST_WORDS, self.folder]).stdout
        words = f"it said last: {said.decode(errors='replace').strip()[-400:] or '(nothing)'}"
        if self.process.lives():
            return LayerTimedOut(f"the kernel of {self.site.name} {what}; {words}")
        return LayerError(f"the kernel of {self.site.name} ended by itself; {words}")
