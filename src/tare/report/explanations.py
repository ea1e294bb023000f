"""Why, as far as counters tell: the words for them, and what of them moved with each degradation.

It is correlation, and no sentence here says more.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tare.compare.counters import Amplification, Movement, Pace
from tare.compare.explanation import Explanation
from tare.report import numbers
from tare.report.counter_words import WORDS, Amount, amount_text, counter_text, unit_of
from tare.report.findings import Findings, limits_text, params_text, platform_text
from tare.report.numbers import NONE

MAX_TABLES = 40
"""So many slower cells have a table in the page, those with the largest costs."""

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
    """Say of a slower cell what moved with its cost, or that nothing did, or is known."""
    costs = f" ({numbers.cost_text(one.row.cost)})" if one.row.cost is not None else ""
    where = f"{_where(one, found)}{costs}"
    compared = sum(this.p is not None for this in one.movements)
    if one.reason:
        return f"{where}: nothing is known, because {one.reason}."
    if not compared:
        return f"{where}: no counter was read on both sides, so nothing can be said."
    if one.named:
        unit = unit_of(one)
        parts = [_part(this, unit) for this in one.named]
        return f"{where}: with it grew, per {unit.text}, {_list(parts)}."
    if any(this.moved for this in one.movements):
        return (
            f"{where}: with it grew only what any longer time makes larger (CPU time, memory held, "
            "what else the host does), which explains nothing by itself."
        )
    margin = numbers.share_text(found.plan.repetition.margin)
    return f"{where}: none of {compared} counters surely grew by more than {margin}."


def slower(found: Findings) -> list[Explanation]:
    """List the cells that have a degradation to be explained."""
    return [one for one in found.explanations if one.is_slower]


def has_counters(found: Findings) -> bool:
    """Whether any cell has counters on both sides; results of an older Tare have none."""
    return any(one.movements for one in found.explanations)


def sentences(found: Findings) -> list[str]:
    """Say it of every slower cell; nothing where no counter was ever stored."""
    return [sentence(one, found) for one in slower(found)] if has_counters(found) else []


def brief_lines(found: Findings) -> Iterator[str]:
    """Say in a line a cell, for a terminal, what moved."""
    for one in slower(found):
        if one.named:
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
    none = [this for this in one.movements if this.baseline == this.own == 0]
    zero = f"0 on both sides: {', '.join(counter_text(this.name) for this in none)}."
    remarks = [zero] if none else []
    if any(this.in_warmups for this in one.movements):
        remarks.append("Warm-ups: counted in them alone, and not paired.")
    return Explained(
        sentence=sentence(one, found),
        unit=unit.text,
        lines=[
            (this in one.named, _line(this, unit)) for this in one.movements if this not in none
        ],
        remarks=[*remarks, *(_inside(this) for this in one.inside)],
    )


def _line(one: Movement, unit: Amount) -> Sequence[str]:
    return (
        counter_text(one.name),
        amount_text(one.name, one.baseline, unit),
        amount_text(one.name, one.own, unit),
        _ratio(one) or NONE,
        _remark(one),
    )


def _remark(one: Movement) -> str:
    said = [one.reason] if one.reason and not one.moved else []
    if one.moved:
        said = ["grew" if one.pace is None else f"grew, {one.pace.value}"]
    if one.in_warmups:
        said.append("warm-ups")
    return "; ".join(said)


def _part(one: Movement, unit: Amount) -> str:
    """Say how much a counter grew; what was 0 has no ratio."""
    remarks = [one.pace.value] if one.pace in (Pace.WITH, Pace.LESS) else []
    if one.in_warmups:
        remarks.append("in warm-ups, not paired")
    amounts = " to ".join(amount_text(one.name, at, unit) for at in (one.baseline, one.own))
    size = f", {_ratio(one)}" if _has_ratio(one) else ""
    return f"{counter_text(one.name)} from {amounts}{size}" + (
        f" ({', '.join(remarks)})" if remarks else ""
    )


def _brief(one: Movement, unit: Amount) -> str:
    if _has_ratio(one):
        return f"{counter_text(one.name)} {numbers.cost_text(one.ratio)}"
    amounts = " to ".join(amount_text(one.name, at, unit) for at in (one.baseline, one.own))
    return f"{counter_text(one.name)} from {amounts} per {unit.text}"


def _has_ratio(one: Movement) -> bool:
    return one.ratio is not None and math.isfinite(one.ratio)


def _ratio(one: Movement | Amplification) -> str:
    if one.ratio is None:
        return ""
    ends = numbers.costs_text(one.low, one.high)
    return numbers.cost_text(one.ratio) + (f" {ends}" if ends != NONE else "")


def _inside(one: Amplification) -> str:
    whose = "the platform's processes" if one.outer.startswith("layer_") else "the whole host"
    size = _ratio(one) or "in too many trials none"
    return (
        f"{WORDS[one.outer.partition('_')[2]].capitalize()} by {whose} for each inside the guest: "
        f"{size} ({one.trials:,} trials)."
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
                "counter": this.name,
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
                "reason": this.reason,
            }
        for inner in one.inside:
            name = f"{inner.outer}/{inner.inner}"
            ends = {"ratio": inner.ratio, "low": inner.low, "high": inner.high}
            yield {**about, "counter": name, **ends, "n": inner.trials}


def write_explanations(found: Findings, path: Path) -> list[Path]:
    """Write explanations.csv; nothing where no counter was ever stored."""
    path.unlink(missing_ok=True)
    if not has_counters(found):
        return []
    table = list(explanation_rows(found))
    columns = list(dict.fromkeys(name for row in table for name in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
    return [path]
