"""Copy the agent into machines, and connect to it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock

from tare.core.errors import CommandFailed, LayerError, TareError, Unavailable
from tare.machines.agent.binary import build
from tare.machines.agent.client import Client, LostAgent
from tare.machines.agent.machine import AgentMachine
from tare.machines.agent.streams import AgentStream, Relay, Socket, Streams
from tare.machines.ledger import Ledger
from tare.machines.machine import Host, Machine, await_true, check

PUT = r"""
size=$0 name=$1
shift
for at; do
    file=$at/.$name
    ( : > "$file" ) 2> /dev/null || continue
    head -c "$size" > "$file" && chmod 755 "$file" || exit 126
    exec "$file"
done
echo "none of these folders can be written: $*" >&2
exit 126
"""
"""Takes the program off the front of its stdin and becomes it; the program removes its file. GNU's
and busybox's head take no byte more than they are asked for: what follows are frames."""
INSTALL = 'mkdir -p "$0" && cat > "$0/agent" && chmod 755 "$0/agent"'
FOLDERS = ("/tmp", "/run", "/var/tmp")  # noqa: S108 - the file has the instance's own name
MOUNTED_AT = "/.tare"
EVERY_S = 0.002
ASK_EVERY_S = 1.0
MOST_PATH_BYTES = 107


class NoAgent(Unavailable):
    """A machine cannot have an agent: commands have to enter it anew."""


class Agents:
    """Puts agents into machines that can be reached from the controlling host."""

    def __init__(self, host: Host, ledger: Ledger) -> None:
        self.host, self._ledger = host, ledger
        self._building = Lock()

    def push(
        self, machine: Machine, name: str, folders: Sequence[str], within_s: float
    ) -> AgentMachine:
        """Enter a machine that has a shell and leave the agent in it; raises NoAgent.

        Its file is in the first of the folders that can be written there, until it runs.
        """
        program = self.program
        argv = machine.host_argv(["sh", "-c", PUT, str(len(program)), name, *folders])

        def enter(limit_s: float) -> Client:
            try:
                return self._client(machine, AgentStream(argv, program), limit_s)
            except LostAgent:
                raise
            except OSError as error:  # the way in itself cannot be run here
                raise LostAgent(f"no agent in {machine.name}: {error}") from error

        try:
            return AgentMachine(machine, self.host, enter, within_s)
        except LostAgent as error:
            # What could not be run, as on another architecture, did not remove its file either.
            machine.run(["rm", "-f", *(f"{folder}/.{name}" for folder in folders)])
            raise NoAgent(str(error)) from error

    def install(self, outer: Machine, folder: str) -> None:
        """Put the program into a folder of a machine, for an instance that will mount that.

        Raises NoAgent or LayerError.
        """
        try:
            if isinstance(outer, Host):  # without a process for what this one can do
                Path(folder).mkdir(parents=True)
                file = Path(folder, "agent")
                file.write_bytes(self.program)
                file.chmod(0o755)
                return
            check(outer, ["sh", "-c", INSTALL, folder], stdin=self.program)
        except (CommandFailed, OSError) as error:
            raise LayerError(f"could not make {folder} on {outer.name}: {error}") from error

    def connect(
        self,
        machine: Machine,
        outer: Machine,
        path: str,
        within_s: float,
        alive: Callable[[], bool],
    ) -> AgentMachine:
        """Connect to the agent of a machine at its socket, a path on the outer machine.

        ``alive`` says whether it may still come up; it is asked once a second, for it may start a
        client of an engine. Raises LayerError where the agent does not come up.
        """

        def enter(limit_s: float) -> Client:
            reached: list[Client] = []
            refused: list[str] = []
            ask_at_s = time.monotonic() + ASK_EVERY_S

            def lives() -> bool:
                nonlocal ask_at_s
                if time.monotonic() < ask_at_s:
                    return True
                ask_at_s = time.monotonic() + ASK_EVERY_S
                return alive()

            def answers() -> bool:
                try:
                    reached.append(self._client(machine, _streams(outer, path), limit_s))
                except OSError as error:
                    refused.append(str(error))
                return bool(reached)

            if not await_true(answers, timeout_s=limit_s, every_s=EVERY_S, alive=lives):
                why = refused[-1] if refused else "nothing was tried"
                raise LostAgent(f"no agent behind {path} on {outer.name}: {why}")
            return reached[0]

        try:
            return AgentMachine(machine, self.host, enter, within_s)
        except LostAgent as error:
            raise LayerError(str(error)) from error

    def _client(self, machine: Machine, streams: Streams, within_s: float) -> Client:
        return Client(machine.name, streams, within_s, self.host.refuse_cancelled)

    @cached_property
    def _program(self) -> bytes:
        return build(self._ledger).read_bytes()

    @property
    def program(self) -> bytes:
        """The agent's program; raises NoAgent where it cannot be made."""
        with self._building:
            try:
                return self._program
            except TareError as error:
                raise NoAgent(f"there is no agent: {error}") from error


def can_connect(outer: Machine, path: str) -> bool:
    """Return whether a socket on a machine can be reached: it is the host, or has an agent that
    relays.

    That agent takes no path that is longer than an address of a socket can be.
    """
    is_short = len(os.fsencode(path)) <= MOST_PATH_BYTES
    return isinstance(outer, Host) or (isinstance(outer, AgentMachine) and is_short)


def _streams(outer: Machine, path: str) -> Streams:
    if isinstance(outer, AgentMachine):
        return Relay(lambda sink: outer.client.relay(path, sink))
    return Socket(path)
