"""The costs that published rows say, whatever form they were printed in."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tare.results.published.costs import as_difference
from tare.results.published.moments import by_platform, cost
from tare.results.published.platforms import own_baseline
from tare.results.published.rows import DID_NOT_RESPOND, Row, Statistic
from tare.results.stats.signed_rank import Interval

POINTS = "percentage points"
"""The unit of a difference that a study prints between its own degradation and another study's."""

PARTS = frozenset({Statistic.RUN, Statistic.MIN, Statistic.MAX, Statistic.STDEV})
"""What is no result of its own but a part of the mean next to it."""

_NO_SIZE = {
    Statistic.P_VALUE: "a p value says no size",
    Statistic.SETTING: "a setting of the study, no result",
    Statistic.RANGE: "a spread, no cost",
    Statistic.DIFFERENCE: "a difference without what it is a part of",
    Statistic.COUNT: "a count, no cost",
    Statistic.VERDICT: "a verdict in words, no number",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """A published row and the cost that it says; ``reason`` is why it says none.

    ``baseline`` is the study's platform that the cost is against. The interval (95 %) is there only
    where the study prints a spread. ``of_rate``: the study's own degradation is the part of a rate
    that is lost, not time that is added; None where it prints no degradation.
    """

    row: Row
    baseline: str = ""
    cost: float | None = None
    interval: Interval | None = None
    of_rate: bool | None = None
    time_saved: bool = False
    reason: str = ""
    note: str = ""
    """How the cost was taken from the row, where the study leaves that open."""

    @property
    def is_relative(self) -> bool:
        """Whether the study prints what it says as a part of the baseline's, in per cent."""
        difference = self.row.statistic is Statistic.DIFFERENCE
        return self.of_rate is not None or (difference and self.row.unit == "%")

    def as_the_study_says(self, cost: float) -> float:
        """Write a cost as the study does, in per cent: of a rate 100 are lost at most."""
        if self.time_saved:
            return 100 * (1 - cost)
        if self.of_rate is None and self.is_relative and self.row.better is not None:
            return as_difference(cost, self.row.better)
        if self.of_rate:
            return 100 * (1 - (1 / cost if cost else math.inf))
        return 100 * (cost - 1)


def without_cost(row: Row) -> Printed:
    """Return why a row has no cost."""
    if row.text == DID_NOT_RESPOND:
        return Printed(row=row, reason="it did not respond")
    why = _NO_SIZE.get(row.statistic, "neither way of it is the better one")
    if row.better is not None and row.statistic not in _NO_SIZE:
        why = "the study prints nothing to set it against"
    return Printed(row=row, reason=why)


def from_means(rows: Sequence[Row], n: int | None = None) -> Iterator[Printed]:
    """Compare each mean with that of the least virtualized platform in the same setting.

    ``n`` is the number of runs behind a mean, for the interval where spreads are printed. A mean
    that only serves others as their baseline is not given.
    """
    said = by_platform([row for row in rows if row.better is not None], n)
    for row in rows:
        if row.statistic in PARTS:
            continue
        platforms = said.get(row.subject, {})
        baselines = {one: own_baseline(one, platforms) for one in platforms}
        base = baselines.get(row.platform)
        if row.better is None or row.platform not in platforms or base is None:
            if row.platform not in baselines.values():
                yield without_cost(row)
            continue
        compared = cost(platforms[row.platform], platforms[base], row.better)
        if compared is None:
            yield Printed(row=row, baseline=base, reason="a value of zero has no ratio")
        else:
            interval = compared.interval
            yield Printed(row=row, baseline=base, cost=compared.cost, interval=interval)


def differences(
    rows: Sequence[Row],
) -> Mapping[tuple[str, str, str], Mapping[str, float]]:
    """Collect the differences from other studies that a study prints, by their tables' titles.

    The keys are workload, metric and platform, as in the rows with the degradations themselves.
    """
    found: dict[tuple[str, str, str], dict[str, float]] = {}
    for row in rows:
        if row.unit == POINTS and row.value is not None:
            key = (row.workload, row.metric, row.platform)
            found.setdefault(key, {})[row.experiment] = row.value
    return found
