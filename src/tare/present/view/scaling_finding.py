"""The finding of a study of scale in one sentence: what several at once cost each platform."""

from __future__ import annotations

from collections.abc import Sequence

from tare.core.model import ContrastKind, instances_of
from tare.present.view.by_platform import DECIDED, sentence
from tare.present.view.findings import Findings
from tare.present.view.names import instances_text
from tare.present.view.speed import speed_text
from tare.results.compare.comparison import Comparison
from tare.results.stats.sequential import Verdict


def is_scaling(rows: Sequence[Comparison]) -> bool:
    """Return whether rows compare several instances at once with one."""
    return any(row.kind is ContrastKind.SCALING for row in rows)


def scaling_finding(found: Findings, rows: Sequence[Comparison]) -> str:
    """Return how each platform does with the most instances that are decided of it."""
    return sentence(found, rows, "each of several instances at once:", _clause)


def _clause(rows: Sequence[Comparison], found: Findings) -> str:
    decided = [row for row in rows if row.verdict in DECIDED]
    left = len(rows) - len(decided)
    rest = f"; {left} of {len(rows)} undecided" if left else ""
    if not decided:
        return "is undecided"
    largest = max(decided, key=_count)
    if largest.verdict is Verdict.SAME:
        said = "is as fast as one alone"
    elif largest.cost is None:
        said = "fails where one alone does not"
    else:
        said = f"is {speed_text(largest.cost)} than one alone"
    return f"{said} ({_where(largest, found)}{rest})"


def _where(row: Comparison, found: Findings) -> str:
    instances = instances_of(row.cell.params)
    count = "" if instances is None else f", {instances_text(instances)}"
    return f"{found.group_names[row.cell.id]}{count}"


def _count(row: Comparison) -> int:
    instances = instances_of(row.cell.params)
    return 0 if instances is None else instances.count
