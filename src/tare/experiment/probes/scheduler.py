"""One thread that calls all monitors when they are due, so that no trial starts a thread."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock, Thread

Call = Callable[[], float]
"""A function to call when it is due; returns after how many seconds it is due again."""


@dataclass(eq=False, slots=True)
class ScheduledCall:
    """A function that is called repeatedly; ``waiting_s`` is the CPU time of the last wait."""

    call: Call
    due_s: float
    waiting_s: float = 0.0
    error: Exception | None = None
    is_called: Lock = field(default_factory=Lock)
    """Held while it is called."""


class Scheduler:
    """Calls functions when they are due, one after the other, on a thread that the first one
    starts.

    It runs on the CPUs of the thread that began the last one: a session steps aside from those
    that it measures.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._scheduled_calls: list[ScheduledCall] = []
        # Free for a moment to wake the thread up: an event or a condition takes longer to wait for.
        self._alarm = Lock()
        self._alarm.acquire()
        self._sleeps_until_s = -math.inf
        self._thread: Thread | None = None
        self._cpus: set[int] = set()

    def begin(self, call: Call, after_s: float) -> ScheduledCall:
        """Call something after some seconds, until ``end``."""
        scheduled = ScheduledCall(call, time.monotonic() + after_s)
        with self._lock:
            self._scheduled_calls.append(scheduled)
            if self._thread is None:
                self._thread = Thread(target=self._run, name="pulse", daemon=True)
                self._thread.start()
            elif scheduled.due_s < self._sleeps_until_s and self._alarm.locked():
                self._alarm.release()
            self._follow(self._thread)
        return scheduled

    def end(self, scheduled: ScheduledCall) -> None:
        """Return once it is not called any more; what it raised is raised here."""
        with self._lock:
            self._scheduled_calls.remove(scheduled)
        with scheduled.is_called:
            pass
        if scheduled.error is not None:
            raise scheduled.error

    def _follow(self, thread: Thread) -> None:
        cpus = os.sched_getaffinity(0)
        if cpus != self._cpus and thread.native_id is not None:
            os.sched_setaffinity(thread.native_id, cpus)
            self._cpus = cpus

    def _run(self) -> None:
        while True:
            begin_s = time.thread_time()
            scheduled = self._next()
            scheduled.waiting_s = time.thread_time() - begin_s
            wait_s = math.inf
            try:
                wait_s = scheduled.call()
            except Exception as error:  # noqa: BLE001 - it is raised in ``end``
                scheduled.error = error
            scheduled.due_s = time.monotonic() + wait_s
            scheduled.is_called.release()

    def _next(self) -> ScheduledCall:
        """Wait for the next call that is due, and return it locked."""
        while True:
            with self._lock:
                scheduled = min(self._scheduled_calls, key=lambda one: one.due_s, default=None)
                due_s = scheduled.due_s if scheduled is not None else math.inf
                left_s = due_s - time.monotonic()
                if scheduled is not None and left_s <= 0:
                    scheduled.is_called.acquire()
                    self._sleeps_until_s = -math.inf
                    return scheduled
                self._sleeps_until_s = due_s
            self._alarm.acquire(timeout=left_s if left_s < math.inf else -1)
