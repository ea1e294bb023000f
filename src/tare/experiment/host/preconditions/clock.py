"""Measure how a machine's clock drifts against the host's.

The machine is asked for its time repeatedly over one channel. The moment of each answer is
known only to lie between question and answer on the host, which bounds the offset of the two
clocks; bounds a few seconds apart bound the skew. Nothing is estimated: where answers are slow the
bounds are wide. The machine runs meanwhile: over a pause the clock of an emulated guest may stand
still, which says nothing of trials, in which it does not.
"""

from __future__ import annotations

import contextlib
import math
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from threading import Timer

from tare.machines.machine import Machine, check

STRETCH_S = 3.0
SILENCE_S = 20.0
BEST = 20
"""How many of the fastest answers of each end are used: slower ones do not narrow the bounds."""
# Its time of day, in microseconds and without a process of its own.
ANSWER = 'while read -r _; do echo "$EPOCHREALTIME"; done'
# How far its time of day, which can be set, is from its time since boot, which cannot.
DAY = "read -r up rest < /proc/uptime && date +%s.%N && echo $up"
DAY_S = 20.0


@dataclass(frozen=True, slots=True)
class Ping:
    """A machine's time, read between two moments of the host's clock; all in seconds."""

    sent_s: float
    machine_s: float
    received_s: float


@dataclass(frozen=True, slots=True)
class Skew:
    """How a machine's clock drifts against the host's, in seconds per second; negative is slow.

    The truth lies between ``low`` and ``high``; it was watched for ``over_s``.
    """

    low: float
    high: float
    over_s: float


def watch(
    machine: Machine, stretch_s: float = STRETCH_S, now: Callable[[], float] = time.monotonic
) -> list[Ping]:
    """Read a machine's time repeatedly for a while; ends early where it does not answer."""
    try:
        process = subprocess.Popen(  # Machine.run gives no answer before the end
            machine.host_argv(["bash", "-c", ANSWER]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return []
    pings: list[Ping] = []
    with process:
        deadline = Timer(stretch_s + SILENCE_S, process.kill)
        deadline.start()
        try:
            for ping in _asked(process, stretch_s, now):
                pings.append(ping)
        except (OSError, ValueError):  # it has ended, or does not speak bash
            pass
        finally:
            deadline.cancel()
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                process.communicate(timeout=1.0)  # at the end of its input it ends
            process.kill()
    return pings


def bound(pings: Sequence[Ping]) -> Skew | None:
    """Bound the skew by the quickest answers of the first and the last third, pair by pair.

    None where there are too few answers, or no skew agrees with all: the clock was set meanwhile.
    """
    third = len(pings) // 3
    if third == 0:
        return None
    first, last = _quickest(pings[:third]), _quickest(pings[-third:])
    lows, highs = [], []
    for early in first:
        for late in last:
            over_s = (late.sent_s + late.received_s - early.sent_s - early.received_s) / 2
            if over_s <= 0:
                return None
            machine_s = late.machine_s - early.machine_s
            lows.append((machine_s - (late.received_s - early.sent_s)) / over_s)
            highs.append((machine_s - (late.sent_s - early.received_s)) / over_s)
    low, high = max(lows), min(highs)
    return Skew(low, high, pings[-1].received_s - pings[0].sent_s) if low <= high else None


def day_offset(machine: Machine) -> float | None:
    """Return a machine's time of day minus its time since boot, in seconds; None if unknown.

    It changes only when the time of day is set. Raises CommandFailed where the command fails.
    """
    words = check(machine, ["sh", "-c", DAY], timeout_s=DAY_S).stdout.split()
    try:
        day, up = map(float, words)
    except ValueError:  # it has no /proc/uptime, or its date knows no %N
        return None
    return day - up


def _asked(
    process: subprocess.Popen[bytes], stretch_s: float, now: Callable[[], float]
) -> Iterable[Ping]:
    """Read until some time after the first answer, which waits for all that must start before."""
    question, answer = process.stdin, process.stdout
    assert question is not None  # noqa: S101 - both are pipes
    assert answer is not None  # noqa: S101
    until_s = math.inf
    while (sent := now()) < until_s:
        question.write(b"\n")
        question.flush()
        line = answer.readline().replace(b",", b".")  # as some languages write it
        received = now()
        yield Ping(sent, float(line), received)
        until_s = min(until_s, received + stretch_s)


def _quickest(pings: Sequence[Ping]) -> list[Ping]:
    return sorted(pings, key=lambda one: one.received_s - one.sent_s)[:BEST]
