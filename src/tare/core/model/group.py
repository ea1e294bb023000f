"""Which cells can be compared with each other."""

from __future__ import annotations

from tare.core.model.cell import INJECTED, Cell, Limits, Params
from tare.core.model.instances import without_instances
from tare.core.model.neighbour import without_neighbour

Group = tuple[str, Params, Limits]
"""A workload with its parameters, under limits."""


def group(cell: Cell) -> Group:
    """Return what two cells must share to be compared.

    Injected work, a neighbour and the number of instances are the differences sought.
    """
    own = without_instances(without_neighbour(cell.params))
    params = tuple(one for one in own if one[0] != INJECTED)
    return cell.workload, params, cell.limits
