"""Each cell of a group against each other one, as the plan compares them with their reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from tare.core.model import Cell
from tare.results.compare.comparison import Comparison
from tare.results.compare.estimates import Estimates
from tare.results.compare.family import with_holm
from tare.results.stats.sequential import Verdict

TURNED = {Verdict.SLOWER: Verdict.FASTER, Verdict.FASTER: Verdict.SLOWER}
"""What a verdict that tells two apart is when they change places."""


def each_other(estimates: Estimates, cells: Sequence[Cell]) -> Mapping[tuple[str, str], Comparison]:
    """Compare each cell with each, by the ids of a cell and its reference; Holm over all pairs."""
    # References come first, because in a duet only they have a partner in every pair.
    ordered = sorted(cells, key=lambda cell: cell.id not in estimates.plan.references)
    rows = [estimates.between(cell, reference) for reference, cell in combinations(ordered, 2)]
    held: dict[tuple[str, str], Comparison] = {}
    for row in with_holm(rows):
        if row.baseline is not None:
            held[row.cell.id, row.baseline.id] = row
            held[row.baseline.id, row.cell.id] = turned(row)
    return held


def turned(row: Comparison) -> Comparison:
    """Read a comparison from the other side."""
    return replace(
        row,
        cost=None if row.cost is None else 1 / row.cost if row.cost > 0 else float("inf"),
        low=None if row.high is None else 1 / row.high if row.high > 0 else float("inf"),
        high=None if row.low is None else 1 / row.low if row.low > 0 else float("inf"),
        verdict=TURNED.get(row.verdict, row.verdict),
    )
