"""The scenario ``isolation``: how much worse is a workload when a neighbour disturbs it?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from tare.core.errors import LayerTimedOut, TareError
from tare.core.model import (
    IDLE,
    Cell,
    Contrast,
    ContrastKind,
    CpuSet,
    Design,
    Limits,
    Neighbour,
    Params,
    Repetition,
    Reservation,
    Status,
    neighbour_of,
)
from tare.experiment.scenario import TrialContext
from tare.experiment.scenarios import _disturbed, solo
from tare.experiment.scenarios._calibration import bring_to_level, dialled, find_maximum, judged
from tare.experiment.scenarios._disturbed import Disturbed
from tare.work.workload import Workload

if TYPE_CHECKING:
    from tare.experiment.trial.measure import Outcome


class Scenario(solo.Scenario):
    """A workload alone, and the same with each of some neighbours, on each platform.

    A neighbour runs a stressor in instances of its own, under the same limits: of the same
    platform, or of another one of the study. Cells with a neighbour are compared with the workload
    alone on the same platform; then those
    instances are there, paused. The neighbour ``idle`` shows what their presence costs without a
    load; the others are held by each of the study's reservations.
    """

    factor = ("neighbours", Neighbour)
    takes_reservations = True

    def check_factor(self, one: object) -> None:
        """See Scenario.check_factor."""
        _disturbed.check(cast(Neighbour, one))

    def reserved(
        self, levels: Sequence[object], reservations: Sequence[Reservation | None]
    ) -> Sequence[object]:
        """See Scenario.reserved; an idle neighbour takes nothing that could be reserved."""
        held = [
            replace(one, reservation=each)
            for one in cast(Sequence[Neighbour], levels)
            for each in ((None,) if one.stressor == IDLE else reservations)
        ]
        for one in held:
            _disturbed.check_reservation(one)
        return held

    def held_parts(self, made: Workload) -> Sequence[str]:
        """See Scenario.held_parts: the neighbour's instances."""
        return made.instances if isinstance(made, Disturbed) else ()

    def process_ceiling(self, made: Workload) -> int | None:
        """See Scenario.process_ceiling: what a bomb takes by design, and what Tare does to it."""
        bounds = made.bounds() if isinstance(made, Disturbed) and made.is_bomb else None
        return bounds.process_limit if bounds else None

    def crossed(
        self, made: Workload, levels: Sequence[object]
    ) -> Iterator[tuple[Params, Workload]]:
        """See Scenario.crossed: alone, and with each neighbour."""
        yield (), made
        for neighbour in cast(Sequence[Neighbour], levels):
            yield neighbour.params, Disturbed(workload=made, neighbour=neighbour)

    def objections(self, repetition: Repetition) -> Iterator[str]:
        """See Scenario.objections."""
        if repetition.design is Design.DUET:
            yield (
                "a neighbour would disturb both halves of a duet; expected the design "
                f"{Design.INTERLEAVED}"
            )

    def objections_to_limits(self, made: Workload, limits: Limits) -> Iterator[str]:
        """See Scenario.objections_to_limits: a stressor that finds too little is never ready."""
        if not isinstance(made, Disturbed):
            return
        held = made.neighbour.reservation
        if held and held.cpus is not None and held.cpus > limits.cpus:
            yield (
                f"cpus: {limits.cpus} were given, and a reservation leaves each neighbour "
                f"{held.cpus:g}; expected no more than that"
            )
        if (bounds := made.bounds()) is None:
            return
        if bounds.memory_bytes > limits.memory_bytes:
            name, mib = made.neighbour.stressor, 2**20
            yield (
                f"memory: {limits.memory_bytes // mib} MiB were given; expected at least "
                f"{math.ceil(bounds.memory_bytes / mib)} MiB, which the neighbour {name} takes"
            )
        reserved = made.neighbour.reservation
        given = dict(reserved.limits).get("processes") if reserved else None
        most = [float(one) for one in (limits.processes, given) if one is not None]
        if most and min(most) < bounds.process_limit:
            yield (
                f"processes: {min(most):g} were given; expected at least {bounds.process_limit}, "
                f"with which the neighbour {made.neighbour.stressor} can be started and ended"
            )

    def platforms(self, made: Workload) -> Sequence[str]:
        """See Scenario.platforms: a neighbour may have another one than the workload."""
        if isinstance(made, Disturbed):
            return made.platforms(self.parts(made))
        return super().platforms(made)

    def cpu_sets(self, made: Workload) -> Sequence[CpuSet]:
        """See Scenario.cpu_sets: a neighbour has those of the workload, or others."""
        if isinstance(made, Disturbed):
            return made.cpu_sets(self.parts(made))
        return super().cpu_sets(made)

    def contrasts(self, cells: Sequence[Cell], baseline: Cell) -> Iterator[Contrast]:
        """Compare each cell that has a neighbour with the one of its platform that has none."""
        alone = {one.platform: one for one in cells if not one.replica and _is_alone(one)}
        for cell in cells:
            if cell.replica:
                yield Contrast(cell=cell.id, reference=baseline.id, kind=ContrastKind.CONTROL)
            elif not _is_alone(cell):
                reference = alone[cell.platform]
                yield Contrast(cell=cell.id, reference=reference.id, kind=ContrastKind.ISOLATION)

    def prepare(self, context: TrialContext[Workload]) -> None:
        """See Scenario.prepare; finds how neighbours reach their level, or its maximum.

        A reservation of the disk is derived from that maximum.
        """
        super().prepare(context)
        made = context.made
        if not isinstance(made, Disturbed):
            return
        if made.neighbour.level is not None or made.takes_the_rest_of_the_disk:
            finds = find_maximum if made.neighbour.target is None else bring_to_level
            finds(self, self._guarded, context, made)

    def measure(self, context: TrialContext[Workload]) -> Outcome:
        """Run the workload's command once; what the trial cost is what its own instances cost."""
        made, found = context.made, context.calibrations.of(context.cell)
        if not isinstance(made, Disturbed):
            return super().measure(context)
        if made.neighbour.level is None or found is None:
            return _own_cost(self._guarded(context), made)
        is_dialled = made.neighbour.target is not None
        outcome = self._guarded(replace(context, made=dialled(made, found) if is_dialled else made))
        return _own_cost(judged(context, outcome, found), made)

    def _guarded(self, context: TrialContext[Workload]) -> Outcome:
        """Run the command once; neighbours that bring this host into danger are ended.

        Those of another computer can neither be seen from here to be a danger, nor be ended.
        """
        from tare.experiment.trial.guard import Guard

        made = context.made
        assert isinstance(made, Disturbed)  # noqa: S101 - others have no neighbours
        disturbing = [one.stack for one in context.placed_parts if one.part in made.instances]
        groups = [group for stack in disturbing if (group := stack.own_group())]
        if not groups:
            return super().measure(context)
        with Guard(groups) as guard:
            try:
                outcome = super().measure(context)
            except TareError as error:
                if guard.danger:
                    raise LayerTimedOut(f"{ENDED}: {guard.danger}") from error
                raise
        if guard.danger:
            return replace(outcome, status=Status.DNR, reason=f"{ENDED}: {guard.danger}")
        return outcome


ENDED = "the neighbours were ended, for the host was in danger"


def _own_cost(outcome: Outcome, made: Disturbed) -> Outcome:
    """Return an outcome with what the workload's own instances cost."""
    from tare.experiment.trial.distributed import sum_of

    own = [part.host for part in outcome.parts if part.name not in made.instances]
    return replace(outcome, host=sum_of(own)) if own else outcome


def _is_alone(cell: Cell) -> bool:
    return neighbour_of(cell.params) is None
