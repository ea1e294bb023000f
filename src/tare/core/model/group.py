"""Which cells can be compared with each other."""

from __future__ import annotations

from tare.core.model.cell import INJECTED, Cell, Limits, Params
from tare.core.model.neighbour import without_neighbour

Group = tuple[str, Params, Limits]
"""A workload with its parameters, under limits."""


def group(cell: Cell) -> Group:
    """Return what two cells must share to be compared.

    Injected work and a neighbour are the differences sought.
    """
    params = tuple(one for one in without_neighbour(cell.params) if one[0] != INJECTED)
    return cell.workload, params, cell.limits
