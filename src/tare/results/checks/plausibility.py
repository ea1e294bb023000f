"""Results that are better than they can be: said so, with what is known of the cause.

A platform with layers around it that is faster than its baseline, by more than the noise floor, has
mostly measured something else. Real gains exist, such as a host's cache below a guest's: what was
found is a label, and the number stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tare.core.model import Facts, Plan
from tare.results.checks.causes import CHECKS, Case, Check
from tare.results.compare.comparison import Comparison
from tare.results.compare.flag import Flag, FlagKind, flag
from tare.results.compare.pairing import History, group
from tare.results.stats.sequential import Verdict


def beside_causes(
    rows: Sequence[Comparison], plan: Plan, histories: Mapping[str, History], facts: Facts
) -> list[Comparison]:
    """Put to each implausible row that it is, and what is known of the cause."""
    controls = {
        (group(row.cell), row.metric.name, row.variant): row for row in rows if row.is_control
    }
    judged = []
    for row in rows:
        if not is_implausible(row) or row.baseline is None:
            judged.append(row)
            continue
        case = Case(
            row,
            histories[row.cell.id],
            histories[row.baseline.id],
            controls.get((group(row.cell), row.metric.name, row.variant)),
            plan.metrics[row.cell.workload],
            facts.platform(row.cell.platform).preconditions,
            facts.platform(row.baseline.platform).preconditions,
            facts.platform(row.cell.platform).clock,
        )
        told = _flag([check(case) for check in CHECKS])
        judged.append(replace(row, flags=(*row.flags, told)))
    return judged


def is_implausible(row: Comparison) -> bool:
    """Whether a platform beats its baseline beyond the noise, and has not fewer layers than it."""
    if row.is_control or row.baseline is None or row.verdict is not Verdict.FASTER:
        return False
    if row.high is None or row.high * (1 + (row.noise_floor or 0.0)) >= 1:
        return False
    return len(row.cell.path) >= len(row.baseline.path)


def _flag(checks: Sequence[Check]) -> Flag:
    return flag(
        FlagKind.IMPLAUSIBLE,
        causes=tuple(one.cause for one in checks if one.cause),
        hints=tuple(one.hint for one in checks if one.hint),
        clean=tuple(one.what for one in checks if one.known and not one.hint),
        unknown=tuple(one.what for one in checks if not one.known),
    )
