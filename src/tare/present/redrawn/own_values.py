"""Our own values next to those that a study printed: medians, costs, and why some are empty.

Values stand in the study's own unit: a degradation or difference as the study counts it, a rate or
time as the median of our trials.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from tare.core.model import Cell, Metric, Unit
from tare.present.redrawn.side import Side
from tare.present.view.names import params_text, platform_text
from tare.present.view.numbers import MINUS, plain
from tare.present.view.reasons import why_text
from tare.results.compare.columns import has_numbers
from tare.results.compare.comparison import Comparison
from tare.results.compare.pairing import histories
from tare.results.compare.reason import Reason, ReasonKind
from tare.results.published.printed import POINTS
from tare.results.published.quantities import Quantity
from tare.results.published.rows import Row
from tare.results.published.study_comparison import NOT_HERE, Ours, Pair, by_likeness, compared_with
from tare.results.stats.median import median_interval

BETWEEN_STUDIES = "a difference between two studies"
UNITS = {
    "Mbit/s": (Unit.BYTE_PER_SECOND, 1e6 / 8),
    "Gbit/s": (Unit.BYTE_PER_SECOND, 1e9 / 8),
    "MB/s": (Unit.BYTE_PER_SECOND, 1e6),
    "MiB/s": (Unit.BYTE_PER_SECOND, 2.0**20),
    "events/s": (Unit.PER_SECOND, 1.0),
    "ms": (Unit.SECOND, 1e-3),
    "s": (Unit.SECOND, 1.0),
    "min": (Unit.SECOND, 60.0),
    "%": (Unit.RATIO, 0.01),
}
"""The units of studies, each as a unit of Tare and its factor."""

MAX_REASONS = 4
"""Maximum number of reasons for empty places in a caption; ``tare compare`` prints all."""


def _is_unavailable(reason: str | Reason) -> bool:
    """Return whether a platform that is unavailable here is all that a number is missing for."""
    if isinstance(reason, str):
        return False
    several = reason.values.get("reasons", ())
    return bool(reason.values.get("unavailable")) or (
        bool(several) and all(map(_is_unavailable, several))
    )


class OwnValues:
    """Our results, by the printed rows that they correspond to."""

    def __init__(self, study: str, ours: Ours) -> None:
        part = compared_with(study, ours)
        self.study, self.ours = study, ours
        self.caveats = part.caveats
        self._histories = histories(ours.plan, ours.trials)
        self._missing = {one.row: one.reason for one in part.missing}
        self._unavailable = {one.row for one in part.missing if _is_unavailable(one.reason)}
        self._numbers: dict[Row, list[Quantity]] = {}
        for number in part.quantities:
            self._numbers.setdefault(number.row, []).append(number)
        self._pairs: dict[Row, list[Pair]] = {}
        self._baselines: dict[tuple[tuple[str, ...], str], list[Comparison]] = {}
        alike, others = by_likeness(part.pairs)
        self._left_out = {pair.printed.row for pair in others}
        for pair in alike:
            row = pair.printed.row
            self._pairs.setdefault(row, []).append(pair)
            key = row.subject, pair.printed.baseline
            self._baselines.setdefault(key, []).append(pair.ours)

    @property
    def name(self) -> str:
        """What our study is called."""
        return self.ours.plan.study

    def sides(self, row: Row) -> tuple[Side, ...]:
        """Return the sides that correspond to a row: one for each cell, or one with the reason.

        A row that only serves others as their baseline corresponds to the baseline here.
        """
        numbers = self._numbers.get(row, [])
        if numbers:
            return tuple(map(_number, numbers))
        pairs = self._pairs.get(row, [])
        if pairs and pairs[0].printed.is_relative:
            return tuple(map(_relative, pairs))
        cells = {pair.ours.cell.id: (pair.ours.cell, pair.ours.metric) for pair in pairs}
        if not pairs:
            for one in self._baselines.get((row.subject, row.platform), ()):
                if one.baseline is not None:
                    cells[one.baseline.id] = (one.baseline, one.metric)
        if not cells:
            words = self._why_not(row)
            if row in self._unavailable:
                return (Side(words=words, brief="unavailable"),)
            return (Side(words=words),)
        return tuple(self._median(cell, metric, row.unit) for cell, metric in cells.values())

    def is_relative(self, rows: Iterable[Row]) -> bool:
        """Return whether rows correspond to costs, not to values in units."""
        return any(pair.printed.is_relative for row in rows for pair in self._pairs.get(row, ()))

    def notes(self, rows: Sequence[Row], sides: Iterable[Side]) -> Iterator[str]:
        """Yield in what these results differ from the study, and why places are empty."""
        differs: Counter[str] = Counter()
        for row in rows:
            others = (*self._pairs.get(row, ()), *self._numbers.get(row, ()))
            differs.update({text: 1 for one in others for text in one.differs})
        if differs:
            yield f"Not here as there: {'; '.join(differs)}."
        if self._left_out.intersection(rows):
            yield (
                "Of several cells that measure the same, those are drawn that differ from "
                "the study in the fewest things; tare compare names the others."
            )
        yield from empty(sides)

    def _why_not(self, row: Row) -> str:
        if row.unit == POINTS:
            return BETWEEN_STUDIES
        if row in self._missing:
            return why_text(self._missing[row])
        others = [why for one, why in self._missing.items() if one.subject == row.subject]
        reasons = "; ".join(sorted(set(map(why_text, others))))
        if NOT_HERE in others or not reasons:
            return NOT_HERE
        # What is said of another platform is not said of this one.
        elsewhere = any(
            isinstance(why, Reason) and why.kind is ReasonKind.NO_PLATFORM for why in others
        )
        return f"no pair: {reasons}" if elsewhere else reasons

    def _median(self, cell: Cell, metric: Metric, unit: str) -> Side:
        ours, factor = UNITS.get(unit, (None, 1.0))
        if ours is not metric.unit:
            return Side(words=f"here it is counted in {metric.unit.value}, there in {unit}")
        values = sorted(
            trial.samples[metric.name] / factor
            for trial in self._histories[cell.id].counted
            if has_numbers(trial) and math.isfinite(trial.samples.get(metric.name, math.nan))
        )
        if not values:
            return Side(words="no trial gave a number")
        low, high = median_interval(values)
        middle = median(values)
        return Side(
            value=middle,
            text=plain(middle),
            low=low,
            high=high,
            tip=f"{_cell_text(cell)}: median of {len(values)} trials, {plain(middle)} {unit}",
        )


def empty(sides: Iterable[Side]) -> Iterator[str]:
    """Yield why places are empty, reason by reason."""
    reasons = Counter(side.words for side in sides if side.words)
    texts = [f"{reason} ({n})" for reason, n in reasons.most_common(MAX_REASONS)]
    if len(reasons) > MAX_REASONS:
        texts.append(f"{len(reasons) - MAX_REASONS} other reasons, which tare compare lists")
    if texts:
        yield f"Missing here: {'; '.join(texts)}."


def _relative(pair: Pair) -> Side:
    """Write our cost, and its interval, as the study writes its own value."""
    row = pair.ours
    if row.cost is None:
        return Side(words="no cost")
    value = pair.printed.as_the_study_says(row.cost)
    against = row.baseline.platform if row.baseline else "nothing"
    said = f"{_cell_text(row.cell)}, against {against}: {plain(value)} %, {row.verdict.value}"
    if not math.isfinite(value):
        return Side(words=f"{plain(value)} %: without a limit", tip=said)
    ends = [pair.printed.as_the_study_says(end) for end in _ends(row)]
    low, high = (min(ends), max(ends)) if ends else (None, None)
    return Side(value=value, text=_percent(value), low=low, high=high, tip=said)


def _number(number: Quantity) -> Side:
    """Return a number that is no cost in the unit of the study."""
    value = number.in_its_unit
    said = (
        f"{_cell_text(number.cell)}: {number.words}, {plain(number.ours)} {number.unit} "
        f"({number.trials} trials)"
    )
    return Side(value=value, text=plain(value), tip=said)


def _percent(value: float) -> str:
    digits = 2 if abs(value) < 1 else 1 if abs(value) < 100 else 0
    return f"{value:,.{digits}f}".replace("-", MINUS)


def _ends(row: Comparison) -> Sequence[float]:
    return () if row.low is None or row.high is None else (row.low, row.high)


def _cell_text(cell: Cell) -> str:
    params = f" ({params_text(cell.params)})" if cell.params else ""
    return f"{cell.workload}{params} on {platform_text(cell)}"
