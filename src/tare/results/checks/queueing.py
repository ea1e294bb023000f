"""Whether a verdict is another when foreign delay is left out."""

from __future__ import annotations

from collections.abc import Iterator

from tare.core.model import Variant
from tare.results.checks.case import Case
from tare.results.compare.comparison import Comparison
from tare.results.compare.evidence import DECIDED
from tare.results.compare.flag import Flag, FlagKind, flag


def findings(case: Case) -> Iterator[Flag]:
    """Yield that the verdicts by wall time and without foreign delay are not the same."""
    wall, corrected = _decided(case, Variant.WALL), _decided(case, Variant.CORRECTED)
    if not case.row.primary or not wall or not corrected or wall.verdict is corrected.verdict:
        return
    if _apart(wall, corrected):
        verdicts = {"wall": wall.verdict.value, "corrected": corrected.verdict.value}
        yield flag(FlagKind.QUEUEING, **verdicts)


def _decided(case: Case, variant: Variant) -> Comparison | None:
    row = case.study.by_variant.get((case.row.cell.id, case.row.metric.name, variant))
    return row if row is not None and row.verdict in DECIDED else None


def _apart(one: Comparison, other: Comparison) -> bool:
    """Whether two intervals do not overlap; two verdicts may differ and both be true."""
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return False
    return one.high < other.low or other.high < one.low
