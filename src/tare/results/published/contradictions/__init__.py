"""Printed numbers of one study that cannot both be right, and statements that exclude each other.

Two rules hold for every study: a number that the text repeats is that of the table, and a single
run lies within the printed range. ``<study>.py`` has what else its tables, commands and text say.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module

from tare.results.published.finding import Finding, Sort
from tare.results.published.p_values import resolution
from tare.results.published.rows import Row, Statistic
from tare.results.published.setup import Condition, Setup

TEXT = "(text)"


def contradictions(study: str, rows: Sequence[Row]) -> Iterator[Finding]:
    """Find what contradicts itself in a study."""
    yield from repeated(rows)
    yield from outside_ranges(rows)
    name = f"{__name__}.{study}"
    if importlib.util.find_spec(name) is not None:
        yield from import_module(name).findings(rows)


def repeated(rows: Sequence[Row]) -> Iterator[Finding]:
    """Find numbers of the text that differ from the same of a table by more than rounding."""
    for row in rows:
        if row.table.endswith(TEXT) and row.value is not None:
            for other in rows:
                if not other.table.endswith(TEXT) and _same(row) == _same(other):
                    yield from claimed(row, other.value, other.table, slack=_last_digit(other))


def outside_ranges(rows: Sequence[Row]) -> Iterator[Finding]:
    """Find single runs outside of the range that another table prints of the same."""
    ends = (Statistic.MIN, Statistic.MAX)
    for row in rows:
        if row.statistic is not Statistic.RUN or row.value is None:
            continue
        for end in rows:
            same = end.table != row.table and _measured(end) == _measured(row)
            if not same or end.statistic not in ends or end.value is None:
                continue
            is_low = end.statistic is Statistic.MIN
            if row.value < end.value if is_low else row.value > end.value:
                yield Finding(
                    Sort.CONTRADICTION,
                    f"{row.title}: {row.platform}",
                    f"{row.text} {row.unit} in {row.table} lie {'below' if is_low else 'above'} "
                    f"the {'smallest' if is_low else 'largest'} run that {end.table} has "
                    f"({end.text}).",
                )


def claimed(row: Row, value: float | None, of: str, *, slack: float = 0.0) -> Iterator[Finding]:
    """Yield a contradiction if a row of the text is not the value that ``of`` gives.

    The text is rounded to its last digit, the value to ``slack``, which is 0 of one that is
    computed. One number that is rounded twice cannot be a whole last digit apart.
    """
    if row.value is None or value is None:
        return
    apart, most = abs(row.value - value), (_last_digit(row) + slack) / 2
    if apart > most * (1 + 1e-9) or (slack and apart >= most * (1 - 1e-9)):
        unit = "" if row.unit == "1" else f" {row.unit}"
        yield Finding(
            Sort.CONTRADICTION,
            ": ".join(part for part in (row.title, row.platform) if part),
            f"{row.text}{unit} by {row.table}, {value:.6g} by {of}.",
        )


def two_values(setup: Setup, names: Iterable[str]) -> Iterator[Finding]:
    """Yield the conditions of a set-up for which the study gives two values; KeyError if unknown.

    Their words name both, and where each stands.
    """
    known = {one.what: one for one in _conditions(setup)}
    for name in names:
        one = known[name]
        where = f" (section {one.section})" if one.section else ""
        yield Finding(Sort.CONTRADICTION, name, f"{one.value}{where}.")


def _conditions(setup: Setup) -> Iterator[Condition]:
    for topic in setup.conditions.values():
        yield from topic
    for experiment in setup.experiments:
        yield from experiment.notes


def _measured(row: Row) -> tuple[str, ...]:
    return row.workload, row.metric, row.platform, row.scenario, row.level, row.unit


def _same(row: Row) -> tuple[str, ...]:
    return (*_measured(row), row.baseline, row.statistic.value)


def _last_digit(row: Row) -> float:
    return resolution(row) if row.statistic is Statistic.P_VALUE else row.resolution
