"""A machine: run a command on it; the host, or a machine reached through another one."""

from __future__ import annotations

import contextlib
import logging
import math
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from tare.core.completed import Completed
from tare.core.errors import CommandFailed, CommandTimedOut

log = logging.getLogger(__name__)

NOT_FOUND = 127
SIGNALLED = 128
GRACE_S = 5
PIPES_S = 1.0


class Cancelled(BaseException):
    """The session is being ended; like KeyboardInterrupt, no handler of errors may swallow it."""


class Cancellable(Protocol):
    """Runs commands that the host does not see as processes of its own."""

    def cancel(self) -> None:
        """Kill every command that runs, and raise Cancelled in the threads that wait for it."""


class Machine(Protocol):
    """A place where a command can be run."""

    @property
    def name(self) -> str:
        """The stack that leads here, such as ``host/qemu/docker``."""

    @property
    def ephemeral(self) -> bool:
        """Whether all that is made here is gone when the layer that made the machine is deleted."""

    def host_argv(self, argv: Sequence[str]) -> list[str]:
        """Build the command that runs argv here when it is run on the controlling host, now."""

    def undo_argv(self, argv: Sequence[str]) -> list[str]:
        """Build one that does so at any later time, and succeeds where this machine is gone.

        It is for ledgers: it may change what state the machine is in.
        """

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 60.0) -> Completed:
        """Run a command to its end; a status other than 0 is a result, not an error."""


class Host:
    """The machine the harness itself runs on.

    ``cancel`` ends what runs here on any thread and lets nothing new begin, until ``restore``.
    """

    name = "host"
    ephemeral = False

    def __init__(self) -> None:
        self._active: set[subprocess.Popen[bytes]] = set()
        self._attached: set[Cancellable] = set()
        self._cancelled = False

    def cancel(self) -> None:
        """Kill every command that runs, and raise Cancelled in the threads that wait for it."""
        self._cancelled = True
        for process in tuple(self._active):
            _kill(process)
        for other in tuple(self._attached):
            other.cancel()

    def refuse_cancelled(self) -> None:
        """Raise Cancelled once everything is cancelled."""
        if self._cancelled:
            raise Cancelled

    def attach(self, other: Cancellable) -> None:
        """Cancel this too when everything is cancelled."""
        self._attached.add(other)

    def detach(self, other: Cancellable) -> None:
        """Forget what was attached."""
        self._attached.discard(other)

    def restore(self) -> None:
        """Allow commands again, for clean-up."""
        self._cancelled = False

    def host_argv(self, argv: Sequence[str]) -> list[str]:
        """See Machine.host_argv."""
        return list(argv)

    def undo_argv(self, argv: Sequence[str]) -> list[str]:
        """See Machine.undo_argv."""
        return list(argv)

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 60.0) -> Completed:
        """See Machine.run."""
        self.refuse_cancelled()
        start = time.perf_counter()
        try:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # so that a timeout reaches grandchildren too
            )
        except OSError as error:
            return Completed(tuple(argv), NOT_FOUND, b"", str(error).encode(), 0.0)
        timed_out = False
        self._active.add(process)
        if self._cancelled:  # between the first look and this one
            _kill(process)
        try:
            out, err = process.communicate(stdin or None, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            timed_out = True
            _kill(process)
            out, err = _rest(process)
        except BaseException:  # an interrupt must not leave the command running
            _kill(process)
            _rest(process)
            raise
        finally:
            self._active.discard(process)
        self.refuse_cancelled()
        took_s = time.perf_counter() - start
        code = process.returncode
        # As every shell says it, and so every other machine, of a command that died of a signal.
        status = code if code >= 0 else SIGNALLED - code
        done = Completed(tuple(argv), status, out, err, took_s, timed_out)
        if log.isEnabledFor(logging.DEBUG):
            log.debug("%d after %.3f s: %s", done.returncode, took_s, shlex.join(argv))
        return done


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _rest(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """Read what a killed command printed; a daemon it started may hold its pipes open forever."""
    try:
        return process.communicate(timeout=PIPES_S)
    except subprocess.TimeoutExpired as late:
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        process.wait()
        return late.stdout or b"", late.stderr or b""


@dataclass(frozen=True, slots=True)
class Inner:
    """A machine reached by rewriting the command and running it on the outer machine."""

    outer: Machine
    layer: str
    wrap: Callable[[Sequence[str]], Sequence[str]]
    ephemeral: bool = True

    @property
    def name(self) -> str:
        """See Machine.name."""
        return f"{self.outer.name}/{self.layer}"

    def host_argv(self, argv: Sequence[str]) -> list[str]:
        """See Machine.host_argv."""
        return self.outer.host_argv(self.wrap(argv))

    def undo_argv(self, argv: Sequence[str]) -> list[str]:
        """See Machine.undo_argv."""
        return self.outer.undo_argv(self.wrap(argv))

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 60.0) -> Completed:
        """See Machine.run.

        The deadline is kept by ``timeout`` inside this machine: killing what we started on the
        outer machine (an ssh or docker client) would leave the command itself running. Each
        outer machine waits a little longer than the one inside it, so the innermost acts first.
        """
        limited = ["timeout", "-s", "KILL", str(math.ceil(timeout_s)), *argv]
        done = self.outer.run(self.wrap(limited), stdin=stdin, timeout_s=timeout_s + GRACE_S)
        late = done.returncode != 0 and done.duration_s >= timeout_s
        return replace(done, timed_out=True) if late else done


def check(
    machine: Machine, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 60.0
) -> Completed:
    """Run a command that has to succeed, or raise CommandFailed or CommandTimedOut."""
    done = machine.run(argv, stdin=stdin, timeout_s=timeout_s)
    if done.timed_out:
        raise CommandTimedOut(done, machine.name, argv[0])
    if done.returncode != 0:
        raise CommandFailed(done, machine.name, argv[0])
    return done


def text(machine: Machine, argv: Sequence[str], *, timeout_s: float = 60.0) -> str:
    """Run a command that has to succeed and give what it printed, without the last line end."""
    return check(machine, argv, timeout_s=timeout_s).stdout.decode(errors="replace").rstrip("\n")


def put(machine: Machine, content: bytes, path: str) -> None:
    """Write a file in a machine; needs nothing but a POSIX shell there."""
    check(machine, ["sh", "-c", 'cat > "$0"', path], stdin=content)


def get(machine: Machine, path: str) -> bytes:
    """Read a file from a machine."""
    return check(machine, ["cat", path]).stdout


def await_true(
    condition: Callable[[], bool],
    *,
    timeout_s: float,
    every_s: float = 0.1,
    alive: Callable[[], bool] = lambda: True,
) -> bool:
    """Poll a condition until it is true; return False at the deadline or once nothing is alive.

    For what gives no event to wait on: a guest that boots, a daemon that opens its socket.
    """
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline or not alive():
            return False
        time.sleep(every_s)
    return True
