"""Run all monitors around a trial, and add what they measured to its result."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TypeVar

from tare.core.home import home
from tare.core.model import Complaint, Measurement, tool_duration_s
from tare.experiment.probes import disk, noise
from tare.experiment.probes.inner_machine import AnyReader
from tare.experiment.probes.instruments import Instruments, shared
from tare.experiment.probes.perf import WARM_UPS_ONLY, Counters, uncounted
from tare.experiment.probes.threads import Sampler
from tare.experiment.probes.timeline import Timeline
from tare.experiment.trial.peer import Peer
from tare.machines.stack import Stack
from tare.work.workload import Workload

M = TypeVar("M", bound=Measurement)


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchSettings:
    """How a trial is watched: on which CPUs, and how often host, layer and machine are read.

    ``closely`` asks for counters that slow down what they count: not where time is compared.
    ``foreign_counts`` says that CPU time that other work took makes a trial suspect, as it does
    where wall time decides. ``reader`` is that of the machine inside, where this has a kernel of
    its own. ``instruments`` are what is kept from trial to trial: those of this process.
    """

    cpus: Sequence[int]
    hertz: float = 1.0
    closely: bool = False
    foreign_counts: bool = True
    reader: AnyReader | None = None
    instruments: Instruments = field(default_factory=shared)


class Watch:
    """Watches while the ``with`` block runs; ``timeline`` is what was read over its time.

    Of work that no thread of this host does nothing can be read: then only the peer, if there is
    one, is monitored.
    """

    def __init__(
        self, stack: Stack, workload: Workload, peer: Peer | None, how: WatchSettings
    ) -> None:
        threads = stack.threads()
        self._workload, self._peer, self._how = workload, peer, how
        kept = how.instruments
        self._sampler = Sampler(threads, instruments=kept) if threads is not None else None
        at_peer = peer.threads() if peer is not None else None
        self._apart = Sampler(at_peer, instruments=kept) if at_peer is not None else None
        self._is_elsewhere = peer is not None and at_peer is None
        self._counters = Counters(threads.cgroup) if threads is not None and how.closely else None
        self.timeline: Timeline | None = None
        if threads is not None:
            self.timeline = Timeline(
                threads, how.cpus, how.hertz, reader=how.reader, instruments=kept
            )
        # What is not measured on this host moves other disks than this host's.
        moves = threads is not None and workload.disk_bytes() > 0
        self._has_disk = moves and _is_counted(home())
        self._open = ExitStack()

    def __enter__(self) -> Watch:
        # First the timeline: what it costs to start the reader inside is no work of the trial.
        for one in (self.timeline, self._counters):
            if one is not None:
                self._open.enter_context(one)
        if self.timeline is not None:
            self._disk_before = self._disks()
            self._before = self._noise()
            self._begin_s = time.perf_counter()
            self._open.callback(self._read_after)
        if self._peer is not None and self._is_elsewhere:
            self._busy_before = self._peer.busy()
            self._open.callback(self._read_peer)
        for sampler in (self._sampler, self._apart):
            if sampler is not None:
                self._open.enter_context(sampler)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @property
    def cpu_s(self) -> float:
        """The CPU time of everything that the work ran on the host, once it has ended."""
        cost = self._sampler.cost if self._sampler is not None else None
        return cost.all_cpu_s if cost is not None else 0.0

    def fill(self, result: M, others_s: float | None = None) -> M:
        """Add what was seen of a command that has ended: cost, noise, and complaints as warnings.

        ``result`` says how long the command took, and has what its tool gave as ``samples``.
        ``others_s`` is the CPU time that other parts of the same trial took on the same CPUs: it is
        the trial's own, neither suspect nor taken off, and part of the share ``busy`` of their
        time. A part is watched from before the release on
        until it has ended, so that what went on is a share of that time.
        """
        cost, said, complaints = None, dict[str, float](), list[Complaint]()
        count = len(self._how.cpus)
        tool_s = tool_duration_s(result.samples, self._workload.metrics)
        if self.timeline is not None and self._sampler is not None:
            add_counts(self.timeline, self._sampler, self._counters)
            lasted_s = result.duration_s if others_s is None else self._watched_s
            busy_s = self._after.busy_s - self._before.busy_s - (others_s or 0.0)
            cost = self._sampler.with_foreign_work(busy_s, count, tool_s)
            said = noise.between(self._before, self._after, lasted_s, count, cost, others_s or 0.0)
            counts = self._how.foreign_counts
            complaints = noise.disturbances(said, lasted_s, count, foreign_counts=counts)
            said |= disk.between(self._disk_before, self._disk_after)
            if others_s is not None:
                said["busy"] = (busy_s + others_s) / (count * lasted_s)
        if self._peer is not None:
            # A tool's start is no load, and would make a busy machine look half idle.
            used = self._peer_used(self._peer, result.duration_s if tool_s is None else tool_s)
            said |= used
            complaints += self._peer.complaints(used, spins=self._workload.spins)
        warnings = (*result.warnings, *complaints)
        return replace(result, host=cost, noise=said, warnings=warnings)

    def _peer_used(self, peer: Peer, lasted_s: float) -> Mapping[str, float]:
        if self._is_elsewhere:
            return peer.use_between(self._busy_before, self._busy_after, lasted_s)
        if self._apart is None or self._apart.cost is None:
            return {}
        return peer.use(self._apart.cost, self._apart.busiest_s, lasted_s)

    def _read_peer(self) -> None:
        assert self._peer is not None  # noqa: S101 - it was read before
        self._busy_after = self._peer.busy()

    def _read_after(self) -> None:
        self._watched_s = time.perf_counter() - self._begin_s
        self._after = self._noise()
        self._disk_after = self._disks()

    def _noise(self) -> noise.Reading:
        return noise.read(self._how.cpus, files=self._how.instruments.files)

    def _disks(self) -> disk.Moved | None:
        return disk.read(read_file=self._how.instruments.files.content) if self._has_disk else None


@cache
def _is_counted(path: Path) -> bool:
    """Return whether the disks of a path are counted; it stays on them as long as Tare runs."""
    return disk.is_counted(path)


def add_counts(timeline: Timeline, sampler: Sampler, counters: Counters | None) -> None:
    """Add figures that are counted in other ways, or why they are not available."""
    timeline.add([sampler.timeslices])
    if counters is None:
        timeline.add(uncounted(WARM_UPS_ONLY))
        return
    used_s = sampler.cost.all_cpu_s if sampler.cost is not None else None
    timeline.add(counters.series(used_s), counters.cost_s)
