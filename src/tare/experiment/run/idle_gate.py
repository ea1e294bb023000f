"""Wait between trials until the host is idle: disk writes done, memory freed, a random pause."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from threading import Thread

from tare.machines.machine import await_true

JITTER_S = 0.05
"""Longest random pause before a trial, so that trials cannot lock to a periodic neighbour."""
DEADLINE_S = 3.0
EVERY_S = 0.02
GIVE_UP_AFTER = 3
"""Deadlines missed after which no trial waits any more: others write all the time on this host."""
UNWRITTEN_LIMIT = 16 * 2**20
"""Bytes waiting for the disk above the rest; a disk of 100 MB/s writes them in a sixth of a second,
which the next trial would share its disk with."""
MEMORY_LIMIT = 128 * 2**20
"""Bytes less available than at rest from which on it is seen whether more is being given back."""
FREEING = 2**20
"""Bytes given back between two looks that count as still being freed."""

STILL_WRITING = f"earlier work was still being written to disk after {DEADLINE_S:g} s"
NEVER_SETTLES = f"{STILL_WRITING}; other work writes all the time, so later trials do not wait"


@dataclass(frozen=True, slots=True)
class Memory:
    """Available memory, and bytes that have yet to be written to disk."""

    available_bytes: int
    unwritten_bytes: int


class IdleGate:
    """Delays a trial until earlier work has been written to disk and its memory freed.

    Rest is what the first call finds. What is unwritten is asked to be written at once, as the
    kernel would let it lie for half a minute and a later trial pay for it. Memory is waited for
    only while it is being given back: what guests keep, and what others take, becomes the new rest.
    Other instances are paused, so there is no load of theirs to wait for.
    """

    def __init__(self, proc: Path = Path("/proc"), flush: Callable[[], None] = os.sync) -> None:
        self._meminfo, self._flush = proc / "meminfo", flush
        self._rest: Memory | None = None
        self._missed = 0

    def wait(self, deadline_s: float = DEADLINE_S) -> tuple[str, ...]:
        """Wait until the host is idle or a deadline is reached; return warnings."""
        now = self._read()
        rest = self._rest = self._rest or now
        if self._missed >= GIVE_UP_AFTER or _is_rest(now, rest):
            return ()
        if now.unwritten_bytes > rest.unwritten_bytes + UNWRITTEN_LIMIT:
            # It may take longer than the deadline and cannot be interrupted.
            Thread(target=self._flush, daemon=True).start()
        looks = [now]

        def settled() -> bool:
            looks.append(self._read())
            freed = looks[-1].available_bytes - looks[-2].available_bytes
            return _is_rest(looks[-1], rest) or (_is_written(looks[-1], rest) and freed < FREEING)

        is_settled = await_true(settled, timeout_s=deadline_s, every_s=EVERY_S)
        if rest.available_bytes > looks[-1].available_bytes + MEMORY_LIMIT:
            self._rest = Memory(looks[-1].available_bytes, rest.unwritten_bytes)
        if is_settled or _is_written(looks[-1], rest):
            return ()
        self._missed += 1
        return (STILL_WRITING if self._missed < GIVE_UP_AFTER else NEVER_SETTLES,)

    def _read(self) -> Memory:
        table = {}
        for line in self._meminfo.read_text().splitlines():
            name, _, size = line.partition(":")
            table[name] = size
        available, dirty, writing = (
            int(table[name].split()[0]) * 1024 for name in ("MemAvailable", "Dirty", "Writeback")
        )
        return Memory(available, dirty + writing)


def jitter_s(seed: int, block: int, slot: int) -> float:
    """Return a random pause before a trial; the same plan gives the same pauses."""
    return Random(f"{seed} {block} {slot}").uniform(0, JITTER_S)  # noqa: S311


def _is_written(now: Memory, rest: Memory) -> bool:
    return now.unwritten_bytes <= rest.unwritten_bytes + UNWRITTEN_LIMIT


def _is_rest(now: Memory, rest: Memory) -> bool:
    enough = now.available_bytes >= rest.available_bytes - MEMORY_LIMIT
    return enough and _is_written(now, rest)
