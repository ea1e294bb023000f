"""What scenarios share whose trials make their own instances and run a workload in them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tare.core.model import Params, Repetition, Replicates, Variant
from tare.experiment import scenario
from tare.work.workload import Measured, Workload


@dataclass(frozen=True, kw_only=True)
class InFreshInstances(Measured):
    """A workload that trials run in instances of their own."""

    workload: Workload

    def __post_init__(self) -> None:
        """Take over what a workload says as a class."""
        for name in ("packages", "programs"):
            object.__setattr__(self, name, getattr(self.workload, name))

    def tools(self) -> Sequence[str]:
        """See Measured.tools."""
        return self.workload.tools()


class FreshInstances(scenario.Scenario[Measured]):
    """Trials are what is repeated; only what is around the innermost layer is open before them."""

    replicates = Replicates.TRIALS
    opens_whole = False
    settles = False

    def crossed(
        self, made: Measured, levels: Sequence[object]
    ) -> Iterator[tuple[Params, Measured]]:
        """See Scenario.crossed; raises ValueError on a workload that cannot be run so."""
        assert isinstance(made, Workload)  # noqa: S101 - the section holds workloads
        if why := self.refusal(made):
            raise ValueError(why)
        for one in levels:
            yield self.level(made, one)

    @abstractmethod
    def refusal(self, workload: Workload) -> str:
        """Return why a workload cannot be run so; mostly nothing."""

    @abstractmethod
    def level(self, workload: Workload, one: object) -> tuple[Params, Measured]:
        """Return what is measured at a level of the factor, with the parameters that say so."""

    def objections(self, repetition: Repetition) -> Iterator[str]:
        """Refuse variants of the time, for the times of several instances are no trial's."""
        if repetition.variant is not Variant.WALL:
            yield (
                f"variant: {repetition.variant} was given; expected {Variant.WALL} where trials "
                "make their own instances"
            )
