"""A study's tests of significance, allowing for each other, and our comparisons of the same."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module

from tare.results.compare.comparison import Comparison
from tare.results.compare.reason import Reason
from tare.results.published.counterparts import Measure
from tare.results.published.p_values import at_most, tests
from tare.results.published.printed import Printed
from tare.results.published.rows import Row
from tare.results.published.study_comparison import NOT_HERE, Ours, Pair, by_likeness, pairs_of
from tare.results.stats.holm import holm

_MEMORY = re.compile(r"(\d+) GB")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """A printed p value, and our comparison of the same two platforms by the same.

    ``holm_p`` allows for all tests of the study together; a p that is printed as 0 is taken as the
    largest that is rounded to it. ``reason`` is why our results have none.
    """

    row: Row
    p: float
    holm_p: float
    pairs: tuple[Pair, ...] = ()
    reason: str | Reason = ""

    @property
    def ours(self) -> tuple[Comparison, ...]:
        """Our comparisons of the same two platforms."""
        return tuple(pair.ours for pair in self.pairs)


def significance(rows: Sequence[Row], study: str, ours: Ours | None) -> tuple[Tested, ...]:
    """Collect a study's p values and, if there are our results, the counterpart of each."""
    printed = tests(rows)
    largest = [at_most(row) for row in printed]
    measures = _measures(study)
    found = []
    for row, p, adjusted in zip(printed, largest, holm(largest), strict=True):
        own = _ours(row, measures(row), ours) if ours else ""
        reason = own if isinstance(own, str | Reason) else ""
        rest = () if isinstance(own, str | Reason) else own
        found.append(Tested(row=row, p=p, holm_p=adjusted, pairs=rest, reason=reason))
    return tuple(found)


def _measures(study: str) -> Callable[[Row], tuple[Measure, ...]]:
    name = f"tare.results.published.by_study.{study}"
    module = import_module(name) if importlib.util.find_spec(name) else None
    return getattr(module, "tested_by", lambda _: ())


def _ours(row: Row, measures: tuple[Measure, ...], ours: Ours) -> tuple[Pair, ...] | str | Reason:
    """Find our comparisons of a test's two platforms, at the memory that its level says.

    Of several the most alike, as everywhere.
    """
    if not measures:
        return NOT_HERE
    found = pairs_of(Printed(row=row, baseline=row.baseline), measures, ours)
    if isinstance(found, str | Reason):
        return found
    level = _MEMORY.fullmatch(row.level)
    if level is not None:
        size = int(level[1]) * 2**30
        found = [pair for pair in found if pair.ours.cell.limits.memory_bytes == size]
    alike, _ = by_likeness(found)
    return tuple(alike) or f"nothing in these results has {row.level} of memory"
