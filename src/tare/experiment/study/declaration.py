"""A study as data: platforms, workloads, limits, with lists expanded and defaults filled in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tare.core.model import Ladder, Limits, Params, Repetition
from tare.experiment.study.scale import Scale
from tare.machines import layer
from tare.work.workload import Measured


@dataclass(frozen=True, kw_only=True)
class Platform:
    """A stack with its settings, under one name.

    ``layers`` are what is opened on the host, from the outside in, each with all its settings. The
    stack ``host`` opens the one layer ``host`` (the shared userland); in a longer stack the first
    word is only the place to start from, and each further word is a layer. ``instances`` is how
    many it has, None the number that the repetition says; it is no setting, so cells do not differ
    by it.
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

    @cached_property
    def made(self) -> tuple[layer.Layer, ...]:
        """Its layers, made once, from the outside in; raises ConfigError where one cannot be."""
        return tuple(layer.load(name, **dict(settings)) for name, settings in self.layers)


CABLE = Platform(name="peer", stack="host", layers=(("host", (("network", "cable"),)),))
"""The peer of studies that declare none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedWorkload:
    """A workload with all its parameters fixed: by name, and as the object made of them.

    What other scenarios measure stands in the same place.
    """

    name: str
    params: Params
    made: Measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """When to give up: on a platform that should become ready, on one command of a trial."""

    start_s: float = 120.0
    trial_s: float | None = None

    def for_trial(self, expected_s: float) -> float:
        """Return a trial's deadline; undeclared, it leaves room for a stack twenty times slower."""
        return max(60.0, 20 * expected_s) if self.trial_s is None else self.trial_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A declared experiment; ``source`` is a text from which the same is read.

    ``scale`` is the one of two at which it was read, None where it has but one. Host, layer and
    machine are read ``readings_per_s`` times a second during trials. The platforms of ``ladders``
    are among ``platforms``. ``peer`` is the machine that loads or serves what is measured, where a
    workload has roles there.
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
    peer: Platform = CABLE

    @property
    def has_peer(self) -> bool:
        """Whether a workload has anything at the peer."""
        return any(one.made.uses_peer() for one in self.workloads)
