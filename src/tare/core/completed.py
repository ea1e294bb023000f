"""The result of a command: arguments, exit status, output, duration and resource usage."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """Resource usage of a command, as the kernel of its machine reports it.

    ``start_ns`` (right before its exec) and ``end_ns`` (when it was reaped) are of CLOCK_MONOTONIC
    there, which in a guest has another origin than on the host.
    """

    start_ns: int
    end_ns: int
    user_s: float
    system_s: float
    max_rss_bytes: int
    minor_faults: int
    major_faults: int
    blocks_in: int
    blocks_out: int
    voluntary_switches: int
    involuntary_switches: int


@dataclass(frozen=True, slots=True)
class Completed:
    """A finished command with the arguments that were really run.

    ``returncode`` is 128 and the signal's number where a signal ended it; ``duration_s`` is by the
    clock of the controlling host. ``usage`` is known of a command that an agent started.
    """

    argv: tuple[str, ...]
    returncode: int
    stdout: bytes
    stderr: bytes
    duration_s: float
    timed_out: bool = False
    usage: Usage | None = None


def tail_of(output: bytes) -> str:
    """Return the last 400 characters of what a command printed, as text for a message."""
    return output.decode(errors="replace").strip()[-400:]
