"""Two results of one study compared, as ``tare compare`` prints them and as facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from tare.core.model import Cell
from tare.present.terminal.tables import Field, plain, print_lines, print_table
from tare.present.view.between import ends_text, what_text
from tare.present.view.flags import flag_texts
from tare.present.view.names import platform_text
from tare.present.view.numbers import p_text, percent_text, percents_text, scale_for
from tare.present.view.reasons import reason_text
from tare.results.questions.between import Between, CellChange, Change


def as_json(found: Between) -> dict[str, Any]:
    """Return the comparison of two results as plain data; infinite ends are the text "inf"."""

    return {
        "margin": found.margin,
        "differences": [
            {"what": what_text(one), **dict(zip("ab", ends_text(one), strict=True))}
            for one in found.differences
        ],
        "notes": flag_texts(found.notes),
        "rows": [
            {
                **_cell_json(row.cell),
                "platform_in_b": row.platform_in_b or None,
                "metric": row.metric.name,
                "unit": row.metric.unit.value,
                "a": plain(row.before),
                "b": plain(row.after),
                "verdict": row.word.value,
                "change": _change_json(row.change),
                "cost_change": None if row.cost is None else _change_json(row.cost),
                "refused": [reason_text(why) for why in row.refused],
                "flags": flag_texts(row.flags),
            }
            for row in found.rows
        ],
        "only_in_b": [_cell_json(cell) for cell in found.only_in_b],
    }


def _cell_json(cell: Cell) -> dict[str, Any]:
    return {
        "platform": cell.platform,
        "stack": cell.stack,
        "workload": cell.workload,
        "params": dict(cell.params),
        "limits": {
            "cpus": cell.limits.cpus,
            "memory_bytes": cell.limits.memory_bytes,
            **dict(cell.limits.unusual),
        },
    }


def _change_json(change: Change) -> dict[str, Any]:
    return {
        "ratio": plain(change.ratio),
        "low": plain(change.low),
        "high": plain(change.high),
        "p": change.p,
        "p_holm": change.holm_p,
        "verdict": change.word.value,
        "reason": reason_text(change.reason),
    }


_WORDS = {"worse": "red", "better": "green", "same": "cyan", "undecided": "yellow"}


def show(title: str, found: Between, names: Mapping[str, str]) -> None:
    """Print what changed around the results, the changes, and what to read with them."""
    console = Console()
    console.print(Text(title, "bold"))
    console.print(
        "Change: how much more time, or whatever is better when lower, a unit of work takes in B; "
        "positive is worse. Of the cost: the same of the ratio to the baseline, which a faster "
        f"host leaves as it is. Intervals of 95 %; same is within {100 * found.margin:g} %."
    )
    what_changed = [
        f"{what_text(one)}: {before} \N{RIGHTWARDS ARROW} {after}"
        for one in found.differences
        for before, after in [ends_text(one)]
    ]
    print_lines(console, "WHAT CHANGED AROUND IT", what_changed or ["nothing that was stored"])
    console.print()
    _show_changes(console, found, names)
    listed: dict[str, list[str]] = {}
    for row in found.rows:
        for why in (*_whys(row), *flag_texts(row.flags)):
            listed.setdefault(why, []).append(f"{names[row.cell.id]} on {platform_text(row.cell)}")
    alone = [f"{names[cell.id]} on {platform_text(cell)}" for cell in found.only_in_b]
    print_lines(console, "NOT COMPARABLE", _refused_lines(found, names))
    print_lines(console, "ONLY IN B", alone)
    lines = [f"{', '.join(dict.fromkeys(where))}: {why}" for why, where in listed.items()]
    print_lines(console, "TO BE READ WITH IT", [*flag_texts(found.notes), *lines])


def _show_changes(console: Console, found: Between, names: Mapping[str, str]) -> None:
    """Print the changes; where there is no room, without the values and one of the intervals."""
    numbers = {
        "A": 1,
        "B": 1,
        "change": None,
        "95 %": 2,
        "cost": None,
        "95 % of it": 4,
        "p (Holm)": 3,
    }
    fields = (
        *map(Field, ("what", "platform")),
        *(Field(name, number=True, weight=weight) for name, weight in numbers.items()),
        Field("verdict"),
    )
    lines = []
    for row in found.rows:
        if row.refused:
            continue
        scale = scale_for(row.metric.unit, (row.before, row.after))
        deciding = row.change if row.cost is None else row.cost
        cost = ("baseline", "") if row.cost is None else _change_texts(row.cost)
        lines.append(
            (
                *(f"{names[row.cell.id]}: {row.metric.name}", platform_text(row.cell)),
                *(scale.full(row.before), scale.full(row.after)),
                *(*_change_texts(row.change), *cost, p_text(deciding.holm_p)),
                Text(row.word.value, _WORDS.get(row.word.value, "")),
            )
        )
    print_table(console, fields, lines)


def _change_texts(change: Change) -> tuple[str, str]:
    ends = change.low, change.high
    return percent_text(change.ratio, *ends), percents_text(*ends, change.ratio)


def _whys(row: CellChange) -> Iterator[str]:
    """Return why a number that should be there is not."""
    if row.refused:
        return
    if row.change.reason:
        yield f"change: {reason_text(row.change.reason)}"
    if row.cost is not None and row.cost.reason:
        yield f"change of the cost: {reason_text(row.cost.reason)}"
    if row.platform_in_b != row.cell.platform:
        yield f"called {row.platform_in_b} in B"


def _refused_lines(found: Between, names: Mapping[str, str]) -> Iterator[str]:
    grouped: dict[str, list[str]] = {}
    for row in found.rows:
        if row.refused:
            place = f"{names[row.cell.id]} on {platform_text(row.cell)}"
            grouped.setdefault("; ".join(map(reason_text, row.refused)), []).append(place)
    for why, places in grouped.items():
        yield f"{', '.join(places)}: {why}"
