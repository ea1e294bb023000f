"""Everything that a study's trials say, and which of its cells need no more of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tare.compare.attribution import Attribution, attributions
from tare.compare.comparison import Comparison, is_done, measured
from tare.compare.control import beside_controls, with_holm
from tare.compare.pairing import Group, baselines, group, histories
from tare.compare.summary import Summary, summarize
from tare.model import Cell, Plan, Trial
from tare.stats.schedule import level


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparisons:
    """Everything that a study's trials say; in the order of the plan's cells and metrics.

    ``comparisons`` has a row for every cell but the baselines, A/A controls (``cell.control``) too.
    """

    summaries: tuple[Summary, ...]
    comparisons: tuple[Comparison, ...]
    attributions: tuple[Attribution, ...]


def compare(plan: Plan, trials: Iterable[Trial]) -> Comparisons:
    """Compare every cell with its baseline, on every metric of its workload."""
    measurements = histories(plan, trials)
    references = baselines(plan)
    summaries, rows = [], []
    for cell in plan.cells:
        baseline = references.get(group(cell))
        for metric in plan.metrics[cell.workload]:
            summaries.append(summarize(cell, metric, measurements[cell.id]))
            if cell is not baseline:
                row = Comparison(
                    cell=cell,
                    baseline=baseline,
                    metric=metric,
                    primary=metric == plan.metrics[cell.workload][0],
                    level=level(plan.repetition.max_blocks),
                )
                rows.append(measured(row, measurements, plan.repetition))
    rows = with_holm(beside_controls(rows))
    return Comparisons(
        summaries=tuple(summaries),
        comparisons=tuple(rows),
        attributions=tuple(attributions(rows)),
    )


def decided(plan: Plan, trials: Iterable[Trial]) -> set[str]:
    """List the ids of the cells that need no more blocks, by the primary metric of each.

    A cell is done when a stop reason other than "not yet" holds, and stays done. A cell that this
    host cannot run is done at once; one whose baseline cannot be run, or that has none, is done
    after ``min_blocks``. Baseline and control go on while any other cell of their workload,
    parameters and limits is open; a control that has only its baseline is a comparison as any.
    """
    measurements = histories(plan, trials)
    references = baselines(plan)
    groups: dict[Group, list[Cell]] = {}
    for cell in plan.cells:
        groups.setdefault(group(cell), []).append(cell)
    done = set()
    for key, cells in groups.items():
        baseline = references.get(key)
        others = [cell for cell in cells if cell is not baseline]
        compared = [cell for cell in others if not cell.control] or others or cells
        closed = {cell.id for cell in compared if is_done(cell, baseline, measurements, plan)}
        done |= closed if len(closed) < len(compared) else {cell.id for cell in cells}
    return done
