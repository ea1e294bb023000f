"""Trials as short lists of texts, which the page's script shows on demand.

Numbers are scaled and rounded here, so that the script only places texts. Lists stand for objects
and equal texts are written once, so that ten thousand trials are a few megabytes.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping, Sequence
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
        known = self.found.results.trials
        some = self.found.trials[cells[0].id] if len(cells) == 1 else known
        return {
            "fields": FIELDS,
            "shared": SHARED,
            "cells": [records.cell(cell) for cell in cells],
            "platforms": {cell.platform: self.platforms[cell.platform] for cell in cells},
            "trials": [records.trial(one, places[one.cell]) for one in some if one.cell in places],
            "texts": records.texts,
        }


class _Records:
    """Makes records of trials that share texts."""

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

    def trial(self, trial: Trial, place: int) -> Sequence[object]:
        """Write a trial, in the order of ``FIELDS``."""
        cell = self.found.plan.cells_by_id[trial.cell]
        scales = self._scales[cell.id]
        samples = [(scales[one.name], trial.samples.get(one.name)) for one in self._metrics(cell)]
        name = raw_name(trial)
        files = tuple(_names(self._raw / name)) if name in self._stored else ()
        record = {
            "cell": place,
            "block": trial.block,
            "slot": trial.slot,
            "repeat": trial.repeat,
            "kind": trial.kind.value,
            "status": trial.status.value,
            "instance": trial.instance,
            "reason": trial.reason,
            "warnings": trial.warnings,
            "started": trial.started_at,
            "duration": numbers.plain(trial.duration_s, _DIGITS),
            "samples": [
                "" if value is None else numbers.plain(value / scale.factor, _DIGITS)
                for scale, value in samples
            ],
            "host": [(self._place(said), text) for said, text in _host(trial.host)],
            "noise": [(self._place(said), text) for said, text in _noise(trial.noise)],
            "cpus": trial.cpuset,
            "partner": self._partner(trial),
            "raw": quote(name, safe="", errors="replace"),
            "files": files,
            "command": _command(self._raw / name) if "command.json" in files else "",
            "timeline": self._timelines.get(identity(trial), ""),
        }
        return [self._place(record[one]) if one in SHARED else record[one] for one in FIELDS]

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


def _host(cost: HostCost | None) -> list[tuple[str, str]]:
    """Write what the host saw; what is zero or not known is left out."""
    if cost is None:
        return []
    seconds = [(said, getattr(cost, name)) for name, said in _HOST.items()]
    return [(said, f"{numbers.plain(value, 3)} s") for said, value in seconds if value]


def _noise(noise: Mapping[str, float]) -> list[tuple[str, str]]:
    """Write what else the host did; what is zero did not happen and is left out."""
    return [
        (_NOISE.get(name, name.replace("_", " ")), _reading(name, value))
        for name, value in noise.items()
        if value
    ]


def _reading(name: str, value: float) -> str:
    if name in _SHARES or name.endswith("_share") or name.startswith("outside_"):
        return numbers.share_text(value)
    if name.endswith("_bytes"):
        return numbers.scale_for(Unit.BYTE, [value]).full(value)
    if name.endswith("_hz"):
        return f"{numbers.plain(value / 1e9, 3)} GHz"
    return numbers.plain(value, 3)


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
