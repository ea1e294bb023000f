"""Results compared with those of published studies, as ``tare compare`` prints them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from tare.core.model import ContrastKind, neighbour_of
from tare.present.terminal.published_numbers import (
    differences_as_json,
    grouped,
    numbers_as_json,
    show_numbers,
    show_tests,
    tests_as_json,
)
from tare.present.terminal.tables import Field, plain, print_lines, print_table
from tare.present.view.neighbours import short_text
from tare.present.view.numbers import MINUS, NONE, percent_text, percents_text
from tare.present.view.reasons import why_text
from tare.results.compare.comparison import Comparison
from tare.results.published.rows import source
from tare.results.published.significance import Tested
from tare.results.published.study_comparison import Missing, Pair, StudyComparison, by_likeness

LESS_ALIKE = "LESS LIKE THE STUDY THAN WHAT STANDS IN THE TABLE AND IN FIGURES"

MAX_TITLES = 3
"""The most rows of a table without a counterpart that are named; the rest are counted."""


def as_json(part: StudyComparison, tests: Sequence[Tested] = ()) -> dict[str, Any]:
    """Return one study's side as plain data; infinite numbers are the text "inf".

    ``most_alike`` are the rows that the printed table and the figures have.
    """
    kept = {id(pair) for pair in by_likeness(part.pairs)[0]}
    return {
        "study": part.study,
        "caveats": list(part.caveats),
        "rows": [
            {
                "published": {
                    **_row_json(pair.printed.row),
                    "baseline": pair.printed.baseline,
                    "value": pair.printed.row.value,
                    "unit": pair.printed.row.unit,
                    **_cost_json(pair.printed.cost, *(pair.printed.interval or (None, None))),
                    "differences": dict(pair.printed_differences),
                },
                "ours": our_json(pair.ours),
                "difference_points": plain(pair.difference_points),
                "within": pair.within,
                "differs": list(pair.differs),
                "setup": differences_as_json(pair.setup),
                "most_alike": id(pair) in kept,
            }
            for pair in part.pairs
        ],
        "numbers": numbers_as_json(part.quantities),
        "tests": tests_as_json(tests, our_json),
        "not_measured": [
            {**_row_json(one.row), "reason": why_text(one.reason)} for one in _not_here(part, tests)
        ],
    }


def _not_here(part: StudyComparison, tests: Sequence[Tested]) -> list[Missing]:
    """List what has neither a cost, nor another number, nor a comparison here."""
    tested = {one.row for one in tests if one.pairs}
    return [one for one in part.not_here if one.row not in tested]


def _row_json(row: Any) -> dict[str, Any]:  # noqa: ANN401 - a published row
    return {
        "table": row.table,
        "experiment": row.experiment,
        "what": row.title,
        "platform": row.platform,
    }


def our_json(row: Comparison) -> dict[str, Any]:
    """Return one comparison of these results as plain data."""
    cell = row.cell
    return {
        "platform": cell.platform,
        "stack": cell.stack,
        "baseline": row.baseline.platform if row.baseline else None,
        "workload": cell.workload,
        "params": dict(cell.params),
        "limits": {
            "cpus": cell.limits.cpus,
            "memory_bytes": cell.limits.memory_bytes,
            **dict(cell.limits.unusual),
        },
        "metric": row.metric.name,
        "verdict": row.verdict.value,
        "pairs": row.pairs,
        **_cost_json(row.cost, row.low, row.high),
    }


def _cost_json(cost: float | None, low: float | None, high: float | None) -> dict[str, Any]:
    percent = None if cost is None else 100 * (cost - 1)
    return {
        "cost": plain(cost),
        "low": plain(low),
        "high": plain(high),
        "degradation_percent": plain(percent),
    }


def show(
    study: str,
    parts: Sequence[StudyComparison],
    rest: Sequence[Comparison],
    names: Mapping[str, str],
    tests: Mapping[str, Sequence[Tested]] | None = None,
) -> None:
    """Print every study's table, what has no counterpart, and what that is to be read with."""
    console = Console()
    console.print(
        "Degradation: how much more time, or whatever is better when lower, a unit of work takes "
        "than on the baseline; positive is worse. Ours is by wall time, with an interval of 95 %."
    )
    for part in parts:
        console.print()
        console.print(Text.assemble((f"{study} compared with {part.study}", "bold")))
        console.print(Text(source(part.study), "italic"))
        pairs, others = by_likeness(part.pairs)
        if pairs:
            _show_pairs(console, part.study, pairs, names)
            for note in _notes(pairs, names):
                console.print(Text(note))
            of_rates = [pair for pair in pairs if pair.printed.of_rate is not None]
            if of_rates:
                console.print()
                console.print(Text(_counted(of_rates), "bold"))
                _show_in_its_words(console, part.study, of_rates, names)
                console.print("Its differences from other studies stand as it prints them.")
        else:
            console.print("No cost of these results corresponds to a row of it.")
        tested = (tests or {}).get(part.study, ())
        show_numbers(console, part.quantities, names)
        show_tests(console, tested, names)
        for caveat in part.caveats:
            console.print(Text(caveat, "italic"))
        print_lines(console, LESS_ALIKE, _other_lines(others, names))
        print_lines(console, "PUBLISHED, BUT NOT HERE", _missing_lines(_not_here(part, tested)))
    print_lines(console, "HERE, BUT NOT PUBLISHED", _rest_lines(rest, names))


def _show_pairs(
    console: Console, study: str, pairs: Sequence[Pair], names: Mapping[str, str]
) -> None:
    fields = (
        *(Field("what"), Field("platform"), Field("ours", number=True)),
        *(Field("95 %", number=True), Field(study, number=True)),
        Field("difference points", number=True, weight=1),
    )
    lines = []
    several = len(_baselines(pairs)) > 1
    for pair in pairs:
        row = pair.ours
        against = f" against {_baseline(row)}" if several else ""
        texts = (
            *(_what(row, names), f"{row.cell.platform}{against}"),
            percent_text(row.cost, row.low, row.high),
            percents_text(row.low, row.high, row.cost),
            *(percent_text(pair.printed.cost), _points(pair.difference_points)),
        )
        lines.append(texts)
    print_table(console, fields, lines)


def _baseline(row: Comparison) -> str:
    if row.kind is ContrastKind.ISOLATION:
        return "the same platform alone"
    return row.baseline.platform if row.baseline else ""


def _baselines(pairs: Sequence[Pair]) -> list[str]:
    return list(dict.fromkeys(_baseline(pair.ours) for pair in pairs))


def _notes(pairs: Sequence[Pair], names: Mapping[str, str]) -> Iterator[str]:
    """Return what the table does not: the baseline, agreement, and what was not as in the study."""
    known = [pair.within for pair in pairs if pair.within is not None]
    agree = f" {sum(known)} of {len(known)} published numbers lie within our interval."
    yield f"Against {' or '.join(_baselines(pairs))}.{agree if known else ''}"
    undecided = dict.fromkeys(
        f"{_what(pair.ours, names)} on {pair.ours.cell.platform}"
        for pair in pairs
        if pair.ours.verdict.value == "undecided"
    )
    if undecided:
        yield f"Undecided here: {', '.join(undecided)}."
    yield from grouped((_what(pair.ours, names), pair.differs) for pair in pairs)


def _other_lines(pairs: Sequence[Pair], names: Mapping[str, str]) -> Iterator[str]:
    """Name what else here could correspond to a row, with what is not as in the study."""
    by_row: dict[tuple[str, str, str], dict[str, None]] = {}
    for pair in pairs:
        row, ours = pair.printed.row, pair.ours
        place = f"{row.table}, {row.title}", _what(ours, names), "; ".join(pair.differs)
        by_row.setdefault(place, {})[ours.cell.platform] = None
    for (row_name, what, differs), platforms in by_row.items():
        yield f"{row_name}: {what} on {', '.join(platforms)} ({differs})"


def _counted(pairs: Sequence[Pair]) -> str:
    """Name what the study's own degradations are of."""
    ways = {pair.printed.of_rate for pair in pairs}
    words = ["of a rate what is lost"] if True in ways else []
    words += ["of a time what is added"] if False in ways else []
    return f"As the study counts: {', '.join(words)}"


def _show_in_its_words(
    console: Console, study: str, pairs: Sequence[Pair], names: Mapping[str, str]
) -> None:
    """Print the table that the study itself has, with its differences from other studies."""
    titles = list(dict.fromkeys(title for pair in pairs for title in pair.printed_differences))
    fields = (
        *(Field("what"), Field("platform"), Field("ours, %", number=True)),
        *(Field(f"{study}, %", number=True), Field("difference points", number=True, weight=2)),
        *(Field(title, number=True, weight=1) for title in titles),
    )
    lines = []
    for pair in pairs:
        cost, printed = pair.ours.cost, pair.printed
        if cost is None or printed.row.value is None:
            continue
        own_value = printed.as_the_study_says(cost)
        differences = (pair.printed_differences.get(title) for title in titles)
        texts = (
            *(_what(pair.ours, names), pair.ours.cell.platform),
            *(
                _points(own_value),
                _points(printed.row.value),
                _points(own_value - printed.row.value),
            ),
            *map(_points, differences),
        )
        lines.append(texts)
    print_table(console, fields, lines)


def _what(row: Comparison, names: Mapping[str, str]) -> str:
    neighbour = neighbour_of(row.cell.params)
    where = f" next to {short_text(neighbour)}" if neighbour else ""
    return f"{names[row.cell.id]}{where}: {row.metric.name}"


def _points(value: float | None) -> str:
    if value is None:
        return NONE
    text = f"{value:+,.1f}" if math.isfinite(value) else f"{value:+}"
    return text.replace("-", MINUS).replace("inf", "∞")


def _missing_lines(missing: Sequence[Missing]) -> Iterator[str]:
    """Return what has no counterpart: a line for each table and reason."""

    grouped: dict[tuple[str, str, str], list[Missing]] = {}
    for one in missing:
        key = one.row.table, one.row.experiment, why_text(one.reason)
        grouped.setdefault(key, []).append(one)
    for (table, experiment, reason), some in grouped.items():
        titles = list(dict.fromkeys(one.row.title for one in some))
        workloads = list(dict.fromkeys(one.row.workload for one in some if one.row.workload))
        platforms = list(dict.fromkeys(one.row.platform for one in some if one.row.platform))
        where = f" on {', '.join(platforms)}" if 0 < len(platforms) <= MAX_TITLES else ""
        rows = f"{len(some)} row{'s' if len(some) > 1 else ''}"
        of = f" of {', '.join(workloads)}" if 0 < len(workloads) <= MAX_TITLES else ""
        few = some[0].measurable and len(titles) <= MAX_TITLES
        yield f"{table}, {experiment}: {'; '.join(titles) if few else rows + of}{where}: {reason}"


def _rest_lines(rest: Sequence[Comparison], names: Mapping[str, str]) -> Iterator[str]:
    """Return what no study has, one line for each workload of these results."""
    grouped: dict[str, list[Comparison]] = {}
    for row in rest:
        grouped.setdefault(names[row.cell.id], []).append(row)
    for name, rows in grouped.items():
        metrics = ", ".join(dict.fromkeys(row.metric.name for row in rows))
        platforms = ", ".join(dict.fromkeys(row.cell.platform for row in rows))
        yield f"{name}: {metrics} on {platforms}"
