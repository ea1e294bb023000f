"""The main process of an instance (bwrap, qemu, runsc): start it in a cgroup, watch and end it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tare.core.completed import tail_of
from tare.core.errors import CommandFailed, LayerError, LayerTimedOut
from tare.machines.cgroup.cgroup import Group
from tare.machines.machine import Machine, await_true, check

# setsid and no open streams: the process must outlive the command that starts it.
START = 'rm -f "$0/pid" && { setsid "$@" > "$0/log" 2>&1 < /dev/null & echo $! > "$0/pid"; }'
# The pid of a process that has ended may be another's by now: its group tells. In a container the
# path of the container's own group may stand before it.
LIVES = r"""
pid=$(cat "$0/pid") && grep -q "/$1\$\|/$1/" "/proc/$pid/cgroup" 2> /dev/null &&
    ! grep -q '^State:.Z' "/proc/$pid/status"
"""
SIGNAL = r"""
pid=$(cat "$0") && grep -q "/$1\$\|/$1/" "/proc/$pid/cgroup" 2> /dev/null && kill -"$2" "$pid"
"""
LEAD = r"""
folder=$0
grep -qx "$1" "$folder/log" && read -r main < "$folder/pid" || exit 125
shift
echo $(cat "/proc/$main/task/$main/children") > "$folder/leader"
exec "$@"
"""


@dataclass(frozen=True, slots=True)
class InstanceProcess:
    """The process of one instance; ``pid`` and ``log`` are files in ``folder`` on the machine."""

    machine: Machine
    group: Group
    folder: str

    def start(self, argv: Sequence[str]) -> None:
        """Start it in its group and return at once, or raise LayerError."""
        try:
            start = ["sh", "-c", START, self.folder, *argv]
            check(self.machine, self.group.enter_argv(start))
        except CommandFailed as error:
            raise LayerError(f"{argv[0]} did not start: {error}") from error

    def lives(self) -> bool:
        """Return whether it runs."""
        argv = ["sh", "-c", LIVES, self.folder, self.group.path]
        return self.machine.run(argv).returncode == 0

    def last_words(self) -> str:
        """Return the end of what it printed."""
        done = self.machine.run(["tail", "-n", "5", f"{self.folder}/log"])
        return tail_of(done.stdout) or "(nothing was printed)"

    def lead_argv(self, line: str) -> list[str]:
        """Build the prefix of a command that runs it only once a line was printed.

        The pid of the leader, the only child of the process, is then in the file ``leader``.
        """
        return ["sh", "-c", LEAD, self.folder, line]

    def await_answer(self, machine: Machine, what: str, timeout_s: float) -> None:
        """Wait until a command runs in a machine.

        Raises LayerError once the process has died, LayerTimedOut at the deadline.
        """
        if await_true(
            lambda: machine.run(["true"]).returncode == 0,
            timeout_s=timeout_s,
            every_s=0.02,
            alive=self.lives,
        ):
            return
        if self.lives():
            raise LayerTimedOut(
                f"{what} did not answer within {timeout_s:.0f} s; it said: {self.last_words()}"
            )
        raise LayerError(f"{what} ended before it answered; it said: {self.last_words()}")

    def signal_argv(self, signal: str, to: Literal["pid", "leader"] = "pid") -> list[str]:
        """Build the command that sends a signal to the process, or to its leader."""
        return ["sh", "-c", SIGNAL, f"{self.folder}/{to}", self.group.path, signal]

    def stop(
        self, what: str, timeout_s: float, *, tell: Sequence[str] = (), hard: bool = False
    ) -> None:
        """End it in order, or at once (``hard``) with all processes of its group.

        It is asked by SIGTERM, or by the command ``tell``. What is left in the group then is
        killed: nothing of it may run on.
        """
        if not hard:
            tell = tell or self.signal_argv("TERM")
            self.machine.run(tell)
            if not await_true(lambda: not self.lives(), timeout_s=timeout_s, every_s=0.02):
                asked = f"{tell[0]} ... {tell[-1]}"
                raise LayerTimedOut(f"{what} did not end within {timeout_s:.0f} s of {asked}")
        self.group.kill()
