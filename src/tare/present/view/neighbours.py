"""Degradations by neighbour and platform: what the map, the tables and the files are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tare.core.model import IDLE, ContrastKind, Neighbour, neighbour_of
from tare.present.view.findings import CellGroup, Findings
from tare.present.view.marks import MARKS, NOT_RUN, gap, is_flawed
from tare.present.view.names import CPUS_TEXT
from tare.present.view.numbers import NONE, TIMES, percent_text, percents_text
from tare.present.view.reservation_words import reservation_text
from tare.results.compare.comparison import Comparison
from tare.results.stats.sequential import Verdict

READING = (
    "Degradation of each workload next to a neighbour, against the same workload alone on the same "
    "platform, in the same blocks. ▲ is slower, ▼ faster, = the same within the margin, ? "
    "undecided."
)


@dataclass(frozen=True)
class NeighbourLine:
    """One workload next to one neighbour: its comparison on each platform that has one."""

    group: CellGroup
    neighbour: Neighbour
    name: str
    rows: Mapping[str, Comparison]


def is_isolation(rows: Sequence[Comparison]) -> bool:
    """Return whether rows compare workloads that have a neighbour with the same ones alone."""
    return any(row.kind is ContrastKind.ISOLATION for row in rows)


def neighbour_lines(found: Findings) -> list[NeighbourLine]:
    """List each workload next to each neighbour, in the order of the plan."""
    names = neighbour_names(found)
    return [line for group in found.groups for line in _lines(found, group, names)]


def _lines(
    found: Findings, group: CellGroup, names: Mapping[Neighbour, str]
) -> Iterator[NeighbourLine]:
    rows: dict[Neighbour, dict[str, Comparison]] = {}
    ids = {cell.id for cell in group.cells}
    for row in found.headline:
        neighbour = neighbour_of(row.cell.params)
        if row.cell.id in ids and neighbour is not None:
            rows.setdefault(neighbour, {})[row.cell.platform] = row
    for neighbour, own in rows.items():
        yield NeighbourLine(group, neighbour, names[neighbour], own)


def neighbour_names(found: Findings) -> Mapping[Neighbour, str]:
    """Name each neighbour of a study; the intensity where a stressor has several."""
    every = dict.fromkeys(neighbour_of(cell.params) for cell in found.plan.cells)
    known = [one for one in every if one is not None]
    dialled = {one.stressor for one in known if one.intensity != 1}
    return {one: short_text(one, shows_amount=one.stressor in dialled) for one in known}


def short_text(neighbour: Neighbour, *, shows_amount: bool = True) -> str:
    """Name a neighbour where everything is one: cpu 50 %, idle, cpu on other CPUs."""
    text = neighbour.stressor
    if neighbour.count > 1:
        text = f"{neighbour.count} {TIMES} {text}"
    if neighbour.level is not None:
        text += f" at level {100 * float(neighbour.level):g} %"
    elif neighbour.stressor != IDLE and (shows_amount or neighbour.intensity != 1):
        text += f" {100 * neighbour.intensity:g} %"
    if neighbour.platform is not None:
        text += f" in {neighbour.platform}"
    text += CPUS_TEXT[neighbour.cpus]
    held = neighbour.reservation
    return text if held is None else f"{text}, held to {reservation_text(held)}"


def line_names(lines: Sequence[NeighbourLine]) -> list[str]:
    """Name lines with their workloads, where there are several of these."""
    several = len({line.group.name for line in lines}) > 1
    return [f"{line.group.name} · {line.name}" if several else line.name for line in lines]


def platforms_of(lines: Sequence[NeighbourLine]) -> list[str]:
    """List the platforms of lines, in the order of the plan."""
    return list(dict.fromkeys(name for line in lines for name in line.rows))


def degradation_text(found: Findings, row: Comparison | None) -> str:
    """Write a degradation with its interval and the mark of its verdict, or why there is none."""
    if row is None:
        return NOT_RUN
    if row.cost is None:
        word = gap(found, row)
        return word if row.verdict is Verdict.NOT_MEASURED else f"{MARKS[row.verdict]} {word}"
    ends = percents_text(row.low, row.high, row.cost)
    size = percent_text(row.cost, row.low, row.high)
    mark = f"{MARKS[row.verdict]}{'*' if is_flawed(row) else ''}"
    return f"{mark} {size}{'' if ends == NONE else f' {ends}'}"


def table(found: Findings) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Return the heads and the rows of the map as a table; no rows where there is no neighbour."""
    lines = neighbour_lines(found)
    platforms = platforms_of(lines)
    rows = [
        (name, *(degradation_text(found, line.rows.get(one)) for one in platforms))
        for name, line in zip(line_names(lines), lines, strict=True)
    ]
    return ("neighbour", *platforms), rows
