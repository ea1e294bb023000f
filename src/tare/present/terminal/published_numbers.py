"""Published numbers that are no costs, with ours: spreads, CPU times, and p values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from tare.present.terminal.tables import Field, plain, print_table
from tare.present.view.numbers import p_text, percent_text, percents_text
from tare.results.compare.comparison import Comparison
from tare.results.published.quantities import Quantity
from tare.results.published.setup_comparison import SetupComparison
from tare.results.published.significance import Tested
from tare.results.published.study_comparison import Pair

NUMBERS = "Numbers that are no costs, as they stand"
TESTS = (
    "p values as printed, after Holm over all of the study's tests, and our comparison of the same "
    "two platforms"
)


def numbers_as_json(numbers: Sequence[Quantity]) -> list[dict[str, Any]]:
    """Return the numbers that are no costs as plain data."""
    return [
        {
            "table": one.row.table,
            "what": one.row.title,
            "platform": one.row.platform,
            "of": one.words,
            "unit": one.unit,
            "published": plain(one.printed),
            "ours": plain(one.ours),
            "difference": plain(one.difference),
            "trials": one.trials,
            "cell": {
                "platform": one.cell.platform,
                "workload": one.cell.workload,
                "params": dict(one.cell.params),
            },
            "differs": list(one.differs),
            "setup": differences_as_json(one.setup),
        }
        for one in numbers
    ]


def tests_as_json(
    tests: Sequence[Tested], our_json: Callable[[Comparison], dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the p values that have comparisons here as plain data."""
    return [
        {
            "table": one.row.table,
            "what": one.row.title,
            "platform": one.row.platform,
            "baseline": one.row.baseline,
            "p": one.p,
            "holm_p": one.holm_p,
            "ours": [
                {
                    **our_json(pair.ours),
                    "differs": list(pair.differs),
                    "setup": differences_as_json(pair.setup),
                }
                for pair in one.pairs
            ],
        }
        for one in tests
        if one.pairs
    ]


def differences_as_json(setup: SetupComparison) -> list[dict[str, Any]]:
    """Put into plain data in what the set-up of a row was not as the study's."""
    return [
        {
            "topic": one.topic.value,
            "what": one.what,
            "ours": one.ours,
            "published": one.theirs,
            "section": one.section,
        }
        for one in setup.differences
    ]


def show_numbers(console: Console, numbers: Sequence[Quantity], names: Mapping[str, str]) -> None:
    """Print the numbers that are no costs, and what was not alike."""
    if not numbers:
        return
    console.print()
    console.print(Text(NUMBERS, "bold"))
    fields = (
        *map(Field, ("what", "platform", "of")),
        *(Field(name, number=True) for name in ("ours", "published", "unit")),
    )
    lines = []
    for one in numbers:
        values = (f"{value:,.4g}" for value in (one.ours, one.printed))
        texts = (f"{one.row.workload}: {one.row.metric}", one.cell.platform, one.words)
        lines.append((*texts, *values, one.unit))
    print_table(console, fields, lines)
    for line in grouped((names[one.cell.id], one.differs) for one in numbers):
        console.print(Text(line))


def show_tests(console: Console, tests: Sequence[Tested], names: Mapping[str, str]) -> None:
    """Print the p values that have comparisons here, and what was not alike."""
    known = [one for one in tests if one.pairs]
    if not known:
        return
    console.print()
    console.print(Text(TESTS, "bold"))
    _show_p_values(console, known)
    pairs = [pair for one in known for pair in one.pairs]
    for line in grouped((_name(pair, names), pair.differs) for pair in pairs):
        console.print(Text(line))


def _show_p_values(console: Console, tests: Sequence[Tested]) -> None:
    numbers = {"p": 1, "Holm": None, "ours": None, "95 %": 2, "verdict": None}
    fields = (
        *(Field("what"), Field("platforms")),
        *(Field(name, number=True, weight=weight) for name, weight in numbers.items()),
    )
    lines = []
    for one in tests:
        for pair in one.pairs:
            row = pair.ours
            what = ", ".join(filter(None, (one.row.workload, one.row.level)))
            texts = (
                *(what, f"{one.row.platform} against {one.row.baseline}"),
                *(one.row.text, p_text(one.holm_p)),
                percent_text(row.cost, row.low, row.high),
                percents_text(row.low, row.high, row.cost),
                row.verdict.value,
            )
            lines.append(texts)
    print_table(console, fields, lines)


def _name(pair: Pair, names: Mapping[str, str]) -> str:
    return names[pair.ours.cell.id]


def grouped(rows: Iterator[tuple[str, tuple[str, ...]]]) -> Iterator[str]:
    """Write what was not alike: once what holds of all rows, then the rest for each group of rows.

    A row is its name, and in what it differs from the study.
    """
    every = list(rows)
    common = [
        one for one in (every[0][1] if every else ()) if all(one in differs for _, differs in every)
    ]
    if len(every) > 1 and common:
        yield f"In all rows: {'; '.join(common)}."
    else:
        common = []
    groups: dict[str, dict[str, None]] = {}
    for name, differs in every:
        rest = "; ".join(one for one in differs if one not in common)
        if rest:
            groups.setdefault(rest, {})[name] = None
    for rest, which in groups.items():
        yield f"{rest}: {', '.join(which)}."
