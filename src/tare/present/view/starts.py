"""How far apart the parts of a trial started, where trials have several."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from tare.core.model import Kind
from tare.present.view.findings import Findings
from tare.present.view.names import platform_text


@dataclass(frozen=True, slots=True)
class Starts:
    """The spread of the starts of a cell's measured trials: the last part's less the first's.

    ``missing`` counts parts that were not seen to start.
    """

    platform: str
    workload: str
    parts: int
    trials: int
    median_s: float
    most_s: float
    missing: int


def starts(found: Findings) -> Iterator[Starts]:
    """List the cells whose trials have several parts, in the order of the plan."""
    for cell in found.plan.cells:
        those = [
            one.parts
            for one in found.trials[cell.id]
            if one.kind is Kind.MEASURED and len(one.parts) > 1
        ]
        late = [[part.late_s for part in parts if part.late_s is not None] for parts in those]
        spreads = [max(one) - min(one) for one in late if one]
        if spreads:
            most, missing = max(map(len, those)), sum(map(len, those)) - sum(map(len, late))
            workload = found.group_names[cell.id]
            middle, widest = float(median(spreads)), max(spreads)
            yield Starts(platform_text(cell), workload, most, len(spreads), middle, widest, missing)


def start_sentences(found: Findings) -> Iterator[str]:
    """Say it of each cell in a sentence."""
    for one in starts(found):
        missing = f"; {one.missing} parts were not seen to start" if one.missing else ""
        yield (
            f"{one.workload}, {one.platform}: the {one.parts} parts of a trial start within "
            f"{1000 * one.median_s:.3g} ms of each other (median of {one.trials} trials, at most "
            f"{1000 * one.most_s:.3g} ms){missing}."
        )


def start_rows(found: Findings) -> list[dict[str, Any]]:
    """Put it into plain data, in seconds."""
    return [asdict(one) for one in starts(found)]
