"""The scenario ``density``: how many instances fit, and what ends that?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

from tare.core.model import Params, Repetition, Replicates, Variant
from tare.experiment import scenario
from tare.experiment.scenario import TrialContext
from tare.experiment.scenarios._dense import Dense, Objective
from tare.work.workload import Measured, Workload

if TYPE_CHECKING:
    from tare.experiment.trial.measure import Outcome


class Scenario(scenario.Scenario[Measured]):
    """The largest number of instances that meet an objective while all run a workload at once.

    Each trial makes its own: twice as many until the objective breaks, then by bisection. The
    reason of its end is the trial's.
    """

    factor = ("objective", Objective)
    replicates = Replicates.TRIALS
    opens_whole = False
    settles = False

    def crossed(
        self, made: Measured, levels: Sequence[object]
    ) -> Iterator[tuple[Params, Measured]]:
        """See Scenario.crossed: each workload with each objective.

        Raises ValueError on a workload with roles.
        """
        assert isinstance(made, Workload)  # noqa: S101 - the section holds workloads
        if made.roles():
            raise ValueError(
                "a workload with roles cannot be added one instance after another yet; expected "
                "one whose command runs alone"
            )
        for one in cast(Sequence[Objective], levels):
            yield one.params, Dense(each=made, objective=one)

    def objections(self, repetition: Repetition) -> Iterator[str]:
        """Refuse variants of the time that a number of instances does not have."""
        if repetition.variant is not Variant.WALL:
            yield f"variant: {repetition.variant} was given; a number of instances has no time"

    def measure(self, context: TrialContext[Measured]) -> Outcome:
        """Add instances until the objective breaks."""
        from tare.experiment.scenarios._density_trial import measure

        return measure(context)
