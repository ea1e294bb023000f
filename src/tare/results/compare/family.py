"""The comparisons of a study as one family: p values that allow for the number of tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tare.results.compare.comparison import Comparison
from tare.results.compare.evidence import within_family
from tare.results.stats.holm import holm


def with_holm(rows: Sequence[Comparison]) -> list[Comparison]:
    """Adjust the p values of the primary comparisons, which are one family; controls are not."""
    family = [i for i, r in enumerate(rows) if r.primary and not r.is_control and r.p is not None]
    adjusted = dict(zip(family, holm([rows[i].p or 0.0 for i in family]), strict=True))
    return [_weighed(row, adjusted.get(place)) for place, row in enumerate(rows)]


def _weighed(row: Comparison, holm_p: float | None) -> Comparison:
    """Weigh a verdict again; what is outside the family has no p that allows for the others."""
    found = within_family(row.evidence, row.verdict, holm_p)
    return replace(row, holm_p=holm_p, evidence=found)
