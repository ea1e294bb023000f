"""The chart of a workload's values over the blocks, so that drift is seen."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat

import numpy as np

from tare.core.model import Cell, Kind, Status, Trial
from tare.present.charts.distributions import percents, reach
from tare.present.charts.figure import (
    OWN_COLOUR,
    Figure,
    Spec,
    facets,
    layer,
    quantity,
    sample,
)
from tare.present.charts.trials import NO_VALUE, is_number, point_text, sampled, shape_of
from tare.present.view import theme
from tare.present.view.findings import CellGroup, Findings
from tare.present.view.marks import own_gap
from tare.present.view.names import platform_text


def drift(found: Findings, group: CellGroup, name: str) -> Figure:
    """Show the values of each platform over the blocks, so that drift is seen."""
    metric = group.metrics[0]
    colours = theme.colours(found.platforms)
    medians = {
        cell.id: one.values.median
        for cell in group.cells
        for one in [found.summaries[cell.id, metric.name]]
        if one.values and one.values.median > 0
    }
    trials: list[tuple[Cell, Trial, float]] = []
    differences = []
    lost = 0
    for cell in (one for one in group.cells if one.id in medians):
        own = [
            one
            for one in found.trials[cell.id]
            if one.status in (Status.OK, Status.SUSPECT) and is_number(one, metric)
        ]
        lost += _measured(found.trials[cell.id]) - _measured(own)
        values = np.array([one.samples[metric.name] for one in own])
        differences.append(percents(values, medians[cell.id]))
        trials += zip(repeat(cell), own, differences[-1].tolist(), strict=False)
    low, high = reach([np.sort(some).tolist() for some in differences])
    beyond = sum(int(((some < low) | (some > high)).sum()) for some in differences)
    chosen = sample(trials, found.plan.seed)
    drawn = [
        {
            "platform": platform_text(cell),
            "block": one.block,
            "value": min(max(value, low), high),
            "status": "warm-up" if one.kind is Kind.WARMUP else one.status.value,
            "colour": colours[cell.platform],
            "text": point_text(cell, one, f"{value:+.2f} %"),
        }
        for cell, one, value in chosen
    ]
    blocks = [one.block for _, one, _ in chosen]
    first, last = min(blocks, default=0), max(blocks, default=0)
    caption = (
        f"Each trial's {metric.name} over the blocks, as its difference in % from the platform's "
        "own median. A slope or a step that all platforms share is the host's; the comparison, "
        "made within blocks, is not moved by it."
    )
    if beyond:
        caption += f" {beyond:,} so far away that the others would be flat: drawn at the edge."
    if lost:
        caption += f" Trials without a value ({lost:,}) have no point."
    gaps = [
        f"{platform_text(cell)} ({own_gap(found, cell) or NO_VALUE})"
        for cell in group.cells
        if cell.id not in medians
    ]
    if gaps:
        caption += f" Not drawn, because there is no median above 0: {', '.join(gaps)}."
    caption += sampled(len(chosen), len(trials))

    def draw(width: int) -> Spec:
        plot = max(60, width - 62)
        # Of its own choice Vega also labels halves of blocks.
        fewest = max(1, -(-(last - first) * 40 // plot))
        power = 10 ** (len(str(fewest)) - 1)
        step = next(one * power for one in (1, 2, 5, 10) if one * power >= fewest)
        ticks = list(range(-(-first // step) * step, last + 1, step))
        x = quantity(
            "block",
            scale={"zero": False, "nice": False, "padding": 8},
            axis={"title": "block", "values": ticks, "grid": False, "format": "d"},
        )
        label = "(datum.value ? datum.label : '0') + ' %'"
        y = quantity(
            "value",
            scale={"zero": True},
            axis={"title": None, "tickCount": 3, "format": "+,~r", "labelExpr": label},
        )
        layers: list[Spec] = []
        if len(chosen) == len(trials):
            line = {"strokeWidth": 1, "opacity": 0.55}
            layers.append(
                layer("line", line, "datum.status != 'warm-up'", x=x, y=y, color=OWN_COLOUR)
            )
        layers.append(
            layer(
                "point",
                {"filled": True, "size": 22, "opacity": 0.85},
                x=x,
                y=y,
                color=OWN_COLOUR,
                shape=shape_of(drawn),
                description={"field": "text"},
            )
        )
        return facets(
            drawn, "platform", {"width": plot, "height": 56, "layer": layers}, shared_y=True
        )

    return Figure(name, f"{group.name}: over the blocks", caption, draw)


def _measured(trials: Sequence[Trial]) -> int:
    return sum(one.kind is Kind.MEASURED for one in trials)
