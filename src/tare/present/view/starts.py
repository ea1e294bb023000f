"""How far apart the parts of a trial started, where trials have several."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from tare.core.model import Kind, Part
from tare.present.view.findings import Findings
from tare.present.view.names import platform_text


@dataclass(frozen=True, slots=True)
class Starts:
    """The spread of the starts of a cell's measured trials: the last part's less the first's.

    ``parts`` are the most, where trials differ, and ``least_parts`` the fewest. ``missing`` counts
    parts that were not seen to start.
    """

    platform: str
    workload: str
    parts: int
    least_parts: int
    trials: int
    median_s: float
    most_s: float
    missing: int


def starts(found: Findings) -> Iterator[Starts]:
    """List the cells whose trials have several parts, in the order of the plan.

    Cells that are measured in one trial, as those of a duet, have one row together.
    """
    cells = found.plan.cells_by_id
    for ids, those in _parts_together(found).items():
        late = [[part.late_s for part in parts if part.late_s is not None] for parts in those]
        spreads = [max(one) - min(one) for one in late if one]
        if spreads:
            yield Starts(
                platform=" and ".join(platform_text(cells[one]) for one in ids),
                workload=found.group_names[ids[0]],
                parts=max(map(len, those)),
                least_parts=min(map(len, those)),
                trials=len(spreads),
                median_s=float(median(spreads)),
                most_s=max(spreads),
                missing=sum(map(len, those)) - sum(map(len, late)),
            )


def _parts_together(found: Findings) -> dict[tuple[str, ...], list[tuple[Part, ...]]]:
    """Return the parts of each measured trial that has several, by the ids of its cells."""
    second = {
        (one.cell, one.session, one.block, one.repeat, one.slot): one.parts
        for one in found.results.trials
        if one.partner
    }
    together: dict[tuple[str, ...], list[tuple[Part, ...]]] = {}
    for cell in found.plan.cells:
        for one in found.trials[cell.id]:
            if one.kind is not Kind.MEASURED:
                continue
            ids: tuple[str, ...] = (cell.id,)
            parts = one.parts
            key = (one.partner, one.session, one.block, one.repeat, one.slot + 1)
            if key in second:
                ids, parts = (cell.id, one.partner), parts + second[key]
            if len(parts) > 1:
                known = next((each for each in together if set(each) == set(ids)), ids)
                together.setdefault(known, []).append(parts)
    return together


def start_sentences(found: Findings) -> Iterator[str]:
    """Return it of each cell in a sentence."""
    for one in starts(found):
        missing = f"; {one.missing} parts were not seen to start" if one.missing else ""
        yield (
            f"{one.workload}, {one.platform}: the {_counted(one)} parts of a trial start within "
            f"{1000 * one.median_s:.3g} ms of each other (median of {one.trials} trials, at most "
            f"{1000 * one.most_s:.3g} ms){missing}."
        )


def _counted(one: Starts) -> str:
    if one.least_parts == one.parts:
        return str(one.parts)
    return f"{one.least_parts} to {one.parts}"


def start_rows(found: Findings) -> list[dict[str, Any]]:
    """Return it as plain data, in seconds; the fewest parts only where trials differ."""
    rows = [asdict(one) for one in starts(found)]
    for row in rows:
        if row["least_parts"] == row["parts"]:
            del row["least_parts"]
    return rows
