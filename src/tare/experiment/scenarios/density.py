"""The scenario ``density``: how many instances fit, and what ends that?"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from tare.core.model import Params
from tare.experiment.scenario import TrialContext
from tare.experiment.scenarios._dense import Dense, Objective
from tare.experiment.scenarios._fresh_instances import FreshInstances
from tare.work.workload import Measured, Workload

if TYPE_CHECKING:
    from tare.experiment.trial.measure import Outcome


class Scenario(FreshInstances):
    """The largest number of instances that meet an objective while all run a workload at once.

    Each trial makes its own: twice as many until the objective breaks, then by bisection. The
    reason of its end is the trial's.
    """

    factor = ("objective", Objective)

    def refusal(self, workload: Workload) -> str:
        """See FreshInstances.refusal."""
        return (
            "a workload with roles cannot be added one instance after another yet; expected one "
            "whose command runs alone"
            if workload.roles()
            else ""
        )

    def level(self, workload: Workload, one: object) -> tuple[Params, Measured]:
        """See FreshInstances.level."""
        objective = cast(Objective, one)
        return objective.params, Dense(workload=workload, objective=objective)

    def measure(self, context: TrialContext[Measured]) -> Outcome:
        """Add instances until the objective breaks."""
        from tare.experiment.scenarios._density_trial import measure

        return measure(context)
