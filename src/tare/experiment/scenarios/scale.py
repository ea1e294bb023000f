"""The scenario ``scale``: what happens to a workload as more instances do it at once?"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, cast

from tare.core.errors import TareError
from tare.core.model import (
    Cell,
    Contrast,
    ContrastKind,
    CpuSet,
    Design,
    Instances,
    Params,
    Repetition,
    Status,
    instances_of,
)
from tare.experiment.scenario import TrialContext
from tare.experiment.scenarios import solo
from tare.experiment.scenarios._scaled import Scaled
from tare.work.workload import Workload

if TYPE_CHECKING:
    from tare.experiment.trial.measure import Outcome
    from tare.experiment.trial.placed_part import PlacedPart

ENDED = "the instances were ended, for the host was in danger"
AT_ONCE = 2
"""Instances that are prepared at the same time, for each CPU."""


class Scenario(solo.Scenario):
    """A workload in one instance of a platform, and in several that begin at the same moment.

    What a trial measures is the mean over its instances; what each did is kept with its part. All
    levels are compared with one instance of the same platform, which is measured whether a study
    names it or not. Of a trial in which not all instances answered nothing is compared.
    """

    factor = ("instances", Instances)

    def crossed(
        self, made: Workload, levels: Sequence[object]
    ) -> Iterator[tuple[Params, Workload]]:
        """See Scenario.crossed: first in one instance, on each kind of CPUs that levels have.

        Raises ValueError on a workload whose roles are in several instances, and on levels that
        differ in nothing that a cell says.
        """
        if len(homes := made.all_roles().homes()) > 1:
            raise ValueError(
                f"the roles {', '.join(homes)} of a workload have instances of their own, and "
                "several such groups at once are not measured yet; expected a workload in one "
                "instance"
            )
        known = cast(Sequence[Instances], levels)
        several = [one for one in known if one.count > 1]
        for one, other in combinations(several, 2):
            if one.params == other.params:
                raise ValueError(
                    f"overcommit: {one.count} instances stand there with it and without; expected "
                    "one of the two"
                )
        singles = dict.fromkeys(replace(one, count=1, overcommit=False) for one in known)
        for one in (*singles, *several):
            yield one.params, Scaled(workload=made, instances=one)

    def objections(self, repetition: Repetition) -> Iterator[str]:
        """See Scenario.objections."""
        if repetition.design is Design.DUET:
            yield (
                f"several instances at once are no duet; expected the design {Design.INTERLEAVED}"
            )

    def parts(self, made: Workload) -> Sequence[str]:
        """See Scenario.parts: one for each instance."""
        return made.parts() if isinstance(made, Scaled) else super().parts(made)

    def cpu_sets(self, made: Workload) -> Sequence[CpuSet]:
        """See Scenario.cpu_sets: all instances share one, or each has its own."""
        return made.cpu_sets() if isinstance(made, Scaled) else super().cpu_sets(made)

    def contrasts(self, cells: Sequence[Cell], baseline: Cell) -> Iterator[Contrast]:
        """Compare each number of instances with one instance on the same platform and CPUs."""
        single = {_which(one): one for one in cells if not one.replica and _count(one) == 1}
        for cell in cells:
            if cell.replica:
                yield Contrast(cell=cell.id, reference=baseline.id, kind=ContrastKind.CONTROL)
            elif _count(cell) > 1:
                reference = single[_which(cell)]
                yield Contrast(cell=cell.id, reference=reference.id, kind=ContrastKind.SCALING)

    def prepare(self, context: TrialContext[Workload]) -> None:
        """See Scenario.prepare: in each instance, some at a time."""
        _some_at_a_time(solo.prepare, _copies(context))

    def before(self, context: TrialContext[Workload]) -> None:
        """See Scenario.before: in each instance, some at a time."""
        if context.made.before_trial() is not None:
            _some_at_a_time(solo.before, _copies(context))

    def measure(self, context: TrialContext[Workload]) -> Outcome:
        """Run the command in all instances, released at one moment."""
        made = context.made
        assert isinstance(made, Scaled)  # noqa: S101 - all that it measures is
        if not made.instances.overcommit:
            return self._at_once(context)
        return self._guarded(context)

    def _guarded(self, context: TrialContext[Workload]) -> Outcome:
        """Measure instances that may take more memory than there is; danger ends them all."""
        from tare.experiment.trial.guard import Guard

        stacks = [one.stack for one in context.placed_parts]
        groups = [group for stack in stacks if (group := stack.own_group())]
        with Guard(groups) as guard:
            outcome = self._at_once(context)
        if not guard.danger:
            return outcome
        return replace(outcome, status=Status.DNR, reason=f"{ENDED}: {guard.danger}", samples={})

    def _at_once(self, context: TrialContext[Workload]) -> Outcome:
        copies = _copies(context)
        return _mean(super().measure_together(copies, 0.0))

    def measure_together(
        self, contexts: Sequence[TrialContext[Workload]], gap_s: float
    ) -> Sequence[Outcome]:
        """See Scenario.measure_together: there is none of several cells."""
        raise NotImplementedError

    @property
    def can_be_together(self) -> bool:
        """See Scenario.can_be_together."""
        return False


def _count(cell: Cell) -> int:
    found = instances_of(cell.params)
    assert found is not None  # noqa: S101 - the scenario gave each cell its number
    return found.count


def _which(cell: Cell) -> tuple[str, Instances | None]:
    """Return what a cell shares with the one that it is compared with."""
    found = instances_of(cell.params)
    return cell.platform, None if found is None else replace(found, count=1, overcommit=False)


def _copies(context: TrialContext[Workload]) -> list[TrialContext[Workload]]:
    """Return the context of the workload in each of the instances."""
    made = context.made
    assert isinstance(made, Scaled)  # noqa: S101 - all that it measures is
    placed = {one.part: one for one in context.placed_parts}
    return [
        replace(context, made=made.workload, placed_parts=[placed[part] for part in parts])
        for parts in map(made.parts_of, made.instances.parts)
    ]


def _some_at_a_time(
    prepare: Callable[[TrialContext[Workload], Sequence[PlacedPart]], None],
    copies: Sequence[TrialContext[Workload]],
) -> None:
    """Prepare the instances; raises the first error, when those that had begun have ended."""
    at_once = min(len(copies), AT_ONCE * len(os.sched_getaffinity(0)))
    with ThreadPoolExecutor(max_workers=at_once) as workers:
        asked = [workers.submit(prepare, one, one.placed_parts) for one in copies]
        try:
            for future in asked:
                future.result()
        except BaseException as error:
            workers.shutdown(wait=False, cancel_futures=True)
            if not isinstance(error, TareError):  # an interrupt of the waiting thread
                copies[0].host.cancel()
            raise


def _mean(outcomes: Sequence[Outcome]) -> Outcome:
    """Return the outcome of a trial: what its instances measured and cost, on average.

    Where not all of them answered, the reason says how many did, and why the worst did not.
    """
    from tare.experiment.trial.distributed import mean_of
    from tare.experiment.trial.measure import GOOD
    from tare.experiment.trial.rendezvous import combined

    answered = [one for one in outcomes if one.status in GOOD]
    names = dict.fromkeys(name for one in answered for name in one.samples)
    samples = {
        name: sum(one.samples[name] for one in answered) / len(answered)
        for name in names
        if all(name in one.samples for one in answered)
    }
    whole = replace(combined(outcomes, samples), host=mean_of([one.host for one in outcomes]))
    if len(answered) == len(outcomes):
        return whole
    answer = f"{len(answered)} of {len(outcomes)} instances answered"
    return replace(whole, reason=f"{answer}; {whole.reason}")
