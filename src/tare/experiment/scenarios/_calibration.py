"""Calibrate the neighbours of a cell, and judge in each trial whether the level was reached."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from tare.core.errors import LayerError, LayerTimedOut, Unavailable
from tare.core.model import Calibration, Complaint, ComplaintKind, Status, neighbour_of
from tare.experiment.scenario import Scenario, TrialContext
from tare.experiment.scenarios._disturbed import Disturbed
from tare.experiment.scenarios._level import FULL, TOLERANCE, Start, calibrate, following, used
from tare.work.stressor import StressedResource
from tare.work.workload import Workload

if TYPE_CHECKING:
    from tare.experiment.trial.measure import Outcome

Measure = Callable[[TrialContext[Workload]], "Outcome"]


def bring_to_level(
    scenario: Scenario[Workload],
    measure: Measure,
    context: TrialContext[Workload],
    made: Disturbed,
) -> None:
    """Find the intensity at which a level is reached, or check the one that is known.

    Each run of it is one of the cell's trials, by ``measure``, whose numbers are not kept. Raises
    Unavailable where the level cannot be reached, LayerError where a run fails.
    """
    target = made.neighbour.target
    assert target is not None  # noqa: S101 - there is something to calibrate
    reads = _reads(scenario, measure, context)
    begin_s = time.monotonic()
    known = context.calibrations.of(context.cell)
    if known is not None:
        reached = reads(dialled(made, known)) / known.maximum
        if abs(reached - target) <= TOLERANCE:
            context.calibrations.keep(context.cell, replace(known, reached=reached))
            return
    start = _start(made, reads)

    def reach(intensity: float) -> float:
        return reads(made.dialled(intensity, _full(made, start.neighbours))) / start.maximum

    found = calibrate(made.resource, target, start, reach)
    context.calibrations.keep(context.cell, replace(found, took_s=time.monotonic() - begin_s))


def find_maximum(
    scenario: Scenario[Workload],
    measure: Measure,
    context: TrialContext[Workload],
    made: Disturbed,
) -> None:
    """Find the maximum of which neighbours at full are to use all, for what this study stores.

    Raises what ``bring_to_level`` does.
    """
    known = context.calibrations.of(context.cell)
    if known is not None and not known.is_known:
        return
    begin_s = time.monotonic()
    start = _start(made, _reads(scenario, measure, context))
    found = Calibration(
        resource=made.resource.value,
        level=1.0,
        maximum=start.maximum,
        alone=start.alone,
        neighbours=start.neighbours,
        intensity=1.0,
        reached=None,
        took_s=time.monotonic() - begin_s,
    )
    context.calibrations.keep(context.cell, found)


def _reads(
    scenario: Scenario[Workload], measure: Measure, context: TrialContext[Workload]
) -> Callable[[Disturbed], float]:
    """Return what runs a workload with neighbours once, and reads how far the resource was used."""
    from tare.experiment.trial.measure import GOOD

    def reads(one: Disturbed) -> float:
        there = replace(context, made=one)
        scenario.before(there)
        outcome = measure(there)
        if outcome.status is Status.SUSPECT:  # the host was disturbed: once more
            scenario.before(there)
            outcome = measure(there)
        if outcome.status is Status.DNR:
            raise LayerTimedOut(f"level: a run of the calibration did not end: {outcome.reason}")
        if outcome.status not in GOOD:
            raise LayerError(f"level: a run of the calibration failed: {outcome.reason}")
        return used(outcome, resource)

    made = context.made
    assert isinstance(made, Disturbed)  # noqa: S101 - others have no level
    resource = made.resource  # what is idle has none
    return reads


def _start(made: Disturbed, reads: Callable[[Disturbed], float]) -> Start:
    """Measure the workload alone and its neighbours alone at full, or raise Unavailable."""
    alone, neighbours = reads(made.idle()), reads(made.unloaded())
    # Uses of CPUs are shares of their time already.
    maximum = max(alone, neighbours) if _is_moved(made) else 1.0
    if not maximum or not neighbours:
        raise Unavailable(
            f"level: the neighbours at full moved nothing that this host counts of its "
            f"{made.resource.value}",
            "leave `level` out",
        )
    return Start(maximum=maximum, alone=alone, neighbours=neighbours)


def dialled(made: Disturbed, found: Calibration) -> Disturbed:
    """Return a workload whose neighbours have the intensity that was found."""
    return made.dialled(found.intensity, _full(made, found.neighbours))


def judged(context: TrialContext[Workload], outcome: Outcome, found: Calibration) -> Outcome:
    """Return an outcome with the level that was read back; suspect, where it is another.

    Under a reservation it may well be: the neighbours are dialled as they are without. The next
    trial then has a corrected intensity, unless something else disturbed this one.
    """
    from tare.experiment.trial.measure import GOOD, suspected

    if outcome.status not in GOOD:
        return outcome
    reached = used(outcome, StressedResource(found.resource)) / found.maximum
    seen = {"level": reached, "intensity": found.intensity}
    outcome = replace(outcome, noise={**outcome.noise, **seen})
    neighbour = neighbour_of(context.cell.params)
    is_held = neighbour is not None and neighbour.reservation is not None
    if found.level == 1:  # at full there is nothing to correct
        context.calibrations.keep(context.cell, replace(found, reached=reached))
        if is_held or reached >= FULL:
            return outcome
        said = (
            f"full use was asked for, and {100 * reached:.0f} % of the maximum of the "
            f"{StressedResource(found.resource).value} was used"
        )
        return replace(outcome, warnings=(*outcome.warnings, said))
    if is_held or abs(reached - found.level) <= TOLERANCE:
        return outcome
    if outcome.status is Status.OK:
        slope = found.neighbours / found.maximum
        tries = (*found.tries, (found.intensity, reached))
        better = following(tries[-1:], found.level, slope)
        context.calibrations.keep(
            context.cell, replace(found, intensity=better, reached=None, tries=tries)
        )
    values = {"share": reached, "target": found.level}
    complaint = Complaint(ComplaintKind.OFF_LEVEL, values)
    return suspected(replace(outcome, warnings=(*outcome.warnings, complaint)))


def _is_moved(made: Disturbed) -> bool:
    """Whether the neighbours are dialled by the bytes that they move."""
    return made.resource is not StressedResource.CPU


def _full(made: Disturbed, neighbours: float) -> int:
    """Return what one of the neighbour's instances moves at full; 0 where that is not dialled."""
    return math.ceil(neighbours / made.neighbour.count) if _is_moved(made) else 0
