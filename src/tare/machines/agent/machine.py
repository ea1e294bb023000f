"""A machine whose commands are started by its agent."""

from __future__ import annotations

import logging
import shlex
import threading
import time
from collections.abc import Callable, Sequence

from tare.core.completed import Completed
from tare.machines.agent.client import GONE, Client, Command, LostAgent, Request
from tare.machines.agent.wire import Order
from tare.machines.machine import Host, Machine

log = logging.getLogger(__name__)

NOT_EXECUTABLE = 126
AGAIN_S = 20.0
"""How long a machine that had an agent may take to have another one; what is dead never has."""


class AgentMachine:
    """Runs commands through an agent, in a machine that can also be entered anew.

    ``enter`` makes the client of a fresh agent within a number of seconds, or raises LostAgent; a
    lost agent is entered again by the next command. ``entered_anew`` makes every command enter the
    machine anew, as if there was no agent: the two ways are never mixed within a comparison. After
    ``close`` commands do so too, for what is left to be done then is to clean up.
    ``may_hold_orphans`` says that a lost agent may have left processes: its kernel, as gVisor's,
    knows no subreaper.
    """

    def __init__(
        self, machine: Machine, host: Host, enter: Callable[[float], Client], within_s: float
    ) -> None:
        """Enter the machine, which may take ``within_s``; raises LostAgent."""
        self.machine, self._host, self._enter = machine, host, enter
        self.entered_anew = False
        self.may_hold_orphans = False
        self._closed = False
        self._lock = threading.Lock()
        self.client = enter(within_s)
        host.attach(self)

    @property
    def name(self) -> str:
        """See Machine.name."""
        return self.machine.name

    @property
    def ephemeral(self) -> bool:
        """See Machine.ephemeral."""
        return self.machine.ephemeral

    def host_argv(self, argv: Sequence[str]) -> list[str]:
        """See Machine.host_argv: such a command enters the machine anew."""
        return self.machine.host_argv(argv)

    def undo_argv(self, argv: Sequence[str]) -> list[str]:
        """See Machine.undo_argv."""
        return self.machine.undo_argv(argv)

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 60.0) -> Completed:
        """See Machine.run."""
        if self._closed or self.entered_anew:
            return self.machine.run(argv, stdin=stdin, timeout_s=timeout_s)
        self._host.refuse_cancelled()
        try:
            command = self._current().start(argv, timeout_s, Order.STDIN if stdin else Order.PLAIN)
        except LostAgent as error:
            return Completed(tuple(argv), GONE, b"", str(error).encode(), 0.0)
        except (OSError, ValueError) as error:  # too many words, or one that no process can have
            return Completed(tuple(argv), NOT_EXECUTABLE, b"", str(error).encode(), 0.0)
        try:
            self._host.refuse_cancelled()  # what was cancelled before the command was known
            if stdin:
                command.feed(stdin)
                command.end_input()
            done = command.wait()
        except LostAgent as error:
            self.client.lose(str(error))
            done = command.wait()
        except BaseException:  # an interrupt must not leave the command running
            command.kill()
            command.client.forget(command)
            raise
        self._host.refuse_cancelled()
        if log.isEnabledFor(logging.DEBUG):
            where = f"{done.returncode} after {done.duration_s:.3f} s by the agent in {self.name}"
            log.debug("%s: %s", where, shlex.join(argv))
        return done

    def arm(
        self, argv: Sequence[str], *, timeout_s: float = 60.0, after_exec: bool = False
    ) -> Command:
        """Make a command that is held until it is released; raises LostAgent.

        ``after_exec`` holds it at the first instruction of its program, so that neither fork nor
        exec is between the release and the work. ``Command.await_armed`` waits until it is held.
        """
        self._host.refuse_cancelled()
        flags = Order.ARMED | (Order.AFTER_EXEC if after_exec else Order.PLAIN)
        command = self._current().start(argv, timeout_s, flags)
        try:
            self._host.refuse_cancelled()
        except BaseException:
            command.kill()
            raise
        return command

    def ask_for_files(self, asked: bytes) -> Request:
        """Request files, without a process; see Client.ask_for_files. Raises LostAgent."""
        return self._current().ask_for_files(asked)

    def clock_offset_ns(self, tries: int = 8) -> tuple[int, int]:
        """Return how far CLOCK_MONOTONIC inside is ahead of the host's, and how sure that is.

        The second number is half of the shortest way there and back. Raises LostAgent.
        """
        found = [self._offset() for _ in range(tries)]
        took_ns, ahead_ns = min(found)
        return ahead_ns, took_ns // 2

    def cancel(self) -> None:
        """Kill all that runs here, and raise Cancelled in the threads that wait for it."""
        self.client.cancel()

    def close(self) -> None:
        """End the agent, and all that it started; safe to call twice."""
        self._closed = True
        self._host.detach(self)
        self.client.close()

    def _current(self) -> Client:
        with self._lock:
            if self.client.reason:
                log.info("entering %s again: its agent is gone (%s)", self.name, self.client.reason)
                self.may_hold_orphans |= not self.client.adopts
                self.client = self._enter(AGAIN_S)
            return self.client

    def _offset(self) -> tuple[int, int]:
        before = time.monotonic_ns()
        _, pong = self._current().ping()
        after = time.monotonic_ns()
        return after - before, pong.monotonic_ns - (before + after) // 2
