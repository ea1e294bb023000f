"""Trials as columns of texts, from which the page's script makes what is shown.

Numbers are scaled and rounded here, so that the script only places texts. What the trials of a
cell have is written by columns, which are far fewer than trials, and equal texts are written once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, repeat
from operator import attrgetter
from typing import Any
from urllib.parse import quote

from tare.core.complaints import texts
from tare.core.model import Cell, HostCost, Metric, Trial, Unit
from tare.present.view import numbers
from tare.present.view.disturbances import COLUMNS
from tare.present.view.facts import limit_rows
from tare.present.view.findings import Findings
from tare.present.view.names import limits_text, params_text, platform_text
from tare.present.view.numbers import Scale
from tare.present.view.sampled_rows import Identity
from tare.present.view.taken import Taken
from tare.results.store.raw_output import raw_name, raw_of

MAX_TRIALS = 10_000
"""Maximum number of trials in the page itself; of more, each cell has a page of its own."""

MAX_TEXT = 2_000
"""Characters of one text of a trial; what is cut off is in its raw output or in trials.jsonl."""
MAX_LIST = 100
"""The most warnings, or raw files, of one trial that are listed."""

FIELDS = (
    *("block", "slot", "repeat", "kind", "status", "instance", "reason", "warnings"),
    *("started", "duration", "cpus", "partner", "raw", "files", "command", "timeline"),
)
"""What the places of a cell's list of columns mean. A column is a list with a value for each trial,
a text that has those of all between ``PARTED``, or anything else, which is the value of all. Values
of ``SHARED`` are places in the list of texts; what is in ``timeline`` says
``tare.present.view.timelines.Timelines``. A cell has more columns: one for each metric in
``samples``; in ``readings`` pairs of the place of a text, which says what was read, and a column;
and in ``taken`` triples of such a place, a unit, and a column of numbers. An empty text, or null,
was not read of a trial; what was read of none has no column, and is named in ``untold``. Nothing is
"0"."""
SHARED = ("kind", "status", "instance", "reason", "warnings", "cpus", "partner", "files", "command")
PARTED = ";"

_DIGITS = 6
_Write = Callable[[Sequence[float]], Sequence[str]]


def _plain(values: Sequence[float]) -> Sequence[str]:
    return numbers.plains(values, 3)


def _sizes(values: Sequence[float]) -> Sequence[str]:
    return [numbers.scale_for(Unit.BYTE, [value]).full(value) for value in values]


def _clock_rates(values: Sequence[float]) -> Sequence[str]:
    return [f"{text} GHz" for text in numbers.plains([one / 1e9 for one in values], 3)]


_NOISE: Mapping[str, tuple[str, _Write]] = {
    **{name: (words, numbers.share_texts) for name, words in COLUMNS.items()},
    "psi_cpu_full": ("CPU pressure, all tasks", numbers.share_texts),
    "psi_memory_full": ("memory pressure, all tasks", numbers.share_texts),
    "psi_io_full": ("I/O pressure, all tasks", numbers.share_texts),
    "frequency_hz": ("clock rate after the trial", _clock_rates),
    "disk_busy_share": ("busiest disk of the host, busy", numbers.share_texts),
    "disk_read_bytes": ("disk read bytes", _sizes),
    "disk_written_bytes": ("disk written bytes", _sizes),
    "outside_cpu": ("CPUs of the machine outside", numbers.share_texts),
    "outside_thread": ("busiest thread outside", numbers.share_texts),
}
"""What the names in ``Trial.noise`` are called, and how their numbers are written; whatever is not
here is a count and goes by its own name."""
_HOST = {
    "cpu_s": "CPU time of the work",
    "all_cpu_s": "CPU time of all that the platform ran",
    "run_delay_s": "waited for a CPU",
    "throttled_s": "held back by its quota",
    "foreign_cpu_s": "CPU time of other work on its CPUs",
    "foreign_delay_s": "delay by other work",
}
_cost = attrgetter(*_HOST)
_READ = (
    *("block", "slot", "repeat", "kind", "status", "instance", "reason", "warnings", "partner"),
    *("started_at", "duration_s", "samples", "host", "noise", "cpuset"),
)
_read = attrgetter(*_READ)


class Source:
    """What the trials of all cells are written from, gathered once for a study."""

    def __init__(self, found: Findings) -> None:
        self.found = found
        self.raw = found.raw
        self.timelines = found.timelines.texts
        self.scales = _scales(found)
        self.taken = Taken(found.results.trials)
        self.untold = {"readings": _unread(found), "taken": self.taken.untold}
        self.platforms = {str(row["platform"]): _platform(row) for row in limit_rows(found)}

    def content(self, cells: Sequence[Cell]) -> Mapping[str, object]:
        """Gather the trials of some cells; ``order`` says whose was the next that ended."""
        records = _Records(self)
        places = {cell.id: place for place, cell in enumerate(cells)}
        known = self.found.trials[cells[0].id] if len(cells) == 1 else self.found.results.trials
        return {
            "fields": FIELDS,
            "shared": SHARED,
            "parted": PARTED,
            "cells": [records.cell(cell, self.found.trials[cell.id]) for cell in cells],
            "order": [places[trial.cell] for trial in known if trial.cell in places],
            "untold": self.untold,
            "platforms": {cell.platform: self.platforms[cell.platform] for cell in cells},
            "texts": records.texts,
        }


class _Records:
    """Makes columns of trials that share texts."""

    def __init__(self, source: Source) -> None:
        self.source, self.found = source, source.found
        self.texts: list[object] = []
        self._places: dict[str | tuple[str, ...], int] = {}
        self._raw, self._scales, self._timelines = source.raw, source.scales, source.timelines

    def cell(self, cell: Cell, trials: Sequence[Trial]) -> Mapping[str, object]:
        """Write a cell: what its trials have in common, and their columns."""
        units = self._scales[cell.id]
        return {
            "id": cell.id,
            "name": platform_text(cell),
            "platform": cell.platform,
            "workload": self.found.group_names[cell.id],
            "metrics": [(metric.name, units[metric.name].unit) for metric in self._metrics(cell)],
            "about": [
                ("stack", cell.stack),
                ("settings", params_text(cell.settings) or numbers.NONE),
                ("workload", f"{cell.workload}: {params_text(cell.params)}"),
                ("limits", limits_text(cell.limits)),
            ],
            **(self._trials(cell, trials) if trials else {}),
        }

    def _trials(self, cell: Cell, trials: Sequence[Trial]) -> Mapping[str, object]:
        """Write the columns of a cell's trials, as said at ``FIELDS``."""
        read = dict(zip(_READ, zip(*map(_read, trials), strict=True), strict=True))
        whose = (read[field] for field in ("block", "slot", "kind", "instance", "repeat"))
        who: Iterator[Identity] = zip(repeat(cell.id), *whose)
        names = [raw_name(trial) for trial in trials]
        # Of a study that runs the last trials came after the others' output was read.
        folder = self.found.results.folder
        stored = [self._raw.get(name) or raw_of(folder, name) for name in names]
        columns = {
            **read,
            "started": read["started_at"],
            "duration": numbers.plains(read["duration_s"], _DIGITS),
            "cpus": read["cpuset"],
            "warnings": [some and texts(some) for some in read["warnings"]],
            "raw": [
                quote(name, safe="", errors="replace") if files else ""
                for name, (files, _) in zip(names, stored, strict=True)
            ],
            "files": [files for files, _ in stored],
            "command": [command for _, command in stored],
            "timeline": [self._timelines.get(one, "") for one in who],
        }
        columns |= {field: self._coded(field, columns[field]) for field in SHARED}
        return {
            "columns": [_column(columns[field]) for field in FIELDS],
            "samples": list(self._samples(cell, read["samples"])),
            "readings": [*self._costs(read["host"]), *self._noises(read["noise"])],
            "taken": list(self._taken(cell)),
        }

    def _coded(self, field: str, values: Sequence[Any]) -> list[int]:
        """Write values as places in the list of texts."""
        sentence = self._partner if field == "partner" else lambda one: one
        places = {value: self._place(sentence(value)) for value in dict.fromkeys(values)}
        return [places[value] for value in values]

    def _samples(self, cell: Cell, samples: Sequence[Mapping[str, float]]) -> Iterator[object]:
        """Write the columns of the cell's metrics."""
        scales = self._scales[cell.id]
        for metric in self._metrics(cell):
            factor = scales[metric.name].factor
            values = [one.get(metric.name) for one in samples]
            scaled = [None if value is None else value / factor for value in values]
            yield _numbers(scaled, partial(numbers.plains, digits=_DIGITS))

    def _costs(self, costs: Sequence[HostCost | None]) -> Iterator[tuple[int, object]]:
        """Write what the host saw of each trial."""
        rows = [_cost(cost) if cost else (None,) * len(_HOST) for cost in costs]
        for sentence, values in zip(_HOST.values(), zip(*rows, strict=True), strict=True):
            if sentence not in self.source.untold["readings"]:
                yield self._place(sentence), _numbers(values, _seconds)

    def _noises(self, noises: Sequence[Mapping[str, float]]) -> Iterator[tuple[int, object]]:
        """Write what else the host did in each."""
        shapes = dict.fromkeys(map(tuple, noises))
        names = list(dict.fromkeys(chain.from_iterable(shapes)))
        rows: Iterable[Iterable[float | None]] = (noise.values() for noise in noises)
        if len(shapes) > 1:
            rows = ([noise.get(name) for name in names] for noise in noises)
        for name, values in zip(names, zip(*rows, strict=True), strict=True):
            sentence, write = _NOISE.get(name, (name.replace("_", " "), _plain))
            yield self._place(sentence), _numbers(values, write)
        for name in COLUMNS:
            if name in self.found.noise and name not in names:
                yield self._place(COLUMNS[name]), ""

    def _taken(self, cell: Cell) -> Iterator[tuple[int, str, object]]:
        """Write what the platform took of the host."""
        for sentence, unit, values in self.source.taken.of(cell.id):
            yield self._place(sentence), unit, _column(values)

    def _metrics(self, cell: Cell) -> Sequence[Metric]:
        return self.found.plan.metrics[cell.workload]

    def _partner(self, cell: str) -> str:
        other = self.found.plan.cells_by_id.get(cell)
        return platform_text(other) if other else ""

    def _place(self, value: Any) -> int:  # noqa: ANN401
        place = self._places.get(value)
        if place is None:
            place = self._places[value] = len(self.texts)
            self.texts.append(_cut(value))
        return place


def _column(values: Sequence[Any]) -> object:
    """Write a value of each trial: one if it is that of all, and texts as one text if they can be.

    One text is faster written and read than many; a text that has ``PARTED`` in it stays apart.
    """
    first = values[0]
    same = values.count(first) == len(values)
    if not isinstance(first, str):
        return first if same else values
    text = first if same else PARTED.join(values)
    return text if text.count(PARTED) == (0 if same else len(values) - 1) else values


def _numbers(values: Sequence[float | None], write: _Write) -> object:
    """Write a number of each trial; nothing has no unit, and what is not known is empty."""
    known = [value for value in values if value]
    texts = write(known)
    if len(known) < len(values):
        rest = iter(texts)
        texts = [next(rest) if value else "" if value is None else "0" for value in values]
    return _column(texts)


def _scales(found: Findings) -> Mapping[str, Mapping[str, Scale]]:
    """Choose the units of each cell's metrics, those of the tables of its workload."""
    scales: dict[str, Mapping[str, Scale]] = {}
    for group in found.groups:
        medians = {
            metric: [
                one.values.median
                for one in (found.summaries[cell.id, metric.name] for cell in group.cells)
                if one.values
            ]
            for metric in group.metrics
        }
        own = {one.name: numbers.scale_for(one.unit, some) for one, some in medians.items()}
        scales |= dict.fromkeys((cell.id for cell in group.cells), own)
    return scales


def _unread(found: Findings) -> list[str]:
    """Name what was read on the host of no trial at all."""
    costs = [one.host for one in found.results.trials if one.host]
    return [
        *(
            sentence
            for name, sentence in _HOST.items()
            if all(getattr(one, name) is None for one in costs)
        ),
        *(sentence for name, sentence in COLUMNS.items() if name not in found.noise),
    ]


def _seconds(values: Sequence[float]) -> list[str]:
    return [f"{text} s" for text in numbers.plains(values, 3)]


def _platform(row: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """Return what is known of a platform, as it was found."""
    rows = [("read back inside", row["inside"]), *row["known"]]
    return [*rows, *(("to be known", warning) for warning in row["warnings"])]


def _cut(value: str | tuple[str, ...]) -> str | list[str]:
    if isinstance(value, tuple):
        return [one[:MAX_TEXT] for one in value[:MAX_LIST]]
    return value if len(value) <= MAX_TEXT else f"{value[:MAX_TEXT]} […]"
