"""A command that has ended: how it was run, what it printed, what it took."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """What a command took by the kernel of its machine.

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
    """A command that has ended, as it was really run.

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
