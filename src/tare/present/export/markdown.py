"""results.md: summary, verdicts and warnings in GitHub's Markdown, for issues and wikis.

Names, reasons and warnings come from study files, tools and guests: all of it is escaped, so that
it stays text wherever the file is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tare.present.export.verdict_lines import (
    COLUMNS,
    NUMBERS,
    measured,
    one_line,
    reading,
    table_lines,
)
from tare.present.view import ladders, regained
from tare.present.view.at_once import at_once_tables
from tare.present.view.density import density_tables
from tare.present.view.explanations import CAUTION, sentences
from tare.present.view.isolation_tables import TextTable, all_tables
from tare.present.view.scaling import scaling_tables
from tare.present.view.study import StudyView
from tare.present.view.tiers import tier_tables

FILE = "results.md"


def write(found: StudyView, path: Path) -> None:
    """Write the file."""
    path.write_text(markdown(found), encoding="utf-8")


def markdown(found: StudyView) -> str:
    """Write everything as Markdown."""
    parts = [
        f"# {in_markdown(found.plan.study)}",
        in_markdown(found.finding),
        in_markdown(f"{found.trial_counts}. Study {found.state}."),
        "\n".join(f"- {in_markdown(sentence)}" for sentence in found.summary),
        "## Verdicts",
        in_markdown(reading(found)),
    ]
    for group, cells in found.verdicts:
        parts += [f"### {in_markdown(group.name)}", in_markdown(measured(group))]
        parts.append(_verdict_table(table_lines(cells)))
    parts += _tables(all_tables(found))
    parts += _tables(scaling_tables(found))
    parts += _tables(at_once_tables(found))
    parts += _tables(density_tables(found))
    parts += _tables(tier_tables(found))
    if apart := list(ladders.brief(found)):
        parts += ["## Which switch costs what", in_markdown(ladders.READING)]
        parts.append("\n".join(f"- {in_markdown(one)}" for one in apart))
    if held := regained.reservations(found):
        rules = ["---:" if n in regained.NUMBERS else "---" for n in range(len(regained.COLUMNS))]
        table = [regained.COLUMNS, rules, *regained.lines(found, held)]
        body = [[in_markdown(text) for text in line] for line in table[2:]]
        parts += [f"## {regained.TITLE}", in_markdown(regained.READING)]
        parts.append("\n".join(f"| {' | '.join(line)} |" for line in (*table[:2], *body)))
        parts += map(in_markdown, regained.notes(found, held))
    if texts := sentences(found):
        parts += ["## Counters that changed with the degradation", in_markdown(CAUTION)]
        parts.append("\n".join(f"- {in_markdown(one)}" for one in texts))
    if noted := found.warnings:
        parts.append("## Warnings")
        lines = [f"{in_markdown(one)} ({in_markdown('; '.join(at))})" for one, at in noted.items()]
        parts.append("\n".join(f"- {line}" for line in lines))
    return "\n\n".join(parts) + "\n"


def in_markdown(text: str) -> str:
    """Escape all that GitHub's Markdown would not show as it stands; line ends become spaces."""
    text = _MARKED.sub(lambda one: _ENTITIES.get(one[0], f"\\{one[0]}"), one_line(text))
    # What begins a list, a heading or a rule does so at the beginning only.
    return _BEGINS.sub(_first, text)


_MARKED = re.compile(r"[\\`*_{}\[\]<>#|~&@!$^]|:(?=/)")
_BEGINS = re.compile(r"^(?:[-+](?=\s|$)|[-=](?=[-=\s]*$)|\d+(?=[.)](?:\s|$)))")
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "&#64;", ":": "&#58;"}
"""What a backslash does not keep from being a tag, a mention or a link."""


def _first(found: re.Match[str]) -> str:
    return f"{found[0]}\\" if found[0].isdigit() else f"\\{found[0]}"


def _tables(tables: Iterable[TextTable]) -> Iterator[str]:
    for table in tables:
        yield f"## {table.title}"
        yield in_markdown(table.reading)
        yield _table(table.columns, table.lines)


def _verdict_table(rows: Iterator[Sequence[str]]) -> str:
    return _table(COLUMNS, rows, NUMBERS)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    rules = ["---:" if place in numbers else "---" for place in range(len(heads))]
    lines = [
        [in_markdown(one) for one in heads],
        rules,
        *([in_markdown(cell) for cell in row] for row in rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
