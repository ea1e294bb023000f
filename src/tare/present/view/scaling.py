"""How platforms scale with the number of instances, in words, rows and plain data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tare.core.model import Limits, Params, Unit
from tare.present.view.findings import Findings
from tare.present.view.isolation_tables import TextTable
from tare.present.view.marks import DNR
from tare.present.view.names import params_text
from tare.present.view.numbers import NONE, Scale, middle_texts, percent_number, plain, scale_for
from tare.results.questions.scaling import INSTANCES, ScaleLevel, ScalingCurve
from tare.results.stats.scalability import Fit
from tare.results.stats.values import Estimated

LAW_TITLE = "How platforms scale"
LAW_COLUMNS = (
    *("platform", "contention", "coherency", "peak at", "knee at", "the law"),
    *("memory of one more", "workload"),
)
LAW_READING = (
    "Throughput of n instances by the Universal Scalability Law, rate n / (1 + contention (n - 1) "
    "+ coherency n (n - 1)), with 95 % intervals that rest on blocks. Contention is the share of "
    "work that queues for what is shared, 1 where instances take turns; coherency what every two "
    "cost each other. Throughput is largest at the peak; from the knee on an instance more adds "
    "more waiting than throughput (largest power, Kleinrock 1979). What lies beyond the most "
    "instances that were measured is what the law foretells. Where it does not fit, its numbers "
    "describe another curve than the one that was measured. Memory of one more is what an instance "
    "keeps once its work has ended (proportional set size), or where that cannot be read the most "
    "that its group ever had."
)
LEVEL_TITLE = "By number of instances"
LEVEL_COLUMNS = (
    *("platform", "instances", "measured", "together", "efficiency", "fairness", "spread"),
    *("answered", "workload"),
)
LEVEL_READING = (
    "Measured is the workload's first metric: a time is the mean of the instances, a rate that of "
    "all. Efficiency is what an instance keeps of its throughput with the fewest instances, in the "
    "same block; fairness is Jain's index, 1 where all get the same. Answered: the trials in which "
    "every instance did; spread is the largest less the smallest value of the instances. "
    "Intervals are Student's of 95 %."
)
NUMBERS = ("instances", "measured", "together", "efficiency", "fairness", "spread", "answered")
FITS = {Fit.FITS: "fits", Fit.MISFIT: "does not fit", Fit.UNTESTED: "not tested"}
NEVER = "none"


@dataclass(frozen=True)
class ScaledWork:
    """The curves that are drawn together: one workload under one set of limits."""

    name: str
    curves: tuple[ScalingCurve, ...]


def scaled_works(found: Findings) -> tuple[ScaledWork, ...]:
    """Return the curves by workload, in the order of the plan, each with a name of its own."""
    works: dict[tuple[str, Params, Limits], list[ScalingCurve]] = {}
    for one in found.scaling_curves:
        params = tuple(pair for pair in one.cell.params if pair[0] != INSTANCES)
        works.setdefault((one.cell.workload, params, one.cell.limits), []).append(one)
    alike = [workload for workload, _, _ in works]
    names = [
        workload if alike.count(workload) == 1 else f"{workload}, {params_text(params)}"
        for workload, params, _ in works
    ]
    return tuple(
        ScaledWork(
            name if names.count(name) == 1 else f"{name} ({place})",
            tuple(curves),
        )
        for place, (name, curves) in enumerate(zip(names, works.values(), strict=True), 1)
    )


def scaling_tables(found: Findings) -> Iterator[TextTable]:
    """Yield the tables of a study of scale; nothing where there is none.

    Where there is one workload it is no column.
    """
    works = scaled_works(found)
    laws = [
        (*_law_line(curve), work.name)
        for work in works
        for curve in work.curves
        if curve.law is not None
    ]
    levels = [
        (*line, work.name) for work in works for curve in work.curves for line in _levels(curve)
    ]
    for title, reading, columns, lines in (
        (LAW_TITLE, LAW_READING, LAW_COLUMNS, laws),
        (LEVEL_TITLE, LEVEL_READING, LEVEL_COLUMNS, levels),
    ):
        if lines:
            kept = len(columns) - (len(works) == 1)
            yield TextTable(title, reading, columns[:kept], [line[:kept] for line in lines])


def _law_line(curve: ScalingCurve) -> Sequence[str]:
    law = curve.law
    assert law is not None  # noqa: S101 - of curves with one
    fits = FITS[law.fit]
    if law.fit is Fit.MISFIT:
        level, off = worst(law.residuals)
        fits += f" ({percent_number(abs(off))} % off at {level})"
    return (
        curve.cell.platform,
        estimated_text(law.contention),
        estimated_text(law.coherency, 2),
        bend_text(law.peak),
        bend_text(law.knee),
        fits,
        NONE if curve.memory is None else _with_unit(curve.memory, Unit.BYTE),
    )


def _levels(curve: ScalingCurve) -> Iterator[Sequence[str]]:
    unit = curve.metric.unit
    for one in curve.levels:
        keeps = one.efficiency
        yield (
            curve.cell.platform,
            str(one.instances),
            DNR if one.dnr else NONE if one.value is None else _with_unit(one.value, unit),
            ""
            if curve.is_rate
            else NONE
            if one.together is None
            else _with_unit(one.together, Unit.PER_SECOND),
            NONE if keeps is None else estimated_text(keeps),
            NONE if one.fairness is None else plain(one.fairness, 3),
            NONE if one.spread is None else _with_unit(Estimated(one.spread, None), unit),
            f"{one.answered} of {one.tried}",
        )


def worst(residuals: Mapping[int, float]) -> tuple[int, float]:
    """Return the level that lies farthest off the law, and by which share."""
    level = max(residuals, key=lambda one: abs(residuals[one]))
    return level, residuals[level]


def estimated_text(one: Estimated, digits: int = 3) -> str:
    """Write a number with its interval: 0.049 [0.045, 0.053]."""
    ends = one.interval
    low, high = ends or (None, None)
    middle, text = middle_texts(one.value, low, high, digits)
    return f"{middle} {text}".strip()


def bend_text(one: Estimated) -> str:
    """Write the number of instances of a peak or a knee, with its interval."""
    ends = one.interval
    if math.isfinite(one.value):
        if ends is None:
            return plain(one.value, 2)
        low, high = (plain(end, 2) for end in ends)
        return f"{plain(one.value, 2)} [{low}, {high}]"
    if ends is None or math.isinf(ends.low):
        return NEVER
    return f"{NEVER} (at least {plain(ends.low, 2)})"


def _with_unit(one: Estimated, unit: Unit) -> str:
    return scaled_text(one, scale_for(unit, [one.value]))


def scaled_text(one: Estimated, scale: Scale) -> str:
    """Write a number in a unit, with its interval: 101 [98, 104] s."""
    ends = None if one.interval is None else [end / scale.factor for end in one.interval]
    middle, text = middle_texts(one.value / scale.factor, *(ends or (None, None)))
    return " ".join(filter(None, [middle, text, scale.unit]))


def scaling_rows(found: Findings) -> list[dict[str, Any]]:
    """Return all curves as plain data, in base units."""
    return [
        {
            "workload": work.name,
            "platform": curve.cell.platform,
            "metric": curve.metric.name,
            "unit": curve.metric.unit.value,
            "base_instances": curve.base,
            "levels": [_level_row(one) for one in curve.levels],
            "law": _law_row(curve),
            "memory_of_one_more": _plain(curve.memory),
            "memory_by": curve.memory_by,
        }
        for work in scaled_works(found)
        for curve in work.curves
    ]


def _level_row(one: ScaleLevel) -> dict[str, Any]:
    return {
        "instances": one.instances,
        "value": _plain(one.value),
        "together": _plain(one.together),
        "blocks": {str(block): value for block, value in one.blocks.items()},
        "efficiency": _plain(one.efficiency),
        "fairness": one.fairness,
        "spread": one.spread,
        "deviation": one.deviation,
        "stragglers": one.stragglers,
        "answered": one.answered,
        "tried": one.tried,
        "dnr": one.dnr,
    }


def _law_row(curve: ScalingCurve) -> dict[str, Any] | None:
    law = curve.law
    if law is None:
        return None
    return {
        "rate": _plain(law.rate),
        "contention": _plain(law.contention),
        "coherency": _plain(law.coherency),
        "peak": _plain(law.peak),
        "knee": _plain(law.knee),
        "residuals": {str(level): off for level, off in law.residuals.items()},
        "fit": law.fit.value,
        "p": law.p,
    }


def _plain(one: Estimated | None) -> dict[str, float | None] | None:
    if one is None:
        return None
    low, high = one.interval or (None, None)
    return {"value": one.value, "low": low, "high": high}
