"""What workloads' tools told of their metrics over the time of trials, of those that are drawn."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tare.errors import ResultsError
from tare.model import Cell, Trial
from tare.report.findings import Findings, Group
from tare.report.timelines import Identity, identity

WORK = "work"
"""The source of samples that were in the output of a workload's tool."""
MAX_OTHERS = 5
"""So many trials of a platform are drawn beside that of its median."""

IDENTITY = ("cell", "block", "slot", "kind", "instance", "repeat")
"""The columns that say whose a row is, as in tare.report.timelines.Identity."""

Points = Sequence[tuple[float, float]]
"""Seconds since the tool began to measure, each with the value of the time before it."""


@dataclass(frozen=True)
class Told:
    """What the tool of one trial told: points by the metric's name, and why there are none."""

    points: Mapping[str, Points] = field(default_factory=dict)
    reason: str = ""


def gather(found: Findings, groups: Sequence[Group]) -> Mapping[Identity, Told]:
    """Read what tools told of the trials that may be drawn; nothing where there are no samples.

    Nor of those in damaged files, which the report says with its timelines.
    """
    folder = found.results.folder
    cells = [cell for group in groups for cell in group.cells]
    wanted = {identity(one) for cell in cells for one in chosen(found, cell)}
    if not wanted or not (folder / "samples").is_dir():
        return {}
    points: dict[Identity, dict[str, Points]] = {}
    reasons: dict[Identity, str] = {}
    for whose, row in _rows(folder, wanted):
        both = zip(row["time_s"], row["value"], strict=True)
        known = [one for one in both if all(map(math.isfinite, one))]
        points.setdefault(whose, {}).update({row["name"]: known} if known else {})
        reasons[whose] = reasons.get(whose) or row["reason"]
    return {whose: Told(some, reasons[whose]) for whose, some in points.items()}


def _rows(
    folder: Path, wanted: Collection[Identity]
) -> Iterator[tuple[Identity, Mapping[str, Any]]]:
    """Read what the tools of some trials told, and whose it is."""
    import pyarrow.compute as pc  # only here: it takes long, and many studies have no samples

    for table in _tables(folder):
        told = table.filter(pc.equal(table["source"], WORK))
        whose = list(zip(*(told[name].to_pylist() for name in IDENTITY), strict=True))
        places = [place for place, one in enumerate(whose) if one in wanted]
        if places:
            for place, row in zip(places, told.take(places).to_pylist(), strict=True):
                yield whose[place], row


def _tables(folder: Path) -> Iterator[Any]:
    """Read the files in which any tool told anything."""
    from tare.store import samples

    try:
        files = samples.files(folder)
    except ResultsError:
        return
    for path in files:
        with suppress(ResultsError):
            table = samples.table(path, having=WORK)
            if table is not None:
                yield table


def chosen(found: Findings, cell: Cell) -> list[Trial]:
    """Choose the trial of the median, and others evenly from the least to the most.

    Those nearest to the median come first: one takes the place of a median without a course.
    """
    metric = found.plan.metrics[cell.workload][0]
    ranked = sorted(
        (
            one
            for one in found.measured[cell.id]
            if math.isfinite(one.samples.get(metric.name, math.nan))
        ),
        key=lambda one: one.samples[metric.name],
    )
    last = len(ranked) - 1
    middle = last // 2
    steps = range(min(MAX_OTHERS, len(ranked)))
    places = {round(step * last / max(1, len(steps) - 1)) for step in steps} | {middle}
    return [ranked[at] for at in sorted(places, key=lambda at: abs(at - middle)) if at >= 0]
