"""What a stack costs compared with the product of what its layers cost alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tare.core.model import Cell
from tare.core.model.group import Group, group
from tare.results.compare.comparison import Comparison
from tare.results.compare.reason import Reason, ReasonKind, reason_of
from tare.results.stats.ratio import ratio, ratios
from tare.results.stats.signed_rank import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """The cost of a stack compared with the product of its layers' own costs.

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
    reason: Reason | None = None


_Path = tuple[str, ...]
_ByPath = Mapping[tuple[Group, str, _Path], list[Comparison]]


def attributions(rows: Sequence[Comparison]) -> Iterator[Attribution]:
    """Explain every stack that has two or more layers more than its baseline."""
    by_path: dict[tuple[Group, str, _Path], list[Comparison]] = {}
    for row in rows:
        by_path.setdefault((group(row.cell), row.metric.name, row.cell.path), []).append(row)
    for row in rows:
        if row.baseline is None or row.is_control or len(row.cell.path) <= 2:
            continue
        root, path = _root(row.baseline), row.cell.path
        if len(path) <= len(root) or path[: len(root)] != root:
            reason = reason_of(ReasonKind.NOT_ON_BASELINE, path=root)
            yield Attribution(stack=row, reason=reason)
            continue
        layers = path[len(root) :]
        if len(layers) > 1:
            apart = [(*root, layer) for layer in layers]
            alone = [(path, _alone(row, path, by_path)) for path in apart]
            yield _attribution(row, alone)


def _root(baseline: Cell) -> _Path:
    """Return what a stack must stand on: the layer host is on the machine that it starts from."""
    path = baseline.path
    return path[:-1] if len(path) > 1 and path[-1] == "host" else path


def _alone(row: Comparison, path: _Path, by_path: _ByPath) -> Comparison | None:
    """Find one layer of a stack on its own, with the same settings."""
    shared = set(path)
    candidates = by_path.get((group(row.cell), row.metric.name, path), [])
    wanted = set(row.cell.settings_of(shared))
    alike = (one for one in candidates if set(one.cell.settings_of(shared)) == wanted)
    return next(alike, None)


def _attribution(stack: Comparison, alone: list[tuple[_Path, Comparison | None]]) -> Attribution:
    """Multiply the layers' costs, and divide the stack's by that.

    Half-widths of log intervals add up like standard errors. Costs over one baseline share its
    noise: two arms as noisy as the baseline correlate by 1/2, which widens the product. In the
    interaction that noise partly cancels; leaving this out only makes its interval wider.
    """
    layers = tuple(row for _, row in alone if row is not None)
    for path, row in alone:
        if row is None:
            reason = reason_of(ReasonKind.LAYER_NOT_IN_PLAN, path=path)
            return Attribution(stack=stack, layers=layers, reason=reason)
    logs = [_log_cost(row) for row in (stack, *layers)]
    known = [log for log in logs if log is not None]
    if len(known) < len(logs):
        name = (stack, *layers)[logs.index(None)].cell.platform
        reason = reason_of(ReasonKind.NO_FINITE_INTERVAL, platform=name)
        return Attribution(stack=stack, layers=layers, reason=reason)
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
    """Return the log of a cost and half the width of its interval, if both ends are finite."""
    if row.cost is None or not row.low or row.high is None or math.isinf(row.high):
        return None
    return math.log(row.cost), math.log(row.high / row.low) / 2
