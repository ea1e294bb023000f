"""Any two cells of a plan compared: the one way from a contrast to its comparison."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tare.core.model import Cell, Contrast, ContrastKind, Metric, Plan, Variant
from tare.results.compare.comparison import Comparison, measured
from tare.results.compare.pairing import History, group
from tare.results.stats.schedule import level


def begun(
    plan: Plan, contrast: Contrast, metric: Metric | None = None, variant: Variant | None = None
) -> Comparison:
    """Begin the comparison of two cells, by the primary metric unless another is given.

    The A/A control of the reference, or else one of the same work, says how far apart equal things
    are.
    """
    cell, reference = plan.cells_by_id[contrast.cell], plan.cells_by_id[contrast.reference]
    is_control = contrast.kind is ContrastKind.CONTROL
    return _row(
        plan,
        cell,
        reference,
        metric,
        variant,
        kind=contrast.kind,
        control=None if is_control else _control(plan, reference),
        known=contrast.known,
    )


def compared(
    plan: Plan,
    histories: Mapping[str, History],
    contrast: Contrast,
    metric: Metric | None = None,
    variant: Variant | None = None,
) -> Comparison:
    """Compare two cells by all of their trials that count; see ``begun``."""
    return measured(begun(plan, contrast, metric, variant), histories, plan.repetition)


def unpaired(
    plan: Plan, cell: Cell, metric: Metric | None = None, variant: Variant | None = None
) -> Comparison:
    """Begin the row of a cell that the plan compares with nothing."""
    return _row(plan, cell, None, metric, variant, kind=ContrastKind.OVERHEAD)


def primaries(plan: Plan, histories: Mapping[str, History]) -> list[Comparison]:
    """Compare what the plan decides by, in its order."""
    return [compared(plan, histories, contrast) for contrast in plan.decided_by.values()]


def whole(plan: Plan, closed: Iterable[str]) -> set[str]:
    """Add to the ids of closed cells what only served them, where none beside it is open.

    That is the reference, and its control where anything else is compared with it.
    """
    closed = set(closed)
    by_reference: dict[str, list[Contrast]] = {}
    for contrast in plan.decided_by.values():
        by_reference.setdefault(contrast.reference, []).append(contrast)
    done = closed - plan.decided_by.keys() - plan.references
    for reference, contrasts in by_reference.items():
        asked = [one.cell for one in contrasts if one.kind is not ContrastKind.CONTROL]
        every = {one.cell for one in contrasts}
        ids = set(asked) or every
        done |= ids & closed if ids - closed else {reference, *every}
    return done


def _control(plan: Plan, reference: Cell) -> tuple[Cell, Cell] | None:
    """Find the A/A control of a cell or of the same work, and the cell that it repeats."""
    every = plan.controls
    repeated = next((one for one in every if one == reference.id), None) or next(
        (one for one, again in every.items() if group(again) == group(reference)), None
    )
    return None if repeated is None else (every[repeated], plan.cells_by_id[repeated])


def _row(  # noqa: PLR0913 - what a comparison is of
    plan: Plan,
    cell: Cell,
    reference: Cell | None,
    metric: Metric | None,
    variant: Variant | None,
    *,
    kind: ContrastKind,
    control: tuple[Cell, Cell] | None = None,
    known: float | None = None,
) -> Comparison:
    first, repetition = plan.metrics[cell.workload][0], plan.repetition
    metric, variant = metric or first, variant or repetition.variant
    decides = kind is not ContrastKind.ATTRIBUTION and metric == first
    return Comparison(
        cell=cell,
        baseline=reference,
        kind=kind,
        known=known,
        control=control,
        metric=metric,
        primary=decides and variant is repetition.variant,
        level=level(repetition.max_blocks),
        variant=variant,
    )
