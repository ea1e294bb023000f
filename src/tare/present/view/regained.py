"""What reservations give back, in rows and words, and the commands that hold a neighbour so."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tare.core.model import Neighbour, Reservation, neighbour_of
from tare.core.model.reservation import DerivedLimit
from tare.present.view.findings import Findings
from tare.present.view.names import neighbour_text
from tare.present.view.numbers import MINUS, NONE, percent_text
from tare.present.view.reasons import reason_text
from tare.present.view.reservation_commands import commands
from tare.present.view.reservation_words import derived_text, limit_texts, reservation_text
from tare.results.compare.comparison import Comparison
from tare.results.questions.regained import Regained, regained

TITLE = "What reservations give back"
COLUMNS = ("platform and neighbour", "reservation", "degradation without", "with", "regained",
           "95 % interval", "blocks")  # fmt: skip
NUMBERS = (2, 3, 4, 5, 6)
"""Which of the columns hold numbers."""
READING = (
    "Regained is the degradation without the reservation less that with it, in percentage points "
    "of the workload's own value alone, from the blocks that have all three. The interval is an "
    "ordinary one of 95 %."
)


@dataclass(frozen=True, slots=True)
class Commands:
    """One reservation of the study, and the lines that hold a neighbour so by each system."""

    name: str
    derived: str
    limits: Mapping[str, float]
    lines: Mapping[str, Sequence[str]]


def reservations(found: Findings) -> tuple[Regained, ...]:
    """Return what each reservation of a study gives back; nothing where it has none."""
    return regained(found.comparisons.estimates)


def lines(found: Findings, rows: Sequence[Regained]) -> list[tuple[str, ...]]:
    """Return the lines of the table, one text for each of ``COLUMNS``."""
    many = len({found.group_names[row.cell.id] for row in rows}) > 1
    return [_line(found, row, many=many) for row in rows]


def notes(found: Findings, rows: Sequence[Regained]) -> list[str]:
    """Return why reservations have no points, each reason once with where it holds."""
    places: dict[str, list[str]] = {}
    for row, line in zip(rows, lines(found, rows), strict=True):
        if row.reason is not None:
            places.setdefault(reason_text(row.reason), []).append(f"{line[0]}, {line[1]}")
    return [f"No points of {'; '.join(at)}: {why}." for why, at in places.items()]


def _line(found: Findings, row: Regained, *, many: bool) -> tuple[str, ...]:
    neighbour, reservation = _held(row)
    cell = row.cell
    name = f"{cell.platform} ({neighbour_text(neighbour, with_reservation=False)})"
    if many:
        name = f"{found.group_names[cell.id]}, {name}"
    degradations = [_degradation(row.without), _degradation(row.held)]
    held = reservation_text(reservation)
    if row.points is None:
        return name, held, *degradations, NONE, NONE, str(row.blocks)
    has_ends = row.low is not None and row.high is not None
    ends = f"[{_points(row.low)}, {_points(row.high)}]" if has_ends else NONE
    return name, held, *degradations, _points(row.points), ends, str(row.blocks)


def _degradation(row: Comparison | None) -> str:
    return percent_text(row.cost, row.low, row.high) if row else NONE


def _points(value: float | None) -> str:
    if value is None:
        return NONE
    text = f"{value:+.1f}" if math.isfinite(value) else f"{'+' if value > 0 else '-'}∞"
    return text.replace("-", MINUS)


def part(found: Findings) -> dict[str, Any] | None:
    """Return what the report's page shows of reservations; None without any."""
    rows = reservations(found)
    if not rows:
        return None
    return {
        "title": TITLE,
        "reading": READING,
        "columns": [(name, place in NUMBERS) for place, name in enumerate(COLUMNS)],
        "lines": lines(found, rows),
        "notes": notes(found, rows),
        "commands": reservation_commands(found, rows),
    }


def reservation_commands(found: Findings, rows: Sequence[Regained]) -> list[Commands]:
    """List the different reservations of a study, as commands for each system."""
    known: dict[tuple[tuple[str, float], ...], Commands] = {}
    for row in rows:
        _, reservation = _held(row)
        derived = found.results.facts.reservations.get(row.cell.id, ())
        limits = _limits(reservation, derived)
        if not limits or limits in known:
            continue
        why = derived_text(reservation, derived)
        name = ", ".join(limit_texts(limits))
        if why:
            where = f"{found.group_names[row.cell.id]}, {row.cell.platform}"
            why = f"Derived ({where}): {why}"
        values = dict(limits)
        known[limits] = Commands(name, why, values, commands(values))
    return list(known.values())


def sentences(rows: Sequence[Commands]) -> Iterator[str]:
    """Return the lines of the commands for a terminal."""
    for one in rows:
        yield f"To hold a neighbour to {one.name}:"
        if one.derived:
            yield f"  {one.derived}"
        for system, typed in one.lines.items():
            yield f"  {system}:"
            yield from (f"    {line}" for line in typed)


def as_rows(found: Findings) -> list[dict[str, Any]]:
    """Return the facts of each row, for programs."""
    made = []
    for row in reservations(found):
        neighbour, reservation = _held(row)
        derived = found.results.facts.reservations.get(row.cell.id, ())
        limits = dict(_limits(reservation, derived))
        made.append(
            {
                "workload": found.group_names[row.cell.id],
                "platform": row.cell.platform,
                "neighbour": neighbour_text(neighbour, with_reservation=False),
                "reservation": reservation_text(reservation),
                "limits": limits,
                "derived": derived_text(reservation, derived),
                "metric": row.metric.name,
                "degradation_without_percent": (
                    row.without.degradation_percent if row.without else None
                ),
                "degradation_with_percent": row.held.degradation_percent,
                "regained_points": row.points,
                "low": row.low,
                "high": row.high,
                "blocks": row.blocks,
                "reason": reason_text(row.reason),
                "commands": {name: list(typed) for name, typed in commands(limits).items()},
            }
        )
    return made


def _held(row: Regained) -> tuple[Neighbour, Reservation]:
    neighbour = neighbour_of(row.cell.params)
    assert neighbour is not None  # noqa: S101 - each row is of a neighbour that is held
    assert neighbour.reservation is not None  # noqa: S101
    return neighbour, neighbour.reservation


def _limits(
    reservation: Reservation, derived: Sequence[DerivedLimit]
) -> tuple[tuple[str, float], ...]:
    if reservation.derived is None:
        return reservation.limits
    return tuple((one.resource, one.each) for one in derived)
