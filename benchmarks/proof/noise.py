"""What disturbs short trials of unchanged work: models with known parts, and recordings.

Every noise makes the natural logs of the times of consecutive trials, as arrays of paths by trials.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from tare.machines.simulation.trace import RUNS, Trace, Variant, log_deviations

Array = NDArray[np.float64]

TRIAL_S = 0.6
"""How long the trials of the models take (METHOD.md 3.5)."""
APART_S = 60.0
"""Between the end of one platform and the begin of the next, where each is measured by itself."""
APART = round(APART_S / TRIAL_S)


class Noise(Protocol):
    """Where the disturbance of trials comes from."""

    @property
    def name(self) -> str:
        """What tables call it."""

    def series(self, rng: np.random.Generator, paths: int, n: int) -> Array:
        """Make n consecutive trials for each path."""

    def arms(
        self, rng: np.random.Generator, paths: int, n: int, *, apart: bool
    ) -> tuple[Array, Array] | None:
        """Make two times n trials in a row, with a minute between the two if ``apart``.

        None where a recording holds no n trials in a row.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Noise with known parts, which add up on the log scale.

    ``white`` is the SD of each trial by itself. The host's load holds for several trials: with the
    chance ``jump`` from one trial to the next it is drawn anew, with the SD ``shift``. ``slow`` is
    the SD of what wanders (an autoregression of order 1 that forgets in ``memory`` trials), and
    ``drift`` the change a trial. A ``burst`` begins with that chance at a trial, lasts 3 trials in
    the mean and slows them by an exponential amount with the mean ``burst_size``. A host that is
    ``bimodal`` flips between two speeds so far apart, with the chance ``jump``.
    """

    name: str
    white: float
    shift: float = 0.0
    jump: float = 0.0
    slow: float = 0.0
    memory: float = 1.0
    drift: float = 0.0
    burst: float = 0.0
    burst_size: float = 0.0
    bimodal: float = 0.0

    def series(self, rng: np.random.Generator, paths: int, n: int) -> Array:
        """See Noise.series."""
        shape = (paths, n)
        made = rng.normal(0.0, self.white, shape) + self.drift * np.arange(n)
        if self.shift:
            made += _held(rng.random(shape) < self.jump, rng.normal(0.0, self.shift, shape))
        if self.slow:
            made += self.slow * _wandering(rng, shape, math.exp(-1 / self.memory))
        if self.burst:
            begins = rng.random(shape) < self.burst
            ends = rng.random(shape) < 1 / BURST_TRIALS
            sizes = np.where(begins, rng.exponential(self.burst_size, shape), 0.0)
            sizes[:, 0] = 0.0
            made += _held(begins | ends, sizes)
        if self.bimodal:
            flips = np.cumsum(rng.random(shape) < self.jump, axis=1)
            first = rng.integers(0, 2, (paths, 1))
            made += self.bimodal * ((flips + first) % 2)
        return made

    def arms(
        self, rng: np.random.Generator, paths: int, n: int, *, apart: bool
    ) -> tuple[Array, Array]:
        """See Noise.arms."""
        made = self.series(rng, paths, 2 * n + apart * APART)
        return made[:, :n], made[:, -n:]


BURST_TRIALS = 3.0

# METHOD.md 3.5 gives what a trial and a pair scatter, and how often Student's test of five in a row
# alarms; the parts were solved for these. Of the harsh host the SD of pairs (3.1) and the error of
# five times 60 s are known too: half of its variance jumps, half wanders.
MODELS = (
    Model(name="independent", white=0.02),
    Model(name="quiet", white=0.0031, slow=0.0074, memory=3900),
    Model(name="cloud", white=0.0106, slow=0.0396, memory=1230),
    Model(name="harsh", white=0.0385, shift=0.31, jump=0.14, slow=0.31, memory=950),
    Model(name="harsh, corrected", white=0.0043, shift=0.0072, jump=0.14, slow=0.0072, memory=950),
    Model(name="drift", white=0.02, drift=0.001),
    Model(name="bursts", white=0.02, burst=0.05, burst_size=0.3),
    Model(name="bimodal", white=0.01, bimodal=0.15, jump=0.05),
)
"""Drift is 10 % a minute; the bimodal host changes between two speeds 15 % apart."""


@dataclass(frozen=True)
class Recorded:
    """One workload of a trace, resampled in order of time from a random place on, round and round.

    ``runs`` are its trials in a row: pairs of A and A' that were measured one after the other.
    """

    name: str
    deviations: Array
    runs: Sequence[tuple[Array, Array]]
    trial_s: float

    def series(self, rng: np.random.Generator, paths: int, n: int) -> Array:
        """See Noise.series."""
        size = len(self.deviations)
        starts = rng.integers(0, size, (paths, 1))
        made: Array = self.deviations[(starts + np.arange(n)) % size]
        return made

    def arms(
        self, rng: np.random.Generator, paths: int, n: int, *, apart: bool
    ) -> tuple[Array, Array] | None:
        """See Noise.arms; apart is the next round's run, about a minute later."""
        turns = [
            (a, b)
            for (a, own), (_, later) in zip(self.runs, self.runs[1:], strict=False)
            if len(a) >= n and len(b := later if apart else own) >= n
        ]
        if not turns:
            return None
        slack = [(len(a) - n + 1, len(b) - n + 1) for a, b in turns]
        first, second = np.empty((paths, n)), np.empty((paths, n))
        for path, turn in enumerate(rng.integers(0, len(turns), paths)):
            for into, run, room in zip((first, second), turns[turn], slack[turn], strict=True):
                begin = rng.integers(0, room)
                into[path] = run[begin : begin + n]
        return first, second


def recorded(trace: Trace, workload: str, variant: Variant, name: str) -> Recorded | None:
    """Take one workload of a trace; None where fewer than 40 trials know the variant."""
    rows = trace.of(workload)
    known = [row for row in rows if row.cost(variant) > 0]
    if len(known) < FEWEST:
        return None
    deviations = log_deviations(known, variant)
    arms: dict[int, dict[str, list[float]]] = {}
    turn, before = 0, ""
    for row, deviation in zip(known, deviations, strict=True):
        if row.part != RUNS:
            before = ""
            continue
        if row.arm == "A" and before != "A":
            turn += 1
        before = row.arm
        arms.setdefault(turn, {"A": [], "B": []})[row.arm].append(deviation)
    return Recorded(
        name=name,
        deviations=np.array(deviations),
        runs=[(np.array(one["A"]), np.array(one["B"])) for one in arms.values()],
        trial_s=float(np.median([row.wall_s for row in known])),
    )


FEWEST = 40


def scatter(noise: Noise, rng: np.random.Generator) -> tuple[float, float]:
    """Measure how noise scatters: the SD of a trial's log, and the robust SD of a pair's."""
    trials = noise.series(rng, 400, 100)
    pairs = trials[:, 1::2] - trials[:, ::2]
    return float(trials.std()), float(1.4826 * np.median(np.abs(pairs - np.median(pairs))))


def _wandering(rng: np.random.Generator, shape: tuple[int, int], kept: float) -> Array:
    """Make stationary autoregressions of order 1 with an SD of 1."""
    steps = rng.normal(0.0, math.sqrt(1 - kept**2), shape)
    steps[:, 0] = rng.normal(0.0, 1.0, shape[0])
    made: Array = lfilter([1.0], [1.0, -kept], steps, axis=1)
    return made


def _held(changes: NDArray[np.bool_], values: Array) -> Array:
    """Hold each value until the next change."""
    places = np.where(changes, np.arange(values.shape[1]), 0)
    return np.take_along_axis(values, np.maximum.accumulate(places, axis=1), axis=1)
