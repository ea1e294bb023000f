"""The simulated machine: known cost, noise and drift; commands return at once."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from random import Random

from tare.core.completed import Completed
from tare.machines.machine import NOT_FOUND, Machine
from tare.machines.simulation.tools import answer
from tare.machines.simulation.trace import Variant, log_deviations, read

KILLED = 137


@dataclass
class World:
    """What all simulated machines of a session share: their time, in which drift happens.

    ``places`` says which trial of a recorded workload is replayed next. ``loaded`` are the machines
    in which a program runs that disturbs others, ``awake`` those that are not paused, by their ids.
    """

    now_s: float = 0.0
    loaded: set[int] = field(default_factory=set)
    awake: set[int] = field(default_factory=set)
    places: dict[tuple[Replay, str], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Replay:
    """A recorded trace whose deviations disturb the commands of a session, in order of time.

    They begin at a place drawn from the seed, and after the last comes the first.
    """

    path: Path
    variant: Variant
    seed: int

    def next(self, argv: Sequence[str], world: World) -> float:
        """Return the log cost of the next trial of the same kind; 0 for what was not recorded."""
        workload = _recorded_as(argv)
        deviations = _deviations(self.path, self.variant).get(workload)
        if not deviations:
            return 0.0
        begin = Random(f"{self.seed}{workload}").randrange(len(deviations))  # noqa: S311
        place = world.places.get((self, workload), begin)
        world.places[self, workload] = (place + 1) % len(deviations)
        return deviations[place]


@lru_cache(maxsize=8)
def _deviations(path: Path, variant: Variant) -> dict[str, list[float]]:
    trace = read(path)
    return {name: log_deviations(trace.of(name), variant) for name in trace.workloads}


def _recorded_as(argv: Sequence[str]) -> str:
    """Return the name of the workload of a trace that a command is like; preparing is like none."""
    if "sysbench" in argv and "run" in argv:
        return "cpu" if "cpu" in argv else "memory" if "memory" in argv else "disk"
    return "disk" if "fio" in argv and "--create_only=1" not in argv else ""


def _begins_program(argv: Sequence[str]) -> bool | None:
    """Whether a command starts a program in the background, or ends it; None: it does neither."""
    script = argv[2] if len(argv) > 2 and argv[:2] == ["sh", "-c"] else ""
    if "service.pid" not in script:
        return None
    return "setsid" in script


@dataclass
class SimulatedMachine:
    """A machine whose every command takes ``cost`` times as long as on a perfect one.

    ``noise`` is the standard deviation of the log of a command's speed; ``drift`` the change of
    that log per simulated minute. Inside another simulated machine all three add up. While
    stress-ng runs in another machine of the world a command takes ``interference`` times as long,
    once for each such machine. ``contention`` and ``coherency`` say how much longer it takes where
    several machines are awake. A ``replay`` disturbs what is run right here.
    """

    outer: Machine
    world: World
    random: Random
    cost: float
    noise: float
    drift: float
    replay: Replay | None = None
    interference: float = 1.0
    contention: float = 0.0
    coherency: float = 0.0
    name: str = field(init=False)
    ephemeral: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        """Return the name of the machine by the stack that leads here."""
        self.name = f"{self.outer.name}/sim"

    def host_argv(self, argv: Sequence[str]) -> list[str]:
        """See Machine.host_argv; there is nothing on the host."""
        return ["true", shlex.join(argv)]

    def undo_argv(self, argv: Sequence[str]) -> list[str]:
        """See Machine.undo_argv; the world ends with this process."""
        return self.host_argv(argv)

    def speed(self) -> float:
        """Draw how fast the next command is, 1 being perfect."""
        log_cost = math.log(self.cost) + self.random.gauss(0, self.noise)
        log_cost += self.drift * self.world.now_s / 60
        log_cost += math.log(self.interference) * len(self.world.loaded - {id(self)})
        others = max(0, len(self.world.awake) - 1)
        stretch = 1 + others * (self.contention + self.coherency * (others + 1))
        log_cost += math.log(stretch)
        below = self.outer.speed() if isinstance(self.outer, SimulatedMachine) else 1.0
        return below * math.exp(-log_cost)

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 60.0) -> Completed:
        """See Machine.run; no time passes, and the duration is the simulated one."""
        del stdin
        if (begins := _begins_program(argv)) is not None:
            self._run_in_background(argv, begins=begins)
            return Completed(tuple(argv), 0, b"", b"", 0.0)
        disturbed = 0.0 if self.replay is None else self.replay.next(argv, self.world)
        found = answer(argv, self.speed() * math.exp(-disturbed))
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

    def _run_in_background(self, argv: Sequence[str], *, begins: bool) -> None:
        """Note that a program begins to run, or that the one that did has ended."""
        if not begins:
            self.world.loaded.discard(id(self))
        elif "stress-ng" in argv:
            self.world.loaded.add(id(self))
