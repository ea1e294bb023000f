"""Pairs that lie far from the others: counted, listed with what the host saw, never left out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tare.core.model import Trial
from tare.results.checks.case import Case
from tare.results.compare.flag import Flag, FlagKind, flag
from tare.results.compare.pairing import History
from tare.results.stats.description import spread
from tare.results.stats.ratio import ratio
from tare.results.stats.signed_rank import Interval, estimate

FAR = 5.0
"""Deviations (MADsd) from the cost at which a pair is tagged (METHOD.md 2.8)."""
MAX_LISTED = 3
SHIFT = 0.1
"""Part of the interval by which the tagged pairs must move the cost for that to be said."""

SHARES = ("steal", "foreign", "run_delay", "throttled", "psi_memory_some", "psi_io_some")
COUNTS = ("swapped_pages", "major_faults", "heat_throttles")
"""What the host saw, by the names of ``noise_of``, that may be why a trial lies far out."""
LEAST_SHARE, LEAST_COUNT = 0.05, 10.0
"""What is below explains no outlier, however unusual it was."""

Noise = Mapping[str, float]


def tagged(log_ratios: np.ndarray) -> np.ndarray:
    """Return the places of the finite log ratios that lie more than FAR deviations from the cost.

    Where more than half of them are equal there is no deviation to measure by, and none is far.
    """
    finite = log_ratios[np.isfinite(log_ratios)]
    deviation = spread(finite) if len(finite) > 1 else 0.0
    if deviation == 0:
        return np.array([], dtype=np.intp)
    residuals = np.where(np.isfinite(log_ratios), log_ratios - estimate(finite), 0.0)
    return np.flatnonzero(np.abs(residuals) > FAR * deviation)


def findings(case: Case) -> Iterator[Flag]:
    """Yield which of the pairs that the cost rests on are outliers, and what hangs on them."""
    row, pairs = case.row, case.pairs
    if not case.is_decisive:
        return
    used = pairs.log_ratios[: row.look or len(pairs.log_ratios)]
    far = tagged(used)
    if not len(far):
        return
    from_cost = np.nan_to_num(np.abs(used[far] - estimate(used)), nan=np.inf)
    farthest = far[np.argsort(-from_cost, kind="stable")][:MAX_LISTED]
    listed = tuple(
        {"change": float(used[at]), **_evidence(pairs.blocks[at], case)} for at in farthest
    )
    yield flag(FlagKind.OUTLIERS, outliers=len(far), pairs=len(used), far=FAR, listed=listed)
    if row.low is not None and row.high is not None:
        yield from _sensitivity(used, far, Interval(row.low, row.high))


def _sensitivity(used: np.ndarray, far: np.ndarray, ends: Interval) -> Iterator[Flag]:
    rest = np.delete(used, far)
    if not ends.low or math.isinf(ends.high) or not np.isfinite(rest).any():
        return
    whole, without = estimate(used), estimate(rest)
    if not (math.isfinite(whole) and math.isfinite(without)):
        return
    if abs(whole - without) > SHIFT * math.log(ends.high / ends.low):
        yield flag(FlagKind.WITHOUT_OUTLIERS, without=ratio(without), cost=ratio(whole))


def _evidence(block: int, case: Case) -> dict[str, Any]:
    """Return what the host saw during either trial that stands out among the cell's others.

    ``read`` is whether it was asked at all.
    """
    return {
        "block": block,
        "own": _unusual(block, case.own),
        "baseline": _unusual(block, case.base),
        "read": any(noise_of(history.trials[block]) for history in (case.own, case.base)),
    }


def noise_of(trial: Trial) -> Noise:
    """Gather what the host saw during a trial; shares are of the time of its CPUs."""
    found = dict(trial.noise)
    if trial.host is not None and trial.duration_s > 0:
        threads = max(1, trial.host.workers)
        found["run_delay"] = trial.host.run_delay_s / trial.duration_s / threads
        found["throttled"] = trial.host.throttled_s / trial.duration_s
    return {name: value for name, value in found.items() if math.isfinite(value)}


def _unusual(block: int, history: History) -> dict[str, float]:
    """Return what was seen in one block of a cell and not in most of its others, by name."""
    seen = noise_of(history.trials[block])
    least = dict.fromkeys(SHARES, LEAST_SHARE) | dict.fromkeys(COUNTS, LEAST_COUNT)
    return {
        name: seen[name]
        for name, enough in least.items()
        if seen.get(name, 0.0) >= enough and _stands_out(name, seen[name], history)
    }


def _stands_out(name: str, value: float, history: History) -> bool:
    others = (noise_of(trial) for trial in history.trials.values())
    values = np.array([other[name] for other in others if name in other])
    return bool(value > np.median(values) + FAR * spread(values))
