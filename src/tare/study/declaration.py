"""What a study declares, with every factor expanded and every default filled in."""

from __future__ import annotations

from dataclasses import dataclass

from tare.model import FileAccess, Ladder, Limits, Params, Repetition
from tare.study.lifecycle import Lifecycle
from tare.study.scale import Scale
from tare.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """A stack with its settings, under one name.

    ``layers`` are what is opened on the host, from the outside in, each with all its settings. The
    stack ``host`` opens the one layer ``host`` (the shared userland); in a longer stack the first
    word is only the place to start from, and each further word is a layer. ``instances`` is how
    many it has, None as many as the repetition says; as it is no setting, no cell differs by it.
    """

    name: str
    stack: str
    layers: tuple[tuple[str, Params], ...]
    instances: int | None = None

    @property
    def settings(self) -> Params:
        """All settings of all layers, named ``<layer>.<key>``, as a cell stores them."""
        return tuple(
            dict.fromkeys(
                (f"{layer}.{key}", value) for layer, params in self.layers for key, value in params
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedWorkload:
    """A workload with all its parameters fixed: by name, and as the object made of them.

    What a lifecycle study measures stands in the same place.
    """

    name: str
    params: Params
    made: Workload | Lifecycle

    @property
    def file_access(self) -> FileAccess:
        """How the file I/O that it measures reaches the disks; a lifecycle measures none."""
        if isinstance(self.made, Lifecycle):
            return FileAccess.NONE
        return self.made.file_access()


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """When to give up: on a platform that should become ready, on one command of a trial."""

    start_s: float = 120.0
    trial_s: float | None = None

    def for_trial(self, expected_s: float) -> float:
        """Give a trial's deadline; undeclared, it leaves room for a stack twenty times slower."""
        return max(60.0, 20 * expected_s) if self.trial_s is None else self.trial_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A declared experiment; ``source`` is a text from which the same is read.

    ``scale`` is the one of two at which it was read, None where it has but one. Host, layer and
    machine are read ``readings_per_s`` times a second during trials. The platforms of ``ladders``
    are among ``platforms``.
    """

    name: str
    question: str
    scenario: str
    platforms: tuple[Platform, ...]
    baseline: str
    limits: tuple[Limits, ...]
    workloads: tuple[FixedWorkload, ...]
    repetition: Repetition
    deadlines: Deadlines
    seed: int | None
    source: str
    scale: Scale | None = None
    readings_per_s: float = 1.0
    ladders: tuple[Ladder, ...] = ()
