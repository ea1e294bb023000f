"""Trials as short lists of texts, which the page's script shows on demand.

Numbers are scaled and rounded here, so that the script only places texts. Lists stand for objects
and equal texts are written once, so that ten thousand trials are a few megabytes.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tare.model import Cell, HostCost, Metric, Trial, Unit
from tare.report import numbers
from tare.report.disturbances import COLUMNS
from tare.report.facts import limit_rows
from tare.report.findings import Findings, limits_text, params_text, platform_text
from tare.report.numbers import Scale
from tare.report.timelines import identity
from tare.store.writer import raw_name

MAX_TEXT = 2_000
"""Characters of one text of a trial; what is cut off is in its raw output or in trials.jsonl."""
MAX_LIST = 100
"""So many warnings, or raw files, of one trial are listed."""

FIELDS = (
    *("cell", "block", "slot", "repeat", "kind", "status", "instance", "reason", "warnings"),
    *("started", "duration", "samples", "host", "noise", "cpus", "partner", "raw", "files"),
    *("command", "timeline"),
)
"""What the places of a trial's list mean. ``cell`` is a place in the list of cells; those of
``SHARED`` are places in the list of texts; ``noise`` is pairs of such a place and a text; what is
in ``timeline`` says ``tare.report.timelines.Timelines``."""
SHARED = ("kind", "status", "instance", "reason", "warnings", "cpus", "partner", "files", "command")

_DIGITS = 6
_NOISE = {
    **COLUMNS,
    "psi_memory_full": "memory pressure, all tasks",
    "psi_io_full": "I/O pressure, all tasks",
    "frequency_hz": "clock rate after the trial",
    "disk_busy_share": "busiest disk of the host, busy",
    "outside_cpu": "CPUs of the machine outside",
    "outside_thread": "busiest thread outside",
}
_SHARES = (*COLUMNS, "psi_memory_full", "psi_io_full", "psi_cpu_full")
_HOST = {
    "cpu_s": "CPU time of the work",
    "all_cpu_s": "CPU time of all that the platform ran",
    "run_delay_s": "waited for a CPU",
    "throttled_s": "held back by its quota",
    "foreign_cpu_s": "CPU time of other work on its CPUs",
    "foreign_delay_s": "delay by other work",
}


class Source:
    """What the trials of all cells are written from, gathered once for a study."""

    def __init__(self, found: Findings) -> None:
        self.found = found
        self.raw = found.results.folder / "raw"
        self.stored = frozenset(_names(self.raw))
        self.timelines = found.timelines.texts
        self.scales = _scales(found)
        self.platforms = {str(row["platform"]): _platform(row) for row in limit_rows(found)}

    def content(self, cells: Sequence[Cell]) -> Mapping[str, object]:
        """Gather the trials of some cells, in the order in which they ended."""
        records = _Records(self)
        places = {cell.id: place for place, cell in enumerate(cells)}
        known = self.found.trials[cells[0].id] if len(cells) == 1 else self.found.results.trials
        trials = [trial for trial in known if trial.cell in places]
        numbers_of: list[list[int]] = [[] for _ in cells]
        for number, trial in enumerate(trials):
            numbers_of[places[trial.cell]].append(number)
        rows: list[Sequence[object]] = [()] * len(trials)
        for place, (cell, own) in enumerate(zip(cells, numbers_of, strict=True)):
            made = records.trials(cell, place, [trials[number] for number in own])
            for number, row in zip(own, made, strict=True):
                rows[number] = row
        return {
            "fields": FIELDS,
            "shared": SHARED,
            "cells": [records.cell(cell) for cell in cells],
            "platforms": {cell.platform: self.platforms[cell.platform] for cell in cells},
            "trials": rows,
            "texts": records.texts,
        }


class _Records:
    """Makes records of trials that share texts; by columns, for there are many."""

    def __init__(self, source: Source) -> None:
        self.found = source.found
        self.texts: list[object] = []
        self._places: dict[str | tuple[str, ...], int] = {}
        self._raw, self._stored, self._scales = source.raw, source.stored, source.scales
        self._timelines = source.timelines

    def cell(self, cell: Cell) -> Mapping[str, object]:
        """Say what all trials of a cell have in common."""
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
        }

    def trials(self, cell: Cell, place: int, trials: Sequence[Trial]) -> Iterator[Sequence[object]]:
        """Write the trials of a cell, each in the order of ``FIELDS``."""
        names = [raw_name(trial) for trial in trials]
        files = [tuple(_names(self._raw / one)) if one in self._stored else () for one in names]
        columns: dict[str, Sequence[Any]] = {
            "cell": [place] * len(trials),
            "block": [trial.block for trial in trials],
            "slot": [trial.slot for trial in trials],
            "repeat": [trial.repeat for trial in trials],
            "kind": [trial.kind.value for trial in trials],
            "status": [trial.status.value for trial in trials],
            "instance": [trial.instance for trial in trials],
            "reason": [trial.reason for trial in trials],
            "warnings": [trial.warnings for trial in trials],
            "started": [trial.started_at for trial in trials],
            "duration": numbers.plains([trial.duration_s for trial in trials], _DIGITS),
            "samples": self._samples(cell, trials),
            "host": self._hosts([trial.host for trial in trials]),
            "noise": self._noises([trial.noise for trial in trials]),
            "cpus": [trial.cpuset for trial in trials],
            "partner": [self._partner(trial) for trial in trials],
            "raw": [quote(one, safe="", errors="replace") for one in names],
            "files": files,
            "command": [
                _command(self._raw / one) if "command.json" in some else ""
                for one, some in zip(names, files, strict=True)
            ],
            "timeline": [self._timelines.get(identity(trial), "") for trial in trials],
        }
        for field in SHARED:
            places = {value: self._place(value) for value in dict.fromkeys(columns[field])}
            columns[field] = [places[value] for value in columns[field]]
        return zip(*(columns[field] for field in FIELDS), strict=True)

    def _samples(self, cell: Cell, trials: Sequence[Trial]) -> Sequence[Sequence[str]]:
        """Write the metrics of each trial; what a trial does not have is empty."""
        scales = self._scales[cell.id]
        columns = []
        for metric in self._metrics(cell):
            values = [trial.samples.get(metric.name) for trial in trials]
            factor = scales[metric.name].factor
            known = [value / factor for value in values if value is not None]
            texts = iter(numbers.plains(known, _DIGITS))
            columns.append(["" if value is None else next(texts) for value in values])
        return list(zip(*columns, strict=True)) if columns else [()] * len(trials)

    def _hosts(self, costs: Sequence[HostCost | None]) -> list[list[tuple[int, str]]]:
        """Write what the host saw of each trial; what is zero or not known is left out."""
        written = _Pairs(len(costs))
        for name, said in _HOST.items():
            values = [getattr(cost, name) if cost else None for cost in costs]
            written.add(values, said, self._place, _seconds)
        return written.of_each

    def _noises(self, noises: Sequence[Mapping[str, float]]) -> list[list[tuple[int, str]]]:
        """Write what else the host did in each; what is zero did not happen and is left out."""
        written = _Pairs(len(noises))
        for name in dict.fromkeys(name for noise in noises for name in noise):
            values = [noise.get(name) for noise in noises]
            said = _NOISE.get(name, name.replace("_", " "))
            written.add(values, said, self._place, partial(_readings, name))
        return written.of_each

    def _metrics(self, cell: Cell) -> Sequence[Metric]:
        return self.found.plan.metrics[cell.workload]

    def _partner(self, trial: Trial) -> str:
        other = self.found.plan.cells_by_id.get(trial.partner)
        return platform_text(other) if other else ""

    def _place(self, value: Any) -> int:  # noqa: ANN401
        place = self._places.get(value)
        if place is None:
            place = self._places[value] = len(self.texts)
            self.texts.append(_cut(value))
        return place


class _Pairs:
    """For each of some trials pairs of a shared text's place and a number."""

    def __init__(self, count: int) -> None:
        self.of_each: list[list[tuple[int, str]]] = [[] for _ in range(count)]

    def add(
        self,
        values: Sequence[float | None],
        said: str,
        place: Callable[[str], int],
        texts: Callable[[Sequence[float]], Sequence[str]],
    ) -> None:
        """Write one more number of each trial; what is zero or not known is left out."""
        there = [(number, value) for number, value in enumerate(values) if value]
        if there:
            at = place(said)
            for (number, _), text in zip(there, texts([one for _, one in there]), strict=True):
                self.of_each[number].append((at, text))


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


def _seconds(values: Sequence[float]) -> list[str]:
    return [f"{text} s" for text in numbers.plains(values, 3)]


def _readings(name: str, values: Sequence[float]) -> list[str]:
    """Write numbers of the host's noise by what their name says they are."""
    if name in _SHARES or name.endswith("_share") or name.startswith("outside_"):
        return [numbers.share_text(value) for value in values]
    if name.endswith("_bytes"):
        return [numbers.scale_for(Unit.BYTE, [value]).full(value) for value in values]
    if name.endswith("_hz"):
        return [f"{text} GHz" for text in numbers.plains([one / 1e9 for one in values], 3)]
    return numbers.plains(values, 3)


def _platform(row: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """Say what is known of a platform, as it was found."""
    told = [("read back inside", row["inside"]), *row["known"]]
    return [*told, *(("to be known", warning) for warning in row["warnings"])]


def _command(folder: Path) -> str:
    """Write the command as one types it in a shell; exactly what it was is in command.json."""
    try:
        stored = json.loads((folder / "command.json").read_bytes())
    except (OSError, ValueError):
        return ""
    argv = stored.get("argv") if isinstance(stored, dict) else None
    return shlex.join(map(str, argv)) if isinstance(argv, list) else ""


def _names(folder: Path) -> list[str]:
    """List what is in a folder that may be gone, as far as a link can name it."""
    try:
        found = os.listdir(folder)  # noqa: PTH208 - a hundred thousand of these
    except OSError:
        return []
    return sorted(name for name in found if name.isprintable())


def _cut(value: str | tuple[str, ...]) -> str | list[str]:
    if isinstance(value, tuple):
        return [one[:MAX_TEXT] for one in value[:MAX_LIST]]
    return value if len(value) <= MAX_TEXT else f"{value[:MAX_TEXT]} […]"
