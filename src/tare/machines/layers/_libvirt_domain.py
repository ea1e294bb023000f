"""What libvirt runs: a guest with a disk and an sshd, or a container of the userland's tree."""

from __future__ import annotations

from collections.abc import Callable

from tare.core.completed import tail_of
from tare.core.errors import CommandFailed, LayerError, LayerTimedOut
from tare.core.model import DiskCache
from tare.machines import layer
from tare.machines.backends import domain, namespaces, tree
from tare.machines.backends import guest_disk as disk
from tare.machines.backends.domain import PERIOD_US
from tare.machines.backends.libvirt import Daemon
from tare.machines.cgroup import cgroup
from tare.machines.instance import Instance, Threads
from tare.machines.machine import Inner, Machine, await_true, check, put, text
from tare.machines.network import link, tap
from tare.machines.network.addresses import CABLE_BITS, LINK_BITS
from tare.machines.network.link import Link
from tare.machines.network.tap import Tap
from tare.machines.ssh import Connection
from tare.machines.userland import System, architecture

ENDED = ("shut off (shutdown)", "shut off (destroyed)")
# The guest's own watchdogs would take a pause for a fault.
APPEND = "quiet net.ifnames=0 nowatchdog no_timer_check rcupdate.rcu_cpu_stall_suppress=1"
XEN_APPEND = f"console=hvc0 {APPEND} tare.console=/dev/hvc0 tare.root=/dev/xvda"
CONSOLE_ARGUMENTS = {"amd64": "", "arm64": "tare.console=/dev/ttyAMA0 "}
"""Kernel arguments that name the console, for the first program of a guest."""
BOOT_ID = ("cat", "/proc/sys/kernel/random/boot_id")
# The first process of a container is the child of the process whose pid is libvirt's id of it.
LEADER = r"""
file=$0 name=$1
shift
id=$("$@" domid "$name") || exit 1
for status in $(grep -l "^PPid:[[:space:]]*$id\$" /proc/[0-9]*/status 2> /dev/null); do
    status=${status%/status}
    echo "${status#/proc/}" > "$file"
    exit 0
done
exit 1
"""
# Only what is a process of the container's own groups has the container's limits.
ENTER = r"""
if [ -r "$0" ] && read -r pid < "$0" && grep -qzx "LIBVIRT_LXC_NAME=$1" "/proc/$pid/environ"; then
    while IFS=: read -r number controllers path <&3; do
        at=/sys/fs/cgroup/${controllers#name=}
        [ -n "$controllers" ] || [ ! -d "${at}unified" ] || at=/sys/fs/cgroup/unified
        [ ! -f "$at$path/cgroup.procs" ] || echo $$ > "$at$path/cgroup.procs" || exit 125
    done 3< "/proc/$pid/cgroup"
    shift
    exec nsenter --target "$pid" --all --root --wd -- "$@" 3<&-
fi
echo "the container $1 does not run" >&2
exit 125
"""


class Domain(Instance):
    """One domain of the site's name."""

    def __init__(self, outer: Machine, site: layer.Site, daemon: Daemon, folder: str) -> None:
        self.outer, self.site, self.daemon, self.folder = outer, site, daemon, folder

    def _define(self, xml: str) -> None:
        name, path = self.site.name, f"{self.folder}/domain.xml"
        put(self.outer, xml.encode(), path)
        self.site.scope.about_to_make("domain", name, self.outer, self.daemon.remove_argv(name))
        self.daemon.do("define", path)

    def start(self) -> None:
        """See Instance.start."""
        self._do("start")

    def stop(self, *, hard: bool = False) -> None:
        """See Instance.stop."""
        if hard:
            self._do("destroy")
            return
        self._tell_to_end()
        deadline_s = self.site.deadline_s
        if not await_true(lambda: not self._runs(), timeout_s=deadline_s, every_s=0.05):
            raise LayerTimedOut(f"{self.site.name} did not shut down within {deadline_s:.0f} s")
        state = self._state()
        if state not in ENDED:
            raise LayerError(f"{self.site.name} did not shut down by itself: it is {state}")

    def pause(self) -> None:
        """See Instance.pause."""
        self._do("suspend")

    def resume(self) -> None:
        """See Instance.resume."""
        self._do("resume")

    def _tell_to_end(self) -> None:
        raise NotImplementedError

    def _do(self, verb: str, *more: str) -> None:
        self.daemon.do(verb, self.site.name, *more, timeout_s=self.site.deadline_s)

    def _state(self) -> str:
        """Return what libvirt says of it; raises LayerError where that is dead."""
        return self.daemon.do("domstate", "--reason", self.site.name)

    def _runs(self) -> bool:
        return self._state().startswith(("running", "paused", "in shutdown"))


class Guest(Domain):
    """A guest under QEMU or Xen: ``kind`` is kvm or qemu, xenpv or xenpvh.

    Its disk is in its folder already.
    """

    grows_to: int | None = None
    """The size of its disk, where its file system has to grow to that."""

    def __init__(
        self, outer: Machine, site: layer.Site, daemon: Daemon, folder: str, kind: str
    ) -> None:
        super().__init__(outer, site, daemon, folder)
        guest = site.userland.guest(outer, System(arch=architecture.of(outer)))
        self.console = "" if kind.startswith("xen") else f"{folder}/console"
        if self.console:
            cable = tap.make(outer, site)
            console = f"console={architecture.CONSOLES[guest.arch]} {CONSOLE_ARGUMENTS[guest.arch]}"
            address, append = cable.address, f"{console}{APPEND} {_network(cable, CABLE_BITS)}"
            xml = domain.qemu(site, kind, guest, cable.device, append)
        else:
            bridge = link.make(outer, site)
            address, append = bridge.address, f"{XEN_APPEND} {_network(bridge, LINK_BITS)}"
            xml = domain.xen(site, kind, guest, bridge.bridge, append)
        self.cpuset = "0" if site.limits.cpus == 1 else f"0-{site.limits.cpus - 1}"
        self.connection = Connection("root", address, 22, str(guest.key), f"{folder}/ssh")
        hang_up = self.connection.hang_up_argv()
        site.scope.about_to_make("connection", site.name, outer, hang_up)
        self.machine = Inner(outer, "libvirt", self.connection.wrap)
        self.booted = ""
        self._define(xml)

    def start(self) -> None:
        """See Instance.start."""
        self._empty_console()
        super().start()

    def ready(self) -> None:
        """See Instance.ready: it accepts a login, and is not the boot before a reboot."""
        deadline_s = self.site.deadline_s
        if self.console:
            said = ["grep", "-q", "tare: ready", self.console]
            self._await(lambda: self.outer.run(said).returncode == 0, deadline_s, "come up")
        self._await(self._is_new, deadline_s, "let anybody in")
        self.booted = self._boot_id()
        try:
            check(self.machine, ["mkdir", "-p", self.workdir])
        except CommandFailed as error:
            raise LayerError(f"{self.site.name} does not answer: {error}") from error
        if self.grows_to is not None:
            disk.grow(self.machine, self.grows_to, deadline_s)
            self.grows_to = None  # it stays so

    def stop(self, *, hard: bool = False) -> None:
        """See Instance.stop; in order, its first process powers it off."""
        super().stop(hard=hard)
        self.outer.run(self.connection.hang_up_argv())

    def reboot(self, *, hard: bool = False) -> None:
        """See Instance.reboot; the virtual machine stays, as a computer does."""
        self._empty_console()
        if hard:
            self._do("reset")
        else:
            self._tell_init("INT")
        self.outer.run(self.connection.hang_up_argv())

    def hold(self) -> None:
        """See Instance.hold: it may boot on all CPUs, and keeps these until it is stopped."""
        cpus = self.site.cpuset
        for number in range(self.site.limits.cpus):
            self._do("vcpupin", str(number), cpus, "--live")
        if self.console:  # Xen's helpers are dom0's
            self._do("emulatorpin", cpus, "--live")
        if quota := self.site.limits.quota_cpus:
            given = [f"global_period={PERIOD_US}", f"global_quota={quota * PERIOD_US}"]
            self._do("schedinfo", *given, "--live")

    def disk_cache(self) -> DiskCache:
        """See Instance.disk_cache."""
        return disk.cache(self.outer, f"{self.folder}/disk")

    def address(self) -> str:
        """See Instance.address."""
        return self.connection.address

    def threads(self) -> Threads | None:
        """See Instance.threads: the virtual CPUs are the critical path; Xen's are not Linux's."""
        if not self.console:
            return None
        pid = text(self.outer, ["cat", self.daemon.pid_file(self.site.name)])
        return Threads(cgroup=_whole(cgroup.of_process(self.outer, pid)), comm="CPU ")

    def _tell_to_end(self) -> None:
        if not self._runs():
            raise LayerError(f"{self.site.name} does not run: it is {self._state()}")
        self._tell_init("TERM")

    def _tell_init(self, signal: str) -> None:
        # It has no daemon that heeds a power button, which is all that libvirt could push.
        self.machine.run(["sh", "-c", 'kill -"$0" 1', signal], timeout_s=20)

    def _await(self, condition: Callable[[], bool], timeout_s: float, what: str) -> None:
        if await_true(condition, timeout_s=timeout_s, every_s=0.05, alive=self._runs):
            return
        state = self._state()
        words = f"the guest {self.site.name} did not {what}, libvirt says {state}; it said last: "
        last = self.outer.run(["tail", "-n", "5", self.console or f"{self.folder}/console"]).stdout
        words += tail_of(last) or "(nothing)"
        raise LayerTimedOut(words) if state.startswith("running") else LayerError(words)

    def _is_new(self) -> bool:
        try:
            self.connection.open(self.outer, self.site.deadline_s)
        except LayerError:
            return False
        return self._boot_id() not in ("", self.booted)

    def _boot_id(self) -> str:
        return self.machine.run(BOOT_ID, timeout_s=10).stdout.decode().strip()

    def _empty_console(self) -> None:
        """Empty the console, so that later output is of the new boot."""
        if self.console and self.outer.run(["sh", "-c", ': > "$0"', self.console]).returncode != 0:
            raise LayerError(f"{self.site.name} is gone: its console cannot be emptied")


class Container(Domain):
    """A system container of the userland, entered by the namespaces of its first process."""

    def __init__(self, outer: Machine, site: layer.Site, daemon: Daemon, folder: str) -> None:
        super().__init__(outer, site, daemon, folder)
        # What the daemon does not see mounted it cannot give to a container.
        check(daemon.mounts, ["sh", "-c", tree.MOUNT, site.userland.tree(outer), folder])
        self.cpuset = site.cpuset
        enter = ["sh", "-c", ENTER, f"{folder}/leader", site.name, "env", "-i", *tree.ENVIRONMENT]
        self.machine = Inner(outer, "libvirt", lambda argv: [*enter, *argv])
        init = ("/bin/sh", "-c", namespaces.INIT)
        self._define(domain.lxc(site, f"{folder}/root", init, architecture.of(outer)))

    def ready(self) -> None:
        """See Instance.ready."""
        find = ["sh", "-c", LEADER, f"{self.folder}/leader", self.site.name, *self.daemon.client]

        def answers() -> bool:
            found = self.outer.run(find).returncode == 0
            return found and self.machine.run(["true"]).returncode == 0

        limit_s = self.site.deadline_s
        if not await_true(answers, timeout_s=limit_s, every_s=0.02, alive=self._runs):
            state = self._state()
            words = f"the container {self.site.name} does not answer, libvirt says {state}"
            raise LayerTimedOut(words) if state.startswith("running") else LayerError(words)

    def threads(self) -> Threads:
        """See Instance.threads."""
        pid = text(self.outer, ["cat", f"{self.folder}/leader"])
        return Threads(cgroup=cgroup.of_process(self.outer, pid))

    def _tell_to_end(self) -> None:
        self._do("shutdown", "--mode", "signal")


def _network(ends: Tap | Link, bits: int) -> str:
    return f"tare.address={ends.address}/{bits} tare.gateway={ends.gateway}"


def _whole(group: str) -> str:
    """Return the group of a whole domain, given the group of one of its threads."""
    return group.removesuffix("/emulator").removesuffix("/libvirt")
