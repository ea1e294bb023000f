"""Estimate how much of a trial's wall time was spent waiting for other work on the host.

For a thread, wall = cpu + delay + blocked (METHOD.md 2.7). Its *residual* at a reading is wall less
the cpu and the delay reported until then: what it was blocked, and the run or the wait that is
under way, which the kernel reports when it has ended. Blocked time only grows and the rest is never
negative, so the least of later residuals bounds what the thread was blocked until then.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

WORKER_SHARE = 0.1
RECENT = 20
"""How many last residuals bound the blocked time of a thread; it ran at one of them at least."""
BLOCKED_SHARE = 0.05
"""A worker that was blocked for more of its time is not one that always wanted a CPU."""
SLACK_S = 3 / os.sysconf("SC_CLK_TCK")
"""/proc/stat counts in ticks: what it says of a trial may be off by some of them."""
NS = 1e9


@dataclass(slots=True)
class Track:
    """What was read of one thread, in ns; ``first`` is 0 for one that began within the trial."""

    lasting: bool
    first_cpu: int = 0
    first_delay: int = 0
    last_cpu: int = 0
    last_delay: int = 0
    last_now: int = 0
    least: int | None = None
    recent: deque[int] = field(default_factory=lambda: deque(maxlen=RECENT))
    history: list[tuple[int, int, int]] = field(default_factory=list)
    """Readings (now, cpu, residual), of a lasting thread alone, and only those at which it ran."""

    def read(self, now: int, cpu: int, delay: int) -> None:
        """Add a reading; ``now`` is by any monotonic clock."""
        residual = now - cpu - delay
        if self.lasting and (not self.history or cpu != self.last_cpu):
            self.history.append((now, cpu, residual))
        self.last_now, self.last_cpu, self.last_delay = now, cpu, delay
        self.least = residual if self.least is None else min(self.least, residual)
        self.recent.append(residual)

    @property
    def cpu_s(self) -> float:
        """The CPU time that was seen."""
        return (self.last_cpu - self.first_cpu) / NS

    @property
    def delay_s(self) -> float:
        """The delay that was seen."""
        return (self.last_delay - self.first_delay) / NS

    @property
    def blocked_s(self) -> float:
        """What it was blocked at the most, until shortly before the last reading."""
        return (min(self.recent) - self.least) / NS if self.least is not None else 0.0

    def within(self, span_s: float) -> tuple[float, float]:
        """Return CPU and blocked time of a lasting thread in the last ``span_s`` seconds."""
        begin = self.last_now - round(span_s * NS)
        before = [entry for entry in self.history if entry[0] <= begin]
        after = [entry for entry in self.history if entry[0] > begin]
        if not before or not after:
            return 0.0, span_s
        # What it ran across the beginning, between two readings, counts as within: a few ms.
        least = min(residual for _, _, residual in after)
        return (self.last_cpu - before[-1][1]) / NS, (min(self.recent) - least) / NS


def workers(tracks: Sequence[Track]) -> list[Track]:
    """Choose the threads that do the work, by their CPU time.

    A parent that starts the work and then waits for its end may have waited long for a CPU too, but
    not while the work was done.
    """
    most = max((one.cpu_s for one in tracks), default=0.0)
    return [one for one in tracks if one.cpu_s >= WORKER_SHARE * most > 0]


def closed_delay_s(working: Sequence[Track], unseen_s: float, tool_s: float | None) -> float | None:
    """Return a worker's delay as the part of its tool's time that was neither on a CPU nor blocked.

    That misses nothing, whereas a wait is reported when it has ended, and never of a thread that
    has ended. It holds for one worker that wanted a CPU (almost) always. One that began with its
    tool has also used ``unseen_s``, the CPU time that only the group's counter saw. A virtual CPU's
    time is that of the last ``tool_s`` before its last reading. None where the sum tells nothing.
    """
    if tool_s is None or len(working) != 1:
        return None
    (only,) = working
    if only.lasting:
        used_s, blocked_s = only.within(tool_s)
    else:
        used_s, blocked_s = only.cpu_s + unseen_s, only.blocked_s
    if blocked_s > BLOCKED_SHARE * tool_s:
        return None
    return max(0.0, tool_s - blocked_s - used_s)


def foreign_delay_s(
    delay_s: float, throttled_s: float, foreign_cpu_s: float, at_once: int
) -> float:
    """Return the most that other work can have added to a trial's wall time (METHOD.md 2.7).

    ``delay_s`` is the workers' mean. With one worker, what it waited is what the trial lost; with
    several the mean stands for that, as if they worked independently. What they waited for each
    other, for the platform's helpers or for a quota is the platform's own: so never more than the
    foreign CPU time, spread over the workers that can run ``at_once``.
    """
    # Where all foreign CPU time may be a counting error, no further delay is assumed.
    slack_s = SLACK_S if foreign_cpu_s > SLACK_S else 0.0
    return min(max(0.0, delay_s - throttled_s), (foreign_cpu_s + slack_s) / max(1, at_once))
