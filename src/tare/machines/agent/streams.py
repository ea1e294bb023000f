"""Connections to an agent: the streams of a process, a unix socket, a relay by another agent."""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
import socket
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tare.machines.agent.client import Command

log = logging.getLogger(__name__)

STUCK_S = 60.0
"""How long a machine may take no input before it counts as lost."""
MOMENT_S = 0.2
"""What a frozen machine may delay the end of its entry by; its layer kills it in any case."""
RECEIVE_BYTES = 1 << 18
MOST_SAID = 400

Receiver = Callable[[bytes], None]
"""Takes what was received; an empty one says that nothing will follow."""


class Streams(Protocol):
    """Bytes to an agent and from it."""

    def open(self, receive: Receiver) -> None:
        """Start to hand over what is received; from then on called by one thread at a time."""

    def send(self, data: bytes) -> None:
        """Send all of it, or raise OSError."""

    def close(self) -> str:
        """End it without waiting for long; returns its stderr.

        The agent sees its input end, kills what it started and ends, as soon as its machine runs.
        """


class _Loop:
    """One thread that receives from all agents: one each would cost memory and switches."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._epoll: select.epoll | None = None
        self._receivers: dict[int, Receiver] = {}

    def add(self, fd: int, receive: Receiver) -> None:
        """Pass on what is received from a file descriptor, until its end."""
        with self._lock:
            self._receivers[fd] = receive
            if self._epoll is None:
                self._epoll = select.epoll()
                Thread(target=self._run, args=(self._epoll,), name="agents", daemon=True).start()
            self._epoll.register(fd, select.EPOLLIN)

    def remove(self, fd: int) -> None:
        """Receive no more from it; harmless where nothing is received."""
        with self._lock:
            self._remove(fd)

    def _remove(self, fd: int) -> None:
        if self._receivers.pop(fd, None) is not None and self._epoll is not None:
            with contextlib.suppress(OSError):
                self._epoll.unregister(fd)

    def _run(self, epoll: select.epoll) -> None:
        while True:
            for fd, _ in epoll.poll():
                with self._lock:  # a descriptor that is removed may be another file's right after
                    receive = self._receivers.get(fd)
                    if receive is None:
                        continue
                    try:
                        data = os.read(fd, RECEIVE_BYTES)
                    except BlockingIOError:
                        continue
                    except OSError:
                        data = b""
                    if not data:
                        self._remove(fd)
                try:
                    receive(data)
                except Exception:  # it would end the thread, and all other agents with it
                    log.exception("what an agent sent could not be taken")
                    self.remove(fd)


_LOOP = _Loop()


class _Gate:
    """Sends through a file that another thread may close meanwhile, when its number is reused."""

    def __init__(self) -> None:
        self._lock, self._is_closed = Lock(), False

    def close(self, close: Callable[[], None]) -> None:
        """Close the file; nothing is sent from then on."""
        with self._lock:
            self._is_closed = True
            close()

    def send(self, fileno: Callable[[], int], data: bytes) -> None:
        """Send all, without waiting forever for a machine that is paused; raises OSError."""
        view = memoryview(data)
        while view:
            with self._lock:
                if self._is_closed:
                    raise OSError("it was closed")
                fd = fileno()
                try:
                    view = view[os.write(fd, view) :]
                    continue
                except BlockingIOError:
                    pass
            writable = select.poll()
            writable.register(fd, select.POLLOUT)
            if not writable.poll(STUCK_S * 1000):
                raise OSError(f"it took no input for {STUCK_S:.0f} s")


class AgentStream:
    """A process on the controlling host whose stdin and stdout lead to an agent.

    ``first`` is sent before all else: the agent's own program, for the shell that starts it.
    """

    def __init__(self, argv: Sequence[str], first: bytes = b"") -> None:
        self._first = first
        self._gate = _Gate()
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # an interrupt is Tare's to handle
            bufsize=0,
        )
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        for stream in (self._stdin, self._stdout):
            os.set_blocking(stream.fileno(), False)

    def open(self, receive: Receiver) -> None:
        """See Streams.open."""
        _LOOP.add(self._stdout.fileno(), receive)
        with contextlib.suppress(OSError):  # it ended at once: its output's end says so
            self._gate.send(self._stdin.fileno, self._first)

    def send(self, data: bytes) -> None:
        """See Streams.send."""
        self._gate.send(self._stdin.fileno, data)

    def close(self) -> str:
        """See Streams.close.

        Where the process is the agent itself it has a moment to end what it started.
        """
        with contextlib.suppress(OSError):
            self._gate.close(self._stdin.close)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(MOMENT_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):  # frozen: its layer ends it
            self._process.wait(MOMENT_S)
        stderr = b""
        if self._process.stderr is not None and not self._process.stderr.closed:
            os.set_blocking(self._process.stderr.fileno(), False)
            stderr = self._process.stderr.read() or b""
            self._process.stderr.close()
        if not self._stdout.closed:
            _LOOP.remove(self._stdout.fileno())
            self._stdout.close()
        return stderr.decode(errors="replace").strip()[-MOST_SAID:]


class Socket:
    """A unix socket of this host that an agent listens at; raises OSError where none does.

    The path may be longer than an address of a socket can be.
    """

    def __init__(self, path: str) -> None:
        self._gate = _Gate()
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            folder = os.open(Path(path).parent, os.O_PATH | os.O_DIRECTORY)
            try:
                self._socket.connect(f"/proc/self/fd/{folder}/{Path(path).name}")
            finally:
                os.close(folder)
        except OSError:
            self._socket.close()
            raise
        self._socket.setblocking(False)

    def open(self, receive: Receiver) -> None:
        """See Streams.open."""
        _LOOP.add(self._socket.fileno(), receive)

    def send(self, data: bytes) -> None:
        """See Streams.send."""
        self._gate.send(self._socket.fileno, data)

    def close(self) -> str:
        """See Streams.close."""
        if self._socket.fileno() >= 0:
            _LOOP.remove(self._socket.fileno())
            self._gate.close(self._socket.close)
        return ""


class Relay:
    """A unix socket of another agent's machine; ``start`` gives the command that relays to it."""

    def __init__(self, start: Callable[[Receiver], Command]) -> None:
        self._start = start
        self._command: Command | None = None

    def open(self, receive: Receiver) -> None:
        """See Streams.open."""
        self._command = self._start(receive)

    def send(self, data: bytes) -> None:
        """See Streams.send."""
        if self._command is None or self._command.has_ended:
            raise OSError("the agent that relays to it has ended that")
        self._command.feed(data)

    def close(self) -> str:
        """See Streams.close."""
        if self._command is None:
            return ""
        self._command.end_input()
        return self._command.abandon()
