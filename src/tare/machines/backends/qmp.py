"""A conversation with a QEMU over the socket of its monitor (QMP), from this very process.

A command that carries it (socat) takes 3 ms to start and end; what QEMU needs is 0.1 ms.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path


def converse(path: str, asked: bytes, answers: int, timeout_s: float) -> bytes:
    """Send lines to a monitor and return its output up to the given number of answers.

    Events and the greeting are among it, and are no answers. The output so far is returned where
    QEMU hangs up. Raises OSError, among it TimeoutError where it says nothing for so long.
    """
    said = b""
    with _connected(path, timeout_s) as monitor:
        monitor.sendall(asked)
        while _answers(said) < answers and (more := monitor.recv(2**16)):
            said += more
    return said


def _answers(said: bytes) -> int:
    """Count the whole lines that answer; QEMU writes no key before these two."""
    lines = said.split(b"\n")[:-1]
    return sum(line.startswith((b'{"return"', b'{"error"')) for line in lines)


def _connected(path: str, timeout_s: float) -> socket.socket:
    """Connect to a socket whose path may be longer than the 107 bytes that an address takes."""
    at = Path(path)
    folder = os.open(at.parent, os.O_PATH | os.O_DIRECTORY)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.settimeout(timeout_s)
        made.connect(f"/proc/self/fd/{folder}/{at.name}")
    except BaseException:
        made.close()
        raise
    finally:
        os.close(folder)
    return made
