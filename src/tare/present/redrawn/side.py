"""What one side, the study or our results, says of one bar of a figure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tare.present.view.numbers import MINUS
from tare.results.published.rows import DID_NOT_RESPOND, Row, Statistic


class Run(NamedTuple):
    """A single run; ``left_out`` of the study's own average."""

    value: float
    left_out: bool
    tip: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A value with what is known of its spread, in the unit of its panel.

    Where there is no value, ``words`` say why; ``is_dnr`` says that it did not respond. ``tip`` is
    the tool tip.
    """

    value: float | None = None
    text: str = ""
    low: float | None = None
    high: float | None = None
    runs: tuple[Run, ...] = ()
    words: str = ""
    brief: str = "no number"
    """What stands there where there is no room for the words, which the caption has."""
    is_dnr: bool = False
    tip: str = ""

    @property
    def numbers(self) -> Iterator[float]:
        """All finite numbers that are drawn."""
        for one in (self.value, self.low, self.high, *(run.value for run in self.runs)):
            if one is not None and math.isfinite(one):
                yield one

    @property
    def size(self) -> float:
        """The largest distance from zero of the value and the runs, without the interval."""
        values = (self.value, *(run.value for run in self.runs))
        return max(
            (abs(one) for one in values if one is not None and math.isfinite(one)), default=0.0
        )

    def within(self, limit: float) -> Iterator[float]:
        """Return the numbers that are drawn, as far from zero as a limit."""
        yield from (min(max(number, -limit), limit) for number in self.numbers)


def printed_side(row: Row, rows: Sequence[Row]) -> Side:
    """Return a printed value, with its range or its runs among the study's rows."""
    if row.statistic is Statistic.VERDICT:
        return Side(words=row.text, tip=f"{row.platform}, {row.title}: {row.text}")
    if row.value is None:
        tip = f"{row.platform}, {row.title}: {row.note or DID_NOT_RESPOND}"
        words = f"{DID_NOT_RESPOND}: {row.note or 'did not respond'}"
        return Side(words=words, is_dnr=True, tip=tip)
    parts = [one for one in rows if (one.subject, one.platform) == (row.subject, row.platform)]
    low, high = (
        next((one.value for one in parts if one.statistic is end), None)
        for end in (Statistic.MIN, Statistic.MAX)
    )
    runs = tuple(
        Run(one.value, bool(one.note), f"run {one.run}: {one.text} {one.unit} {one.note}".strip())
        for one in parts
        if one.statistic is Statistic.RUN and one.value is not None
    )
    spread = "" if low is None or high is None else f", {low:g} to {high:g}"
    return Side(
        value=row.value,
        text=row.text.replace("-", MINUS),
        low=low,
        high=high,
        runs=runs,
        tip=f"{row.platform}, {row.title}: {row.text} {row.unit}{spread} {row.note}".strip(),
    )
