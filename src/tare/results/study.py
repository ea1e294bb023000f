"""Everything that a study's trials say, and which of its cells need no more of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tare.core.model import NO_FACTS, Evidence, Facts, Plan, Trial, Variant
from tare.results.checks.conditions import beside_conditions
from tare.results.checks.duet import beside_halves
from tare.results.checks.plausibility import beside_causes
from tare.results.checks.stability import beside_series
from tare.results.checks.warmup import beside_warmup
from tare.results.compare.comparison import Comparison, is_done, measured
from tare.results.compare.control import beside_controls, with_holm, with_queueing
from tare.results.compare.pairing import History, histories
from tare.results.compare.result_set import ResultSet
from tare.results.compare.rows import begun, compared, primaries, unpaired, whole
from tare.results.compare.summary import Summary, summarize
from tare.results.questions.attribution import Attribution, attributions
from tare.results.questions.ladder import LadderCosts, ladder_costs, still_compared


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparisons:
    """Everything that a study's trials say; in the order of the plan's cells and metrics.

    ``comparisons`` has a row for every cell but the references, A/A controls too.
    ``histories`` has the trials that it rests on, by the cell's id.
    """

    summaries: tuple[Summary, ...]
    comparisons: tuple[Comparison, ...]
    attributions: tuple[Attribution, ...]
    ladders: tuple[LadderCosts, ...] = ()
    histories: Mapping[str, History] = field(default_factory=dict, repr=False, compare=False)


def compare(plan: Plan, trials: Iterable[Trial], facts: Facts = NO_FACTS) -> Comparisons:
    """Compare every cell with its baseline, on every metric of its workload.

    ``facts`` are those stored with the results; without them nothing is known of what the platforms
    were unlike in.
    """
    trials = tuple(trials)
    measurements = histories(plan, trials)
    summaries: list[Summary] = []
    rows: list[Comparison] = []
    for cell in plan.cells:
        contrast = plan.decided_by.get(cell.id)
        summaries += summarize(cell, plan.metrics[cell.workload], measurements[cell.id])
        for metric in plan.metrics[cell.workload]:
            is_first = metric == plan.metrics[cell.workload][0]
            variants = _variants(plan, measurements[cell.id]) if is_first else [Variant.WALL]
            for variant in () if cell.id in plan.references else variants:
                if contrast is None:
                    row = unpaired(plan, cell, metric, variant)
                    rows.append(measured(row, measurements, plan.repetition))
                else:
                    rows.append(compared(plan, measurements, contrast, metric, variant))
    rows = with_queueing(with_holm(beside_controls(rows)))
    rows = beside_causes(rows, plan, measurements, facts)
    rows = beside_conditions(rows, plan, measurements, facts)
    rows = beside_series(rows, measurements, plan)
    rows = beside_halves(rows, measurements, plan)
    rows = beside_warmup(rows, plan, trials)
    return Comparisons(
        summaries=tuple(summaries),
        comparisons=tuple(rows),
        attributions=tuple(attributions([row for row in rows if _heads(row, plan)])),
        ladders=tuple(ladder_costs(plan, measurements, facts)),
        histories=measurements,
    )


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
    """Whether a row is its metric's own, and not a variant beside it."""
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
    measurements = histories(plan, trials)
    rows = [begun(plan, contrast) for contrast in plan.decided_by.values()]
    paired = plan.decided_by.keys() | plan.references
    rows += [unpaired(plan, cell) for cell in plan.cells if cell.id not in paired]
    closed = {row.cell.id for row in rows if is_done(row, measurements, plan.repetition)}
    needed = _only_likely(plan, measurements) | still_compared(plan, measurements)
    return whole(plan, closed - needed)


def _only_likely(plan: Plan, measurements: Mapping[str, History]) -> set[str]:
    """List the cells whose verdict is not as well founded as the plan asks for."""
    if plan.repetition.evidence is Evidence.LIKELY:
        return set()
    rows = with_holm(primaries(plan, measurements))
    return {row.cell.id for row in rows if row.evidence is Evidence.LIKELY}
