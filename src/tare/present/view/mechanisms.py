"""Why a workload suffers from a neighbour, in plain words with both medians."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tare.core.model import Source, neighbour_of
from tare.present.view.counter_words import amounts_text, counter_text, unit_of
from tare.present.view.findings import Findings
from tare.present.view.neighbours import neighbour_names
from tare.present.view.numbers import size_text
from tare.present.view.reasons import reason_text
from tare.results.questions.counters import Movement
from tare.results.questions.mechanism import Mechanism, Suffered, suffered

COLUMNS = (
    "platform",
    "neighbour",
    "degradation",
    "what grew, alone → next to it",
    "workload",
)
READING = (
    "Of what the workload took and waited for, for the same work, what surely grew next to the "
    "neighbour (Holm, over all counters of a row), most time first. Waiting for a CPU leaves out "
    "what its own quota held back. It is correlation: what grew need not be why, and what makes a "
    "workload slow may have no counter."
)
WORDS = {
    Mechanism.WAITED: "waited for a CPU",
    Mechanism.THROTTLED: "throttled by its own quota",
    Mechanism.SLOWED: "got less done while on a CPU",
    Mechanism.CACHE: "missed the CPU's cache",
    Mechanism.MEMORY: "short of memory",
    Mechanism.DEVICE: "the disk was busy",
}
NAMED = (Mechanism.MEMORY, Mechanism.DEVICE, Mechanism.SLOWED, Mechanism.CACHE)
"""Mechanisms of which several counters tell, or whose words do not say what was counted."""


def mechanism_lines(found: Findings) -> list[Sequence[str]]:
    """List a line for each degradation that is shown: one text for each of ``COLUMNS``."""
    names = neighbour_names(found)
    lines: list[Sequence[str]] = []
    for one in suffered(found.explanations):
        row = one.explanation.row
        neighbour = neighbour_of(row.cell.params)
        if one.explanation.is_slower and neighbour is not None:
            size = "" if row.cost is None else size_text(row.cost)
            where = row.cell.platform, names[neighbour], size
            lines.append((*where, said(one), found.group_names[row.cell.id]))
    return lines


def said(one: Suffered) -> str:
    """Return what grew with a degradation, or that nothing did, or is known to have."""
    if one.explanation.reason is not None:
        return f"not known: {reason_text(one.explanation.reason)}"
    if not one.watched:
        return "not known: no counter that stands for a mechanism was read on both sides"
    if not one.found:
        return f"none of {len(one.watched)} counters that stand for a mechanism surely grew"
    return "; ".join(_text(mechanism, move, one) for mechanism, move in one.found)


def _text(mechanism: Mechanism, move: Movement, one: Suffered) -> str:
    unit = unit_of(one.explanation)
    there, here = amounts_text(move.resource, (move.baseline, move.own), unit)
    what = f"{counter_text(move.resource)}: " if mechanism in NAMED else ""
    return f"{WORDS[mechanism]} ({what}{there} → {here} per {unit.text})"


def mechanism_rows(found: Findings) -> list[dict[str, Any]]:
    """Return the degradations by neighbours and what grew with each, in base units."""
    rows: list[dict[str, Any]] = []
    for one in suffered(found.explanations):
        row = one.explanation.row
        rate = one.explanation.work.rate if one.explanation.work else None
        rows.append(
            {
                "workload": found.group_names[row.cell.id],
                "platform": row.cell.platform,
                **dict(row.cell.params),
                "cost": row.cost,
                "verdict": row.verdict.value,
                "per": f"{rate.name}, {rate.unit.value} x s" if rate else "run",
                "mechanisms": [
                    {
                        "mechanism": mechanism.value,
                        "counter": move.resource.name,
                        "of_host": move.source is Source.HOST,
                        "alone": move.baseline,
                        "with_neighbour": move.own,
                        "ratio": move.ratio,
                        "low": move.low,
                        "high": move.high,
                        "holm_p": move.holm_p,
                    }
                    for mechanism, move in one.found
                ],
                "watched": [resource.name for resource in one.watched],
                "text": said(one) if one.explanation.is_slower else "",
            }
        )
    return rows
