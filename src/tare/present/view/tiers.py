"""What each role's instance took, where a workload has several, in rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tare.present.view.counter_words import amounts_text, unit_of
from tare.present.view.findings import Findings
from tare.present.view.isolation_tables import TextTable
from tare.present.view.numbers import NONE, share_text, size_text
from tare.present.view.reasons import reason_text
from tare.results.questions.tiers import Tier

TITLE = "CPU time by role"
READING = (
    "Each role has an instance of its own. The CPU time is what everything in it took on the host "
    "per unit of work of the whole workload, the share is its part of all instances' time; the "
    "last is its ratio to the same role on the baseline, with its 95 % interval over blocks."
)
COLUMNS = ("role", "platform", "CPU time", "per", "share", "against baseline", "blocks", "workload")


def tier_tables(found: Findings) -> Iterator[TextTable]:
    """Yield the table of a study whose workloads have roles in several instances; else nothing.

    Where there is one workload it is no column.
    """
    lines = [_line(one, found) for one in found.tiers]
    if lines:
        kept = len(COLUMNS) - (len({line[-1] for line in lines}) == 1)
        yield TextTable(TITLE, READING, COLUMNS[:kept], [line[:kept] for line in lines])


def _line(one: Tier, found: Findings) -> Sequence[str]:
    cell, cpu = one.row.cell, one.cpu
    (unit,) = [unit_of(each) for each in found.explanations if each.row.cell.id == cell.id]
    _, took = amounts_text(cpu.resource, [cpu.baseline, cpu.own], unit)
    size = reason_text(cpu.reason) if cpu.ratio is None else size_text(cpu.ratio, cpu.low, cpu.high)
    return (
        one.role,
        cell.platform,
        took,
        unit.text,
        share_text(one.share),
        size or NONE,
        str(cpu.pairs),
        found.group_names[cell.id],
    )


def tier_rows(found: Findings) -> list[dict[str, Any]]:
    """Return all roles as plain data: seconds for one unit of work, ratios and shares."""
    return [
        {
            "workload": found.group_names[one.row.cell.id],
            "platform": one.row.cell.platform,
            "role": one.role,
            "cpu_s": one.cpu.own,
            "baseline_cpu_s": one.cpu.baseline,
            "share": one.share,
            "ratio": one.cpu.ratio,
            "low": one.cpu.low,
            "high": one.cpu.high,
            "blocks": one.cpu.pairs,
            "reason": reason_text(one.cpu.reason),
        }
        for one in found.tiers
    ]
