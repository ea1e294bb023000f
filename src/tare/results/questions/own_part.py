"""What a trial's workload took and waited for, apart from the neighbour that ran with it.

The counters of a trial with several parts stand with its parts. Those of the workload are the sum
of its own parts; what is counted of the whole host is the same for all, and is taken once.

What it waited for is added, because that may be why it became slower: in seconds of the trial, as
other counters of time are.

- ``layer_run_delay_s``: it wanted a CPU, and something else had it. A group that its own quota
  holds back waits in the same queue, and the kernel counts that as delay as well. Throttled time is
  taken off once for each thread that works, so that a neighbour is never blamed for a quota.
  Threads that ended unseen are taken to have waited as the others did; where less than half was
  seen, it is not known.
- ``layer_throttled_s``: its own quota held it back.
- ``host_psi_*_some_s``, ``host_disk_busy_s``: some task of the host, the neighbour's too, waited
  for a CPU, for memory or for I/O; the busiest disk had a request in hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from tare.core.model import (
    Cell,
    HostCost,
    Resource,
    Result,
    Source,
    Trial,
    neighbour_of,
    resource_of,
)

RUN_DELAY = Resource(Source.LAYER, "run_delay_s")
THROTTLED = Resource(Source.LAYER, "throttled_s")
SHARES = {
    "psi_cpu_some": Resource(Source.HOST, "psi_cpu_some_s"),
    "psi_memory_some": Resource(Source.HOST, "psi_memory_some_s"),
    "psi_io_some": Resource(Source.HOST, "psi_io_some_s"),
    "disk_busy_share": Resource(Source.HOST, "disk_busy_s"),
}
"""What is stored as a share of a trial's duration, and what it becomes in seconds."""
SWAPPED = Resource(Source.HOST, "swapped_pages")
LEAST_SEEN = 0.5
"""The share of the CPU time that must have been seen thread by thread."""


def own_trials(trials: Iterable[Trial], cell: Cell) -> list[Trial]:
    """Return trials of a cell with the counters of its workload alone, and what that waited for."""
    neighbour = neighbour_of(cell.params)
    others = frozenset(neighbour.parts if neighbour else ())
    return [replace(one, resources=dict(_counters(one, others))) for one in trials]


def _counters(trial: Trial, others: frozenset[str]) -> Iterator[tuple[str, float]]:
    yield from _resources(trial, others).items()
    if trial.host is not None:
        yield THROTTLED.name, trial.host.throttled_s
        if trial.host.coverage >= LEAST_SEEN:
            yield RUN_DELAY.name, waited_s(trial.host, _cpus(trial, others))
    for share, resource in SHARES.items():
        if share in trial.noise:
            yield resource.name, trial.noise[share] * trial.duration_s
    if "swapped_pages" in trial.noise:
        yield SWAPPED.name, trial.noise["swapped_pages"]


def waited_s(host: HostCost, cpus: int) -> float:
    """Return for how long threads wanted a CPU, without the time for which a quota held them.

    The kernel adds up the throttled time of each CPU that they run on, and counts it as the delay
    of each thread there: with one thread a CPU it is all of it, with several on one CPU once each.
    """
    workers = max(1, host.workers)
    throttled_s = host.throttled_s * workers / min(workers, cpus)
    return max(0.0, host.run_delay_s / host.coverage - throttled_s)


def _cpus(trial: Trial, others: frozenset[str]) -> int:
    """Count the host's CPUs of the workload's own parts; 1 where they are not known."""
    parts = [part for part in trial.parts if part.name not in others]
    own: Sequence[Result] = parts or [trial]
    return max(1, sum({part.cpuset: part.cpu_count for part in own}.values()))


def _resources(trial: Trial, others: frozenset[str]) -> Mapping[str, float]:
    if trial.resources:
        return trial.resources
    own = [part.resources for part in trial.parts if part.name not in others]
    found: dict[str, float] = {}
    for name in dict.fromkeys(name for some in own for name in some):
        values = [some[name] for some in own if name in some]
        if resource_of(name).source is Source.HOST:
            found[name] = values[0]
        elif len(values) == len(own):
            found[name] = sum(values)
    return found
