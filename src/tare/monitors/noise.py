"""What else the host did during a trial: stolen time, foreign load, swapping."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from tare.model import HostCost

STEAL_LIMIT = 0.05
FOREIGN_LIMIT = 0.10
"""Shares of the trial's time on its own CPUs above which its numbers are suspect.

Below them the randomized blocks spread the disturbance evenly; above, a single trial can be wrong.
"""

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Reading:
    """Counters since boot: busy and stolen seconds of some CPUs, pages swapped."""

    busy_s: float
    steal_s: float
    swapped: int


def read(cpus: Collection[int], proc: Path = Path("/proc")) -> Reading:
    """Read the counters of the CPUs that trials are pinned to."""
    busy = steal = 0
    for line in (proc / "stat").read_text().splitlines():
        name, *ticks = line.split()
        if not name.startswith("cpu"):
            break
        if name[3:] and int(name[3:]) in cpus:
            user, nice, system, _idle, _iowait, irq, softirq, stolen = map(int, ticks[:8])
            busy += user + nice + system + irq + softirq
            steal += stolen
    pairs = (line.split() for line in (proc / "vmstat").read_text().splitlines())
    swapped = sum(int(count) for name, count in pairs if name in ("pswpin", "pswpout"))
    return Reading(busy * _TICK_S, steal * _TICK_S, swapped)


def complaints(
    before: Reading, after: Reading, duration_s: float, cpus: int, cost: HostCost | None
) -> list[str]:
    """Say in sentences what makes a trial suspect; ticks are 10 ms, so short trials get slack."""
    found = []
    available = max(duration_s * cpus, 1e-9)
    slack = 3 * _TICK_S
    steal = after.steal_s - before.steal_s
    if steal - slack > STEAL_LIMIT * available:
        found.append(f"the hypervisor below stole {100 * steal / available:.0f} % of the CPU time")
    if cost is not None:
        foreign = after.busy_s - before.busy_s - cost.all_cpu_s
        if foreign - slack > FOREIGN_LIMIT * available:
            found.append(
                f"other work took {100 * foreign / available:.0f} % of the trial's CPU time"
            )
    if after.swapped > before.swapped:
        found.append(f"the host swapped {after.swapped - before.swapped} pages")
    return found
