"""One virtual machine: a QEMU process in a cgroup, and a connection to the sshd inside."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from tare.core.completed import tail_of
from tare.core.errors import CommandFailed, LayerError, LayerTimedOut, Unavailable
from tare.core.model import DiskCache
from tare.machines import layer
from tare.machines.backends import guest_disk as disk
from tare.machines.backends.instance_process import InstanceProcess
from tare.machines.backends.qemu import Command, tell
from tare.machines.cgroup import cgroup
from tare.machines.cgroup.readback import Inside
from tare.machines.instance import Instance, Threads
from tare.machines.machine import Inner, Machine, await_true, check, text
from tare.machines.network.addresses import CABLE_BITS
from tare.machines.network.tap import PLUG, Tap
from tare.machines.ssh import Connection

PORTS = (20000, 32000)
PORT_TRIES = 5
PORT_TAKEN = b"Could not set up host forwarding rule"
SIGNAL_S = 20.0
DISK_IS_DIRECT = (
    disk.DIRECT
    + r"""
pid=$(cat "$0/pid")
for file in /proc/"$pid"/fd/*; do
    [ "$(readlink "$file")" = "$0/disk" ] || continue
    flags=$(awk '/^flags:/ { print $2 }' "/proc/$pid/fdinfo/${file##*/}")
    [ $((flags & direct)) -ne 0 ] || { echo no; exit; }
    echo yes
    exit
done
echo "QEMU does not hold $0/disk open" >&2
exit 1
"""
)
# Each virtual CPU is a thread, ``CPU 0/KVM`` or ``CPU 0/TCG``; single-threaded emulation has one.
PIN = r"""
folder=$0
read -r pid < "$folder/pid"
for task in /proc/"$pid"/task/*; do
    read -r name < "$task/comm"
    number=${name#CPU }
    [ "$number" != "$name" ] || continue
    for way; do
        [ "${way%:*}" != "${number%%/*}" ] ||
            taskset --pid --cpu-list "${way#*:}" "${task##*/}" > /dev/null || exit 1
    done
done
"""
ALLOWED = r"""
read -r pid < "$0/pid"
for task in /proc/"$pid"/task/*; do
    read -r name < "$task/comm"
    [ "${name#CPU }" = "$name" ] ||
        awk -v name="${name%%/*}" '/^Cpus_allowed_list/ { print name " on " $2 }' "$task/status"
done
"""
# The way to the machines on other cables; all else goes by the first network.
SIGNALLED = "tare: signalled"
# What ends the guest ends the connection too, so its status says nothing: the word before does.
SIGNAL = 'echo "$1" && exec kill -"$0" 1'
ON_RESET = {"ends": "shutdown", "reboots": "reset"}


class Guest(Instance):
    """A guest with the userland on its disk, which says on its console when it is ready.

    ``start_argv`` gives the command that starts QEMU for a port of the outer machine's loopback.
    """

    resets = True
    """Whether its machine comes back from a reset; else a reboot is a stop and a start."""

    def __init__(
        self,
        outer: Machine,
        site: layer.Site,
        group: cgroup.Group,
        connection: Connection,
        start_argv: Callable[[int], list[str]],
    ) -> None:
        self.outer, self.site, self.group, self.start_argv = outer, site, group, start_argv
        self.folder = f"{site.folder}/{site.name}"
        self.files_at = site.folder
        self.process = InstanceProcess(outer, group, self.folder)
        self.connection = connection
        # One machine for good: what holds it reaches the guest after a reboot too.
        self.machine = Inner(outer, "qemu", lambda argv: self.connection.wrap(argv))
        self.cpuset = "0" if site.limits.cpus == 1 else f"0-{site.limits.cpus - 1}"
        self.reboots = False
        self.is_pinned = False
        self.grows_to: int | None = None
        self.cable: Tap | None = None
        self.front = ""

    def start(self) -> None:
        """See Instance.start.

        There is no way to ask QEMU for a free port, so a taken one is answered by another try.
        """
        self._empty_console()
        for _ in range(PORT_TRIES):
            port = random.randrange(*PORTS)  # noqa: S311 - only to miss other sessions
            argv = self.group.boot_argv(self.start_argv(port))
            done = self.outer.run(argv, timeout_s=self.site.deadline_s)
            if PORT_TAKEN not in done.stderr:
                break
        if done.returncode != 0:
            why = tail_of(done.stderr)
            raise LayerError(f"qemu did not start {self.site.name} on {self.outer.name}: {why}")
        self.connection = replace(self.connection, port=port)
        self.reboots = False

    def ready(self) -> None:
        """See Instance.ready."""
        self._await_boot()
        try:
            check(self.machine, ["mkdir", "-p", self.workdir], timeout_s=self.site.deadline_s)
        except CommandFailed as error:
            raise LayerError(f"{self.site.name} does not answer: {error}") from error
        if self.grows_to is not None:
            disk.grow(self.machine, self.grows_to, self.site.deadline_s)
            self.grows_to = None  # it stays so
        if self.reboots:
            self._tell(("set-action", {"reboot": ON_RESET["ends"]}))
            self.reboots = False

    def stop(self, *, hard: bool = False) -> None:
        """See Instance.stop: the guest powers itself off, or QEMU is killed."""
        if hard:
            self.group.kill()
        else:
            self._tell_system("TERM")
            if not await_true(
                lambda: not self.process.lives(), timeout_s=self.site.deadline_s, every_s=0.02
            ):
                raise LayerTimedOut(
                    f"the guest {self.site.name} did not power off within "
                    f"{self.site.deadline_s:.0f} s; {self._last_words()}"
                )
            self._refuse_killed()
        self._hang_up()

    def reboot(self, *, hard: bool = False) -> None:
        """See Instance.reboot: QEMU stays, as a computer does, where its machine has a reset."""
        if not self.resets:
            super().reboot(hard=hard)
            return
        self._empty_console()  # what it says from now on is of the new boot
        # Until it is ready: a BIOS that finds a warm computer resets it once more.
        self.reboots = True
        self._tell(("set-action", {"reboot": ON_RESET["reboots"]}))
        if hard:
            self._tell(("system_reset", {}))
        else:
            self._tell_system("INT")
        self._hang_up()

    def hold(self) -> None:
        """See Instance.hold."""
        self.group.hold(self.site.cpuset, self.site.limits.quota_cpus)
        if self.is_pinned:  # last, for a group that gets its CPUs moves all its threads to them
            cpus = cgroup.cpus_of(self.site.cpuset)
            ways = [f"{number}:{cpu}" for number, cpu in enumerate(cpus)]
            check(self.outer, ["sh", "-c", PIN, self.folder, *ways])

    def pause(self) -> None:
        """See Instance.pause. The guest's clock is stopped too, so that no timer is late."""
        self._switch("stop", "paused")

    def resume(self) -> None:
        """See Instance.resume."""
        self._switch("cont", "running")

    def disk_cache(self) -> DiskCache:
        """See Instance.disk_cache: whether QEMU really holds the disk open with O_DIRECT."""
        direct = text(self.outer, ["sh", "-c", DISK_IS_DIRECT, self.folder])
        return DiskCache.NONE if direct == "yes" else DiskCache.WRITEBACK

    def inside(self) -> Inside:
        """See Instance.inside; how the host holds the guest shows on the outer machine alone."""
        vcpus = text(self.outer, ["sh", "-c", ALLOWED, self.folder]).splitlines()
        found = super().inside()
        held = {"disk_cache": str(self.disk_cache()), "vcpus": ", ".join(sorted(vcpus))}
        return replace(found, confinement={**found.confinement, **held})

    def address(self) -> str:
        """See Instance.address: its end of the cable is set up when somebody asks for it.

        Set-up commands go over QEMU's own network; measured traffic does not, unless that network
        is measured.
        """
        if not self.site.reached:
            raise LayerError(f"{self.site.name} was made without a network for others")
        if self.front:
            return self.front
        if self.cable is None:
            raise Unavailable(
                f"{self.machine.name} has one network card only, which is no tap",
                "netdev: user, or leave out image: and machine: microvm",
            )
        try:
            ends = [f"{self.cable.address}/{CABLE_BITS}", self.cable.gateway]
            check(self.machine, ["sh", "-c", PLUG, *ends])
        except CommandFailed as error:
            raise LayerError(f"{self.site.name} has no network of its own: {error}") from error
        return self.cable.address

    def threads(self) -> Threads:
        """See Instance.threads: the virtual CPUs are the critical path, the group is the bill."""
        return Threads(cgroup=self.group.path, comm="CPU ")

    def _await_boot(self) -> None:
        said = ["grep", "-q", "tare: ready", f"{self.folder}/console"]
        limit_s = self.site.deadline_s
        if not await_true(
            lambda: self.outer.run(said).returncode == 0,
            timeout_s=limit_s,
            alive=self.process.lives,
        ):
            raise self._failed(f"did not come up within {limit_s:.0f} s")
        # As long again: in a storm of guests the first login takes as much CPU time as the boot.
        what = f"booted, but its sshd accepted no login within {limit_s:.0f} s"
        self._connect(limit_s, what)

    def _connect(
        self, timeout_s: float, what: str, taken: Callable[[LayerError | None], bool] | None = None
    ) -> None:
        """Connect, repeatedly: sshd becomes a daemon first, and listens a moment later.

        ``taken`` says whether that will do, given why there is no connection, or None if there is.
        """
        refused: list[LayerError] = []

        def connects() -> bool:
            try:
                self.connection.open(self.outer, self.site.deadline_s)
            except LayerError as error:
                refused.append(error)
                return taken is not None and taken(error)
            return taken is None or taken(None)

        if not await_true(connects, timeout_s=timeout_s, alive=self.process.lives):
            raise self._failed(f"{what} ({refused[-1]})" if refused else what)

    def _tell_system(self, signal: str) -> None:
        """Signal the guest's first process to power off (TERM) or to reboot (INT)."""
        self.tell_inside(["sh", "-c", SIGNAL, signal, SIGNALLED])

    def tell_inside(self, argv: list[str]) -> None:
        done = self.machine.run(argv, timeout_s=SIGNAL_S)
        if SIGNALLED.encode() not in done.stdout or done.returncode == 1:
            why = tail_of(done.stderr)
            raise LayerError(
                f"the guest {self.site.name} could not be shut down: {why}; {self._last_words()}"
            )

    def _refuse_killed(self) -> None:
        """Refuse a QEMU that ended otherwise than by the guest's own doing."""
        off = ["grep", "-q", "reboot: Power down", f"{self.folder}/console"]
        if self.outer.run(off).returncode != 0:
            raise LayerError(
                f"QEMU of {self.site.name} ended before the guest was off; {self._last_words()}"
            )

    def _failed(self, what: str) -> LayerError:
        """Return why a guest is not there: it is late, or its QEMU has ended."""
        if self.process.lives():
            return LayerTimedOut(f"the guest {self.site.name} {what}; {self._last_words()}")
        return LayerError(f"QEMU of {self.site.name} ended while it booted; {self._last_words()}")

    def _last_words(self) -> str:
        at = f"{self.folder}/console"
        tail = self.outer.run(["tail", "-n", "5", at]).stdout.decode(errors="replace")
        panic = self.outer.run(["grep", "-a", "-m", "1", "Kernel panic", at]).stdout
        why = f"{panic.decode(errors='replace').strip()} ... " if panic else ""
        return f"its console ends: {why}{tail.strip()[-400:] or '(nothing was printed)'}"

    def _empty_console(self) -> None:
        empty = self.outer.run(["sh", "-c", ': > "$0/console"', self.folder])
        if empty.returncode != 0:
            raise LayerError(f"{self.site.name} is gone: {empty.stderr.decode(errors='replace')}")

    def _hang_up(self) -> None:
        """End the connection: the other end has forgotten it."""
        self.outer.run(self.connection.hang_up_argv())

    def _switch(self, command: str, status: str) -> None:
        """Send a command to QEMU, and check the status that it then has."""
        found = self._tell((command, {}), ("query-status", {}))[-1]["status"]
        if found != status:
            raise LayerError(f"{self.site.name} did not take '{command}': it is {found}")

    def _tell(self, *commands: Command) -> list[dict[str, str]]:
        try:
            return tell(self.outer, f"{self.folder}/monitor", *commands)
        except LayerError as error:
            raise LayerError(f"{self.site.name} on {self.outer.name}: {error}") from error
