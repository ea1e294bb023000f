"""The comparisons of a plan before any trial: each cell with its baseline and control."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tare.compare.comparison import Comparison
from tare.compare.pairing import Group, baselines, controls, group
from tare.model import Cell, Metric, Plan, Variant
from tare.stats.schedule import level


@dataclass(frozen=True, slots=True)
class References:
    """What the cells of a plan are compared with, by what they share."""

    plan: Plan
    baselines: Mapping[Group, Cell]
    controls: Mapping[Group, Cell]

    def row(self, cell: Cell, metric: Metric, variant: Variant) -> Comparison:
        """Begin the row of a cell by one metric and variant."""
        key, repetition = group(cell), self.plan.repetition
        is_first = metric == self.plan.metrics[cell.workload][0]
        return Comparison(
            cell=cell,
            baseline=self.baselines.get(key),
            control=None if cell.control else self.controls.get(key),
            metric=metric,
            primary=is_first and variant is repetition.variant,
            level=level(repetition.max_blocks),
            variant=variant,
        )

    def primary(self, cell: Cell) -> Comparison:
        """Begin the row that the plan decides by."""
        metric = self.plan.metrics[cell.workload][0]
        return self.row(cell, metric, self.plan.repetition.variant)

    def primaries(self) -> list[Comparison]:
        """Begin the row that the plan decides by of every cell but the baselines."""
        return [
            self.primary(cell)
            for cell in self.plan.cells
            if cell is not self.baselines.get(group(cell))
        ]

    def whole(self, closed: set[str]) -> set[str]:
        """Add to the ids of closed cells what only served them, where none of a group is open.

        That is the baseline, and the control where anything else is compared.
        """
        groups: dict[Group, list[Cell]] = {}
        for cell in self.plan.cells:
            groups.setdefault(group(cell), []).append(cell)
        done = set()
        for key, cells in groups.items():
            ids = {cell.id for cell in compared(cells, self.baselines.get(key))}
            done |= ids & closed if ids - closed else {cell.id for cell in cells}
        return done


def compared(cells: Sequence[Cell], baseline: Cell | None) -> Sequence[Cell]:
    """List the compared cells of a group; control or baseline only if there is nothing else."""
    others = [cell for cell in cells if cell is not baseline]
    return [cell for cell in others if not cell.control] or others or cells


def references(plan: Plan) -> References:
    """Find the baselines and the A/A controls of a plan."""
    return References(plan, baselines(plan), controls(plan))
