"""What a comparison gains from those around it: the A/A control and the family of Holm."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tare.core.model import Variant
from tare.results.compare.comparison import Comparison
from tare.results.compare.evidence import DECIDED, within_family
from tare.results.compare.flag import Flag, FlagKind, flag
from tare.results.compare.pairing import Group, group
from tare.results.stats.holm import holm
from tare.results.stats.sequential import Verdict

_TOLD_APART = (Variant.WALL, Variant.CORRECTED)


def beside_controls(rows: Sequence[Comparison]) -> list[Comparison]:
    """Put each comparison beside the A/A control of its workload, parameters and limits."""
    controls = {_like(row): row for row in rows if row.is_control}
    return [_beside(row, controls.get(_like(row))) for row in rows]


def with_queueing(rows: Sequence[Comparison]) -> list[Comparison]:
    """Say of a primary comparison that its verdict changes when foreign delay is left out."""
    decided = {
        (row.cell.id, row.metric.name, row.variant): row for row in rows if row.verdict in DECIDED
    }
    flagged = []
    for row in rows:
        by = [decided.get((row.cell.id, row.metric.name, one)) for one in _TOLD_APART]
        wall, corrected = by
        differ = wall and corrected and wall.verdict is not corrected.verdict
        if row.primary and differ and wall and corrected and _apart(wall, corrected):
            told = flag(
                FlagKind.QUEUEING, wall=wall.verdict.value, corrected=corrected.verdict.value
            )
            row = replace(row, flags=(*row.flags, told))
        flagged.append(row)
    return flagged


def _apart(one: Comparison, other: Comparison) -> bool:
    """Whether two intervals do not overlap; two verdicts may differ and both be true."""
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return False
    return one.high < other.low or other.high < one.low


def with_holm(rows: Sequence[Comparison]) -> list[Comparison]:
    """Adjust the p values of the primary comparisons, which are one family; controls are not."""
    family = [i for i, r in enumerate(rows) if r.primary and not r.is_control and r.p is not None]
    # What is outside the family has no p that allows for the number of tests.
    adjusted = [_weighed_again(row) for row in rows]
    for index, p in zip(family, holm([rows[i].p or 0.0 for i in family]), strict=True):
        row = rows[index]
        found = within_family(row.evidence, row.verdict, p)
        adjusted[index] = replace(row, holm_p=p, evidence=found)
    return adjusted


def _weighed_again(row: Comparison) -> Comparison:
    found = within_family(row.evidence, row.verdict, None)
    return row if found is row.evidence else replace(row, evidence=found)


def _like(row: Comparison) -> tuple[Group, str, Variant]:
    return group(row.cell), row.metric.name, row.variant


def _beside(row: Comparison, control: Comparison | None) -> Comparison:
    floor = _noise_floor(control)
    return replace(
        row, noise_floor=floor, flags=row.flags + tuple(_flags(row, control, floor or 0.0))
    )


def _noise_floor(control: Comparison | None) -> float | None:
    """Give the larger end of the control's interval, as a ratio minus one, if it has one."""
    if control is None or not control.low or control.high is None:
        return None
    floor = max(control.high, 1 / control.low) - 1
    return floor if math.isfinite(floor) else None


def _flags(row: Comparison, control: Comparison | None, floor: float) -> Iterator[Flag]:
    if control is not None and control.verdict in (Verdict.SLOWER, Verdict.FASTER):
        yield flag(FlagKind.NOT_TRUSTED)
    claimed = row.verdict in (Verdict.SLOWER, Verdict.FASTER)
    if claimed and row.low is not None and row.high is not None:
        if row.low <= 1 <= row.high:
            yield flag(FlagKind.HOLDS_ONE_AGAIN, decided_at=row.decided_at, look=row.look)
        is_small = row.cost is not None and max(row.cost, 1 / row.cost) - 1 <= floor
        if is_small and not row.is_control:
            yield flag(FlagKind.BELOW_FLOOR, floor=floor)
