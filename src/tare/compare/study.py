"""Everything that a study's trials say, and which of its cells need no more of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tare.compare.attribution import Attribution, attributions
from tare.compare.comparison import Comparison, is_done, measured
from tare.compare.conditions import beside_conditions
from tare.compare.control import beside_controls, with_holm, with_queueing
from tare.compare.duet import beside_halves
from tare.compare.ladder import LadderCosts, ladder_costs, still_compared
from tare.compare.pairing import Group, History, baselines, group, histories
from tare.compare.plausibility import beside_causes
from tare.compare.stability import beside_series
from tare.compare.summary import Summary, summarize
from tare.compare.warmup import beside_warmup
from tare.model import Cell, Evidence, Metric, Plan, Trial, Variant
from tare.stats.schedule import level


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparisons:
    """Everything that a study's trials say; in the order of the plan's cells and metrics.

    ``comparisons`` has a row for every cell but the baselines, A/A controls (``cell.control``) too.
    ``histories`` has the trials that it rests on, by the cell's id.
    """

    summaries: tuple[Summary, ...]
    comparisons: tuple[Comparison, ...]
    attributions: tuple[Attribution, ...]
    ladders: tuple[LadderCosts, ...] = ()
    histories: Mapping[str, History] = field(default_factory=dict, repr=False, compare=False)


def compare(
    plan: Plan, trials: Iterable[Trial], facts: Mapping[str, object] | None = None
) -> Comparisons:
    """Compare every cell with its baseline, on every metric of its workload.

    ``facts`` are those stored with the results; without them nothing is known of what the platforms
    were unlike in.
    """
    trials = tuple(trials)
    measurements = histories(plan, trials)
    references = baselines(plan)
    summaries: list[Summary] = []
    rows: list[Comparison] = []
    for cell in plan.cells:
        baseline = references.get(group(cell))
        summaries += summarize(cell, plan.metrics[cell.workload], measurements[cell.id])
        for metric in plan.metrics[cell.workload]:
            is_first = metric == plan.metrics[cell.workload][0]
            variants = _variants(plan, measurements[cell.id]) if is_first else [Variant.WALL]
            for variant in variants if cell is not baseline else ():
                row = _row(plan, cell, baseline, metric, variant)
                rows.append(measured(row, measurements, plan.repetition))
    rows = with_queueing(with_holm(beside_controls(rows)))
    rows = beside_causes(rows, plan, measurements, facts or {})
    rows = beside_conditions(rows, plan, measurements, facts or {})
    rows = beside_series(rows, measurements, plan)
    rows = beside_halves(rows, measurements, plan)
    rows = beside_warmup(rows, plan, trials)
    return Comparisons(
        summaries=tuple(summaries),
        comparisons=tuple(rows),
        attributions=tuple(attributions([row for row in rows if _heads(row, plan)])),
        ladders=tuple(ladder_costs(plan, measurements, references, facts or {})),
        histories=measurements,
    )


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
    for established verdicts, when it has one. A cell that this
    host cannot run is done at once; one whose baseline cannot be run, or that has none, is done
    after ``min_blocks``. Baseline and control go on while any other cell of their workload,
    parameters and limits is open; a control that has only its baseline is a comparison as any.
    The cells of a ladder go on until they are told from their neighbours too.
    """
    measurements = histories(plan, trials)
    references = baselines(plan)
    groups: dict[Group, list[Cell]] = {}
    for cell in plan.cells:
        groups.setdefault(group(cell), []).append(cell)
    done = set()
    needed = _only_likely(plan, measurements, references) | still_compared(plan, measurements)
    for key, cells in groups.items():
        baseline = references.get(key)
        others = [cell for cell in cells if cell is not baseline]
        compared = [cell for cell in others if not cell.control] or others or cells
        closed = {
            cell.id for cell in compared if is_done(cell, baseline, measurements, plan)
        } - needed
        done |= closed if len(closed) < len(compared) else {cell.id for cell in cells}
    return done


def _only_likely(
    plan: Plan, measurements: Mapping[str, History], references: Mapping[Group, Cell]
) -> set[str]:
    """List the cells whose verdict is not as well founded as the plan asks for."""
    if plan.repetition.evidence is Evidence.LIKELY:
        return set()
    rows = [
        measured(
            _row(
                plan,
                cell,
                references.get(group(cell)),
                plan.metrics[cell.workload][0],
                plan.repetition.variant,
            ),
            measurements,
            plan.repetition,
        )
        for cell in plan.cells
        if cell is not references.get(group(cell))
    ]
    return {row.cell.id for row in with_holm(rows) if row.evidence is Evidence.LIKELY}


def _row(
    plan: Plan, cell: Cell, baseline: Cell | None, metric: Metric, variant: Variant
) -> Comparison:
    """Begin a row of a cell."""
    is_first = metric == plan.metrics[cell.workload][0]
    return Comparison(
        cell=cell,
        baseline=baseline,
        metric=metric,
        primary=is_first and variant is plan.repetition.variant,
        level=level(plan.repetition.max_blocks),
        variant=variant,
    )
