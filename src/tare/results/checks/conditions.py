"""In what a platform was unlike the baseline, where this touches a number.

What ``tare.experiment.host.preconditions`` found is in the facts stored with the results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from tare.core.model import Facts, FileAccess, Metric, Trial, Unit, tool_duration_s
from tare.results.checks.case import Case
from tare.results.compare.columns import has_numbers
from tare.results.compare.comparison import Comparison
from tare.results.compare.flag import Flag, FlagKind, flag
from tare.results.compare.pairing import History

DIRECT_SHARE = 0.9
"""Part of the bytes claimed that must have moved; tools count requests in flight at the end."""
LEAST_BYTES = 2.0**20
"""Claims below this are too small to be held against counters that others move too."""


def findings(case: Case) -> Iterator[Flag]:
    """Yield what a platform and its baseline were unlike in, and what did not reach the disks."""
    row, facts = case.row, case.study.facts
    reference = row.baseline.platform if row.baseline is not None else row.cell.platform
    if row.cell.platform != reference:
        if found := unlike(facts, row.cell.platform, row.cell.workload):
            yield flag(FlagKind.UNLIKE_BASELINE, said=tuple(found))
        if of_base := unlike(facts, reference, row.cell.workload):
            yield flag(FlagKind.BASELINE_UNLIKE, said=tuple(of_base))
    if not is_direct(row):
        return
    for of_baseline, history in ((False, case.own), (True, case.estimate.reference)):
        share = moved_share(history) if history is not None else None
        if share is not None and share < DIRECT_SHARE:
            yield flag(FlagKind.NOT_DIRECT, share=share, of_baseline=of_baseline)


def unlike(facts: Facts, platform: str, workload: str) -> list[str]:
    """List the mismatches of a platform that touch a workload."""
    listed = facts.platform(platform).mismatches
    return [one.said for one in listed if workload in one.workloads]


def moved_share(history: History) -> float | None:
    """Return the median part of the bytes claimed that the host's disks moved; None: not known."""
    shares = [
        moved / claimed
        for trial in history.trials.values()
        for claimed, moved in [_claim(trial, history.metrics) or (0.0, 0.0)]
        if claimed >= LEAST_BYTES
    ]
    return median(shares) if shares else None


def claim(
    samples: Mapping[str, float],
    noise: Mapping[str, float],
    duration_s: float,
    metrics: Sequence[Metric],
) -> tuple[float, float] | None:
    """Return the bytes that a tool says it moved, and those that the host's disks moved meanwhile.

    None where either is not known: only trials of work on files have the latter. The arguments are
    what a trial holds, and its workload's metrics.
    """
    names = [metric.name for metric in metrics if metric.unit is Unit.BYTE_PER_SECOND]
    read, written = (noise.get(f"disk_{how}_bytes") for how in ("read", "written"))
    if not names or names[0] not in samples or read is None or written is None:
        return None
    tool_s = tool_duration_s(samples, metrics)
    lasted_s = duration_s if tool_s is None else tool_s
    return samples[names[0]] * lasted_s, read + written


def _claim(trial: Trial, metrics: Sequence[Metric]) -> tuple[float, float] | None:
    good = has_numbers(trial)
    return claim(trial.samples, trial.noise, trial.duration_s, metrics) if good else None


def is_direct(row: Comparison) -> bool:
    """Whether a row's workload asks for O_DIRECT."""
    return row.cell.file_access is FileAccess.DIRECT
