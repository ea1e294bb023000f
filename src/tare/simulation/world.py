"""A machine of known cost, noise and drift, on which workloads run without time passing."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from tare.machine import NOT_FOUND, Completed, Machine
from tare.simulation.tools import answer

KILLED = 137


@dataclass
class World:
    """What all simulated machines of a session share: their time, in which drift happens."""

    now_s: float = 0.0


@dataclass
class SimulatedMachine:
    """A machine whose every command takes ``cost`` times as long as on a perfect one.

    ``noise`` is the standard deviation of the log of a command's speed; ``drift`` the change of
    that log per simulated minute. Inside another simulated machine all three add up.
    """

    outer: Machine
    world: World
    random: Random
    cost: float
    noise: float
    drift: float
    name: str = field(init=False)
    ephemeral: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        """Name the machine by the stack that leads here."""
        self.name = f"{self.outer.name}/sim"

    def host_argv(self, argv: Sequence[str]) -> list[str]:
        """See Machine.host_argv; there is nothing on the host."""
        return ["true", shlex.join(argv)]

    def speed(self) -> float:
        """Draw how fast the next command is, 1 being perfect."""
        log_cost = math.log(self.cost) + self.random.gauss(0, self.noise)
        log_cost += self.drift * self.world.now_s / 60
        below = self.outer.speed() if isinstance(self.outer, SimulatedMachine) else 1.0
        return below * math.exp(-log_cost)

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 60.0) -> Completed:
        """See Machine.run; no time passes, and the duration is the simulated one."""
        del stdin
        found = answer(argv, self.speed())
        if found is None:
            why = f"{argv[0]} is not simulated".encode()
            return Completed(tuple(argv), NOT_FOUND, b"", why, 0.0)
        stdout, duration_s = found
        late = duration_s > timeout_s
        took_s = min(duration_s, timeout_s)
        self.world.now_s += took_s
        if late:
            return Completed(tuple(argv), KILLED, b"", b"", took_s, timed_out=True)
        return Completed(tuple(argv), 0, stdout, b"", took_s)
