"""Which of many readings are far enough apart for a rate between them to mean something."""

from __future__ import annotations

from collections.abc import Sequence

LEAST_SPAN_S = 0.05
"""Readings closer than that tell no rate: the CPU time is counted in ticks of 10 ms."""


def spans(times_s: Sequence[float], least_s: float = LEAST_SPAN_S) -> list[int]:
    """Choose the readings between which a rate means something: none closer than ``least_s``."""
    marks = [0]
    for at, now_s in enumerate(times_s):
        if now_s - times_s[marks[-1]] >= least_s:
            marks.append(at)
    return marks


def steps(times_s: Sequence[float], most: int) -> list[int]:
    """Choose the readings that bound at most a number of steps from the first reading to the last.

    A rest that is too short for a step of its own is part of the one before, so that nothing is
    left out. One reading alone where all of it is shorter than a step may be.
    """
    least_s = max(LEAST_SPAN_S, (times_s[-1] - times_s[0]) / most)
    marks = spans(times_s, least_s)
    return marks if len(marks) == 1 else [*marks[:-1], len(times_s) - 1]
