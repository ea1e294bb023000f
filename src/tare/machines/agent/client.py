"""The client of one agent: start commands through it, and receive their output and status."""

from __future__ import annotations

import os
import struct
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from tare.core.completed import Completed
from tare.machines.agent import wire
from tare.machines.agent.streams import Streams
from tare.machines.agent.wire import End, Order
from tare.machines.machine import SIGNALLED, Cancelled

GRACE_S = 10.0
"""How long after its deadline, which the agent keeps, a command's end may be reported."""
ANSWER_S = 10.0
GONE = 125
"""The status of a command whose agent was lost, or that could not be started at all."""
PIECE = 1 << 16
LOOK_S = 0.2
"""How late an interrupt may be seen while a machine starts its agent."""


class LostAgent(OSError):  # noqa: N818
    """The agent is gone, or does not answer."""


@dataclass(eq=False)
class Command:
    """One command of an agent: armed, running or ended.

    ``start_s`` and ``end_s`` are by the host's clock (time.perf_counter): when it was sent or
    released, and when its end was reported.
    """

    client: Client
    number: int
    argv: tuple[str, ...]
    timeout_s: float
    start_s: float
    sink: Callable[[bytes], None] | None = None
    end_s: float = 0.0
    has_ended: bool = False
    ended: wire.Ended | None = None
    cancelled: bool = False
    _out: list[bytes] = field(default_factory=list)
    _err: list[bytes] = field(default_factory=list)
    _credit: int = 0
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _armed: bool = False

    def go(self, at_ns: int = 0) -> None:
        """Release it, at once or at a moment of the machine's CLOCK_MONOTONIC."""
        self.start_s = time.perf_counter()
        self.client.send("G", self.number, wire.go(at_ns))

    def kill(self, number: int = 9) -> None:
        """Send a signal to its process group."""
        self.client.send("K", self.number, wire.signal(number))

    def feed(self, data: bytes) -> None:
        """Send it some of its stdin, as fast as it takes that; raises LostAgent."""
        view = memoryview(data)
        while view and not self.has_ended:
            size = self._take_credit(min(PIECE, len(view)))
            if size:
                self.client.send("I", self.number, view[:size])
                view = view[size:]

    def end_input(self) -> None:
        """Close its stdin."""
        self.client.send("I", self.number, b"")

    def await_armed(self) -> None:
        """Wait until it is held, or has failed to start; raises LostAgent."""
        if not self._wait(lambda: self._armed or self.has_ended, self.timeout_s + GRACE_S):
            self.client.lose(f"{self.argv[0]} was not armed within {self.timeout_s:.0f} s")

    def wait(self) -> Completed:
        """Wait for its end; raises Cancelled.

        An agent that does not report that in time is lost; so is the command, with status GONE.
        """
        limit_s = self.timeout_s + GRACE_S
        if not self._wait(lambda: self.has_ended, limit_s):
            self.client.lose(f"it did not report the end of {self.argv[0]} within {limit_s:.0f} s")
        self.client.forget(self)
        if self.cancelled:
            raise Cancelled
        took_s = (self.end_s or time.perf_counter()) - self.start_s
        out, err = b"".join(self._out), b"".join(self._err)
        if self.ended is None:
            why = f"the agent in {self.client.name} is gone: {self.client.reason}\n"
            return Completed(
                self.argv, GONE, out, err + why.encode(), took_s, took_s >= self.timeout_s
            )
        if self.ended.flags & End.NOT_RUN:
            why = f"{self.argv[0]} could not be started: {os.strerror(self.ended.error)}\n"
            err += why.encode()
        status = self.ended.status
        code = SIGNALLED + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        timed_out = bool(self.ended.flags & End.TIMED_OUT)
        return Completed(self.argv, code, out, err, took_s, timed_out, self.ended.usage)

    def abandon(self) -> str:
        """Stop receiving its output; returns its stderr."""
        self.client.forget(self)
        return b"".join(self._err).decode(errors="replace").strip()

    def receive(self, kind: str, payload: bytes) -> None:
        """Handle a frame for this command."""
        if kind == "O":
            (self.sink or self._out.append)(payload)
        elif kind == "E":
            self._err.append(payload)
        elif kind == "X":
            self.end(wire.ended(payload))
        else:
            with self._changed:
                if kind == "W":
                    self._credit += wire.window(payload)
                elif kind == "A":
                    self._armed = True
                self._changed.notify_all()

    def end(self, ended: wire.Ended | None, *, cancelled: bool = False) -> None:
        """Note that nothing will follow: it has ended, its agent is lost, or all is cancelled."""
        with self._changed:
            if self.has_ended:
                return
            self.end_s = time.perf_counter()
            self.ended, self.cancelled, self.has_ended = ended, cancelled, True
            self._changed.notify_all()
        if self.sink is not None:
            self.sink(b"")

    def grant(self, size: int) -> None:
        """Allow a number of bytes of input before any is acknowledged."""
        self._credit = size

    def _take_credit(self, most: int) -> int:
        limit_s = self.timeout_s + GRACE_S
        if not self._wait(lambda: self._credit > 0 or self.has_ended, limit_s):
            raise LostAgent(f"{self.argv[0]} took no input for {limit_s:.0f} s")
        with self._changed:
            size = min(self._credit, most)
            self._credit -= size
        return size

    def _wait(self, condition: Callable[[], bool], within_s: float) -> bool:
        with self._changed:
            return self._changed.wait_for(condition, within_s)


@dataclass(eq=False)
class Request:
    """Something that an agent was asked; ``asked_s`` is by the host's clock (time.monotonic).

    ``at_s`` is when it was answered, ``cost_s`` the CPU time until then of the thread that
    received it, which is one for all agents.
    """

    client: Client
    number: int
    asked_s: float
    at_s: float = 0.0
    cost_s: float = 0.0
    _answer: bytes | None = None
    _answered: threading.Event = field(default_factory=threading.Event)

    @property
    def age_s(self) -> float:
        """How long ago it was asked."""
        return time.monotonic() - self.asked_s

    def answer(self, within_s: float) -> bytes | None:
        """Wait for the answer; None if there is none in time, or will be none."""
        self._answered.wait(within_s)
        return self._answer

    def receive(self, answer: bytes | None) -> None:
        """Note the answer, or that there will be none."""
        self.at_s, self.cost_s = time.monotonic(), time.thread_time()
        self._answer = answer
        self._answered.set()


class Client:
    """The other end of an agent's streams; ``reason`` says why it is lost, or is empty."""

    def __init__(
        self,
        name: str,
        streams: Streams,
        within_s: float,
        refuse_cancelled: Callable[[], None] = lambda: None,
    ) -> None:
        """Connect to the agent of the machine ``name``; raises LostAgent, with what was received.

        ``within_s`` is how long its machine may take to start it; ``refuse_cancelled`` raises
        Cancelled when nothing is to be waited for any more.
        """
        self.name, self.reason = name, ""
        self._streams = streams
        self._commands: dict[int, Command] = {}
        self._requests: dict[int, Request] = {}
        self._count = 0
        self._lock, self._sending = threading.Lock(), threading.Lock()
        self._data = bytearray()
        self._greeted = threading.Event()
        self._hello: wire.Hello | None = None
        self._stderr = ""
        streams.open(self._receive)
        try:
            deadline_s = time.monotonic() + within_s
            while not (is_up := self._greeted.wait(LOOK_S)) and time.monotonic() < deadline_s:
                refuse_cancelled()
        except BaseException:
            self.lose("it was interrupted")
            raise
        if not is_up:
            self.lose(f"it did not answer within {within_s:.0f} s")
        if self.reason:
            stderr = f": {self._stderr}" if self._stderr else ""
            raise LostAgent(f"no agent in {name}: {self.reason}{stderr}")

    @property
    def pid(self) -> int:
        """Its process, as its own machine numbers it."""
        return self._hello.pid if self._hello else 0

    @property
    def adopts(self) -> bool:
        """Whether nothing that it started outlives it, even if it is killed."""
        return self._hello is not None and self._hello.adopts

    def start(
        self,
        argv: Sequence[str],
        timeout_s: float,
        flags: Order = Order.PLAIN,
        sink: Callable[[bytes], None] | None = None,
    ) -> Command:
        """Start a command, or arm it; raises LostAgent.

        Raises OSError and ValueError where no process could have such arguments either.
        """
        words, cwd, added = wire.without_env(argv)
        payload = wire.order(words, flags, timeout_s, cwd, added)
        if self.reason:
            raise LostAgent(f"the agent in {self.name} is gone: {self.reason}")
        with self._lock:
            self._count += 1
            made = Command(self, self._count, tuple(argv), timeout_s, time.perf_counter(), sink)
            made.grant(self._hello.window if self._hello else 0)
            self._commands[made.number] = made
        self.send("R", made.number, payload)
        if self.reason:  # it was lost before the command was known here
            made.end(None)
        return made

    def relay(self, path: str, sink: Callable[[bytes], None]) -> Command:
        """Relay a unix socket of its machine, until its input ends; it has no deadline."""
        return self.start([path], 0.0, Order.RELAY, sink)

    def ping(self) -> tuple[float, wire.Pong]:
        """Return the s there and back, and its machine's clocks; raises LostAgent."""
        begin = time.perf_counter()
        answer = self._ask("P", b"")
        return time.perf_counter() - begin, wire.pong(answer)

    def ask_for_files(self, payload: bytes) -> Request:
        """Request files (see wire.paths); wire.contents reads the answer. Raises LostAgent."""
        return self._request("F", payload)

    def sweep(self) -> None:
        """Kill all processes that descend from it, daemons too."""
        self.send("K", wire.EVERY, wire.signal(9))

    def send(self, kind: str, number: int, payload: bytes | memoryview) -> None:
        """Send a frame; an agent that cannot be reached is lost."""
        data = wire.frame(kind, number, payload)
        try:
            with self._sending:
                self._streams.send(data)
        except OSError as error:
            self.lose(str(error))

    def forget(self, command: Command) -> None:
        """Stop handling frames for a command."""
        with self._lock:
            self._commands.pop(command.number, None)

    def cancel(self) -> None:
        """Kill all commands and raise Cancelled in the threads that wait for one."""
        for command in self._current():
            command.kill()
            command.end(None, cancelled=True)

    def close(self) -> None:
        """End the agent, which kills what it started; safe to call twice."""
        self.lose("it was closed")

    def lose(self, reason: str) -> None:
        """Count the agent as gone, and end everything that waits for it."""
        with self._lock:
            is_first, self.reason = not self.reason, self.reason or reason
        if is_first:
            self._stderr = self._streams.close()
        self._end_all()

    def _request(self, kind: str, payload: bytes) -> Request:
        if self.reason:
            raise LostAgent(f"the agent in {self.name} is gone: {self.reason}")
        with self._lock:
            self._count += 1
            asked = Request(self, self._count, time.monotonic())
            self._requests[asked.number] = asked
        self.send(kind, asked.number, payload)
        return asked

    def _ask(self, kind: str, payload: bytes) -> bytes:
        answer = self._request(kind, payload).answer(ANSWER_S)
        if answer is None:
            self.lose(f"it did not answer within {ANSWER_S:.0f} s")
            raise LostAgent(f"the agent in {self.name} is gone: {self.reason}")
        return answer

    def _current(self) -> list[Command]:
        with self._lock:
            return list(self._commands.values())

    def _end_all(self) -> None:
        for command in self._current():
            command.end(None)
        with self._lock:
            waiting, self._requests = list(self._requests.values()), {}
        for request in waiting:
            request.receive(None)
        self._greeted.set()

    def _receive(self, data: bytes) -> None:
        if not data:
            self._lose_later("its streams ended")
            return
        self._data += data
        try:
            for kind, number, payload in wire.frames(self._data):
                self._dispatch(kind, number, payload)
        except (ValueError, struct.error) as error:
            self._lose_later(str(error))

    def _lose_later(self, reason: str) -> None:
        """Count the agent as gone, in another thread: the receiving one serves all agents."""
        threading.Thread(target=self.lose, args=(reason,), name="lost agent", daemon=True).start()

    def _dispatch(self, kind: str, number: int, payload: bytes) -> None:
        if self._hello is None:
            if kind != "H":
                raise ValueError(f"it did not greet, but sent {kind!r}")
            self._hello = wire.hello(payload)
            self._greeted.set()
        elif kind in "PF":
            with self._lock:
                request = self._requests.pop(number, None)
            if request is not None:
                request.receive(payload)
        else:
            with self._lock:
                command = self._commands.get(number)
            if command is not None:
                command.receive(kind, payload)


def release(commands: Iterable[Command], at_ns: int = 0) -> float:
    """Release armed commands together; returns how long the sending took, in s."""
    begin = time.perf_counter()
    for command in commands:
        command.go(at_ns)
    return time.perf_counter() - begin
