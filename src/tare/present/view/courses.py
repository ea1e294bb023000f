"""What workloads' tools reported of their metrics over the time of the trials drawn."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tare.core.errors import ResultsError
from tare.core.model import Cell, Trial
from tare.present.view.findings import CellGroup, Findings
from tare.present.view.sampled_rows import Identity, identity
from tare.present.view.timelines import rows_of

MAX_OTHERS = 5
"""The most trials of a platform that are drawn besides that of its median."""

Points = Sequence[tuple[float, float]]
"""Seconds since the tool began to measure, each with the value of the time before it."""


@dataclass(frozen=True)
class ToolSeries:
    """What the tool of one trial reported: points by the metric's name, and why there are none."""

    points: Mapping[str, Points] = field(default_factory=dict)
    reason: str = ""


def gather(found: Findings, groups: Sequence[CellGroup]) -> Mapping[Identity, ToolSeries]:
    """Read what tools reported of the trials that may be drawn; nothing where there are no samples.

    Nor of those in damaged files, which the report says with its timelines.
    """
    files = found.timelines.courses
    if not files:
        return {}
    cells = [cell for group in groups for cell in group.cells]
    wanted = {identity(one) for cell in cells for one in chosen(found, cell)}
    points: dict[Identity, dict[str, Points]] = {}
    reasons: dict[Identity, str] = {}
    for path, whose in files:
        if wanted.isdisjoint(whose):
            continue
        for who, row in _rows(path, wanted):
            both = zip(row["time_s"], row["value"], strict=True)
            known = [one for one in both if all(map(math.isfinite, one))]
            points.setdefault(who, {}).update({row["name"]: known} if known else {})
            reasons[who] = reasons.get(who) or row["reason"]
    return {who: ToolSeries(some, reasons[who]) for who, some in points.items()}


def _rows(path: Path, wanted: Collection[Identity]) -> Iterator[tuple[Identity, Mapping[str, Any]]]:
    """Read what the tools of some trials reported in a file, and whose it is."""
    with suppress(ResultsError):
        rows = rows_of(path)
        here = [place for place, who in enumerate(rows.trials) if who in wanted]
        for place, row in rows.courses(here):
            yield rows.trials[place], row


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
