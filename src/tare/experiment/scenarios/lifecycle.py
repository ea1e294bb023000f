"""The scenario ``lifecycle``: how long create, boot, reboot, stop and delete take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tare.core.model import Repetition, Replicates, Variant
from tare.experiment import scenario
from tare.experiment.scenario import TrialContext
from tare.experiment.scenarios._lifecycle_declaration import Lifecycle

if TYPE_CHECKING:
    from tare.experiment.trial.measure import Outcome


class Scenario(scenario.Scenario[Lifecycle]):
    """The lives of instances that each trial makes for itself."""

    section = "lifecycle"
    measures = Lifecycle
    replicates = Replicates.TRIALS
    opens_whole = False
    by_agent = False
    settles = False

    def objections(self, repetition: Repetition) -> Iterator[str]:
        """Refuse variants of the time that a lifecycle does not have."""
        if repetition.variant is not Variant.WALL:
            yield f"variant: {repetition.variant} was given; a lifecycle has wall times only"

    def measure(self, context: TrialContext[Lifecycle]) -> Outcome:
        """Make instances and go through their lives."""
        from tare.experiment.scenarios._lifecycle_trial import measure

        what, (placed,) = context.made, context.placed_parts
        return measure(context.host, placed, context.fresh(what.count), what)
