"""A running lab, which is paused unless a command runs in it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from tare.core.completed import Completed
from tare.core.errors import LayerError
from tare.machines.backends.qemu import tell
from tare.machines.cgroup import cgroup
from tare.machines.machine import Inner, Machine
from tare.machines.network.tap import Tap
from tare.machines.ssh import Connection

Hypervisor = Literal["kvm", "xen"]
HYPERVISORS: tuple[Hypervisor, ...] = ("kvm", "xen")

# Whether the process that the lab's folder names is in its group: another may have its number.
ALIVE = r"""
alive() {
    pid=$(cat "$folder/pid" 2> /dev/null) &&
        cat /sys/fs/cgroup/"$path"/cgroup.procs /sys/fs/cgroup/*/"$path"/cgroup.procs 2> /dev/null |
        grep -qx "$pid"
}
folder=$0 path=$1
shift
"""
LIVES = ALIVE + "alive\n"
# In a lab that is gone there is nothing to undo; one that is paused has to be resumed for that.
UNDO = (
    ALIVE
    + r"""
tell() {
    printf '{"execute": "qmp_capabilities"}\n{"execute": "%s"}\n' "$1" |
        socat -t 10 - UNIX-CONNECT:"$folder/monitor" > /dev/null 2>&1
}
alive || exit 0
tell cont
"$@"
status=$?
tell stop
exit $status
"""
)


@dataclass
class Lab:
    """A lab that runs: its QEMU in the group ``group``, its files in ``folder``."""

    outer: Machine
    hypervisor: str
    folder: str
    group: str
    port: int
    control: str
    """The socket of this session's connection; another than that of another session."""
    cable: Tap
    """The host's device that leads there, and the address at each of its ends."""
    _users: set[object] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def connection(self) -> Connection:
        """How it is reached."""
        return Connection("root", "127.0.0.1", self.port, f"{self.folder}/key", self.control)

    @property
    def machine(self) -> LabMachine:
        """The machine inside, always the same: what its instances share is found by it."""
        return self._machine

    def __post_init__(self) -> None:
        self._machine = LabMachine(self, self.connection.wrap)

    def lives(self) -> bool:
        """Return whether its QEMU still runs."""
        return self.outer.run(["sh", "-c", LIVES, self.folder, self.group]).returncode == 0

    def answers(self) -> bool:
        """Return whether a command can be run in it."""
        return self.lives() and self.machine.run(["true"]).returncode == 0

    def undo_argv(self, argv: Sequence[str]) -> list[str]:
        """Build the command that runs argv here if the lab lives, and else succeeds."""
        return ["sh", "-c", UNDO, self.folder, self.group, *argv]

    def take(self, user: object) -> None:
        """Register a user, and resume the lab for the first one; raises LayerError."""
        with self._lock:
            if not self._users:
                self.tell("cont", "running")
            self._users.add(user)

    def drop(self, user: object) -> None:
        """Remove a user, and pause the lab after the last one; raises LayerError."""
        with self._lock:
            self._users.discard(user)
            if not self._users:
                self.tell("stop", "paused")

    def tell(self, command: str, status: str) -> None:
        """Send a command to its QEMU and check the status that it then has."""
        monitor = f"{self.folder}/monitor"
        *_, state = tell(self.outer, monitor, (command, {}), ("query-status", {}))
        if state["status"] != status:
            raise LayerError(f"the lab did not take {command!r}: it is {state['status']}")

    @contextmanager
    def awake(self) -> Iterator[None]:
        """Resume the lab while the ``with`` block runs."""
        user = object()
        self.take(user)
        try:
            yield
        finally:
            self.drop(user)


class LabMachine:
    """The machine inside a lab."""

    ephemeral = False  # it outlives the instances that use it

    def __init__(self, lab: Lab, wrap: Callable[[Sequence[str]], Sequence[str]]) -> None:
        self.lab, self._inner = lab, Inner(lab.outer, "lab", wrap)
        self.name = self._inner.name

    def host_argv(self, argv: Sequence[str]) -> list[str]:
        """See Machine.host_argv; it runs as long as somebody keeps the lab awake."""
        return self._inner.host_argv(argv)

    def undo_argv(self, argv: Sequence[str]) -> list[str]:
        """See Machine.undo_argv; it wakes the lab, and leaves it paused."""
        return self.lab.outer.undo_argv(self.lab.undo_argv(self._inner.wrap(argv)))

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 60.0) -> Completed:
        """See Machine.run."""
        try:
            with self.lab.awake():
                return self._inner.run(argv, stdin=stdin, timeout_s=timeout_s)
        except LayerError as error:  # as ssh says it of a machine that is gone
            return Completed(tuple(argv), 255, b"", str(error).encode(), 0.0)

    def held(self, group: cgroup.Group) -> LabMachine:
        """Return the same machine with all that is run there in a group."""
        wrap = self._inner.wrap
        return LabMachine(self.lab, lambda argv: wrap(group.enter_argv(argv)))
