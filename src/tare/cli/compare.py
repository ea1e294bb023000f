"""``tare compare``: results beside published ones, or beside earlier results of the same study."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tare.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from tare.compare import Comparison
    from tare.compare.between import Between, CellChange, Change
    from tare.model import Cell
    from tare.published.beside import Beside, Missing, Pair

NAME = "compare"
HELP = "set results beside those of published studies, or beside earlier ones of the same study"

MAX_HEADING = 25
"""Longer headings, those of a study's own tables, are wrapped where there is no room."""
MAX_TITLES = 3
"""So many rows of a table that have no counterpart are named; of more, their number is told."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "what",
        nargs="+",
        metavar="RESULTS|STUDY",
        help="a results directory, and published studies by name (tare published lists them); or "
        "two results directories of one study, the earlier first",
    )
    parser.add_argument("--json", action="store_true", help="print facts for programs")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from tare.published import studies
    from tare.published.beside import Ours, beside, unpublished
    from tare.report import describe
    from tare.store import load

    folders, names = sorted_out(options.what, studies())
    if len(folders) == 2 and not names:
        return _two_results(folders[0], folders[1], as_facts=options.json)
    if len(folders) != 1 or not names:
        raise ConfigError(
            f"expected one results directory and at least one published study, or two results "
            f"directories; found {len(folders)} and {len(names)}"
        )
    found = describe(load(folders[0]))
    ours = Ours(found.plan, found.results.trials, found.results.facts)
    parts = [beside(name, ours) for name in names]
    rest = unpublished(parts, ours)
    if options.json:
        told = {
            "results": str(folders[0]),
            "study": found.plan.study,
            "studies": [as_json(part) for part in parts],
            "not_published": [_our_json(row) for row in rest],
        }
        print(json.dumps(told, allow_nan=False))
    else:
        show(found.plan.study, parts, rest, found.group_names)
    return 0


def sorted_out(words: Iterable[str], known: Sequence[str]) -> tuple[list[Path], list[str]]:
    """Tell directories from names of studies; what is both, or neither, is a ConfigError."""
    folders: list[Path] = []
    names: list[str] = []
    for word in dict.fromkeys(words):
        is_folder, is_study = Path(word).is_dir(), word in known
        if is_folder and is_study:
            raise ConfigError(
                f"{word!r} is a published study and a directory here: write ./{word} for the "
                "directory, or run it elsewhere for the study"
            )
        if not is_folder and not is_study:
            raise ConfigError(
                f"{word!r} is neither a results directory nor a published study; the studies are "
                f"{', '.join(known)}"
            )
        if is_folder:
            folders.append(Path(word))
        else:
            names.append(word)
    return folders, names


def as_json(part: Beside) -> dict[str, Any]:
    """Put one study's side into plain data; infinite numbers are the text "inf"."""
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
                "ours": _our_json(pair.ours),
                "difference_points": _plain(pair.difference_points),
                "within": pair.within,
                "differs": list(pair.differs),
            }
            for pair in part.pairs
        ],
        "not_measured": [{**_row_json(one.row), "reason": one.reason} for one in part.missing],
    }


def _row_json(row: Any) -> dict[str, Any]:  # noqa: ANN401 - a published row
    return {
        "table": row.table,
        "experiment": row.experiment,
        "what": row.title,
        "platform": row.platform,
    }


def _our_json(row: Comparison) -> dict[str, Any]:
    cell = row.cell
    return {
        "platform": cell.platform,
        "stack": cell.stack,
        "baseline": row.baseline.platform if row.baseline else None,
        "workload": cell.workload,
        "params": dict(cell.params),
        "limits": {"cpus": cell.limits.cpus, "memory_bytes": cell.limits.memory_bytes},
        "metric": row.metric.name,
        "verdict": row.verdict.value,
        "pairs": row.pairs,
        **_cost_json(row.cost, row.low, row.high),
    }


def _cost_json(cost: float | None, low: float | None, high: float | None) -> dict[str, Any]:
    percent = None if cost is None else 100 * (cost - 1)
    return {
        "cost": _plain(cost),
        "low": _plain(low),
        "high": _plain(high),
        "degradation_percent": _plain(percent),
    }


def _plain(value: float | None) -> float | str | None:
    return value if value is None or math.isfinite(value) else str(value)


def show(
    study: str, parts: Sequence[Beside], rest: Sequence[Comparison], names: Mapping[str, str]
) -> None:
    """Print every study's table, what stands beside nothing, and what that is to be read with."""
    from rich.console import Console
    from rich.text import Text

    from tare.published.rows import source

    console = Console()
    console.print(
        "Degradation: how much more time, or whatever is better when lower, a unit of work takes "
        "than on the baseline; positive is worse. Ours is by wall time, with an interval of 95 %."
    )
    for part in parts:
        console.print()
        console.print(Text.assemble((f"{study} beside {part.study}", "bold")))
        console.print(Text(source(part.study), "italic"))
        if part.pairs:
            console.print(_table(part, names))
            for note in _notes(part, names):
                console.print(Text(note))
            told = [pair for pair in part.pairs if pair.printed.of_rate is not None]
            if told:
                console.print()
                console.print(Text("As the study counts: of a rate what is lost", "bold"))
                console.print(_in_its_words(part.study, told, names))
                console.print("Its differences from other studies stand as it prints them.")
        else:
            console.print("Nothing of these results stands beside a row of it.")
        for caveat in part.caveats:
            console.print(Text(caveat, "italic"))
        _print_lines(console, "PUBLISHED, BUT NOT HERE", _missing_lines(part.missing))
    _print_lines(console, "HERE, BUT NOT PUBLISHED", _rest_lines(rest, names))


def _table(part: Beside, names: Mapping[str, str]) -> Table:
    from rich.text import Text

    from tare.report.numbers import percent_text, percents_text

    table = _drawn(("what", "platform"), ("ours", "95 %", part.study, "difference\npoints"))
    several = len(_baselines(part.pairs)) > 1
    for pair in part.pairs:
        row = pair.ours
        against = f" against {_baseline(row)}" if several else ""
        texts = (
            *(_what(row, names), f"{row.cell.platform}{against}"),
            *(percent_text(row.cost), percents_text(row.low, row.high)),
            *(percent_text(pair.printed.cost), _points(pair.difference_points)),
        )
        table.add_row(*map(Text, texts))
    return table


def _baseline(row: Comparison) -> str:
    return row.baseline.platform if row.baseline else ""


def _baselines(pairs: Sequence[Pair]) -> list[str]:
    return list(dict.fromkeys(_baseline(pair.ours) for pair in pairs))


def _notes(part: Beside, names: Mapping[str, str]) -> Iterator[str]:
    """Say what the table does not: the baseline, agreement, and what was not as in the study."""
    known = [pair.within for pair in part.pairs if pair.within is not None]
    agree = f" {sum(known)} of {len(known)} published numbers lie within our interval."
    yield f"Against {' or '.join(_baselines(part.pairs))}.{agree if known else ''}"
    told: dict[str, dict[str, None]] = {}
    for pair in part.pairs:
        if pair.ours.verdict.value == "undecided":
            told.setdefault("Undecided here", {})[
                f"{_what(pair.ours, names)} on {pair.ours.cell.platform}"
            ] = None
        if pair.differs:
            told.setdefault("; ".join(pair.differs), {})[_what(pair.ours, names)] = None
    for differs, which in told.items():
        yield f"{differs}: {', '.join(which)}."


def _in_its_words(study: str, pairs: Sequence[Pair], names: Mapping[str, str]) -> Table:
    """Draw the table that the study itself has: its differences from others beside ours from it."""
    from rich.text import Text

    titles = list(dict.fromkeys(title for pair in pairs for title in pair.printed_differences))
    table = _drawn(("what", "platform"), ("ours, %", f"{study}, %", "difference\npoints", *titles))
    for pair in pairs:
        cost, printed = pair.ours.cost, pair.printed
        if cost is None or printed.row.value is None:
            continue
        mine = printed.as_the_study_says(cost)
        differences = (pair.printed_differences.get(title) for title in titles)
        texts = (
            *(_what(pair.ours, names), pair.ours.cell.platform),
            *(_points(mine), _points(printed.row.value), _points(mine - printed.row.value)),
            *map(_points, differences),
        )
        table.add_row(*map(Text, texts))
    return table


def _drawn(texts: Sequence[str], numbers: Sequence[str]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in texts:
        table.add_column(name, overflow="fold")
    for name in numbers:
        wide = len(name) > MAX_HEADING
        table.add_column(name, justify="right", no_wrap=not wide, overflow="fold")
    return table


def _what(row: Comparison, names: Mapping[str, str]) -> str:
    return f"{names[row.cell.id]}: {row.metric.name}"


def _points(value: float | None) -> str:
    from tare.report.numbers import MINUS, NONE

    if value is None:
        return NONE
    text = f"{value:+,.1f}" if math.isfinite(value) else f"{value:+}"
    return text.replace("-", MINUS).replace("inf", "∞")


def _print_lines(console: Console, title: str, lines: Iterable[str]) -> None:
    from rich.text import Text

    listed = list(lines)
    if listed:
        console.print()
        console.print(Text(title, "bold"))
    for line in listed:
        console.print(Text(line))


def _missing_lines(missing: Sequence[Missing]) -> Iterator[str]:
    """Say what has no counterpart: a line for each reason; of a table nobody measures, one."""
    grouped: dict[tuple[str, str, str], list[Missing]] = {}
    for one in missing:
        reason = one.reason if one.measurable else ""
        grouped.setdefault((one.row.table, one.row.experiment, reason), []).append(one)
    for (table, experiment, _), some in grouped.items():
        titles = list(dict.fromkeys(one.row.title for one in some))
        platforms = list(dict.fromkeys(one.row.platform for one in some if one.row.platform))
        where = f" on {', '.join(platforms)}" if 0 < len(platforms) <= MAX_TITLES else ""
        few = some[0].measurable and len(titles) <= MAX_TITLES
        named = "; ".join(titles) if few else f"{len(some)} rows"
        reasons = "; ".join(dict.fromkeys(one.reason for one in some))
        yield f"{table}, {experiment}: {named}{where}: {reasons}"


def _rest_lines(rest: Sequence[Comparison], names: Mapping[str, str]) -> Iterator[str]:
    """Say what no study has, one line for each workload of ours."""
    grouped: dict[str, list[Comparison]] = {}
    for row in rest:
        grouped.setdefault(names[row.cell.id], []).append(row)
    for name, rows in grouped.items():
        metrics = ", ".join(dict.fromkeys(row.metric.name for row in rows))
        platforms = ", ".join(dict.fromkeys(row.cell.platform for row in rows))
        yield f"{name}: {metrics} on {platforms}"


# Two results directories


def _two_results(first: Path, second: Path, *, as_facts: bool) -> int:
    """Set the second directory's results beside the first's."""
    from tare.compare.between import Side, between
    from tare.report.findings import Findings
    from tare.store import load

    if first.resolve() == second.resolve():
        raise ConfigError(f"{first} and {second} are the same directory; expected two")
    results = [load(first), load(second)]
    a, b = (Side(one.plan, one.trials, one.facts) for one in results)
    found = between(a, b)
    names = {
        key: name
        for one, side in zip(reversed(results), (b, a), strict=True)
        for key, name in Findings(one, side.comparisons).group_names.items()
    }
    if as_facts:
        told = {"a": str(first), "b": str(second), "study": a.plan.study, **between_json(found)}
        print(json.dumps(told, allow_nan=False))
    else:
        _show_between(f"{a.plan.study}: {second} (B) beside {first} (A)", found, names)
    return 0


def between_json(found: Between) -> dict[str, Any]:
    """Put two result sets beside each other into plain data; infinite ends are the text "inf"."""
    return {
        "margin": found.margin,
        "differences": [
            {"what": one.what, "a": one.before, "b": one.after} for one in found.differences
        ],
        "notes": list(found.notes),
        "rows": [
            {
                **_cell_json(row.cell),
                "platform_in_b": row.platform_in_b or None,
                "metric": row.metric.name,
                "unit": row.metric.unit.value,
                "a": _plain(row.before),
                "b": _plain(row.after),
                "verdict": row.word.value,
                "change": _change_json(row.change),
                "cost_change": None if row.cost is None else _change_json(row.cost),
                "refused": list(row.refused),
                "flags": list(row.flags),
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
        "limits": {"cpus": cell.limits.cpus, "memory_bytes": cell.limits.memory_bytes},
    }


def _change_json(change: Change) -> dict[str, Any]:
    return {
        "ratio": _plain(change.ratio),
        "low": _plain(change.low),
        "high": _plain(change.high),
        "p": change.p,
        "p_holm": change.holm_p,
        "verdict": change.word.value,
        "reason": change.reason,
    }


_WORDS = {"worse": "red", "better": "green", "same": "cyan", "undecided": "yellow"}


def _show_between(title: str, found: Between, names: Mapping[str, str]) -> None:
    from rich.console import Console
    from rich.text import Text

    from tare.report.tables import WIDE

    console = Console()
    console.print(Text(title, "bold"))
    console.print(
        "Change: how much more time, or whatever is better when lower, a unit of work takes in B; "
        "positive is worse. Of the cost: the same of the ratio to the baseline, which a faster "
        f"host leaves as it is. Intervals of 95 %; same is within {100 * found.margin:g} %."
    )
    what_changed = [
        f"{one.what}: {one.before} \N{RIGHTWARDS ARROW} {one.after}" for one in found.differences
    ]
    _print_lines(console, "WHAT CHANGED AROUND IT", what_changed or ["nothing that was stored"])
    console.print()
    console.print(_between_table(found, names, wide=console.width >= WIDE))
    told: dict[str, list[str]] = {}
    for row in found.rows:
        for why in (*_whys(row), *row.flags):
            told.setdefault(why, []).append(f"{names[row.cell.id]} on {row.cell.platform}")
    alone = [f"{names[cell.id]} on {cell.platform}" for cell in found.only_in_b]
    _print_lines(console, "NOT COMPARABLE", _refused_lines(found, names))
    _print_lines(console, "ONLY IN B", alone)
    lines = [f"{', '.join(dict.fromkeys(where))}: {why}" for why, where in told.items()]
    _print_lines(console, "TO BE READ WITH IT", [*found.notes, *lines])


def _between_table(found: Between, names: Mapping[str, str], *, wide: bool) -> Table:
    """Draw the changes; where there is no room, without the values and one of the intervals."""
    from rich.text import Text

    from tare.report.numbers import p_text, percent_text, percents_text, scale_for

    table = _drawn(("what", "platform"), ("A", "B") if wide else ())
    titles = ("change", "95 %", "cost", "95 % of it", "p (Holm)")
    for title in titles if wide else ("change", "cost", "95 % of it"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for row in found.rows:
        if row.refused:
            continue
        scale = scale_for(row.metric.unit, (row.before, row.after))
        deciding = row.change if row.cost is None else row.cost
        own = (percent_text(row.change.ratio), percents_text(row.change.low, row.change.high))
        cost = ("baseline", "")
        if row.cost is not None:
            cost = (percent_text(row.cost.ratio), percents_text(row.cost.low, row.cost.high))
        numbers: tuple[str, ...] = (own[0], *cost)
        if wide:
            values = (scale.full(row.before), scale.full(row.after))
            numbers = (*values, *own, *cost, p_text(deciding.holm_p))
        texts = (f"{names[row.cell.id]}: {row.metric.name}", row.cell.platform, *numbers)
        verdict = Text(row.word.value, _WORDS.get(row.word.value, ""))
        table.add_row(*map(Text, texts), verdict)
    return table


def _whys(row: CellChange) -> Iterator[str]:
    """Say why a number that should be there is not."""
    if row.refused:
        return
    if row.change.reason:
        yield f"change: {row.change.reason}"
    if row.cost is not None and row.cost.reason:
        yield f"change of the cost: {row.cost.reason}"
    if row.platform_in_b != row.cell.platform:
        yield f"called {row.platform_in_b} in B"


def _refused_lines(found: Between, names: Mapping[str, str]) -> Iterator[str]:
    grouped: dict[str, list[str]] = {}
    for row in found.rows:
        if row.refused:
            place = f"{names[row.cell.id]} on {row.cell.platform}"
            grouped.setdefault("; ".join(row.refused), []).append(place)
    for why, places in grouped.items():
        yield f"{', '.join(places)}: {why}"
