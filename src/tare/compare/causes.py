"""The likely causes of a result that is better than it can be, each checked in the stored data.

In the order of METHOD.md 2.8. A cause is named only if the data show it, with the numbers that do;
a difference that may be why, of which no more is known, is a hint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from tare.compare.columns import has_numbers
from tare.compare.comparison import Comparison
from tare.compare.conditions import DIRECT_SHARE, is_direct, moved_share
from tare.compare.pairing import History
from tare.model import Better, DiskCache, FileAccess, Metric
from tare.stats.sequential import Verdict

ENOUGH = 0.5
"""Part of the gain that a measured cause must be able to make to explain it."""
LESS_WORK = 0.99
"""Part of the baseline's work per trial below which a trial is said to have done less."""


@dataclass(frozen=True, slots=True)
class Check:
    """What became of one look for a cause.

    ``cause`` explains the result, ``hint`` is a difference that may; with neither, the check was
    clean, or, where ``known`` is False, could not be made.
    """

    what: str
    cause: str = ""
    hint: str = ""
    known: bool = True


@dataclass(frozen=True, slots=True)
class Case:
    """Everything stored about one row: both sides' trials and readings, and the control."""

    row: Comparison
    mine: History
    base: History
    control: Comparison | None
    metrics: Sequence[Metric]
    here: Mapping[str, object]
    there: Mapping[str, object]
    clock: Mapping[str, object]

    @property
    def gain(self) -> float:
        """The part of the baseline's time that is saved."""
        known = [one for one in (self.row.cost, self.row.high) if one is not None]
        return 1 - known[0] if known else 0.0


def _control(seen: Case) -> Check:
    what, control = "A/A control", seen.control
    if control is None or control.cost is None:
        return Check(what, known=False)
    if control.verdict in (Verdict.SLOWER, Verdict.FASTER):
        times = f"{control.cost:.3g} times its cost"
        return Check(what, cause=f"the baseline differs from itself: its control has {times}")
    return Check(what)


def _clock(seen: Case) -> Check:
    """Bound what a slow clock inside can have gained, by its skew or by the trials.

    In a trial it cannot be more than the part of the time by the host's clock that the tool does
    not account for, beyond what the baseline's does not (start and end of the command).
    """
    what = "clock inside"
    low, high = (seen.clock.get(end) for end in ("low", "high"))
    if isinstance(low, float) and isinstance(high, float):
        if -high > ENOUGH * seen.gain:
            return Check(what, cause=f"its clock runs at least {-100 * high:.2g} % slow")
        if -low < ENOUGH * seen.gain:
            return Check(what)
    mine, base = _unaccounted(seen.mine), _unaccounted(seen.base)
    if mine is not None and base is not None and mine - base < ENOUGH * seen.gain:
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


def _versions(seen: Case) -> Check:
    what = "tool and library versions"
    names = [name for name in seen.there if name.startswith("sha256.") and name in seen.here]
    other = [name.removeprefix("sha256.") for name in names if seen.here[name] != seen.there[name]]
    if other:
        return Check(what, cause=f"{', '.join(other)} inside is not the baseline's")
    return Check(what, known=bool(names))


def _flags(seen: Case) -> Check:
    here, there = (str(one.get("cpu_flags", "")).split() for one in (seen.here, seen.there))
    if not here or not there:
        return Check("CPU flags", known=False)
    more = sorted(set(here) - set(there))
    return Check("CPU flags", hint=f"CPU flags only here: {', '.join(more)}" if more else "")


def _page_cache(seen: Case) -> Check:
    what = "page cache"
    mine, base = (moved_share(one, seen.metrics) for one in (seen.mine, seen.base))
    if mine is None or base is None:
        return Check(what, known=not _is_on_files(seen))
    if mine < DIRECT_SHARE * min(base, 1.0):
        return Check(
            what,
            cause=f"the host's disks moved {100 * mine:.0f} % of the bytes claimed, "
            f"of the baseline's {100 * base:.0f} %",
        )
    return Check(what)


def _cache_mode(seen: Case) -> Check:
    what = "O_DIRECT and cache mode"
    if not _is_on_files(seen):
        return Check(what)
    if not seen.here:
        return Check(what, known=False)
    if is_direct(seen.row) and seen.here.get("o_direct") is False:
        return Check(what, cause="its filesystem refuses O_DIRECT")
    if seen.here.get("disk_cache") == DiskCache.WRITEBACK and not seen.there.get("disk_cache"):
        return Check(what, hint="the host caches its disk (writeback)")
    return Check(what, known="o_direct" in seen.here)


def _huge_pages(seen: Case) -> Check:
    return _differs(seen, "huge pages", ("thp", "huge_pages"))


def _resources(seen: Case) -> Check:
    what = "CPUs and limits"
    cpus = [one.get("cpus_allowed") for one in (seen.here, seen.there)]
    if not all(isinstance(one, int) for one in cpus):
        return Check(what, known=False)
    if cpus[0] != cpus[1]:
        return Check(what, cause=f"it may use {cpus[0]} CPUs, the baseline {cpus[1]}")
    if seen.there.get("cpu_quota") != seen.here.get("cpu_quota"):
        here, there = (one.get("cpu_quota", "none") for one in (seen.here, seen.there))
        return Check(what, cause=f"its CPU quota is {here}, the baseline's {there}")
    return _differs(seen, what, ("governor", "turbo", "smt"), known=True)


def _mitigations(seen: Case) -> Check:
    what = "mitigations"
    if not all("weaknesses_known" in one for one in (seen.here, seen.there)):
        return Check(what, known=False)
    names = {name for one in (seen.here, seen.there) for name in one if "mitigation." in name}
    other = sorted(name for name in names if seen.here.get(name) != seen.there.get(name))
    listed = ", ".join(name.removeprefix("mitigation.") for name in other)
    return Check(what, hint=f"other mitigations ({listed})" if other else "")


def _filesystem(seen: Case) -> Check:
    what = "filesystem"
    if not _is_on_files(seen):
        return Check(what)
    if seen.here.get("filesystem") == "tmpfs" != seen.there.get("filesystem", "tmpfs"):
        return Check(what, cause="its files lie in memory (tmpfs)")
    return _differs(seen, what, ("filesystem",))


def _work(seen: Case) -> Check:
    """See whether a trial ended early and did less than the baseline's."""
    what = "work done"
    mine, base = (_done(one, seen.row.metric) for one in (seen.mine, seen.base))
    if mine is None or base is None:
        return Check(what, known=False)
    if mine < LESS_WORK * base:
        return Check(what, cause=f"its trials did {100 * mine / base:.0f} % of the baseline's work")
    return Check(what)


def _done(history: History, metric: Metric) -> float | None:
    """Give the median work of a trial, where the metric is a rate of it."""
    if metric.better is not Better.HIGHER:
        return None
    done = [
        trial.samples[metric.name] * trial.lasted_s(history.tool_duration)
        for trial in history.trials.values()
        if has_numbers(trial) and metric.name in trial.samples
    ]
    return median(done) if done else None


CHECKS: tuple[Callable[[Case], Check], ...] = (
    *(_control, _clock, _versions, _flags, _page_cache, _cache_mode),
    *(_huge_pages, _resources, _mitigations, _filesystem, _work),
)
"""In the order of METHOD.md 2.8."""


def _is_on_files(seen: Case) -> bool:
    return seen.row.cell.file_access is not FileAccess.NONE


def _differs(seen: Case, what: str, names: Sequence[str], *, known: bool | None = None) -> Check:
    both = [name for name in names if name in seen.here and name in seen.there]
    other = [name for name in both if seen.here[name] != seen.there[name]]
    said = ", ".join(f"{one} {seen.here[one]} ({seen.there[one]} there)" for one in other)
    return Check(what, hint=said.replace("_", " "), known=bool(both) if known is None else known)
