"""What trials cost on the host, and what Tare itself does around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from tare.core.model import Trial
from tare.results.stats.signed_rank import Array

OVERHEAD_PHASES = ("resume", "settle", "jitter", "setup", "parse", "pause", "store")
"""What Tare itself does around a command, in the order in which it does it."""


@dataclass(frozen=True)
class Usage:
    """What a cell's trials cost on the host: medians over its measured trials with numbers.

    ``run_delay_share`` is the part of the time in which a thread wanted a CPU and had none.
    """

    cpu_s: float
    run_delay_share: float
    coverage: float


@dataclass(frozen=True)
class DiskUse:
    """What the host saw of its disks during a cell's trials: medians over those with numbers.

    ``busy_share`` is the part of the time in which the busiest disk had a request in hand, for
    any process; ``pressure`` that in which some task of the host waited for I/O (``psi_io_some``).
    Either is None if no trial has it; disks are read for work on files only.
    """

    busy_share: float | None
    pressure: float | None


def usage(trials: Sequence[Trial]) -> Usage | None:
    """Sum up some trials, if their threads were read on the host."""
    costs = [one.host for one in trials if one.host is not None]
    if not costs:
        return None
    wanted = [(one.run_delay_s, one.cpu_s + one.run_delay_s) for one in costs]
    return Usage(
        median(one.all_cpu_s for one in costs),
        median(delay / total if total > 0 else 0.0 for delay, total in wanted),
        median(one.coverage for one in costs),
    )


def disk_use(noise: Mapping[str, Array], places: Sequence[int]) -> DiskUse:
    """Sum up the trials in some places of the columns of the host's noise."""
    return DiskUse(
        *(
            _median(noise[name][places]) if name in noise else None
            for name in ("disk_busy_share", "psi_io_some")
        )
    )


def sampling(trials: Sequence[Trial]) -> tuple[float, float] | None:
    """Return what reading host, layer and machine took of a trial: CPU time, and share of a core.

    Medians over the trials that were watched, None if none was: seconds, first and last reading
    outside the measured time among them; and these as a part of the trial's wall time.
    """
    read = [
        (one.resources["monitor_cpu_s"], one.duration_s)
        for one in trials
        if "monitor_cpu_s" in one.resources and one.duration_s > 0
    ]
    if not read:
        return None
    return median(cpu_s for cpu_s, _ in read), median(cpu_s / wall_s for cpu_s, wall_s in read)


def overhead(phases_s: Mapping[str, Array]) -> Mapping[str, float]:
    """Return the median of each phase over some trials, of their sum, and how many trials it is."""
    medians = {name: _median(phases_s[name]) for name in OVERHEAD_PHASES if name in phases_s}
    around = [column for name, column in phases_s.items() if name != "command"]
    trials = len(next(iter(phases_s.values())))
    sums = np.nansum([np.zeros(trials), *around], axis=0)
    known = {name: middle for name, middle in medians.items() if middle is not None}
    return {**known, "all": float(np.median(sums)), "trials": trials}


def _median(column: Array) -> float | None:
    known = column[~np.isnan(column)]
    return float(np.median(known)) if len(known) else None
