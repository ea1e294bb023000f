"""Any two cells of a plan compared: the one way from a contrast to its estimate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from tare.core.model import Cell, Contrast, ContrastKind, Metric, Plan, Trial, Variant
from tare.core.model.group import group
from tare.results.compare.comparison import Comparison, Subject
from tare.results.compare.estimate import Estimate
from tare.results.compare.pairing import History, histories
from tare.results.stats.schedule import level


class Estimates:
    """The estimates of a study's cells, each made when it is first asked for, and once."""

    def __init__(self, plan: Plan, trials: Iterable[Trial]) -> None:
        self.plan = plan
        self.trials = tuple(trials)
        self._made: dict[tuple[Contrast, Metric, Variant], Estimate] = {}

    @cached_property
    def histories(self) -> Mapping[str, History]:
        """The trials that count, by the cell's id."""
        return histories(self.plan, self.trials)

    def of(
        self, contrast: Contrast, metric: Metric | None = None, variant: Variant | None = None
    ) -> Estimate:
        """Return the estimate of two cells, by the primary metric unless another is given.

        The A/A control of the reference, or else one of the same work, says how far apart equal
        things are.
        """
        cell = self.plan.cells_by_id[contrast.cell]
        reference = self.plan.cells_by_id[contrast.reference]
        metric = metric or self.plan.metrics[cell.workload][0]
        variant = variant or self.plan.repetition.variant
        key = contrast, metric, variant
        if key not in self._made:
            of_control = self._control(reference)
            is_control = contrast.kind is ContrastKind.CONTROL
            self._made[key] = Estimate(
                self._subject(cell, reference, metric, variant, contrast),
                self.histories[cell.id],
                self.histories[reference.id],
                self.plan.repetition,
                None if is_control or not of_control else self.of(of_control, metric, variant),
            )
        return self._made[key]

    def between(self, cell: Cell, reference: Cell) -> Comparison:
        """Compare two cells, as the plan does if it does."""
        planned = self.plan.decided_by.get(cell.id)
        if planned is None or planned.reference != reference.id:
            kind = ContrastKind.OVERHEAD
            planned = Contrast(cell=cell.id, reference=reference.id, kind=kind)
        return self.of(planned).row

    def unpaired(
        self, cell: Cell, metric: Metric | None = None, variant: Variant | None = None
    ) -> Estimate:
        """Return the estimate of a cell that is compared with nothing: a reason and no more."""
        metric = metric or self.plan.metrics[cell.workload][0]
        variant = variant or self.plan.repetition.variant
        subject = self._subject(cell, None, metric, variant)
        return Estimate(subject, self.histories[cell.id], None, self.plan.repetition)

    @cached_property
    def decisive(self) -> tuple[Estimate, ...]:
        """The estimates that the plan decides by, in its order."""
        return tuple(self.of(contrast) for contrast in self.plan.decided_by.values())

    def _control(self, reference: Cell) -> Contrast | None:
        """Find the contrast of the A/A control of a cell, or else of the same work."""
        every = self.plan.controls
        repeated = next((one for one in every if one == reference.id), None) or next(
            (one for one, again in every.items() if group(again) == group(reference)), None
        )
        if repeated is None:
            return None
        again = every[repeated].id
        return next(
            one
            for one in self.plan.contrasts
            if one.kind is ContrastKind.CONTROL and (one.cell, one.reference) == (again, repeated)
        )

    def _subject(
        self,
        cell: Cell,
        reference: Cell | None,
        metric: Metric,
        variant: Variant,
        contrast: Contrast | None = None,
    ) -> Subject:
        kind = contrast.kind if contrast else ContrastKind.OVERHEAD
        repetition, first = self.plan.repetition, self.plan.metrics[cell.workload][0]
        decides = kind is not ContrastKind.ATTRIBUTION and metric == first
        return Subject(
            cell=cell,
            baseline=reference,
            kind=kind,
            known=contrast.known if contrast else None,
            metric=metric,
            primary=decides and variant is repetition.variant,
            level=level(repetition.max_blocks),
            variant=variant,
        )


def whole(plan: Plan, closed: Iterable[str]) -> set[str]:
    """Add to the ids of closed cells what only served them, where none of their group is open.

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
