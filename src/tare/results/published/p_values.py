"""What a printed p value says, and what it cannot."""

from __future__ import annotations

import math
from collections.abc import Iterable

from scipy import stats

from tare.results.published.rows import Row, Statistic


def tests(rows: Iterable[Row]) -> list[Row]:
    """Return the p values of tables: those in the text repeat some of them with more digits."""
    return [
        row
        for row in rows
        if row.statistic is Statistic.P_VALUE and not row.table.endswith("(text)")
    ]


def at_most(row: Row) -> float:
    """Return the largest p value that is printed as this one."""
    value = row.value or 0.0
    return min(1.0, value + resolution(row) / 2) if value == 0 else value


def resolution(row: Row) -> float:
    """Return the last digit of a p value: three are printed, trailing zeros left out."""
    return min(1e-3, row.resolution)


def possible(apart: float, mean: float, p: float) -> bool:
    """Whether means so far apart can have a p at least so large.

    The difference over its standard error is t, which p bounds, least with two runs each. Values
    that are never negative have a standard deviation of at most their mean times the root of n,
    so the standard error is at most the mean times the root of 2.
    """
    return p <= 0 or apart <= float(stats.t.isf(p / 2, 2)) * mean * math.sqrt(2)
