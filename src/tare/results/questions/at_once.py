"""Which of two platforms is faster with the same number of instances at work at once.

The plan decides how each platform scales, against one instance of its own. Two platforms at one
number of instances are compared here: by the ratio of what their trials measured in the same block,
judged by the rule that judges pairs. Holm's p is over all pairs of a study.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from tare.core.model import Cell, Contrast, ContrastKind, instances_of
from tare.core.model.group import Group, group
from tare.results.compare.estimates import Estimates
from tare.results.questions.by_block import OfFamily, combined, judged_together


@dataclass(frozen=True, slots=True, kw_only=True)
class AtOnce(OfFamily):
    """Two platforms with the same work in the same number of instances.

    ``found`` is the cost of ``cell`` over that of ``other``: above 1 the first is worse.
    """

    instances: int
    cell: Cell
    other: Cell


def platforms_at_once(estimates: Estimates) -> tuple[AtOnce, ...]:
    """Compare every two platforms at each number of instances, in the order of the plan.

    Nothing where no contrast of the plan is one of scale.
    """
    plan = estimates.plan
    if not any(one.kind is ContrastKind.SCALING for one in plan.contrasts):
        return ()
    cells: dict[tuple[Group, int], list[Cell]] = {}
    for cell in plan.cells:
        instances = instances_of(cell.params)
        if instances is not None and not cell.replica:
            cells.setdefault((group(cell), instances.count), []).append(cell)
    found = [
        AtOnce(
            instances=count, cell=cell, other=other, found=combined(estimates, [(1.0, contrast)])
        )
        for (_, count), some in cells.items()
        for other, cell in combinations(some, 2)
        for contrast in [Contrast(cell=cell.id, reference=other.id, kind=ContrastKind.OVERHEAD)]
    ]
    return tuple(judged_together(found))
