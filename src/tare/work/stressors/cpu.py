"""cpu: computes without end, on as many CPUs as it has workers, for a share of the time.

After the ``cpu_bomb`` of the Isolation Benchmark Suite, as huang2019 ran it: one thread that fills
its CPU with integer and floating-point arithmetic. Defined by stress-ng 0.15.06.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tare.core.model import Resource, Source
from tare.work.roles import Role
from tare.work.stressor import Bounds, Dial, StressedResource
from tare.work.stressors._readiness import stresses
from tare.work.stressors._stress_ng import StressNg
from tare.work.workloads import one_of

Method = Literal["int64double", "int64", "double", "matrixprod", "loop"]


@dataclass(frozen=True, kw_only=True)
class Stressor(StressNg):
    """Let each worker compute for ``level`` of the time, in steps of 1 %.

    ``int64double`` mixes both kinds of arithmetic, as the study's bomb; ``matrixprod`` uses the
    caches too. By default stress-ng would go through 80 methods in turn, whose use of caches
    differs.
    """

    method: Method = "int64double"

    resource = StressedResource.CPU
    dial = Dial.TIME
    readings = (
        Resource(Source.LAYER, "cpu_s"),
        Resource(Source.HOST, "cpu_busy_mean"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self, method=Method)
        if self.level < 0.01:
            raise ValueError(f"level: {self.level} was given; expected 0.01 or more")

    def roles(self, name: str, place: str) -> Sequence[Role]:
        """See Stressor.roles."""
        load = ["--cpu-load", str(round(100 * self.level))]
        options = ["--cpu", str(self.workers), "--cpu-method", self.method, *load]
        return (self.role(name, place, options, stresses(busy=self.workers)),)

    def bounds(self) -> Bounds:
        """See Stressor.bounds."""
        return self.bounded(self.workers)
