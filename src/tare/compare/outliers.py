"""Pairs that lie far from the others: counted, listed with what the host saw, never left out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from tare.compare.pairing import History, Pairs
from tare.compare.told import percent
from tare.model import Trial
from tare.stats.description import spread
from tare.stats.ratio import ratio
from tare.stats.signed_rank import Interval, estimate

FAR = 5.0
"""Deviations (MADsd) from the cost at which a pair is tagged (METHOD.md 2.8)."""
MAX_LISTED = 3
SHIFT = 0.1
"""Part of the interval by which the tagged pairs must move the cost for that to be said."""

SHARES = {
    "steal": "stolen CPU time",
    "foreign": "other work on its CPUs",
    "run_delay": "waiting for a CPU",
    "throttled": "throttled by its quota",
    "psi_memory_some": "memory pressure",
    "psi_io_some": "I/O pressure",
}
COUNTS = {
    "swapped_pages": "swapped pages",
    "major_faults": "major faults",
    "heat_throttles": "heat throttlings",
}
LEAST_SHARE, LEAST_COUNT = 0.05, 10.0
"""What is below explains no outlier, however unusual it was."""

Noise = Mapping[str, float]


def tagged(log_ratios: np.ndarray) -> np.ndarray:
    """Give the places of the finite log ratios that lie more than FAR deviations from the cost.

    Where more than half of them are equal there is no deviation to measure by, and none is far.
    """
    finite = log_ratios[np.isfinite(log_ratios)]
    deviation = spread(finite) if len(finite) > 1 else 0.0
    if deviation == 0:
        return np.array([], dtype=np.intp)
    residuals = np.where(np.isfinite(log_ratios), log_ratios - estimate(finite), 0.0)
    return np.flatnonzero(np.abs(residuals) > FAR * deviation)


def flags(
    pairs: Pairs, look: int | None, ends: Interval | None, mine: History, theirs: History
) -> Iterator[str]:
    """Say which of the pairs that the cost rests on are outliers, and what hangs on them.

    ``ends`` is the interval of the cost, in ratios.
    """
    used = pairs.log_ratios[: look or len(pairs.log_ratios)]
    far = tagged(used)
    if not len(far):
        return
    from_cost = np.nan_to_num(np.abs(used[far] - estimate(used)), nan=np.inf)
    farthest = far[np.argsort(-from_cost, kind="stable")][:MAX_LISTED]
    listed = [
        f"block {pairs.blocks[at]}, {percent(float(used[at]))} "
        f"({_evidence(pairs.blocks[at], mine, theirs)})"
        for at in farthest
    ]
    more = f"; and {len(far) - len(listed)} more" if len(far) > len(listed) else ""
    yield (
        f"{len(far)} of {len(used)} pairs are outliers, more than {FAR:g} deviations from the "
        f"cost, and are kept: {'; '.join(listed)}{more}."
    )
    yield from _sensitivity(used, far, ends)


def _sensitivity(used: np.ndarray, far: np.ndarray, ends: Interval | None) -> Iterator[str]:
    rest = np.delete(used, far)
    if ends is None or not ends.low or math.isinf(ends.high) or not np.isfinite(rest).any():
        return
    whole, without = estimate(used), estimate(rest)
    if not (math.isfinite(whole) and math.isfinite(without)):
        return
    if abs(whole - without) > SHIFT * math.log(ends.high / ends.low):
        yield f"Without them the cost is {ratio(without):.4g} instead of {ratio(whole):.4g}."


def _evidence(block: int, mine: History, theirs: History) -> str:
    """Say what the host saw during either trial that stands out among the cell's others."""
    own = _unusual(block, mine)
    base = [f"baseline: {one}" for one in _unusual(block, theirs)]
    if own or base:
        return ", ".join([*own, *base])
    seen = any(noise_of(history.trials[block]) for history in (mine, theirs))
    return "the host shows no cause" if seen else "nothing was read on the host"


def noise_of(trial: Trial) -> Noise:
    """Gather what the host saw during a trial; shares are of the time of its CPUs."""
    found = dict(trial.noise)
    if trial.host is not None and trial.duration_s > 0:
        threads = max(1, trial.host.workers)
        found["run_delay"] = trial.host.run_delay_s / trial.duration_s / threads
        found["throttled"] = trial.host.throttled_s / trial.duration_s
    return {name: value for name, value in found.items() if math.isfinite(value)}


def _unusual(block: int, history: History) -> list[str]:
    seen = noise_of(history.trials[block])
    shares = [
        f"{words} {100 * seen[name]:.0f} %"
        for name, words in SHARES.items()
        if seen.get(name, 0.0) >= LEAST_SHARE and _stands_out(name, seen[name], history)
    ]
    counts = [
        f"{seen[name]:.0f} {words}"
        for name, words in COUNTS.items()
        if seen.get(name, 0.0) >= LEAST_COUNT and _stands_out(name, seen[name], history)
    ]
    return shares + counts


def _stands_out(name: str, value: float, history: History) -> bool:
    others = (noise_of(trial) for trial in history.trials.values())
    values = np.array([other[name] for other in others if name in other])
    return bool(value > np.median(values) + FAR * spread(values))
