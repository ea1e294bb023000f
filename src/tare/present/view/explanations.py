"""Why, as far as counters tell: the words for them, and what of them moved with each degradation.

It is correlation, and no sentence here says more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tare.core.model import ContrastKind, Source
from tare.core.model.instances import FIT
from tare.present.view import numbers
from tare.present.view.counter_words import COUNTERS, Amount, amounts_text, counter_text, unit_of
from tare.present.view.findings import Findings
from tare.present.view.names import limits_text, params_text, platform_text
from tare.present.view.numbers import NONE, TIMES
from tare.present.view.reasons import reason_text
from tare.results.questions.counters import Amplification, Movement, Pace
from tare.results.questions.explanation import Explanation

MAX_TABLES = 40
"""The most slower cells with a table in the page: those with the largest costs."""

CAUTION = (
    "It is correlation: what moved need not be why, and what makes a platform slow may have no "
    "counter."
)


@dataclass(frozen=True)
class Explained:
    """What the page says of a slower cell.

    ``lines`` are counter, baseline, here, ratio and remark, and whether it is named.
    """

    sentence: str
    unit: str
    lines: Sequence[tuple[bool, Sequence[str]]]
    remarks: Sequence[str]


def sentence(one: Explanation, found: Findings) -> str:
    """Return which counters of a slower cell changed with its cost, or why none is known."""
    cost = one.row.cost
    size = "" if cost is None or math.isinf(cost) else f" ({numbers.cost_text(cost)})"
    slower = f"{_where(one, found)} is slower{size}"
    compared = sum(this.p is not None for this in one.movements)
    if one.reason:
        return f"{slower}; which counters changed with it is not known: {reason_text(one.reason)}."
    if not compared:
        return f"{slower}; no counter was read on both sides, so what moved is not known."
    if one.named:
        unit = unit_of(one)
        parts = [_part(this, unit, against(one, found)) for this in one.named]
        return f"{slower}; per {unit.text} it took more {_list(parts)}."
    if any(this.moved for this in one.movements):
        return (
            f"{slower}; it took more only of what any longer time makes larger (CPU time, memory "
            "held, what else the host does), which explains nothing by itself."
        )
    margin = numbers.share_text(found.plan.repetition.margin)
    counters = f"{compared} counter{'s' * (compared > 1)}"
    return (
        f"{slower}; none of {counters} surely grew by more than {margin}, so they do not tell what "
        "made it slower."
    )


def against(one: Explanation, found: Findings) -> str:
    """Name what the counters of a cell are compared with, behind a number."""
    return {
        ContrastKind.ISOLATION: "alone",
        ContrastKind.SCALING: "in one instance",
    }.get(one.row.kind, f"on {found.plan.reference}")


def slower(found: Findings) -> list[Explanation]:
    """List the cells that have a degradation to be explained.

    Work put in explains itself, and that fewer instances fit has a reason of its own.
    """
    return [
        one
        for one in found.explanations
        if one.is_slower
        and one.row.kind is not ContrastKind.INJECTED
        and one.row.metric.name != FIT
    ]


def has_counters(found: Findings) -> bool:
    """Whether any cell has counters on both sides; results of an older Tare have none."""
    return any(one.movements for one in found.explanations)


def sentences(found: Findings) -> list[str]:
    """Return it of every slower cell; nothing where no counter was ever stored."""
    return [sentence(one, found) for one in slower(found)] if has_counters(found) else []


def brief_lines(found: Findings) -> Iterator[str]:
    """Return in a line a cell, for a terminal, what moved; of neighbours there is a table."""
    for one in slower(found):
        if one.named and one.row.kind is not ContrastKind.ISOLATION:
            unit = unit_of(one)
            yield f"{_where(one, found)}: {', '.join(_brief(this, unit) for this in one.named)}"


def explained(found: Findings) -> list[Explained]:
    """Make what the page shows, in the order of the plan."""
    every = slower(found) if has_counters(found) else []
    largest = sorted(every, key=lambda one: -(one.row.cost or math.inf))[:MAX_TABLES]
    kept = {one.row.cell.id for one in largest}
    return [_explained(one, found) for one in every if one.row.cell.id in kept]


def _explained(one: Explanation, found: Findings) -> Explained:
    unit = unit_of(one)
    none = [this for this in one.movements if not this.baseline and not this.own]
    remarks = list(_nothing(none))
    if any(this.in_warmups for this in one.movements):
        remarks.append("Warm-ups: counted in them alone, and not paired.")
    return Explained(
        sentence=sentence(one, found),
        unit=unit.text,
        lines=[
            (this in one.named, _line(this, unit)) for this in one.movements if this not in none
        ],
        # Of a few trials it is chance what the host did meanwhile.
        remarks=[*remarks, *(_inside(this) for this in one.inside if this.low is not None)],
    )


def _nothing(some: Sequence[Movement]) -> Iterator[str]:
    """Name the counters that have nothing but 0, by whether they were read on both sides."""
    texts: dict[str, list[str]] = {}
    for one in some:
        read_on_both = one.baseline == one.own == 0
        where = "0 on both sides" if read_on_both else "0 on one side, not read on the other"
        texts.setdefault(where, []).append(counter_text(one.resource))
    yield from (f"{where}: {', '.join(names)}." for where, names in texts.items())


def _line(one: Movement, unit: Amount) -> Sequence[str]:
    return (
        counter_text(one.resource),
        *amounts_text(one.resource, (one.baseline, one.own), unit),
        _ratio(one) or NONE,
        _remark(one),
    )


def _remark(one: Movement) -> str:
    remarks = [reason_text(one.reason)] if one.reason and not one.moved else []
    if one.moved:
        remarks = ["grew" if one.pace is None else f"grew, {one.pace.value}"]
    if one.in_warmups:
        remarks.append("warm-ups")
    return "; ".join(remarks)


def _part(one: Movement, unit: Amount, where: str) -> str:
    """Return how much a counter grew; what was 0 has no ratio."""
    there, here = amounts_text(one.resource, (one.baseline, one.own), unit)
    remarks = [f"{there} {where}"]
    if _has_ratio(one):
        remarks.append(_ratio(one))
    if one.pace in (Pace.WITH, Pace.LESS):
        remarks.append(one.pace.value)
    if one.in_warmups:
        remarks.append("counted in warm-ups")
    return f"{counter_text(one.resource)}: {here} ({', '.join(remarks)})"


def _brief(one: Movement, unit: Amount) -> str:
    if _has_ratio(one):
        return f"{counter_text(one.resource)} {_ratio(one, with_interval=False)}"
    there, here = amounts_text(one.resource, (one.baseline, one.own), unit)
    return f"{counter_text(one.resource)} from {there} to {here} per {unit.text}"


def _has_ratio(one: Movement) -> bool:
    return one.ratio is not None and math.isfinite(one.ratio)


def _ratio(one: Movement | Amplification, *, with_interval: bool = True) -> str:
    """Write a ratio in three digits, or more where its interval is narrower than they show."""
    if one.ratio is None:
        return ""
    ends = (one.low, one.high) if with_interval else (None, None)
    size, interval = numbers.middle_texts(one.ratio, *ends)
    return f"{size}{TIMES} {interval}".rstrip()


def _inside(one: Amplification) -> str:
    is_own = one.outer.source is Source.LAYER
    whose = "the platform's processes" if is_own else "the whole host"
    words = COUNTERS[one.outer.kind].words
    return (
        f"{words.capitalize()} by {whose} for each inside the guest: "
        f"{_ratio(one)} ({one.trials:,} trials)."
    )


def _where(one: Explanation, found: Findings) -> str:
    cell = one.row.cell
    return f"{found.group_names[cell.id]} on {platform_text(cell)}"


def _list(parts: Sequence[str]) -> str:
    return "; and ".join(["; ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def explanation_rows(found: Findings) -> Iterator[dict[str, Any]]:
    """List every counter of every compared cell, per one unit of work, in base units."""
    for one in found.explanations:
        cell = one.row.cell
        rate = one.work.rate if one.work else None
        about = {
            "workload": cell.workload,
            "platform": platform_text(cell),
            "baseline": one.row.baseline.platform if one.row.baseline else None,
            "params": params_text(cell.params),
            "limits": limits_text(cell.limits),
            "verdict": one.row.verdict.value,
            "cost": one.row.cost,
            "per": f"{rate.name}, {rate.unit.value} x s" if rate else "run",
        }
        for this in one.movements:
            yield {
                **about,
                "counter": this.resource.name,
                "on_baseline": this.baseline,
                "on_platform": this.own,
                "ratio": this.ratio,
                "low": this.low,
                "high": this.high,
                "p": this.p,
                "holm_p": this.holm_p,
                "n": this.pairs,
                "in_warmups": this.in_warmups,
                "beside_cost": this.pace.value if this.pace else None,
                "moved": this.moved,
                "named": this in one.named,
                "reason": reason_text(this.reason),
            }
        for inner in one.inside:
            name = f"{inner.outer.name}/{inner.inner.name}"
            ends = {"ratio": inner.ratio, "low": inner.low, "high": inner.high}
            yield {**about, "counter": name, **ends, "n": inner.trials}
