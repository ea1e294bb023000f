"""The rows of a file of samples by columns: whose they are, and the readings of what is drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tare.core.model import Trial

HOST, LAYER, MACHINE, WORK = "host", "layer", "machine", "work"
"""Sources of figures: a machine is the innermost one that has a kernel of its own, as this counts;
the last one is what a workload's tool reported in its output."""
Name = tuple[str, str]
"""A figure: whose it is, and what was read."""
Identity = tuple[str, int, int, str, str, int]
"""Which trial: cell, block, slot, kind, instance, repeat."""
Numbers = NDArray[np.float64]
Places = NDArray[np.integer[Any]]

LAYER_CPU, LAYER_MEMORY = (LAYER, "cpu_s"), (LAYER, "memory_bytes")
LAYER_DISK = tuple((LAYER, f"disk_{way}_bytes") for way in ("read", "written"))
HOST_BUSY = tuple((HOST, f"cpu_{what}_s") for what in ("user", "system", "guest"))
"""What a host's CPUs do when they work: none of these is in another."""
MACHINE_BUSY = tuple((MACHINE, name) for _, name in HOST_BUSY)
MACHINE_MEMORY = (MACHINE, "memory_used_bytes")
FOR_ALL: tuple[Name, ...] = (LAYER_CPU, LAYER_MEMORY, *HOST_BUSY)
"""What is drawn of every trial."""
NAMES: tuple[Name, ...] = (
    *FOR_ALL,
    *((LAYER, "cpu_user_s"), (LAYER, "cpu_system_s"), (LAYER, "memory_cached_bytes")),
    *((HOST, "cpu_iowait_s"), (HOST, "cpu_steal_s"), (HOST, "memory_used_bytes")),
    *(*MACHINE_BUSY, MACHINE_MEMORY),
    *LAYER_DISK,
)
"""All that is drawn."""
_IDENTITY = ("cell", "block", "slot", "kind", "instance", "repeat")
_who = attrgetter(*_IDENTITY)
_Coded = tuple[Places, list[str]]


def identity(trial: Trial) -> Identity:
    """Return what tells a trial's samples from those of others."""
    who: Identity = _who(trial)  # a kind is a text, and the same as that
    return who


@dataclass(frozen=True, slots=True)
class Readings:
    """What was read of one figure, when in seconds since the trial's begin, and what is missing."""

    times_s: Numbers
    values: Numbers
    reason: str


@dataclass(frozen=True, slots=True)
class Extract:
    """The readings of ``FOR_ALL`` of some trials, apart from their file.

    ``counts`` says how many there are by figure and trial, and ``begins`` where in ``times_s`` and
    ``values`` the first of them is.
    """

    counts: Places
    begins: Places
    times_s: Numbers
    values: Numbers


class Rows:
    """The rows of one file; its trials are in the order in which they ended."""

    def __init__(self, table: Any) -> None:  # noqa: ANN401
        self._table = table
        columns = {name: _whole(table[name]) for name in table.column_names}
        sources, names, devices = (_coded(columns[one]) for one in ("source", "name", "device"))
        whose = [columns[name] for name in _IDENTITY]
        starts = np.flatnonzero(_changes(whose))
        own = [_taken(column, starts) for column in whose]
        self.trials: list[Identity] = list(zip(*own, strict=True))
        ends = np.append(starts[1:], table.num_rows)
        self._trial = np.repeat(np.arange(len(starts), dtype=np.int32), ends - starts)
        """Whose each row is, as a place in ``trials``."""
        self._is_work = _is(sources, WORK)
        figures = _figures(sources, names)
        rows = np.flatnonzero((figures >= 0) & _is(devices, ""))
        self._places = np.full((len(NAMES), len(starts)), -1)
        """In which row a figure of a trial stands, by figure and trial; -1 where in none."""
        self._places[figures[rows], self._trial[rows]] = rows
        self._offsets = columns["time_s"].offsets.to_numpy()
        self._times_s: Numbers = columns["time_s"].values.to_numpy(zero_copy_only=False)
        self._values: Numbers = columns["value"].values.to_numpy(zero_copy_only=False)

    def watched(self) -> Places:
        """Return of which trials anything that is drawn was to be read, as places in ``trials``."""
        return np.flatnonzero((self._places >= 0).any(axis=0))

    def with_courses(self) -> Places:
        """Return of which trials the tool reported anything, as places in ``trials``."""
        return np.unique(self._trial[self._is_work])

    def courses(self, trials: Sequence[int]) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Return what the tools of some trials reported: whose, and a row by columns' names."""
        rows = np.flatnonzero(self._is_work & np.isin(self._trial, trials))
        known = self._table.take(rows).to_pylist()
        return zip(self._trial[rows].tolist(), known, strict=True)

    def readings(self, trial: int) -> Mapping[Name, Readings]:
        """Return all that was read during a trial, apart from the file."""
        found = {}
        for number, name in enumerate(NAMES):
            row = int(self._places[number, trial])
            if row >= 0:
                here = slice(self._offsets[row], self._offsets[row + 1])
                found[name] = Readings(
                    self._times_s[here].copy(),
                    self._values[here].copy(),
                    self._table["reason"][row].as_py(),
                )
        return found

    def extract(self, trials: Places) -> Extract:
        """Take what is drawn of every trial out of the file: most of it nobody draws."""
        places = self._places[: len(FOR_ALL), trials]
        begins = self._offsets[places]
        counts = np.where(places < 0, 0, self._offsets[places + 1] - begins)
        of = ranges(begins.ravel(), counts.ravel())
        own = (np.cumsum(counts) - counts.ravel()).reshape(counts.shape)
        return Extract(counts, own, self._times_s[of], self._values[of])


def joined(extracts: Sequence[Extract]) -> Extract:
    """Put the trials of several files one after the other."""
    sizes = [len(one.times_s) for one in extracts]
    starts = np.cumsum(sizes) - sizes
    begins = [one.begins + start for one, start in zip(extracts, starts, strict=True)]
    return Extract(
        np.hstack([one.counts for one in extracts]),
        np.hstack(begins),
        np.concatenate([one.times_s for one in extracts]),
        np.concatenate([one.values for one in extracts]),
    )


def ranges(begins: Places, counts: Places) -> Places:
    """Return ranges of numbers, one after the other, by their first numbers and lengths."""
    ends = np.cumsum(counts)
    some: Places = np.arange(counts.sum()) + np.repeat(begins - (ends - counts), counts)
    return some


def _whole(column: Any) -> Any:  # noqa: ANN401
    """Return a column as one array; it is one already unless a file has several groups of rows."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _changes(columns: Sequence[Any]) -> NDArray[np.bool_]:
    """Return in which rows any column has another value than in the row before."""
    changes = np.zeros(len(columns[0]), bool)
    changes[:1] = True
    for column in columns:
        values = (column.indices if hasattr(column, "indices") else column).to_numpy()
        changes[1:] |= values[1:] != values[:-1]
    return changes


def _taken(column: Any, rows: Places) -> list[Any]:  # noqa: ANN401
    """Return what a column of texts or of numbers has in some rows."""
    if not hasattr(column, "indices"):
        numbers: list[Any] = column.to_numpy()[rows].tolist()
        return numbers
    codes, words = _coded(column)
    return [words[code] for code in codes[rows].tolist()]


def _coded(column: Any) -> _Coded:  # noqa: ANN401
    """Return a column of texts as places in the list of its words."""
    return column.indices.to_numpy(), column.dictionary.to_numpy(zero_copy_only=False).tolist()


def _figures(sources: _Coded, names: _Coded) -> Places:
    """Return which of ``NAMES`` each row is, whatever device it is of; -1: none."""
    numbers = {name: number for number, name in enumerate(NAMES)}
    pairs = [numbers.get((source, name), -1) for source in sources[1] for name in names[1]]
    found: Places = np.array(pairs, np.int8)[len(names[1]) * sources[0] + names[0]]
    return found


def _is(coded: _Coded, word: str) -> NDArray[np.bool_]:
    codes, words = coded
    it: NDArray[np.bool_] = codes == (words.index(word) if word in words else -1)
    return it
