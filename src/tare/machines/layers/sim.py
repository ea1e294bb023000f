"""A simulated layer of known cost, noise and drift: the truth to check statistics against."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from tare.core.model import Limits
from tare.machines import instance, layer
from tare.machines.cgroup.cgroup import cpus_of
from tare.machines.cgroup.group_limits import GroupLimits
from tare.machines.cgroup.readback import Inside
from tare.machines.machine import Machine
from tare.machines.simulation.trace import Variant, read
from tare.machines.simulation.world import Replay, SimulatedMachine, World

if TYPE_CHECKING:
    from tare.machines.ledger import Scope
    from tare.machines.userland import Userland


@dataclass(frozen=True, kw_only=True)
class Layer(layer.Layer):
    """Work takes ``cost`` times as long; see SimulatedMachine for ``noise`` and ``drift``.

    ``instance_noise`` is the standard deviation of the log of an instance's own cost, which it
    keeps for as long as it lives.

    ``interference`` is how many times as long work takes while stress-ng runs in another machine.

    ``contention`` and ``coherency`` are those of the Universal Scalability Law (Gunther 1993):
    where n instances are at work at once, that takes 1 + contention (n - 1) + coherency n (n - 1)
    times as long.

    ``trace`` is a file of ``tare record-noise`` that disturbs it too, by its wall time or by
    another ``variant``.
    """

    cost: float = 1.0
    noise: float = 0.01
    drift: float = 0.0
    instance_noise: float = 0.0
    interference: float | None = None
    contention: float | None = None
    coherency: float | None = None
    seed: int = 1
    trace: str | None = None
    variant: Variant | None = None

    runs_userland = False
    nominal_start_s = 0.0

    def __post_init__(self) -> None:
        """Refuse what cannot be simulated."""
        if self.cost <= 0:
            raise ValueError(f"cost is {self.cost}; expected a number above 0")
        if self.noise < 0:
            raise ValueError(f"noise is {self.noise}; expected 0 or more")
        if self.instance_noise < 0:
            raise ValueError(f"instance_noise is {self.instance_noise}; expected 0 or more")
        if self.interference is not None and self.interference <= 0:
            raise ValueError(f"interference is {self.interference}; expected a number above 0")
        for name in ("contention", "coherency"):
            if (getattr(self, name) or 0.0) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}; expected 0 or more")
        if self.trace is not None:
            read(Path(self.trace))

    def probe(self, outer: Machine, userland: Userland | None) -> Mapping[str, str]:
        """See Layer.probe."""
        del outer, userland
        return {"sim.is": "simulated: no program is run and no time passes"}

    def no_link(self) -> str:
        """See Layer.no_link: what is simulated has all that is asked for."""
        return ""

    def commits(self, limits: Limits) -> int:
        """See Layer.commits: no program is run."""
        del limits
        return 0

    def detected_as(self) -> tuple[str, ...]:
        """See Layer.detected_as; there is nothing inside."""
        return ()

    def create(self, outer: Machine, site: layer.Site) -> Instance:
        """See Layer.create."""
        return Instance(outer, site, self)


class Instance(instance.Instance):
    """A simulated machine; there is nothing to start and nothing to remove."""

    takes_agent = False
    machine: SimulatedMachine

    def __init__(self, outer: Machine, site: layer.Site, of: Layer) -> None:
        root = outer
        while isinstance(root, SimulatedMachine):
            root = root.outer
        world = site.services.once("simulated world", root, _world, lambda _: True)
        # The same study gives the same numbers again, whatever the session is called.
        random = Random(f"{of.seed}{site.name.removeprefix(f'tare-{site.session}')}")  # noqa: S311
        luck = random.gauss(0, of.instance_noise) if of.instance_noise else 0.0
        cost = of.cost * math.exp(luck)
        self.machine = SimulatedMachine(outer, world, random, cost, of.noise, of.drift)
        self.machine.interference = of.interference or 1.0
        self.machine.contention = of.contention or 0.0
        self.machine.coherency = of.coherency or 0.0
        if of.trace is not None:
            replay = Replay(Path(of.trace), of.variant or "wall", of.seed)
            self.machine.replay = replay
        self.site = site
        self.cpuset = site.cpuset
        self.limits = site.limits
        self.quota_cpus: float | None = site.limits.quota_cpus

    def start(self) -> None:
        """See Instance.start."""

    def ready(self) -> None:
        """See Instance.ready."""

    def pause(self) -> None:
        """See Instance.pause."""
        self.machine.world.awake.discard(id(self.machine))

    def resume(self) -> None:
        """See Instance.resume: what is awake shares what there is with all others that are."""
        self.machine.world.awake.add(id(self.machine))

    def inside(self) -> Inside:
        """See Instance.inside."""
        limits, cpus = self.site.limits, len(cpus_of(self.site.cpuset))
        return Inside(cpus, limits.memory_bytes, swap_bytes=limits.swap_bytes)

    def held(self, outer: Machine) -> GroupLimits:
        """See Instance.held."""
        del outer
        return replace(GroupLimits(self.quota_cpus), **dict(self.limits.optional))

    def confine(self, outer: Machine, limits: Limits) -> None:
        """See Instance.confine: what is simulated takes nothing."""
        del outer
        self.limits = limits

    def ration(self, outer: Machine, cpus: float | None) -> None:
        """See Instance.ration: what is simulated takes nothing."""
        del outer
        self.quota_cpus = cpus


def _world(scope: Scope) -> World:
    del scope
    return World()
