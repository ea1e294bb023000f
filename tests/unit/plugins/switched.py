"""A simulated layer with switches of known costs, and two that hinder each other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from tare.machines.cgroup.readback import Inside
from tare.machines.layers import sim
from tare.machines.switch import Switch

COSTS = {"filter": 1.2, "net": 1.1, "disk": 1.05}
TOGETHER = 1.08
"""How much more ``filter`` and ``net`` cost together than one after the other."""


def switch(name: str) -> Switch:
    return Switch(
        name=name, setting=name, on=None, off="off", about=f"what {name} does", shows=(name,)
    )


@dataclass(frozen=True, kw_only=True)
class Layer(sim.Layer):
    """Each switch that is on makes work dearer; ``idle`` shows no effect, because it has none."""

    filter: Literal["off"] | None = None
    net: Literal["off"] | None = None
    disk: Literal["off"] | None = None
    idle: Literal["off"] | None = None

    switches = tuple(switch(name) for name in ("filter", "net", "disk", "idle"))

    def create(self, outer, site):
        cost = self.cost
        for name, factor in COSTS.items():
            cost *= 1.0 if getattr(self, name) else factor
        if not (self.filter or self.net):
            cost *= TOGETHER
        return Instance(outer, site, replace(self, cost=cost))


class Instance(sim.Instance):
    """Says inside in what position its switches are."""

    def __init__(self, outer, site, of):
        super().__init__(outer, site, of)
        self.of = of

    def inside(self):
        given = super().inside()
        told = {name: str(getattr(self.of, name)) for name in COSTS}
        return Inside(given.cpus, given.memory_bytes, confinement={**told, "idle": "nothing"})
