"""Coverage and width of the intervals that could be printed for a ratio, under three noises.

The truth is 1.03 for each of them: a pair's two trials have noise of the same distribution. A
second table asks what each interval is worth if it is looked at after 8, 11, 15, 20, 27 and 30
pairs: the share of A/A comparisons in which it ever leaves 1 out. Seeded; takes 45 s of one CPU.
The tables stand in docs/explanation/statistics.md. Run: python benchmarks/intervals.py
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from proof.ratio_of_means import bca_paired, fieller_paired, log_t_paired
from tare.results.stats import level, looks
from tare.results.stats.ratio import ratio, ratios
from tare.results.stats.signed_rank import Array, Interval, interval
from tare.results.stats.two_sample import log_t
from tare.results.stats.values import Estimated

PATHS = 2000
SIZES = (8, 15, 30)
CAP = 30
TRUTH = math.log(1.03)

Noise = Callable[[np.random.Generator, int], tuple[Array, Array]]
Method = Callable[[Array, Array], Interval | None]


def normal(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Independent trials of 2 % standard deviation."""
    return rng.normal(0, 0.02, n), rng.normal(0, 0.02, n)


def bursts(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Of 1 % trials one in five meets other work: lognormal, 10 % at the median, once 50 %."""

    def trials() -> Array:
        met = rng.random(n) < 0.2
        return rng.normal(0, 0.01, n) + met * rng.lognormal(math.log(0.1), 1, n)

    return trials(), trials()


def drift(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """A host that becomes 30 % slower over the session; a coin orders each pair."""
    first = rng.integers(0, 2, n)
    slots = 2 * np.arange(n)
    slope = 0.3 / (2 * n)
    own = rng.normal(0, 0.01, (2, n))
    return slope * (slots + 1 - first) + own[0], slope * (slots + first) + own[1]


def hodges_lehmann(at: float) -> Method:
    """Return the signed-rank interval at a level."""

    def method(a: Array, b: Array) -> Interval | None:
        ends = interval(np.log(a / b), at)
        return None if ends is None else ratios(ends)

    return method


def bounds(estimator: Callable[[Array, Array], Estimated | None]) -> Method:
    """Return the interval of an estimator."""

    def method(a: Array, b: Array) -> Interval | None:
        found = estimator(a, b)
        return None if found is None else found.interval

    return method


REPEATED = "HL, repeated"
METHODS: dict[str, Method] = {
    REPEATED: hodges_lehmann(level(CAP)),
    "HL, 95 %": hodges_lehmann(0.05),
    "log-t": bounds(log_t_paired),
    "Fieller": bounds(fieller_paired),
    "BCa": bounds(lambda a, b: bca_paired(a, b, seed=7, rounds=999)),
    "log-t unpaired": bounds(log_t),
}
NOISES: tuple[Noise, ...] = (normal, bursts, drift)


def holds(found: Interval | None, truth: float) -> bool:
    """No interval rules nothing out."""
    return found is None or found.low <= truth <= found.high


def row(name: str, cells: Sequence[str]) -> None:
    print("| " + " | ".join((name, *cells)) + " |")


def header(first: str) -> None:
    row(first, tuple(METHODS))
    row("---", ["---"] * len(METHODS))


def coverage() -> None:
    """Print the share of intervals that hold the truth, and their median width in points."""
    print(f"Coverage in %, and median width in points; {PATHS} paths, truth {ratio(TRUTH)}\n")
    header("noise, pairs")
    for noise in NOISES:
        for n in SIZES:
            rng = np.random.default_rng((1, n))
            pairs = [noise(rng, n) for _ in range(PATHS)]
            cells = []
            for method in METHODS.values():
                found = [method(np.exp(TRUTH + a), np.exp(b)) for a, b in pairs]
                share = np.mean([holds(ends, ratio(TRUTH)) for ends in found])
                widths = [math.inf if ends is None else ends.high - ends.low for ends in found]
                cells.append(f"{100 * share:.1f}, {100 * np.median(widths):.1f}")
            row(f"{noise.__name__}, {n}", cells)


def false_alarms() -> None:
    """Print how often an interval leaves 1 out at any look, though nothing differs."""
    schedule = looks(CAP)
    print(f"\nA/A comparisons in % that ever exclude 1 at {schedule} pairs; {PATHS} paths\n")
    header("noise")
    for noise in NOISES:
        rng = np.random.default_rng(2)
        pairs = [tuple(map(np.exp, noise(rng, CAP))) for _ in range(PATHS)]
        cells = []
        for method in METHODS.values():
            alarms = [any(not holds(method(a[:n], b[:n]), 1) for n in schedule) for a, b in pairs]
            cells.append(f"{100 * np.mean(alarms):.1f}")
        row(noise.__name__, cells)


if __name__ == "__main__":
    coverage()
    false_alarms()
