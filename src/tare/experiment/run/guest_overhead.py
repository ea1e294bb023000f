"""Measure the memory that a guest's process takes in addition to the guest's own memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tare.core.model import Cell
from tare.experiment.run.headroom import Headroom
from tare.machines.layer import Layer, Site
from tare.machines.stack import Stack


def measure_guest_overhead(
    headroom: Headroom | None,
    cell: Cell,
    around: Stack,
    fresh: Callable[[int], Sequence[tuple[Layer, Site]]],
) -> None:
    """Start one guest as a cell's trials do, measure and remove it, unless the value is known.

    A trial of many measures nothing before all have booted, and by then the host may be out of
    memory. ``around`` are the layers that are open, ``fresh`` gives the one that is made in them.
    """
    if headroom is None or not headroom.needs_guest_overhead(cell.platform, cell.limits):
        return
    ((layer, site),) = fresh(1)
    try:
        instance = layer.create(around.machine, site)
        instance.start()
        instance.ready()
        # Of a guest in a container the host knows the container's group.
        threads = around.threads() if around.instances else instance.threads()
        headroom.note_guest_overhead(cell.platform, cell.limits, threads)
    finally:
        site.scope.close()
