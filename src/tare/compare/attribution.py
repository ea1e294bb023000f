"""What a stack costs beside the product of what its layers cost alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tare.compare.comparison import Comparison
from tare.compare.pairing import Group, group
from tare.model import Cell, Scalar
from tare.stats.ratio import ratio, ratios
from tare.stats.signed_rank import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """The cost of a stack beside the product of its layers' own costs.

    ``interaction`` is the stack's cost over that product: above 1, the layers hinder each other.
    Intervals hold at the level of the comparisons they are made of. Where something is missing,
    ``reason`` says what, and the numbers are None.
    """

    stack: Comparison
    layers: tuple[Comparison, ...] = ()
    product: float | None = None
    product_interval: Interval | None = None
    interaction: float | None = None
    interaction_interval: Interval | None = None
    reason: str = ""


_ByStack = Mapping[tuple[Group, str, str], list[Comparison]]


def attributions(rows: Sequence[Comparison]) -> Iterator[Attribution]:
    """Explain every stack that has two or more layers more than its baseline."""
    by_stack: dict[tuple[Group, str, str], list[Comparison]] = {}
    for row in rows:
        by_stack.setdefault((group(row.cell), row.metric.name, row.cell.stack), []).append(row)
    for row in rows:
        if row.baseline is None or row.is_control or row.cell.stack.count("/") < 2:
            continue
        # The layer host is no layer to stand on: what is beside it is on the same machine.
        root = row.baseline.stack.removesuffix("/host")
        if not row.cell.stack.startswith(f"{root}/"):
            yield Attribution(stack=row, reason=f"it does not stand on the baseline, {root}")
            continue
        names = row.cell.stack.removeprefix(f"{root}/").split("/")
        if len(names) > 1:
            alone = [(f"{root}/{name}", _alone(row, root, name, by_stack)) for name in names]
            yield _attribution(row, alone)


def _alone(row: Comparison, root: str, layer: str, by_stack: _ByStack) -> Comparison | None:
    """Find one layer of a stack on its own, with the same settings."""
    shared = {*root.split("/"), layer}
    candidates = by_stack.get((group(row.cell), row.metric.name, f"{root}/{layer}"), [])
    wanted = _settings(row.cell, shared)
    return next((one for one in candidates if _settings(one.cell, shared) == wanted), None)


def _settings(cell: Cell, layers: set[str]) -> set[tuple[str, Scalar]]:
    return {(key, value) for key, value in cell.settings if key.partition(".")[0] in layers}


def _attribution(stack: Comparison, alone: list[tuple[str, Comparison | None]]) -> Attribution:
    """Multiply the layers' costs, and divide the stack's by that.

    Half-widths of log intervals add up like standard errors. Costs over one baseline share its
    noise: two arms as noisy as the baseline correlate by 1/2, which widens the product. In the
    interaction that noise partly cancels; leaving this out only makes its interval wider.
    """
    layers = tuple(row for _, row in alone if row is not None)
    for name, row in alone:
        if row is None:
            reason = f"{name} with the same settings is not in the plan"
            return Attribution(stack=stack, layers=layers, reason=reason)
    logs = [_log_cost(row) for row in (stack, *layers)]
    known = [log for log in logs if log is not None]
    if len(known) < len(logs):
        name = (stack, *layers)[logs.index(None)].cell.platform
        return Attribution(
            stack=stack, layers=layers, reason=f"{name} has no cost with a finite interval"
        )
    (whole, whole_half), *parts = known
    product = sum(centre for centre, _ in parts)
    halves = [half for _, half in parts]
    product_half = math.sqrt((sum(half**2 for half in halves) + sum(halves) ** 2) / 2)
    half = math.hypot(whole_half, product_half)
    return Attribution(
        stack=stack,
        layers=layers,
        product=ratio(product),
        product_interval=_around(product, product_half),
        interaction=ratio(whole - product),
        interaction_interval=_around(whole - product, half),
    )


def _around(centre: float, half: float) -> Interval:
    return ratios(Interval(centre - half, centre + half))


def _log_cost(row: Comparison) -> tuple[float, float] | None:
    """Give the log of a cost and half the width of its interval, if it is finite on both sides."""
    if row.cost is None or not row.low or row.high is None or math.isinf(row.high):
        return None
    return math.log(row.cost), math.log(row.high / row.low) / 2
