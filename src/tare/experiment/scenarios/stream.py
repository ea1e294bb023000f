"""The scenario ``stream``: requests come at a rate, and each starts an instance of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from tare.core.model import Params
from tare.experiment.scenario import TrialContext
from tare.experiment.scenarios._arriving import Arrivals, Arriving
from tare.experiment.scenarios._fresh_instances import FreshInstances
from tare.work.workload import Measured, Workload

if TYPE_CHECKING:
    from tare.experiment.trial.measure import Outcome


class Scenario(FreshInstances):
    """Create, run, delete, again and again: what a request waits for that starts its own sandbox.

    Commands enter by the layers' own clients, as those of such a service do.
    """

    factor = ("arrivals", Arrivals)
    by_agent = False

    def refusal(self, workload: Workload) -> str:
        """See FreshInstances.refusal."""
        is_alone = not workload.roles() and workload.before_trial() is None
        if is_alone and workload.prepare() is None:
            return ""
        return (
            "a request is one command in a fresh instance; expected a workload without roles, and "
            "that needs no preparing"
        )

    def level(self, workload: Workload, one: object) -> tuple[Params, Measured]:
        """See FreshInstances.level."""
        arrivals = cast(Arrivals, one)
        return arrivals.params, Arriving(workload=workload, arrivals=arrivals)

    def measure(self, context: TrialContext[Measured]) -> Outcome:
        """Let all requests come, and wait for the last answer."""
        from tare.experiment.scenarios._stream_trial import measure

        return measure(context)
