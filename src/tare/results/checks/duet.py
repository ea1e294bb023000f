"""What a duet takes for granted, held against its data (METHOD.md 3.4).

A duet is as good as its two sets of CPUs are equal, as who starts first does not matter, as the
halves really ran together, and as the noise is common to both. Sets and order are swapped between
blocks, so what is found here moves no cost; it widens intervals, and says when the other design
would do as well. Each finding is named only if it is significant at LEVEL and at least as large as
the plan's margin, below which costs count as the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from tare.core.model import Design, Trial
from tare.results.checks.case import Case
from tare.results.compare.columns import has_numbers
from tare.results.compare.contention import value
from tare.results.compare.flag import Flag, FlagKind, flag
from tare.results.stats.effect import hodges_lehmann_shift
from tare.results.stats.series import kendall_trend
from tare.results.stats.signed_rank import Array, estimate, p_value
from tare.results.stats.two_sample import mann_whitney

LEVEL = 0.01
FEWEST = 10
"""Pairs below which nothing is said about noise that both halves share."""
TOGETHER = 0.9
"""Share of the longer half's time below which the halves did not run at the same moment."""
COMMON = 0.05
"""Level at which the two halves must vary together for a duet to be of use."""


@dataclass(frozen=True, slots=True)
class _Duet:
    """The pairs of one comparison: log ratio, the cell's trial, the baseline's."""

    log_ratios: Array
    own: Sequence[Trial]
    base: Sequence[Trial]


def findings(case: Case) -> Iterator[Flag]:
    """Yield what the data of a primary comparison of a duet say against the design."""
    if not case.is_decisive or case.study.plan.repetition.design is not Design.DUET:
        return
    duet, least = _duet(case), case.margin
    yield from _of_cores(duet, least)
    if case.row.is_control:
        yield from _of_control(duet, least)
    yield from _of_order(duet, least)
    yield from _of_overlap(duet)
    yield from _of_common_noise(case, duet)


def _duet(case: Case) -> _Duet:
    finite = np.isfinite(case.pairs.log_ratios)
    blocks = [block for block, one in zip(case.pairs.blocks, finite, strict=True) if one]
    return _Duet(
        case.pairs.log_ratios[finite],
        [case.own.trials[block] for block in blocks],
        [case.base.trials[block] for block in blocks],
    )


def _of_cores(duet: _Duet, least: float) -> Iterator[Flag]:
    sides = _by_cores(duet)
    if len(sides) == 2:
        (first, ones), (second, others) = sides
        effect = _effect(ones, others, least)
        if effect:
            yield flag(FlagKind.CORES_DIFFER, first=first, second=second, effect=effect)


def _of_order(duet: _Duet, least: float) -> Iterator[Flag]:
    is_first = np.array([m.slot < t.slot for m, t in zip(duet.own, duet.base, strict=True)])
    if len(is_first):
        effect = _effect(duet.log_ratios[is_first], duet.log_ratios[~is_first], least)
        if effect:
            yield flag(FlagKind.START_ORDER_MATTERS, effect=effect)


def _effect(ones: Array, others: Array, least: float) -> Mapping[str, float]:
    """Return how two ways of measuring a pair differ, if they do, and from how many pairs.

    Half of the difference is the effect on each half: that is ``shift``, a log.
    """
    tested, shift = mann_whitney(ones, others), hodges_lehmann_shift(ones, others)
    if tested is None or shift is None or tested.p >= LEVEL or abs(shift.value) / 2 < least:
        return {}
    return {"shift": shift.value / 2, "p": tested.p, "ones": len(ones), "others": len(others)}


def _of_control(duet: _Duet, least: float) -> Iterator[Flag]:
    """Calibrate each assignment of cores on its own: the A/A control must be 1 in both."""
    sides = _by_cores(duet)
    found = [(name, estimate(side), p_value(side)) for name, side in sides]
    if any(p < LEVEL and abs(log) >= least for _, log, p in found):
        yield flag(FlagKind.CONTROL_BY_CORES, sides=tuple(found))


def _of_overlap(duet: _Duet) -> Iterator[Flag]:
    shares = [
        share
        for own, base in zip(duet.own, duet.base, strict=True)
        if (share := _overlap(own, base)) is not None
    ]
    if shares and (middle := float(np.median(shares))) < TOGETHER:
        yield flag(FlagKind.NOT_TOGETHER, share=middle)


def _of_common_noise(case: Case, duet: _Duet) -> Iterator[Flag]:
    own, base = ([_log(trial, case) for trial in side] for side in (duet.own, duet.base))
    if len(own) < FEWEST:
        return
    trend = kendall_trend(base, own)
    if trend is None or trend.tau <= 0 or trend.p >= COMMON:
        tau, p = (None, None) if trend is None else (trend.tau, trend.p)
        yield flag(FlagKind.NO_COMMON_NOISE, tau=tau, p=p)


def _log(trial: Trial, case: Case) -> float:
    if not has_numbers(trial):
        return 0.0
    found = value(trial, case.row.metric, case.row.variant, case.own.tool_duration)
    return math.log(found) if found is not None and 0 < found < math.inf else 0.0


def _by_cores(duet: _Duet) -> list[tuple[str, Array]]:
    """Sort the log ratios by the CPUs that the cell had."""
    names = [trial.cpuset for trial in duet.own]
    return [
        (name, duet.log_ratios[[one == name for one in names]])
        for name in sorted({name for name in names if name})
    ]


def _overlap(own: Trial, base: Trial) -> float | None:
    """Return the share of the longer one's time in which both ran; None if it is not known."""
    try:
        starts = [
            datetime.fromisoformat(one.started_at).timestamp() + one.phases_s.get("setup", 0.0)
            for one in (own, base)
        ]
    except ValueError:
        return None
    ends = [start + one.duration_s for start, one in zip(starts, (own, base), strict=True)]
    longer = max(own.duration_s, base.duration_s)
    return max(0.0, min(ends) - max(starts)) / longer if longer > 0 else None
