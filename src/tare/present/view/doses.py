"""Dose curves in words, rows and plain data: where a workload falls to 95 % of itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tare.present.view.findings import Findings
from tare.present.view.neighbours import short_text
from tare.present.view.numbers import percent_number
from tare.results.questions.dose import KEPT, DoseCurve
from tare.results.stats.dose import ABOVE, BELOW

COLUMNS = ("platform", f"falls to {100 * KEPT:g} % of itself at", "neighbour", "workload")
READING = (
    f"The intensity of a neighbour at which a workload falls to {100 * KEPT:g} % of itself: read "
    "from straight lines between the measured intensities, which are made monotone where they are "
    "not (ICp, Norberg-King 1993). Its interval is made of those of the points. Beyond the "
    "measured intensities it is a bound; unknown: the intervals rule no intensity out."
)
UNKNOWN = "unknown"


def fall_text(curve: DoseCurve) -> str:
    """Write the dose at which a workload falls to ``KEPT`` of itself, with its interval."""
    found = curve.fall
    if found is None or not found.is_known or found.low is None or found.high is None:
        return UNKNOWN
    if found.at == BELOW:
        at_most = "" if found.high == BELOW else f" (at most {dose_text(found.high)})"
        return _text(curve, found.at) + at_most
    if found.at == ABOVE:
        at_least = "" if found.low == ABOVE else f" (at least {dose_text(found.low)})"
        return _text(curve, found.at) + at_least
    if found.low > BELOW and found.high < ABOVE:
        low, high = (percent_number(one) for one in (found.low, found.high))
        return f"{dose_text(found.at)} [{low}, {high}] %"
    return f"{dose_text(found.at)} [{_text(curve, found.low)}, {_text(curve, found.high)}]"


def dose_text(dose: float) -> str:
    """Write a dose: 62 %."""
    return f"{percent_number(dose)} %"


def _text(curve: DoseCurve, dose: float) -> str:
    least, most = curve.ends
    if dose == BELOW:
        return f"below {dose_text(least)}"
    return f"above {dose_text(most)}" if dose == ABOVE else dose_text(dose)


def curve_name(curve: DoseCurve) -> str:
    """Name what a curve is of: its neighbour, without the dose."""
    return short_text(curve.neighbour, shows_amount=False)


def dose_lines(found: Findings) -> list[Sequence[str]]:
    """List a line for each curve: one text for each of ``COLUMNS``."""
    return [
        (
            one.alone.platform,
            fall_text(one),
            curve_name(one),
            found.group_names[one.alone.id],
        )
        for one in found.dose_curves
    ]


def dose_rows(found: Findings) -> list[dict[str, Any]]:
    """Return all curves as plain data: shares of what a stressor takes at full, and ratios."""
    return [
        {
            "workload": found.group_names[one.alone.id],
            "platform": one.alone.platform,
            "stressor": one.neighbour.stressor,
            "count": one.neighbour.count,
            "cpus": one.neighbour.cpus.value,
            "points": [
                {
                    "intensity": point.dose,
                    "cost": point.row.cost,
                    "low": point.row.low,
                    "high": point.row.high,
                    "pairs": point.row.pairs,
                    "verdict": point.row.verdict.value,
                    "dnr": point.is_down,
                }
                for point in one.points
            ],
            "kept": KEPT,
            "falls_at": _number(one.fall.at if one.fall else None),
            "falls_at_low": _number(one.fall.low if one.fall else None),
            "falls_at_high": _number(one.fall.high if one.fall else None),
            "known": bool(one.fall and one.fall.is_known),
            "text": fall_text(one),
        }
        for one in found.dose_curves
    ]


def _number(dose: float | None) -> float | str | None:
    """Return a dose; what lies beyond those that were measured is a word."""
    if dose is None:
        return None
    return "below" if dose == BELOW else "above" if math.isinf(dose) else dose
