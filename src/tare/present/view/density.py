"""How many instances fit, in words, rows and plain data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from tare.core.model import Cell, Kind, Trial, Unit
from tare.core.model.instances import FIT, MEMORY_EACH, READY_P50, READY_P99
from tare.present.view.findings import Findings
from tare.present.view.isolation_tables import TextTable
from tare.present.view.names import plain_names, platform_text
from tare.present.view.numbers import NONE, scale_for
from tare.results.compare.columns import has_numbers

TITLE = "How many instances fit"
COLUMNS = ("platform", "fit", "ended by", "memory each", "ready p50", "ready p99", "workload")
READING = (
    "The largest number of instances that ran the workload at once and met the objective: the "
    "median of the trials, with the fewest and the most of them. Ended by is what broke with more, "
    "in the trial nearest to the median. Memory each is by how much less memory was available on "
    "the host, divided by their number; ready is from the command that makes an instance until it "
    "answers, while the others are made (medians of the trials' own quantiles)."
)


@dataclass(frozen=True)
class Fitting:
    """The trials of a cell that found how many instances fit, in the order of their blocks."""

    name: str
    cell: Cell
    trials: tuple[Trial, ...]
    why: str = ""
    """Why the last trial has no number, where none has."""

    def values(self, metric: str) -> list[float]:
        """Return a metric of the trials that have it."""
        return [one.samples[metric] for one in self.trials if metric in one.samples]


def fittings(found: Findings) -> list[Fitting]:
    """List what was found of each cell of a study of density; of any other nothing."""
    plan = found.plan
    return [
        Fitting(
            group.name,
            cell,
            tuple(one for one in measured if has_numbers(one)),
            measured[-1].reason if measured else "",
        )
        for group in found.groups
        for cell in group.cells
        for measured in [[one for one in found.trials[cell.id] if one.kind is Kind.MEASURED]]
        if plan.metrics[cell.workload][0].name == FIT and cell.id not in plan.control_ids
    ]


def is_density(found: Findings) -> bool:
    """Return whether a study asks how many instances fit."""
    return any(metrics[0].name == FIT for metrics in found.plan.metrics.values())


def density_finding(found: Findings) -> str:
    """Return in one sentence how many fit on each platform; empty of any other study."""
    every = fittings(found)
    if not every:
        return ""
    names = plain_names(found.plan)
    several = len({one.name for one in every}) > 1
    clauses = [
        f"{_count(one)} of {names[one.cell.platform]}{f' ({one.name})' if several else ''}"
        for one in every
    ]
    return f"Instances that fit at once: {'; '.join(clauses)}."


def _count(one: Fitting) -> str:
    counts = one.values(FIT)
    if not counts:
        return "not measured"
    least, most = min(counts), max(counts)
    text = f"{median(counts):g}"
    return text if least == most else f"{text} ({least:g} to {most:g})"


def _end(one: Fitting) -> str:
    """Return what ended the trial whose number is nearest to the median, of equal ones the last."""
    counts = one.values(FIT)
    if not counts:
        return one.trials[-1].reason if one.trials else NONE
    middle = median(counts)
    known = [trial for trial in reversed(one.trials) if FIT in trial.samples]
    return min(known, key=lambda trial: abs(trial.samples[FIT] - middle)).reason


def density_tables(found: Findings) -> Iterator[TextTable]:
    """Yield the table of a study of density; nothing where there is none."""
    lines = [_line(one) for one in fittings(found)]
    if lines:
        kept = len(COLUMNS) - (len({line[-1] for line in lines}) == 1)
        yield TextTable(TITLE, READING, COLUMNS[:kept], [line[:kept] for line in lines])


def _line(one: Fitting) -> Sequence[str]:
    return (
        platform_text(one.cell),
        _count(one),
        _ended(one),
        _middle(one, MEMORY_EACH, Unit.BYTE),
        _middle(one, READY_P50, Unit.SECOND),
        _middle(one, READY_P99, Unit.SECOND),
        one.name,
    )


def _ended(one: Fitting) -> str:
    """Return what ended the trial nearest to the median, or why none has a number."""
    return _end(one) if one.trials else one.why or NONE


def _middle(one: Fitting, metric: str, unit: Unit) -> str:
    values = one.values(metric)
    if not values:
        return NONE
    middle = median(values)
    scale = scale_for(unit, [middle])
    return f"{scale.text(middle)} {scale.unit}".strip()


def density_rows(found: Findings) -> list[dict[str, Any]]:
    """Return what was found as plain data, in base units."""
    return [
        {
            "workload": one.name,
            "platform": one.cell.platform,
            "fit": one.values(FIT),
            "ended_by": [trial.reason for trial in one.trials],
            "memory_each": one.values(MEMORY_EACH),
            "ready_p50": one.values(READY_P50),
            "ready_p99": one.values(READY_P99),
        }
        for one in fittings(found)
    ]
