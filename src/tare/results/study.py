"""Everything that a study's trials say, and which of its cells need no more of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from tare.core.model import NO_FACTS, Evidence, Facts, Plan, Trial, Variant
from tare.results.checks import CHECKS, control
from tare.results.checks.case import Case, Comparing
from tare.results.compare.comparison import Comparison
from tare.results.compare.estimate import Estimate
from tare.results.compare.estimates import Estimates, whole
from tare.results.compare.family import with_holm
from tare.results.compare.flag import Flag
from tare.results.compare.pairing import History
from tare.results.compare.result_set import ResultSet
from tare.results.compare.summary import Summary, summarize
from tare.results.questions.attribution import Attribution, attributions
from tare.results.questions.ladder import LadderCosts, ladder_costs, still_compared


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparisons:
    """Everything that a study's trials say; in the order of the plan's cells and metrics.

    ``comparisons`` has a row for every cell but the references, A/A controls too.
    """

    summaries: tuple[Summary, ...]
    comparisons: tuple[Comparison, ...]
    attributions: tuple[Attribution, ...]
    ladders: tuple[LadderCosts, ...] = ()
    estimates: Estimates = field(repr=False, compare=False)

    @property
    def histories(self) -> Mapping[str, History]:
        """The trials that it rests on, by the cell's id."""
        return self.estimates.histories


def compare(plan: Plan, trials: Iterable[Trial], facts: Facts = NO_FACTS) -> Comparisons:
    """Compare every cell with its baseline, on every metric of its workload.

    ``facts`` are those stored with the results; without them nothing is known of what the platforms
    were unlike in.
    """
    estimates = Estimates(plan, trials)
    rows = checked(Comparing(estimates, tuple(_estimated(estimates)), facts), CHECKS)
    return Comparisons(
        summaries=tuple(
            one
            for cell in plan.cells
            for one in summarize(cell, plan.metrics[cell.workload], estimates.histories[cell.id])
        ),
        comparisons=tuple(rows),
        attributions=tuple(attributions([row for row in rows if _heads(row, plan)])),
        ladders=tuple(ladder_costs(estimates, facts)),
        estimates=estimates,
    )


def decisive(plan: Plan, trials: Sequence[Trial]) -> list[Comparison]:
    """Compare each cell with its reference by what the plan decides by, and by nothing else."""
    estimates = Estimates(plan, trials)
    return checked(Comparing(estimates, estimates.decisive, NO_FACTS), (control.findings,))


def checked(
    study: Comparing, checks: Iterable[Callable[[Case], Iterable[Flag]]]
) -> list[Comparison]:
    """Return the comparisons of a study with what checks find and what the whole family says."""
    checks = tuple(checks)
    rows = []
    for one, row in zip(study.rows, with_holm([one.row for one in study.rows]), strict=True):
        case = Case(study, one)
        found = chain.from_iterable(check(case) for check in checks)
        rows.append(replace(row, noise_floor=case.noise_floor, flags=(*row.flags, *found)))
    return rows


def _estimated(estimates: Estimates) -> Iterator[Estimate]:
    """Estimate every cell but the references, by every metric; the first by each variant."""
    plan = estimates.plan
    for cell in plan.cells:
        if cell.id in plan.references:
            continue
        contrast = plan.decided_by.get(cell.id)
        first, *others = plan.metrics[cell.workload]
        asked = [(first, one) for one in _variants(plan, estimates.histories[cell.id])]
        for metric, variant in [*asked, *((one, Variant.WALL) for one in others)]:
            if contrast is None:
                yield estimates.unpaired(cell, metric, variant)
            else:
                yield estimates.of(contrast, metric, variant)


def result_set(plan: Plan, trials: Sequence[Trial], facts: Facts = NO_FACTS) -> ResultSet:
    """Return a study's results with their comparisons, for questions of several result sets."""
    return ResultSet(plan, trials, facts, compare(plan, trials, facts).comparisons)


def _variants(plan: Plan, history: History) -> list[Variant]:
    """List the variants of a cell's first metric: the one that decides first, then the others."""
    accounted = any(trial.host is not None for trial in history.trials.values())
    chosen = plan.repetition.variant
    others = Variant if accounted else [Variant.WALL]
    return [chosen, *(one for one in others if one is not chosen)]


def _heads(row: Comparison, plan: Plan) -> bool:
    """Whether a row is its metric's own, and not another variant of it."""
    return row.primary or row.metric != plan.metrics[row.cell.workload][0]


def decided(plan: Plan, trials: Iterable[Trial]) -> set[str]:
    """List the ids of the cells that need no more blocks, by the primary metric of each.

    A cell is done when a stop reason other than "not yet" holds, and stays done; where a plan asks
    for established verdicts, when it has one. A cell that this host cannot run is done at once; one
    whose baseline cannot be run, or that has none, is done after ``min_blocks``, or 8 if that is
    more. Baseline and control go on while any other cell of their workload, parameters and limits
    is open; a control that has only its baseline is a comparison as any. The cells of a ladder go
    on until they are distinguished from their neighbours too.
    """
    estimates = Estimates(plan, trials)
    paired = plan.decided_by.keys() | plan.references
    rows = [
        *estimates.decisive,
        *(estimates.unpaired(cell) for cell in plan.cells if cell.id not in paired),
    ]
    closed = {one.subject.cell.id for one in rows if one.is_done}
    return whole(plan, closed - _only_likely(estimates) - still_compared(estimates))


def _only_likely(estimates: Estimates) -> set[str]:
    """List the cells whose verdict is not as well founded as the plan asks for."""
    if estimates.plan.repetition.evidence is Evidence.LIKELY:
        return set()
    rows = with_holm([one.row for one in estimates.decisive])
    return {row.cell.id for row in rows if row.evidence is Evidence.LIKELY}
