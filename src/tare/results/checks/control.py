"""Whether a verdict can be trusted by the A/A control, and is larger than its noise."""

from __future__ import annotations

from collections.abc import Iterator

from tare.results.checks.case import Case
from tare.results.compare.flag import Flag, FlagKind, flag
from tare.results.stats.sequential import Verdict


def findings(case: Case) -> Iterator[Flag]:
    """Yield whether equal things differ here too, and whether the cost is below the noise."""
    row, floor = case.row, case.noise_floor or 0.0
    if case.control is not None and case.control.verdict in (Verdict.SLOWER, Verdict.FASTER):
        yield flag(FlagKind.NOT_TRUSTED)
    claimed = row.verdict in (Verdict.SLOWER, Verdict.FASTER)
    if claimed and row.low is not None and row.high is not None:
        if row.low <= 1 <= row.high:
            yield flag(FlagKind.HOLDS_ONE_AGAIN, decided_at=row.decided_at, look=row.look)
        is_small = row.cost is not None and max(row.cost, 1 / row.cost) - 1 <= floor
        if is_small and not row.is_control:
            yield flag(FlagKind.BELOW_FLOOR, floor=floor)
