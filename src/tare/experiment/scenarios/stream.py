"""The scenario ``stream``: requests come at a rate, and each starts an instance of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

from tare.core.model import Params, Repetition, Replicates, Variant
from tare.experiment import scenario
from tare.experiment.scenario import TrialContext
from tare.experiment.scenarios._arriving import Arrivals, Arriving
from tare.work.workload import Measured, Workload

if TYPE_CHECKING:
    from tare.experiment.trial.measure import Outcome


class Scenario(scenario.Scenario[Measured]):
    """Create, run, delete, again and again: what a request waits for that starts its own sandbox.

    Commands enter by the layers' own clients, as those of such a service do.
    """

    factor = ("arrivals", Arrivals)
    replicates = Replicates.TRIALS
    opens_whole = False
    by_agent = False
    settles = False

    def crossed(
        self, made: Measured, levels: Sequence[object]
    ) -> Iterator[tuple[Params, Measured]]:
        """See Scenario.crossed: each workload with each way to arrive.

        Raises ValueError on a workload with roles, or that has to be prepared.
        """
        assert isinstance(made, Workload)  # noqa: S101 - the section holds workloads
        if made.roles() or made.prepare() is not None or made.before_trial() is not None:
            raise ValueError(
                "a request is one command in a fresh instance; expected a workload without roles, "
                "and that needs no preparing"
            )
        for one in cast(Sequence[Arrivals], levels):
            yield one.params, Arriving(each=made, arrivals=one)

    def objections(self, repetition: Repetition) -> Iterator[str]:
        """Refuse variants of the time that a latency does not have."""
        if repetition.variant is not Variant.WALL:
            yield f"variant: {repetition.variant} was given; a latency is wall time only"

    def measure(self, context: TrialContext[Measured]) -> Outcome:
        """Let all requests come, and wait for the last answer."""
        from tare.experiment.scenarios._stream_trial import measure

        return measure(context)
