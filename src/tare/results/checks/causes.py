"""The likely causes of a result that is better than it can be, each checked in the stored data.

In the order of METHOD.md 2.8. A cause is named only if the data show it, with the numbers that do;
a difference that may be why, of which no more is known, is a hint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import median
from typing import Any

from tare.core.model import Better, ClockSkew, DiskCache, FileAccess, Metric, Preconditions
from tare.results.checks.case import Case
from tare.results.checks.conditions import DIRECT_SHARE, is_direct, moved_share
from tare.results.compare.columns import has_numbers
from tare.results.compare.pairing import History
from tare.results.stats.sequential import Verdict

ENOUGH = 0.5
"""Part of the gain that a measured cause must be able to make to explain it."""
LESS_WORK = 0.99
"""Part of the baseline's work per trial below which a trial is said to have done less."""


class Look(StrEnum):
    """Where a cause is looked for."""

    CONTROL = "control"
    CLOCK = "clock"
    VERSIONS = "versions"
    CPU_FLAGS = "cpu_flags"
    PAGE_CACHE = "page_cache"
    CACHE_MODE = "cache_mode"
    HUGE_PAGES = "huge_pages"
    RESOURCES = "resources"
    MITIGATIONS = "mitigations"
    FILESYSTEM = "filesystem"
    WORK = "work"


class CauseKind(StrEnum):
    """What explains a result, or may."""

    CONTROL_DIFFERS = "control_differs"
    SLOW_CLOCK = "slow_clock"
    OTHER_FILES = "other_files"
    MORE_CPU_FLAGS = "more_cpu_flags"
    CACHED = "cached"
    NO_O_DIRECT = "no_o_direct"
    HOST_CACHES_DISK = "host_caches_disk"
    OTHER_CPUS = "other_cpus"
    OTHER_QUOTA = "other_quota"
    OTHER_MITIGATIONS = "other_mitigations"
    FILES_IN_MEMORY = "files_in_memory"
    LESS_WORK = "less_work"
    OTHER_READINGS = "other_readings"


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that explains a result, or may, with its numbers and names."""

    kind: CauseKind
    values: Mapping[str, Any] = field(default_factory=dict, hash=False)


def cause(kind: CauseKind, **values: Any) -> Cause:  # noqa: ANN401 - numbers, names, readings
    """Make a cause of a kind with its values."""
    return Cause(kind, values)


@dataclass(frozen=True, slots=True)
class Check:
    """What became of one look for a cause.

    ``cause`` explains the result, ``hint`` is a difference that may; with neither, the check was
    clean, or, where ``known`` is False, could not be made.
    """

    what: Look
    cause: Cause | None = None
    hint: Cause | None = None
    known: bool = True


@dataclass(frozen=True, slots=True)
class Doubt:
    """A case that is better than it can be, with what was read on both sides."""

    case: Case
    here: Preconditions
    there: Preconditions
    clock: ClockSkew

    @property
    def gain(self) -> float:
        """The part of the baseline's time that is saved."""
        row = self.case.row
        known = [one for one in (row.cost, row.high) if one is not None]
        return 1 - known[0] if known else 0.0

    @property
    def sides(self) -> tuple[History, History]:
        """The trials of the cell and all of the baseline's."""
        estimate = self.case.estimate
        return estimate.own, estimate.reference or estimate.base


def _control(seen: Doubt) -> Check:
    what, control = Look.CONTROL, seen.case.control
    if control is None or control.cost is None:
        return Check(what, known=False)
    if control.verdict in (Verdict.SLOWER, Verdict.FASTER):
        return Check(what, cause=cause(CauseKind.CONTROL_DIFFERS, cost=control.cost))
    return Check(what)


def _clock(seen: Doubt) -> Check:
    """Bound what a slow clock inside can have gained, by its skew or by the trials.

    In a trial it cannot be more than the part of the time by the host's clock that the tool does
    not account for, beyond what the baseline's does not (start and end of the command).
    """
    what = Look.CLOCK
    low, high = seen.clock.low, seen.clock.high
    if low is not None and high is not None:
        if -high > ENOUGH * seen.gain:
            return Check(what, cause=cause(CauseKind.SLOW_CLOCK, by=-high))
        if -low < ENOUGH * seen.gain:
            return Check(what)
    own, base = map(_unaccounted, seen.sides)
    if own is not None and base is not None and own - base < ENOUGH * seen.gain:
        return Check(what)
    return Check(what, known=False)


def _unaccounted(history: History) -> float | None:
    metric = history.tool_duration
    if metric is None:
        return None
    shares = [
        1 - trial.samples[metric.name] / trial.duration_s
        for trial in history.trials.values()
        if has_numbers(trial) and metric.name in trial.samples and trial.duration_s > 0
    ]
    return median(shares) if shares else None


def _versions(seen: Doubt) -> Check:
    what = Look.VERSIONS
    own, base = seen.here.files, seen.there.files
    names = [name for name in base if name in own]
    other = [name for name in names if own[name] != base[name]]
    if other:
        return Check(what, cause=cause(CauseKind.OTHER_FILES, names=tuple(other)))
    return Check(what, known=bool(names))


def _flags(seen: Doubt) -> Check:
    here, there = seen.here.cpu_flags, seen.there.cpu_flags
    if not here or not there:
        return Check(Look.CPU_FLAGS, known=False)
    more = tuple(sorted(here - there))
    hint = cause(CauseKind.MORE_CPU_FLAGS, names=more) if more else None
    return Check(Look.CPU_FLAGS, hint=hint)


def _page_cache(seen: Doubt) -> Check:
    what = Look.PAGE_CACHE
    own, base = map(moved_share, seen.sides)
    if own is None or base is None:
        return Check(what, known=not _is_on_files(seen))
    if own < DIRECT_SHARE * min(base, 1.0):
        return Check(what, cause=cause(CauseKind.CACHED, moved=own, baseline_moved=base))
    return Check(what)


def _cache_mode(seen: Doubt) -> Check:
    what = Look.CACHE_MODE
    if not _is_on_files(seen):
        return Check(what)
    if not seen.here:
        return Check(what, known=False)
    here, there = seen.here.values, seen.there.values
    if is_direct(seen.case.row) and here.get("o_direct") is False:
        return Check(what, cause=cause(CauseKind.NO_O_DIRECT))
    if here.get("disk_cache") == DiskCache.WRITEBACK and not there.get("disk_cache"):
        return Check(what, hint=cause(CauseKind.HOST_CACHES_DISK))
    return Check(what, known="o_direct" in here)


def _huge_pages(seen: Doubt) -> Check:
    return _differs(seen, Look.HUGE_PAGES, ("thp", "huge_pages"))


def _resources(seen: Doubt) -> Check:
    what = Look.RESOURCES
    cpus = [one.values.get("cpus_allowed") for one in (seen.here, seen.there)]
    if not all(isinstance(one, int) for one in cpus):
        return Check(what, known=False)
    if cpus[0] != cpus[1]:
        return Check(what, cause=cause(CauseKind.OTHER_CPUS, here=cpus[0], there=cpus[1]))
    here, there = (one.values.get("cpu_quota") for one in (seen.here, seen.there))
    if here != there:
        return Check(what, cause=cause(CauseKind.OTHER_QUOTA, here=here, there=there))
    return _differs(seen, what, ("governor", "turbo", "smt"), known=True)


def _mitigations(seen: Doubt) -> Check:
    what = Look.MITIGATIONS
    if not all("weaknesses_known" in one.values for one in (seen.here, seen.there)):
        return Check(what, known=False)
    here, there = seen.here.mitigations, seen.there.mitigations
    other = tuple(sorted(n for n in {*here, *there} if here.get(n) != there.get(n)))
    hint = cause(CauseKind.OTHER_MITIGATIONS, names=other) if other else None
    return Check(what, hint=hint)


def _filesystem(seen: Doubt) -> Check:
    what = Look.FILESYSTEM
    if not _is_on_files(seen):
        return Check(what)
    here, there = seen.here.values, seen.there.values
    if here.get("filesystem") == "tmpfs" != there.get("filesystem", "tmpfs"):
        return Check(what, cause=cause(CauseKind.FILES_IN_MEMORY))
    return _differs(seen, what, ("filesystem",))


def _work(seen: Doubt) -> Check:
    """See whether a trial ended early and did less than the baseline's."""
    what = Look.WORK
    own, base = (_done(one, seen.case.row.metric) for one in seen.sides)
    if own is None or base is None:
        return Check(what, known=False)
    if own < LESS_WORK * base:
        return Check(what, cause=cause(CauseKind.LESS_WORK, share=own / base))
    return Check(what)


def _done(history: History, metric: Metric) -> float | None:
    """Return the median work of a trial, where the metric is a rate of it."""
    if metric.better is not Better.HIGHER:
        return None
    done = [
        trial.samples[metric.name] * trial.lasted_s(history.tool_duration)
        for trial in history.trials.values()
        if has_numbers(trial) and metric.name in trial.samples
    ]
    return median(done) if done else None


CHECKS: tuple[Callable[[Doubt], Check], ...] = (
    *(_control, _clock, _versions, _flags, _page_cache, _cache_mode),
    *(_huge_pages, _resources, _mitigations, _filesystem, _work),
)
"""In the order of METHOD.md 2.8."""


def _is_on_files(seen: Doubt) -> bool:
    return seen.case.row.cell.file_access is not FileAccess.NONE


def _differs(seen: Doubt, what: Look, names: Sequence[str], *, known: bool | None = None) -> Check:
    here, there = seen.here.values, seen.there.values
    both = [name for name in names if name in here and name in there]
    other = tuple((name, here[name], there[name]) for name in both if here[name] != there[name])
    hint = cause(CauseKind.OTHER_READINGS, readings=other) if other else None
    return Check(what, hint=hint, known=bool(both) if known is None else known)
