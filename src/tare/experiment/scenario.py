"""The interface of a scenario: which parts a trial has, how it is measured, what is compared.

``solo`` (a workload in one instance) and ``lifecycle`` are scenarios. A new one is a module of its
own under tare/experiment/scenarios, with a class named Scenario in it, or a plugin's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, TypeVar

from tare.core.errors import ConfigError
from tare.core.model import (
    Cell,
    Contrast,
    ContrastKind,
    CpuSet,
    Kind,
    Limits,
    Params,
    Repetition,
    Replicates,
    Reservation,
)
from tare.experiment import scenarios
from tare.work.workload import Measured

if TYPE_CHECKING:  # reading a study must not import what runs trials
    from tare.experiment.trial.calibrations import Calibrations
    from tare.experiment.trial.measure import Outcome
    from tare.experiment.trial.peer import Peer
    from tare.experiment.trial.placed_part import Kept, PlacedPart
    from tare.machines.layer import Layer, Site
    from tare.machines.ledger import Ledger
    from tare.machines.machine import Host

M = TypeVar("M", bound=Measured)


class Fresh(Protocol):
    """Gives the innermost layer and a site for each of some instances that a trial makes itself."""

    def __call__(self, count: int, first: int = 0) -> Sequence[tuple[Layer, Site]]:
        """Return those of ``count`` more; ``first`` is how many the trial has already."""


@dataclass(frozen=True, kw_only=True)
class TrialContext(Generic[M]):
    """All that a scenario needs to run a cell once: what is measured, where, and on which CPUs.

    ``placed_parts`` are the places of its parts, in their order. ``peer`` is the machine that is no
    part, for roles that run there; ``kept`` are the programs that last for the session at it, and
    ``ledger`` is where those are written that nothing else would end. ``fresh`` gives the innermost
    layer and a site for each instance that the trial makes itself. ``calibrations`` are those of
    the session.
    """

    cell: Cell
    made: M
    kind: Kind
    host: Host
    placed_parts: Sequence[PlacedPart]
    peer: Peer | None
    kept: Kept
    ledger: Ledger
    deadline_s: float
    fresh: Fresh
    calibrations: Calibrations


class Scenario(ABC, Generic[M]):
    """One way of measuring cells; it has no state.

    What goes wrong in a trial is its outcome. ``prepare`` and ``before`` raise LayerError or
    Unavailable, which say what was prepared.
    """

    section: ClassVar[str] = "workloads"
    """The key of a study file below which it stands what is measured."""

    measures: ClassVar[type[Measured] | None] = None
    """What stands there, read as one thing by its fields; None is a list of workloads."""

    factor: ClassVar[tuple[str, type] | None] = None
    """The key of a list in a study file whose elements everything measured is crossed with, and
    what each is read as; None: there is none."""

    takes_reservations: ClassVar[bool] = False
    """Whether a study may hold some levels of the factor by reservations; see ``reserved``."""

    replicates: ClassVar[Replicates] = Replicates.INSTANCES
    """What its trials repeat."""

    opens_whole: ClassVar[bool] = True
    """Whether trials have whole stacks open before; if not, all but the innermost layer."""

    by_agent: ClassVar[bool] = True
    """Whether commands get into machines by agents."""

    settles: ClassVar[bool] = True
    """Whether a trial is short: it begins when the host is at rest, and keeps step with nothing."""

    def objections(self, repetition: Repetition) -> Iterator[str]:
        """Return why cells cannot be repeated so: nothing, by default."""
        del repetition
        yield from ()

    def check_factor(self, one: object) -> None:
        """Raise ValueError where a level of the factor cannot be: nothing, by default."""
        del one

    def reserved(
        self, levels: Sequence[object], reservations: Sequence[Reservation | None]
    ) -> Sequence[object]:
        """Return the levels of the factor with each of some reservations: as they are, by default.

        None among the reservations is a level without any.
        """
        del reservations
        return levels

    def held_parts(self, made: M) -> Sequence[str]:
        """Return the parts of a trial that a reservation holds: none, by default."""
        del made
        return ()

    def process_ceiling(self, made: M) -> int | None:
        """Return how many processes those parts may have for the host's sake; None: any number.

        It holds in studies that limit none.
        """
        del made
        return None

    def crossed(self, made: M, levels: Sequence[object]) -> Iterator[tuple[Params, M]]:
        """Return what is measured at each level of the factor, with the parameters that say so.

        The first is what the others are compared with. By default there is no factor.
        """
        del levels
        yield (), made

    def objections_to_limits(self, made: M, limits: Limits) -> Iterator[str]:
        """Return why what is measured cannot run under some limits: nothing, by default."""
        del made, limits
        yield from ()

    def parts(self, made: M) -> Sequence[str]:
        """Return the name of the parts of a trial, each in an instance of its own.

        One, by default.
        """
        del made
        return ("",)

    def platforms(self, made: M) -> Sequence[str]:
        """Return the name of the platform of each part; empty, as by default: that of its cell."""
        return ("",) * len(self.parts(made))

    def cpu_sets(self, made: M) -> Sequence[CpuSet]:
        """Return which set of CPUs each part has: one of its own, by default."""
        return range(len(self.parts(made)))

    def contrasts(self, cells: Sequence[Cell], baseline: Cell) -> Iterator[Contrast]:
        """Return the contrasts among cells of equal work: each with the baseline's, by default."""
        for cell in cells:
            if cell is not baseline:
                kind = ContrastKind.CONTROL if cell.replica else ContrastKind.OVERHEAD
                yield Contrast(cell=cell.id, reference=baseline.id, kind=kind)

    def prepare(self, context: TrialContext[M]) -> None:
        """Prepare a cell in an instance that it has not been run in: nothing, by default."""
        del context

    def before(self, context: TrialContext[M]) -> None:
        """Prepare each trial, before its clock starts: nothing, by default."""
        del context

    @abstractmethod
    def measure(self, context: TrialContext[M]) -> Outcome:
        """Run one trial."""

    def measure_together(
        self, contexts: Sequence[TrialContext[M]], gap_s: float
    ) -> Sequence[Outcome]:
        """Run one trial of several cells, which are started in their order, ``gap_s`` apart.

        Returns the outcome of each. A scenario without it cannot be measured in a duet.
        """
        raise NotImplementedError

    @property
    def can_be_together(self) -> bool:
        """Whether several cells can be measured in one trial."""
        return type(self).measure_together is not Scenario.measure_together


def names() -> list[str]:
    """List every scenario there is, without importing any; ``_name`` is no scenario."""
    modules = (module.name for module in iter_modules(scenarios.__path__))
    return sorted(name for name in modules if not name.startswith("_"))


def load(name: str) -> Scenario[Measured]:
    """Make a scenario, or raise ConfigError."""
    if name not in names():
        raise ConfigError(f"no scenario is called {name!r}; there are: {', '.join(names())}")
    try:
        return import_module(f"tare.experiment.scenarios.{name}").Scenario()  # type: ignore[no-any-return]
    except (ImportError, SyntaxError, AttributeError, TypeError) as error:  # a plug-in's
        raise ConfigError(f"scenario {name} cannot be loaded: {error}") from error
