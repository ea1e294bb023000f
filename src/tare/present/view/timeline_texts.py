"""A short text of each trial: what it took of CPUs and memory over its time, to be drawn in a page.

Texts are written of thousands of trials at once, by columns: numbers of many trials stand one after
the other in an array, with the places where those of each begin.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tare.present.view.sampled_rows import (
    FOR_ALL,
    HOST_BUSY,
    LAYER_CPU,
    LAYER_MEMORY,
    Extract,
    Name,
    Numbers,
    Places,
    joined,
    ranges,
)
from tare.results.stats.spans import LEAST_SPAN_S

if TYPE_CHECKING:
    import pyarrow as pa

MAX_STEPS = 30
"""The most steps of a trial in the page; ten thousand such trials are 5 MB."""


def write(extracts: Sequence[Extract]) -> list[str]:
    """Write the text of each trial, as ``tare.present.view.timelines.Timelines`` says it is.

    The series that has most readings is the trial's clock. Empty where no rate is known.
    """
    of = joined(extracts)
    counts = of.counts.max(axis=0)
    texts = np.full(len(counts), "", object)
    there = np.flatnonzero(counts)
    if len(there):
        texts[there] = _of_readings(_chosen(of, there), counts[there])
    written: list[str] = texts.tolist()
    return written


def bounding(clock: Numbers, begins: Places, ends: Places) -> Places:
    """Choose the readings of each trial that bound steps, as ``tare.results.stats.spans.steps``
    does.

    It goes from mark to mark of all trials side by side, of which there are few; a reading is
    searched for by halves, for trials may have many.
    """
    least_s = np.fmax(LEAST_SPAN_S, (clock[ends - 1] - clock[begins]) / MAX_STEPS)
    is_mark = np.zeros(len(clock), bool)
    is_mark[begins] = True
    trials, last = np.arange(len(begins)), begins.copy()
    while len(trials):
        from_s = clock[last[trials]]
        low, high = last[trials] + 1, ends[trials]
        while (low < high).any():
            middle = np.minimum((low + high) // 2, high - 1)
            is_far = clock[middle] - from_s >= least_s[trials]
            low, high = np.where(is_far, (low, middle), (middle + 1, high))
        is_there = high < ends[trials]
        trials, high = trials[is_there], high[is_there]
        last[trials] = high
        is_mark[high] = True
    # A rest that is too short for a step of its own is part of the one before.
    some = last > begins
    is_mark[last[some]] = False
    is_mark[ends[some] - 1] = True
    return np.flatnonzero(is_mark)


def _chosen(of: Extract, trials: Places) -> Extract:
    return Extract(of.counts[:, trials], of.begins[:, trials], of.times_s, of.values)


def _of_readings(of: Extract, counts: Places) -> NDArray[np.object_]:
    """Write the texts of trials of equal numbers of readings, at least one."""
    trials = np.arange(len(counts))
    clock = of.times_s[ranges(of.begins[of.counts.argmax(axis=0), trials], counts)]
    ends = np.cumsum(counts)
    begins = ends - counts
    marks = bounding(clock, begins, ends)
    bounds = np.append(0, np.searchsorted(marks, ends))
    firsts, lasts = bounds[:-1], bounds[1:] - 1
    of_trial = np.repeat(trials, np.diff(bounds))
    ended_s = clock[ends - 1]

    def rates(name: Name) -> Numbers:
        times_s, values = (some[marks] for some in _aligned(of, name, begins, len(clock)))
        changes = np.maximum(0.0, np.diff(values) / np.diff(times_s))
        return np.delete(changes, lasts[:-1])  # from a trial to the next

    with np.errstate(all="ignore"):  # a zero or an infinity in a file that no Tare has written
        _, memory = _aligned(of, LAYER_MEMORY, begins, len(clock))
        held = _most_since(memory, marks, firsts)
        most = np.fmax.reduceat(held, firsts)
        steps = bounds - np.arange(len(bounds))  # one less than marks
        columns = [
            _texts(1000 * ended_s),
            _lists(1000 * clock[marks] / ended_s[of_trial], bounds),
            _lists(100 * rates(LAYER_CPU), steps),
            _lists(100 * np.sum([rates(name) for name in HOST_BUSY], axis=0), steps),
            _texts(most / 1024),
            _lists(1000 * held / most[of_trial], bounds),
        ]
    import pyarrow.compute as pc  # only here: it takes long, and many studies have no samples

    whole = pc.binary_join_element_wise(*columns, "|")
    return np.where(lasts > firsts, whole.to_numpy(zero_copy_only=False), "")


def _aligned(of: Extract, name: Name, begins: Places, total: int) -> tuple[Numbers, Numbers]:
    """Return times and values of a figure, those of each trial from its place in ``begins`` on.

    All files of a host are read at every tick, so that readings of the same number belong
    together. What was not read is not a number.
    """
    number = FOR_ALL.index(name)
    to = ranges(begins, of.counts[number])
    here = ranges(of.begins[number], of.counts[number])
    times_s, values = np.full(total, np.nan), np.full(total, np.nan)
    times_s[to], values[to] = of.times_s[here], of.values[here]
    return times_s, values


def _most_since(values: Numbers, marks: Places, firsts: Places) -> Numbers:
    """Return for each mark the most that was read since the mark before it."""
    since = np.append(0, marks[:-1] + 1)
    since[firsts] = marks[firsts]
    most: Numbers = np.fmax.reduceat(values, since)
    return most


def _lists(numbers: Numbers, bounds: Places) -> pa.Array:
    """Write numbers of each trial with commas between them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.binary_join(pa.ListArray.from_arrays(bounds.astype(np.int32), _texts(numbers)), ",")


def _texts(numbers: Numbers) -> pa.Array:
    """Write whole numbers, and nothing for what is not known."""
    import pyarrow as pa

    known = np.isfinite(numbers)
    whole = np.clip(np.rint(np.where(known, numbers, 0.0)), 0, 1e12).astype(np.int64)
    return pa.array(whole, mask=~known).cast(pa.string()).fill_null("")
