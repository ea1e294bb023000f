"""What a workload and its neighbour took of what they contend for, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from tare.core.model import Unit
from tare.present.view.findings import Findings
from tare.present.view.neighbours import neighbour_names
from tare.present.view.numbers import NONE, plain, scale_for
from tare.results.questions.shares import Contended, Shares, shares

COLUMNS = (
    "platform",
    "neighbour",
    "of",
    "workload alone",
    "workload next to it",
    "neighbour",
    "workload",
)
READING = (
    "Medians over trials of what the control groups of both sides took in a second of the trial: "
    "CPUs that were busy, or bytes read and written. Of neighbours on the network, whose bytes "
    "nothing counts by group, and of those of caches, memory and kernel it is their CPU time."
)


def share_lines(found: Findings) -> list[Sequence[str]]:
    """List a line for each cell that has a neighbour: one text for each of ``COLUMNS``."""
    names = neighbour_names(found)
    lines: list[Sequence[str]] = []
    for one in shares(found.plan, found.measured):
        amounts = (amount_text(one, value) for value in (one.alone, one.workload, one.neighbours))
        where = one.cell.platform, names[one.neighbour], one.contended.value
        if one.workload is not None or one.neighbours is not None:
            lines.append((*where, *amounts, found.group_names[one.cell.id]))
    return lines


def amount_text(one: Shares, value: float | None) -> str:
    """Write an amount a second with its unit."""
    if value is None:
        return NONE
    if one.contended is Contended.CPU:
        return f"{value:.2f} CPUs"
    scale = scale_for(Unit.BYTE_PER_SECOND, [value])
    return f"{plain(value / scale.factor, 3)} {scale.unit}"
