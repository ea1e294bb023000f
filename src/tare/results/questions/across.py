"""Workloads that measure the same, compared with each other on each platform.

They are programs for one job, as a user sees them: `gzip` and `zstd` of one file.
"""

from __future__ import annotations

from tare.core.model import Cell, Contrast, ContrastKind, Limits
from tare.results.compare.comparison import Comparison
from tare.results.compare.estimates import Estimates


def across(estimates: Estimates, workload: str) -> tuple[Comparison, ...]:
    """Compare the cells of a workload's variants, such as ``command:NAME``, on each platform.

    The first one of the plan is the reference; in each row it stands as the baseline. Pairs are of
    one block, as between platforms, so that drift cancels. Nothing is decided by these rows: a cell
    rests when its platform is decided, and they are of the blocks in which both were run.
    """
    plan = estimates.plan
    places: dict[tuple[str, Limits, str], list[Cell]] = {}
    for cell in plan.cells:
        metric = plan.metrics[cell.workload][0]
        if cell.workload_kind == workload and cell.id not in plan.control_ids:
            key = (cell.platform, cell.limits, f"{metric.name} {metric.unit} {metric.better}")
            places.setdefault(key, []).append(cell)
    return tuple(
        estimates.of(Contrast(cell=cell.id, reference=cells[0].id, kind=ContrastKind.OVERHEAD)).row
        for cells in places.values()
        for cell in cells[1:]
    )
