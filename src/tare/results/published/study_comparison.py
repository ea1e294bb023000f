"""Our costs compared with published ones, each with the difference in percentage points.

What has no counterpart, on either side, is listed with the reason; nothing is left out in silence.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module

from tare.core.model import (
    Cell,
    ContrastKind,
    Design,
    Facts,
    Plan,
    Status,
    Trial,
    Variant,
    neighbour_of,
)
from tare.results.compare.comparison import Comparison
from tare.results.compare.pairing import History, against, histories
from tare.results.compare.reason import Reason, ReasonKind, reason_of
from tare.results.published.counterparts import (
    Measure,
    has_limits,
    no_platform,
    platforms_for,
    setting_of,
    wanted_text,
    words_of,
)
from tare.results.published.printed import POINTS, Printed, differences
from tare.results.published.quantities import Quantity, Wanted, quantities_of
from tare.results.published.rows import Row, load
from tare.results.published.setup_comparison import (
    NO_DIFFERENCES,
    SetupComparison,
    compare_setups,
    setup_caveats,
)
from tare.results.published.sums import PHASES, with_sums
from tare.results.study import Comparisons, compare

Key = tuple[str, str]
"""A cell's id and a metric's name."""

UNKNOWN = "Tare does not know which of its workloads measure what this study did"
NOT_HERE = "no workload of Tare measures it"
NO_COUNTERPART = "our results have no counterpart of the degradation that it is of"
NO_COST = "a number that is no cost: tare compare lists ours with it"


@dataclass(slots=True)
class Ours:
    """A study's trials of our own, to be compared with whatever baseline a published row has."""

    plan: Plan
    trials: Sequence[Trial]
    facts: Facts
    _against: dict[str, Mapping[Key, Comparison]] = field(default_factory=dict)
    _isolated: Mapping[Key, Comparison] | None = None
    _histories: dict[str, History] | None = None

    def __post_init__(self) -> None:
        """Add the sums that studies print."""
        self.plan, self.trials = with_sums(self.plan, self.trials)

    @property
    def histories(self) -> dict[str, History]:
        """The trials that count, by the id of their cell."""
        if self._histories is None:
            self._histories = histories(self.plan, self.trials)
        return self._histories

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells that a published row can be compared with."""
        return self.plan.platform_cells

    @property
    def isolated_cells(self) -> tuple[Cell, ...]:
        """The cells that have a neighbour."""
        return tuple(cell for cell in self.plan.cells if neighbour_of(cell.params) is not None)

    def against(self, baseline: str) -> Mapping[Key, Comparison]:
        """Compare all cells with a platform, by wall time, which is what studies measured."""
        if baseline not in self._against:
            self._against[baseline] = {
                (row.cell.id, row.metric.name): row
                for row in self._compared(baseline).comparisons
                if row.variant is Variant.WALL
            }
        return self._against[baseline]

    @property
    def isolated(self) -> Mapping[Key, Comparison]:
        """Compare the cells that have a neighbour with the same platform alone, by wall time."""
        if self._isolated is None:
            self._isolated = {
                (row.cell.id, row.metric.name): row
                for row in compare(self.plan, self.trials, self.facts).comparisons
                if row.variant is Variant.WALL and row.kind is ContrastKind.ISOLATION
            }
        return self._isolated

    @property
    def has_neighbours(self) -> bool:
        """Whether cells are compared with the same platform alone, and not with a baseline."""
        return bool(self.isolated_cells)

    def _compared(self, baseline: str) -> Comparisons:
        if baseline == self.plan.reference and not self.has_neighbours:
            return compare(self.plan, self.trials, self.facts)
        # The A/A control is of the plan's own baseline: here it would be one more platform.
        kept = {one.id for one in self.cells}
        plan = replace(self.plan, cells=self.cells, contrasts=against(self.cells, baseline))
        return compare(plan, [one for one in self.trials if one.cell in kept], self.facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A published cost and ours of the same thing.

    ``differs`` is what was chosen otherwise, ``setup`` the whole of the set-up that was.
    """

    printed: Printed
    ours: Comparison
    differs: tuple[str, ...] = ()
    setup: SetupComparison = NO_DIFFERENCES
    printed_differences: Mapping[str, float] = field(default_factory=dict)
    """The differences in points from other studies that the study itself prints, by title."""

    @property
    def difference_points(self) -> float | None:
        """Our degradation less the published one, in percentage points; positive: ours is worse."""
        ours, printed = self.ours.cost, self.printed.cost
        if ours is None or printed is None or ours == printed == math.inf:
            return None
        return 100 * (ours - printed)

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
    """A published row without a counterpart in our results, and why.

    ``measurable`` says that some workload of Tare does measure it.
    """

    row: Row
    reason: str | Reason
    measurable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyComparison:
    """What a study and our results say of the same things, and what only the study says."""

    study: str
    pairs: tuple[Pair, ...]
    missing: tuple[Missing, ...]
    caveats: tuple[str, ...]
    quantities: tuple[Quantity, ...] = ()

    @property
    def not_here(self) -> tuple[Missing, ...]:
        """What is missing altogether: neither a cost nor another number is its counterpart."""
        known = {one.row for one in self.quantities}
        return tuple(one for one in self.missing if one.row not in known)


def compared_with(study: str, ours: Ours) -> StudyComparison:
    """Compare a study's rows with our results; ConfigError if there is no such study."""
    rows = load(study)
    name = f"tare.results.published.by_study.{study}"
    module = import_module(name) if importlib.util.find_spec(name) else None
    if module is None or not hasattr(module, "measures"):
        rest = tuple(Missing(row=row, reason=UNKNOWN, measurable=False) for row in rows)
        return StudyComparison(study=study, pairs=(), missing=rest, caveats=())
    others = differences(rows)
    pairs: list[Pair] = []
    missing: list[Missing] = []
    quantities: list[Quantity] = []
    number_of: Callable[[Row], Wanted | None] = getattr(module, "number_of", lambda _: None)
    for printed in module.printed(rows):
        wanted = number_of(printed.row)
        if wanted is not None:
            numbers = quantities_of(printed.row, wanted, ours.cells, ours.histories, ours.facts)
            reason = numbers if isinstance(numbers, str | Reason) else NO_COST
            quantities += [] if isinstance(numbers, str | Reason) else numbers
            missing.append(Missing(row=printed.row, reason=reason, measurable=True))
            continue
        measures = module.measures(printed.row)
        found = pairs_of(printed, measures, ours)
        if isinstance(found, str | Reason):
            missing.append(Missing(row=printed.row, reason=found, measurable=bool(measures)))
        else:
            its_differences = others.get(_key(printed.row), {})
            pairs += [replace(one, printed_differences=its_differences) for one in found]
    paired = {_key(pair.printed.row) for pair in pairs}
    missing += [
        Missing(row=row, reason=NO_COUNTERPART, measurable=False)
        for row in rows
        if row.unit == POINTS and _key(row) not in paired
    ]
    measures_of: Callable[[Row], Sequence[Measure]] = module.measures
    caveats = tuple(_caveats(study, pairs, quantities, ours, measures_of))
    return StudyComparison(
        study=study,
        pairs=tuple(pairs),
        missing=tuple(missing),
        caveats=caveats,
        quantities=tuple(quantities),
    )


def by_likeness(pairs: Iterable[Pair]) -> tuple[list[Pair], list[Pair]]:
    """Separate the pairs that are shown with their rows from those that are not.

    Where several of our cells measure what a row is of, the one that differs from the study in the
    fewest things is shown with it, or all that do so equally. Tables and figures both go by this.
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


def unpublished(parts: Iterable[StudyComparison], ours: Ours) -> tuple[Comparison, ...]:
    """List our comparisons with our own baseline that no published row is compared with."""
    used = {(pair.ours.cell.id, pair.ours.metric.name) for part in parts for pair in part.pairs}
    plain = {one.id for one in ours.cells}
    compared = {**ours.against(ours.plan.reference), **ours.isolated}
    return tuple(
        row
        for key, row in compared.items()
        if key not in used and key[0] in plain and key[1] not in PHASES
    )


def pairs_of(
    printed: Printed, measures: Sequence[Measure], ours: Ours
) -> list[Pair] | str | Reason:
    """Find the counterparts of a row, or why there is none."""
    if printed.reason or not measures:
        return printed.reason or NOT_HERE
    if any(one.stress is not None for one in measures):
        return _isolated_pairs(printed, measures, ours)
    name = printed.row.platform
    fitting = [(one, cell) for one in measures for cell in ours.cells if one.fits(cell)]
    wanted = wanted_text(measures, ours.cells)
    if not fitting:
        return f"{wanted} is not in these results"
    own, base = (platforms_for(one, ours.cells) for one in (name, printed.baseline))
    why = _why_no_platforms(printed, own, base)
    if why:
        return why
    measured = [(one, cell) for one, cell in fitting if cell.platform in own]
    limited = [(one, cell) for one, cell in measured if has_limits(name, cell.limits)]
    if not measured:
        return f"{wanted} was not measured on {' or '.join(own)}"
    if not limited:
        return f"nothing in these results has the limits of {name}"
    return _pairs(printed, limited, base, ours)


def _isolated_pairs(
    printed: Printed, measures: Sequence[Measure], ours: Ours
) -> list[Pair] | str | Reason:
    """Find the counterparts of a row that is of a platform next to neighbours, or why none is."""
    name, cells = printed.row.platform, ours.isolated_cells
    fitting = [(one, cell) for one in measures for cell in cells if one.fits(cell)]
    if not fitting:
        return f"{wanted_text(measures, cells)} is not in these results"
    own = platforms_for(name, cells)
    if not own:
        return no_platform(name)
    measured = [(one, cell) for one, cell in fitting if cell.platform in own]
    if not measured:
        return f"{wanted_text(measures, cells)} was not measured on {' or '.join(own)}"
    found = [
        (one, cell, _with_cost(ours.isolated, cell, one, ours.trials)) for one, cell in measured
    ]
    pairs = []
    for measure, cell, row in found:
        if isinstance(row, Reason):
            continue
        setup = compare_setups(printed.row, measure, cell, ours.facts, row)
        differs = (*setup.words, *([printed.note] if printed.note else []))
        pairs.append(Pair(printed=printed, ours=row, differs=differs, setup=setup))
    reasons = dict.fromkeys(row for _, _, row in found if isinstance(row, Reason))
    return pairs or reason_of(ReasonKind.SEVERAL, reasons=tuple(reasons))


def _why_no_platforms(printed: Printed, own: Sequence[str], base: Sequence[str]) -> str | Reason:
    name, baseline = printed.row.platform, printed.baseline
    if not own:
        return no_platform(name)
    if not base:
        kind = ReasonKind.NO_BASELINE_PLATFORM
        return reason_of(kind, platform=words_of(baseline) or baseline)
    if set(own) & set(base):
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
                found = compare_setups(printed.row, measure, cell, ours.facts, row)
                differs = (*named, *found.words)
                pairs.append(Pair(printed=printed, ours=row, differs=differs, setup=found))
    return pairs or reason_of(ReasonKind.SEVERAL, reasons=tuple(dict.fromkeys(reasons)))


def _compared(cell: Cell, baseline: str, measure: Measure, ours: Ours) -> Comparison | Reason:
    """Return our comparison of a cell, or why it has no number."""
    if baseline != ours.plan.reference and ours.plan.repetition.design is Design.DUET:
        return reason_of(ReasonKind.NOT_IN_DUET, reference=ours.plan.reference)
    return _with_cost(ours.against(baseline), cell, measure, ours.trials)


def _with_cost(
    compared: Mapping[Key, Comparison], cell: Cell, measure: Measure, trials: Iterable[Trial]
) -> Comparison | Reason:
    row = compared.get((cell.id, measure.metric))
    if row is None:
        return reason_of(ReasonKind.NO_METRIC_OF, workload=measure.workload, metric=measure.metric)
    if row.cost is None:
        never = any(one.status is Status.UNAVAILABLE for one in trials if one.cell == cell.id)
        return reason_of(ReasonKind.NO_COST_HERE, unavailable=never, why=row.why_no_cost)
    return row


def _caveats(
    study: str,
    pairs: Sequence[Pair],
    quantities: Sequence[Quantity],
    ours: Ours,
    measures: Callable[[Row], Sequence[Measure]],
) -> Iterator[str]:
    every = [*(pair.setup for pair in pairs), *(number.setup for number in quantities)]
    if not every:
        return
    workloads = {pair.ours.cell.workload for pair in pairs}
    known = [
        measure
        for pair in pairs
        for measure in measures(pair.printed.row)
        if measure.workload in workloads
    ]
    yield from setup_caveats(study, ours.facts, every, known)
    if pairs and all(pair.printed.interval is None for pair in pairs):
        yield f"No spread is known of these numbers of {study}: they are taken as exact."
    elif pairs:
        yield f"The intervals of {study} follow from its spreads: see tare published {study}."


def _key(row: Row) -> tuple[str, str, str]:
    return row.workload, row.metric, row.platform
