"""The protocol between a client and an agent; ``agent.c`` describes its frames."""

from __future__ import annotations

import errno
import os
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntFlag

from tare.core.completed import Usage

VERSION = 1
MOST_BYTES = 1 << 22
"""The largest frame that an agent takes."""
EVERY = 0xFFFFFFFF
"""The id that stands for all commands."""
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
_HEAD = struct.Struct("<IIB")
_ORDER = struct.Struct("<IIIQ")
_HELLO = struct.Struct("<IIIIII")
_PONG = struct.Struct("<QQQ")
_ENDED = struct.Struct("<iiII11Q")


class Order(IntFlag):
    """How a command is started."""

    PLAIN = 0
    STDIN = 1
    """It has a stdin to be fed; otherwise it reads /dev/null."""
    ARMED = 2
    """It is held until it is released."""
    AFTER_EXEC = 4
    """It is held at the first instruction of its program, not before its exec."""
    RELAY = 8
    """Nothing is started: the first word is a unix socket to relay to."""


class End(IntFlag):
    """What happened other than an exit."""

    TIMED_OUT = 1
    PIPES_HELD = 2
    """Something that it started still held its streams a second after it."""
    NOT_RUN = 4
    """No process could be made for it."""


@dataclass(frozen=True, slots=True)
class Hello:
    """The first frame of an agent; ``window`` is how many bytes of input a command may owe.

    ``adopts`` says that it is the parent of all orphans below it, so that nothing escapes its end.
    """

    version: int
    pid: int
    slots: int
    window: int
    adopts: bool


@dataclass(frozen=True, slots=True)
class Pong:
    """The clocks of an agent's machine and its own CPU time, in ns."""

    monotonic_ns: int
    real_ns: int
    cpu_ns: int


@dataclass(frozen=True, slots=True)
class Ended:
    """The last frame of a command: its wait status, the errno of a failed start, and its usage."""

    status: int
    error: int
    flags: End
    usage: Usage


def frame(kind: str, number: int, payload: bytes | memoryview = b"") -> bytes:
    """Return a frame."""
    return _HEAD.pack(len(payload), number, ord(kind)) + bytes(payload)


def frames(data: bytearray) -> Iterator[tuple[str, int, bytes]]:
    """Yield kind, id and payload of the complete frames that were received, and remove them."""
    at = 0
    try:
        while len(data) - at >= _HEAD.size:
            size, number, kind = _HEAD.unpack_from(data, at)
            if len(data) - at < _HEAD.size + size:
                return
            at += _HEAD.size + size
            yield chr(kind), number, bytes(memoryview(data)[at - size : at])
    finally:
        del data[:at]


def order(
    argv: Sequence[str],
    flags: Order,
    timeout_s: float,
    cwd: str = "",
    environment: Sequence[str] = (),
) -> bytes:
    """Return the payload that starts a command, in a directory or the agent's own.

    ``environment`` are words such as ``LC_ALL=C`` that are added to the agent's own.

    Raises OSError (E2BIG) where the words are more than an agent takes, ValueError for a NUL.
    """
    words = [os.fsencode(word) for word in (cwd, *argv, *environment)]
    if any(b"\0" in word for word in words):
        raise ValueError("embedded null byte")
    payload = _ORDER.pack(flags, len(argv), len(environment), int(timeout_s * 1e9))
    payload += b"".join(word + b"\0" for word in words)
    if len(payload) > MOST_BYTES:
        raise OSError(errno.E2BIG, os.strerror(errno.E2BIG))
    return payload


def without_env(argv: Sequence[str]) -> tuple[Sequence[str], str, list[str]]:
    """Return what ``env -C DIRECTORY NAME=VALUE... COMMAND`` starts, where, and what it adds.

    An order can say all that, so that no process is needed for it: under emulation that is half of
    what a short command takes. What is said otherwise is returned as it is.
    """
    if tuple(argv[:2]) != ("env", "-C") or len(argv) < 4:
        return argv, "", []
    at = 3
    while at < len(argv) and _ASSIGNED.match(argv[at]):
        at += 1
    if at == len(argv) or argv[at].startswith("-"):
        return argv, "", []
    return argv[at:], argv[2], list(argv[3:at])


def go(at_ns: int = 0) -> bytes:
    """Return the payload that releases a command, now or at a moment of CLOCK_MONOTONIC there."""
    return struct.pack("<Q", at_ns)


def signal(number: int) -> bytes:
    """Return the payload that sends a signal."""
    return struct.pack("<i", number)


def paths(names: Sequence[str]) -> bytes:
    """Return the payload that asks for files."""
    return b"".join(os.fsencode(name) + b"\0" for name in names)


def hello(payload: bytes) -> Hello:
    """Return the first frame of an agent, or raise ValueError where it is of another version."""
    if len(payload) != _HELLO.size:
        raise ValueError(f"its first frame has {len(payload)} bytes, expected {_HELLO.size}")
    version, pid, slots, window, adopts, _ = _HELLO.unpack(payload)
    if version != VERSION:
        raise ValueError(f"it speaks version {version} of the protocol, expected {VERSION}")
    return Hello(version, pid, slots, window, bool(adopts))


def pong(payload: bytes) -> Pong:
    """Return the answer to a ping."""
    return Pong(*_PONG.unpack_from(payload))


def window(payload: bytes) -> int:
    """Return how many bytes of input were taken."""
    (taken,) = struct.unpack("<I", payload)
    return int(taken)


def ended(payload: bytes) -> Ended:
    """Return how a command ended."""
    status, error, flags, _, start, end, user, system, rss, *counts = _ENDED.unpack(payload)
    usage = Usage(start, end, user / 1e6, system / 1e6, rss * 1024, *counts)
    return Ended(status, error, End(flags), usage)


def contents(payload: bytes) -> tuple[float, list[bytes | str]]:
    """Return the CPU time in s that the agent has had, and each file: its bytes, or why not."""
    (cpu_ns,) = struct.unpack_from("<Q", payload)
    found: list[bytes | str] = []
    at = 8
    while at < len(payload):
        (size,) = struct.unpack_from("<i", payload, at)
        at += 4
        found.append(payload[at : at + size] if size >= 0 else os.strerror(-size))
        at += max(size, 0)
    return cpu_ns / 1e9, found
