"""Results that are better than they can be: said so, with what is known of the cause.

A platform with layers around it that is faster than its baseline, by more than the noise floor, has
mostly measured something else. Real gains exist, such as a host's cache below a guest's: what was
found is a label, and the number stays.
"""

from __future__ import annotations

from collections.abc import Iterator

from tare.results.checks.case import Case
from tare.results.checks.causes import CHECKS, Doubt
from tare.results.compare.flag import Flag, FlagKind, flag
from tare.results.stats.sequential import Verdict


def findings(case: Case) -> Iterator[Flag]:
    """Yield that a result is implausible, and what is known of the cause."""
    if not is_implausible(case) or case.row.baseline is None:
        return
    own = case.study.facts.platform(case.row.cell.platform)
    base = case.study.facts.platform(case.row.baseline.platform)
    doubt = Doubt(case, own.preconditions, base.preconditions, own.clock)
    checks = [check(doubt) for check in CHECKS]
    yield flag(
        FlagKind.IMPLAUSIBLE,
        causes=tuple(one.cause for one in checks if one.cause),
        hints=tuple(one.hint for one in checks if one.hint),
        clean=tuple(one.what for one in checks if one.known and not one.hint),
        unknown=tuple(one.what for one in checks if not one.known),
    )


def is_implausible(case: Case) -> bool:
    """Whether a platform beats its baseline beyond the noise, and has not fewer layers than it."""
    row = case.row
    if row.is_control or row.baseline is None or row.verdict is not Verdict.FASTER:
        return False
    if row.high is None or row.high * (1 + (case.noise_floor or 0.0)) >= 1:
        return False
    return len(row.cell.path) >= len(row.baseline.path)
