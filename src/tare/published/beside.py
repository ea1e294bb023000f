"""Our costs beside published ones, each with the difference in percentage points.

What has no counterpart, on either side, is listed with the reason; nothing is left out in silence.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module

from tare.compare import Comparison, Comparisons, compare
from tare.compare.pairing import against
from tare.compare.reason import Reason, ReasonKind, reason_of
from tare.model import Cell, Design, Facts, Plan, Status, Trial, Variant
from tare.published.counterparts import (
    Measure,
    has_limits,
    platforms_for,
    setting_of,
    wanted_text,
    words_of,
)
from tare.published.printed import POINTS, Printed, differences
from tare.published.rows import Row, load

Key = tuple[str, str]
"""A cell's id and a metric's name."""

UNKNOWN = "Tare does not know which of its workloads measure what this study did"
NOT_HERE = "no workload of Tare measures it"
NOTHING_BESIDE = "nothing of ours stands beside the degradation that it is of"


@dataclass(slots=True)
class Ours:
    """A study's trials of our own, to be compared with whatever baseline a published row has."""

    plan: Plan
    trials: Sequence[Trial]
    facts: Facts
    _against: dict[str, Mapping[Key, Comparison]] = field(default_factory=dict)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells that a published row can be set beside."""
        return self.plan.platform_cells

    def against(self, baseline: str) -> Mapping[Key, Comparison]:
        """Compare all cells with a platform, by wall time, which is what studies measured."""
        if baseline not in self._against:
            self._against[baseline] = {
                (row.cell.id, row.metric.name): row
                for row in self._compared(baseline).comparisons
                if row.variant is Variant.WALL
            }
        return self._against[baseline]

    def _compared(self, baseline: str) -> Comparisons:
        if baseline == self.plan.reference:
            return compare(self.plan, self.trials, self.facts)
        # The A/A control is of the plan's own baseline: here it would be one more platform.
        kept = {one.id for one in self.cells}
        plan = replace(self.plan, cells=self.cells, contrasts=against(self.cells, baseline))
        return compare(plan, [one for one in self.trials if one.cell in kept], self.facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A published cost and ours of the same thing; ``differs`` says what was not the same."""

    printed: Printed
    ours: Comparison
    differs: tuple[str, ...] = ()
    printed_differences: Mapping[str, float] = field(default_factory=dict)
    """The differences in points from other studies that the study itself prints, by title."""

    @property
    def difference_points(self) -> float | None:
        """Our degradation less the published one, in percentage points; positive: ours is worse."""
        mine, theirs = self.ours.cost, self.printed.cost
        if mine is None or theirs is None or mine == theirs == math.inf:
            return None
        return 100 * (mine - theirs)

    @property
    def within(self) -> bool | None:
        """Whether the published cost, or its interval, meets our interval; None if we have none."""
        low, high, cost = self.ours.low, self.ours.high, self.printed.cost
        if low is None or high is None or cost is None:
            return None
        least, most = self.printed.interval or (cost, cost)
        return least <= high and most >= low


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A published row that stands beside nothing of ours, and why.

    ``measurable`` says that some workload of Tare does measure it.
    """

    row: Row
    reason: str | Reason
    measurable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What a study and our results say of the same things, and what only the study says."""

    study: str
    pairs: tuple[Pair, ...]
    missing: tuple[Missing, ...]
    caveats: tuple[str, ...]


def beside(study: str, ours: Ours) -> Beside:
    """Set a study's rows beside our results; ConfigError if there is no such study."""
    rows = load(study)
    name = f"tare.published.by_study.{study}"
    module = import_module(name) if importlib.util.find_spec(name) else None
    if module is None or not hasattr(module, "measures"):
        rest = tuple(Missing(row=row, reason=UNKNOWN, measurable=False) for row in rows)
        return Beside(study=study, pairs=(), missing=rest, caveats=())
    others = differences(rows)
    pairs: list[Pair] = []
    missing: list[Missing] = []
    for printed in module.printed(rows):
        measures = module.measures(printed.row)
        found = pairs_of(printed, measures, ours)
        if isinstance(found, str | Reason):
            missing.append(Missing(row=printed.row, reason=found, measurable=bool(measures)))
        else:
            told = others.get(_key(printed.row), {})
            pairs += [replace(one, printed_differences=told) for one in found]
    paired = {_key(pair.printed.row) for pair in pairs}
    missing += [
        Missing(row=row, reason=NOTHING_BESIDE, measurable=False)
        for row in rows
        if row.unit == POINTS and _key(row) not in paired
    ]
    caveats = tuple(_caveats(study, pairs, ours, getattr(module, "UNTOLD", "")))
    return Beside(study=study, pairs=tuple(pairs), missing=tuple(missing), caveats=caveats)


def by_likeness(pairs: Iterable[Pair]) -> tuple[list[Pair], list[Pair]]:
    """Sort out the pairs that stand beside their rows, and those that do not.

    Where several cells of ours measure what a row is of, the one that differs from the study in the
    fewest things stands beside it, or all that do so equally. Tables and figures both go by this.
    """
    by_row: dict[Row, list[Pair]] = {}
    for pair in pairs:
        by_row.setdefault(pair.printed.row, []).append(pair)
    alike: list[Pair] = []
    others: list[Pair] = []
    for some in by_row.values():
        fewest = min(len(pair.differs) for pair in some)
        for pair in some:
            (alike if len(pair.differs) == fewest else others).append(pair)
    return alike, others


def unpublished(parts: Iterable[Beside], ours: Ours) -> tuple[Comparison, ...]:
    """List our comparisons with our own baseline that stand beside no published row."""
    used = {(pair.ours.cell.id, pair.ours.metric.name) for part in parts for pair in part.pairs}
    plain = {one.id for one in ours.cells}
    compared = ours.against(ours.plan.reference)
    return tuple(row for key, row in compared.items() if key not in used and key[0] in plain)


def pairs_of(
    printed: Printed, measures: Sequence[Measure], ours: Ours
) -> list[Pair] | str | Reason:
    """Find what of ours stands beside a row, or say why there is nothing."""
    if printed.reason or not measures:
        return printed.reason or NOT_HERE
    name = printed.row.platform
    fitting = [(one, cell) for one in measures for cell in ours.cells if one.fits(cell)]
    wanted = wanted_text(measures, ours.cells)
    if not fitting:
        return f"{wanted} is not in these results"
    mine, base = (platforms_for(one, ours.cells) for one in (name, printed.baseline))
    why = _why_no_platforms(printed, mine, base)
    if why:
        return why
    measured = [(one, cell) for one, cell in fitting if cell.platform in mine]
    limited = [(one, cell) for one, cell in measured if has_limits(name, cell.limits)]
    if not measured:
        return f"{wanted} was not measured on {' or '.join(mine)}"
    if not limited:
        return f"nothing in these results has the limits of {name}"
    return _pairs(printed, limited, base, ours)


def _why_no_platforms(printed: Printed, mine: Sequence[str], base: Sequence[str]) -> str:
    name, baseline = printed.row.platform, printed.baseline
    if not mine:
        return f"no platform in these results is {words_of(name) or name}"
    if not base:
        return f"no platform in these results is its baseline, {words_of(baseline) or baseline}"
    if set(mine) & set(base):
        return f"{name} and {baseline} are the same platform here"
    return ""


def _pairs(
    printed: Printed, fitting: Iterable[tuple[Measure, Cell]], base: Sequence[str], ours: Ours
) -> list[Pair] | Reason:
    names = (printed.row.platform, printed.baseline)
    named = ("there " + " against ".join(names),) if any(map(setting_of, names)) else ()
    pairs: list[Pair] = []
    reasons: list[Reason] = []
    for measure, cell in fitting:
        for baseline in base:
            row = _compared(cell, baseline, measure, ours)
            if isinstance(row, Reason):
                reasons.append(row)
            else:
                differs = (*named, *measure.differences(cell))
                pairs.append(Pair(printed=printed, ours=row, differs=differs))
    return pairs or reason_of(ReasonKind.SEVERAL, reasons=tuple(dict.fromkeys(reasons)))


def _compared(cell: Cell, baseline: str, measure: Measure, ours: Ours) -> Comparison | Reason:
    """Return our comparison of a cell, or why it has no number."""
    if baseline != ours.plan.reference and ours.plan.repetition.design is Design.DUET:
        return reason_of(ReasonKind.NOT_IN_DUET, reference=ours.plan.reference)
    row = ours.against(baseline).get((cell.id, measure.metric))
    if row is None:
        return reason_of(ReasonKind.NO_METRIC_OF, workload=measure.workload, metric=measure.metric)
    if row.cost is None:
        never = any(one.status is Status.UNAVAILABLE for one in ours.trials if one.cell == cell.id)
        return reason_of(ReasonKind.NO_COST_HERE, unavailable=never, why=row.why_no_cost)
    return row


def _caveats(study: str, pairs: Sequence[Pair], ours: Ours, untold: str) -> Iterator[str]:
    if not pairs:
        return
    known = ours.facts.host
    says = [f"{known[key]}" for key in ("cpu_model", "os", "kernel") if key in known]
    if known.get("hypervisor"):
        says.append(f"itself a guest of {known['hypervisor']}")
    yield (
        f"The hardware is another: here {', '.join(says) or 'not known'}; the data of {study} do "
        "not say theirs. Costs can be set side by side, but what made a difference is not told."
    )
    if all(pair.printed.interval is None for pair in pairs):
        yield f"No spread is known of these numbers of {study}: they are taken as exact."
    else:
        yield (
            f"The intervals of {study} are for the fewest runs that its digits allow: see "
            f"tare published {study}."
        )
    if untold:
        yield untold


def _key(row: Row) -> tuple[str, str, str]:
    return row.workload, row.metric, row.platform
