"""What samples say of trials over their time: a few numbers of each, and all readings of some.

A hundred thousand trials have millions of rows, so they are read by columns and in one pass: of
every trial a short text is kept, and the readings of the one trial a cell that is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tare.errors import ResultsError
from tare.model import Kind, Status, Trial
from tare.stats.spans import steps

if TYPE_CHECKING:
    from tare.report.findings import Findings

HOST, LAYER = "host", "layer"
Name = tuple[str, str]
"""A figure: whose it is, and what was read."""
Identity = tuple[str, int, int, str, str, int]
"""Which trial: cell, block, slot, kind, instance, repeat."""
Numbers = NDArray[np.float64]
Places = NDArray[np.integer[Any]]

LAYER_CPU, LAYER_MEMORY = (LAYER, "cpu_s"), (LAYER, "memory_bytes")
HOST_BUSY = tuple((HOST, f"cpu_{what}_s") for what in ("user", "system", "guest"))
"""What a host's CPUs do when they work: none of these is in another."""
NAMES: tuple[Name, ...] = (
    *(LAYER_CPU, LAYER_MEMORY, *HOST_BUSY),
    *((LAYER, "cpu_user_s"), (LAYER, "cpu_system_s"), (LAYER, "memory_cached_bytes")),
    *((HOST, "cpu_iowait_s"), (HOST, "cpu_steal_s"), (HOST, "memory_used_bytes")),
)
"""All that is drawn; the first five for every trial."""
_FOR_ALL = 5
_IDENTITY = ("cell", "block", "slot", "kind", "instance", "repeat")
_who = attrgetter(*_IDENTITY)

MAX_STEPS = 30
"""So many steps of a trial are in the page; ten thousand such trials are 5 MB."""


@dataclass(frozen=True, slots=True)
class Readings:
    """What was read of one figure, when in seconds since the trial's begin, and what is missing."""

    times_s: Numbers
    values: Numbers
    reason: str


@dataclass(frozen=True, slots=True)
class Seen:
    """A trial with all that was read during it, by figure."""

    trial: Trial
    readings: Mapping[Name, Readings]


@dataclass(frozen=True, slots=True)
class Texts:
    """A text for each trial that was read, in the order of the files; ``damage`` as below."""

    files: Sequence[tuple[Path, Sequence[Identity], Sequence[str]]] = ()
    damage: str = ""


@dataclass(frozen=True, slots=True)
class Timelines:
    """What the samples of a study say.

    ``typical`` has the trial that stands for each cell, by the cell's id. ``texts`` has a text
    for each trial: its length in ms; the times of readings in thousandths of that; between them
    the CPUs that the layer and the host kept busy, in hundredths; the most memory of the layer in
    KiB; and at each of the times its memory in thousandths of that. What is not known is empty.
    ``damage`` says why there is less than there should be.
    """

    typical: Mapping[str, Seen] = field(default_factory=dict)
    texts: Mapping[Identity, str] = field(default_factory=dict)
    damage: str = ""


def identity(trial: Trial) -> Identity:
    """Give what tells a trial's samples from those of others."""
    who: Identity = _who(trial)  # a kind is a text, and the same as that
    return who


def tell(folder: Path) -> Texts:
    """Write the texts of all trials of a results directory; one without samples has none."""
    if not (folder / "samples").is_dir():
        return Texts()
    from tare.store import samples  # only here: it takes long to load, and many studies have none

    told, damages = [], []
    try:
        files = samples.files(folder)
    except ResultsError as error:
        return Texts(damage=str(error))
    for path in files:
        try:
            table = samples.table(path)
        except ResultsError as error:
            damages.append(str(error))
            continue
        if table.num_rows:
            rows = _Rows(table)
            there = np.flatnonzero((rows.places >= 0).any(axis=0)).tolist()
            texts = _courses(rows)
            told.append((path, [rows.trials[at] for at in there], [texts[at] for at in there]))
    more = f" ({len(damages)} of {len(files)} files are)" if len(damages) > 1 else ""
    return Texts(told, damages[0] + more if damages else "")


def gather(found: Findings) -> Timelines:
    """Add to the texts of all trials the readings of the one that stands for each cell."""
    told = found.read_texts() if found.read_texts else tell(found.results.folder)
    texts = {
        who: text
        for _, whose, some in told.files
        for who, text in zip(whose, some, strict=True)
    }  # fmt: skip
    wanted = {
        who: trial
        for trials in _ranked(found)
        for who, trial in [_first(trials, texts)]
        if trial is not None
    }
    typical = {}
    for path, whose, _ in told.files:
        here = [who for who in whose if who in wanted]
        for who, readings in _readings(path, here) if here else ():
            typical[who[0]] = Seen(wanted[who], readings)
    return Timelines(typical, texts, told.damage)


def _ranked(found: Findings) -> Iterator[Sequence[Trial]]:
    """Rank the trials of each cell: the nearest to their median duration is the first.

    Where no trial has numbers those that were ended at their deadline or failed stand for the cell.
    """
    lost = (Status.DNR, Status.FAILED)
    for cell, measured in found.measured.items():
        some = measured or [
            one for one in found.trials[cell] if one.kind is Kind.MEASURED and one.status in lost
        ]
        if some:
            middle = median(one.duration_s for one in some)
            yield sorted(some, key=lambda one: abs(one.duration_s - middle))


def _first(
    trials: Sequence[Trial], texts: Mapping[Identity, str]
) -> tuple[Identity, Trial] | tuple[None, None]:
    """Find the first of some trials that has samples."""
    known = ((identity(trial), trial) for trial in trials)
    return next(((who, trial) for who, trial in known if who in texts), (None, None))


def _readings(
    path: Path, whose: Sequence[Identity]
) -> Iterator[tuple[Identity, Mapping[Name, Readings]]]:
    from tare.store import samples

    rows = _Rows(samples.table(path))
    for who in whose:
        yield who, rows.readings(rows.trials.index(who))


class _Rows:
    """The rows of one file by figure and trial; trials are in the order in which they ended."""

    def __init__(self, table: Any) -> None:  # noqa: ANN401
        columns = {name: table[name].combine_chunks() for name in table.column_names}
        begins = np.zeros(table.num_rows, bool)
        begins[0] = True
        whose = [_coded(columns[name]) for name in _IDENTITY]
        for codes, _ in whose:
            begins[1:] |= codes[1:] != codes[:-1]
        firsts = np.flatnonzero(begins)
        own = [[words[code] for code in codes[firsts]] for codes, words in whose]
        self.trials: list[Identity] = list(zip(*own, strict=True))
        self.places = _places(columns, np.cumsum(begins) - 1, len(firsts))
        """In which row a figure of a trial stands, by figure and trial; -1 where in none."""
        self._offsets = columns["time_s"].offsets.to_numpy()
        self._times_s: Numbers = columns["time_s"].values.to_numpy(zero_copy_only=False)
        self._values: Numbers = columns["value"].values.to_numpy(zero_copy_only=False)
        self._reasons = columns["reason"]
        lengths = self._offsets[self.places + 1] - self._offsets[self.places]
        self.counts: Places = np.where(self.places < 0, 0, lengths)
        """How many readings there are, by figure and trial."""

    def readings(self, trial: int) -> Mapping[Name, Readings]:
        """Give all that was read during a trial, apart from the file."""
        found = {}
        for number, name in enumerate(NAMES):
            row = self.places[number, trial]
            if row >= 0:
                here = slice(self._offsets[row], self._offsets[row + 1])
                found[name] = Readings(
                    self._times_s[here].copy(),
                    self._values[here].copy(),
                    self._reasons[int(row)].as_py(),
                )
        return found

    def times_s(self, figures: Places) -> Numbers:
        """Give the times of a figure for each trial, one trial after the other."""
        trials = np.arange(len(self.trials))
        counts = self.counts[figures, trials]
        return self._times_s[_ranges(self._offsets[self.places[figures, trials]], counts)]

    def aligned(self, name: Name, begins: Places, total: int) -> tuple[Numbers, Numbers]:
        """Give times and values of a figure, those of each trial from its place in ``begins`` on.

        All files of a host are read at every tick, so that readings of the same number belong
        together. What was not read is not a number.
        """
        number = NAMES.index(name)
        there = np.flatnonzero(self.counts[number])
        counts = self.counts[number, there]
        to = _ranges(begins[there], counts)
        of = _ranges(self._offsets[self.places[number, there]], counts)
        times_s, values = np.full(total, np.nan), np.full(total, np.nan)
        times_s[to], values[to] = self._times_s[of], self._values[of]
        return times_s, values


def _courses(rows: _Rows) -> list[str]:
    """Write the text of each trial, with the series that has most readings as its clock."""
    counts = rows.counts[:_FOR_ALL].max(axis=0)
    ends = np.cumsum(counts)
    begins = ends - counts
    clock = rows.times_s(rows.counts[:_FOR_ALL].argmax(axis=0))
    marks, bounds = _marks(clock, begins, ends)
    if not len(marks):
        return [""] * len(counts)
    there = np.flatnonzero(counts)
    ended_s = np.zeros(len(counts))
    ended_s[there] = clock[ends[there] - 1]

    def rates(name: Name) -> Numbers:
        times_s, values = rows.aligned(name, begins, len(clock))
        return np.maximum(0.0, np.diff(values[marks]) / np.diff(times_s[marks]))

    with np.errstate(all="ignore"):  # a zero or an infinity in a file that no Tare has written
        held = _most_since(rows.aligned(LAYER_MEMORY, begins, len(clock))[1], marks, begins)
        most = np.full(len(counts), np.nan)
        most[there] = np.fmax.reduceat(held, bounds[there])
        which = np.repeat(np.arange(len(counts)), np.diff(bounds))
        when = _texts(1000 * clock[marks] / ended_s[which])
        layer = _texts(100 * rates(LAYER_CPU))
        host = _texts(100 * np.sum([rates(name) for name in HOST_BUSY], axis=0))
        memory = _texts(1000 * held / most[which])
        lasted, mosts = _texts(1000 * ended_s), _texts(most / 1024)
    courses = []
    for trial, (begin, end) in enumerate(pairwise(bounds.tolist())):
        if end - begin < 2:
            courses.append("")
            continue
        lists = (when[begin:end], layer[begin : end - 1], host[begin : end - 1], memory[begin:end])
        at, own, all_of_it, pages = map(",".join, lists)
        courses.append("|".join((lasted[trial], at, own, all_of_it, mosts[trial], pages)))
    return courses


def _marks(clock: Numbers, begins: Places, ends: Places) -> tuple[Places, Places]:
    """Choose the readings that bound steps, and say where among them each trial's begin."""
    times_s = clock.tolist()
    marks: list[int] = []
    bounds = [0]
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        if end > begin:
            marks += [begin + at for at in steps(times_s[begin:end], MAX_STEPS)]
        bounds.append(len(marks))
    return np.array(marks, np.int64), np.array(bounds)


def _most_since(values: Numbers, marks: Places, begins: Places) -> Numbers:
    """Give for each mark the most that was read since the mark before it."""
    since = np.concatenate([[0], marks[:-1] + 1])
    own = np.isin(marks, begins)
    since[own] = marks[own]
    most: Numbers = np.fmax.reduceat(values, since)
    return most


def _coded(column: Any) -> tuple[Places, list[Any]]:  # noqa: ANN401
    """Give a column as places in the list of its values."""
    coded = column.dictionary_encode()
    return coded.indices.to_numpy(), coded.dictionary.to_pylist()


def _places(columns: Mapping[str, Any], trials: Places, count: int) -> Places:
    """Say by figure and trial in which row it stands; -1 where it is not there."""
    places = np.full((len(NAMES), count), -1)
    sources, names, devices = (_coded(columns[one]) for one in ("source", "name", "device"))
    whole = _is(devices, "")
    for number, (source, name) in enumerate(NAMES):
        rows = np.flatnonzero(_is(sources, source) & _is(names, name) & whole)
        places[number, trials[rows]] = rows
    return places


def _is(coded: tuple[Places, list[Any]], word: str) -> NDArray[np.bool_]:
    codes, words = coded
    it: NDArray[np.bool_] = codes == (words.index(word) if word in words else -1)
    return it


def _ranges(begins: Places, counts: Places) -> Places:
    """Give so many numbers from each of some on, one range after the other."""
    ends = np.cumsum(counts)
    some: Places = np.arange(counts.sum()) + np.repeat(begins - (ends - counts), counts)
    return some


def _texts(numbers: Numbers) -> list[str]:
    """Write whole numbers, and nothing for what is not known."""
    whole = np.where(np.isfinite(numbers), np.clip(np.rint(numbers), 0, 1e12), -1).astype(np.int64)
    return ["" if one < 0 else str(one) for one in whole.tolist()]
