"""The lines of the table of verdicts, with what the page filters and sorts them by."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tare.core.model import Cell
from tare.present.view import numbers, words
from tare.present.view.findings import Findings, Group
from tare.present.view.flags import flag_texts
from tare.present.view.host_use import Usage
from tare.present.view.marks import MARKS
from tare.present.view.names import platform_text
from tare.present.view.numbers import NONE
from tare.present.view.theme import variables
from tare.results.compare.comparison import Comparison
from tare.results.compare.flag import Flag, FlagKind
from tare.results.stats.sequential import Verdict

ALARMS = (FlagKind.NOT_TRUSTED, FlagKind.IMPLAUSIBLE)


@dataclass(frozen=True)
class VerdictRow:
    """A line of the table of verdicts, with what must be said beside it.

    ``order`` has the bare number behind each column, as a script reads it; "" is none. ``cell`` is
    the id of the cell whose trials the line leads to, "" if there are none.
    """

    platform: str
    colour: str
    kind: str
    cost: str
    degradation: str
    interval: str
    verdict: str
    mark: str
    word: str
    pairs: str
    p: str
    floor: str
    cpu: str
    waiting: str
    notes: Sequence[Note]
    cell: str
    order: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Note:
    """What concerns a number; ``is_alarm`` where the number is not to be used before it is read."""

    text: str
    is_alarm: bool = False


def verdict_rows(found: Findings, group: Group) -> Iterator[VerdictRow]:
    """Make the lines of a group: each cell's own, and below it those of its other variants."""
    for cell in group.cells:
        row = found.rows.get((cell.id, group.metrics[0].name))
        usage = found.usage.get(cell.id)
        head = VerdictRow(
            platform=platform_text(cell),
            colour=variables(found.platforms)[cell.platform],
            kind="control" if row and row.is_control else "" if row else "baseline",
            cpu=f"{numbers.plain(usage.cpu_s, 3)} s" if usage else NONE,
            waiting=numbers.share_text(usage.run_delay_share) if usage else NONE,
            **_verdict(found, row),
            notes=(),
            cell=cell.id if found.trials[cell.id] else "",
            order=_order(row, usage),
        )
        others = found.beside.get((cell.id, group.metrics[0].name), ())
        rows = [head, *(_variant(found, one) for one in others if one.cost is not None)]
        yield from rows[:-1]
        yield replace(rows[-1], notes=_notes(found, cell, row))


def _order(row: Comparison | None, usage: Usage | None) -> dict[str, str]:
    """Give the numbers behind the columns; the baseline's cost is 1, its verdict the last."""
    numbers_of: dict[str, float | None] = {"cost": 1.0, "verdict": len(MARKS)}
    if row is not None:
        numbers_of = {
            "cost": row.cost,
            "interval": row.low,
            "verdict": list(MARKS).index(row.verdict),
            "pairs": row.pairs,
            "p": None if row.is_control else row.holm_p,
            "floor": row.noise_floor,
        }
    if usage is not None:
        numbers_of |= {"cpu": usage.cpu_s, "waiting": usage.run_delay_share}
    return {name: _bare(value) for name, value in numbers_of.items()}


def _bare(value: float | None) -> str:
    if value is None or math.isnan(value):
        return ""
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return f"{value:.9g}"


def _variant(found: Findings, row: Comparison) -> VerdictRow:
    """Make the line of another variant, which stands below the one that decides."""
    return VerdictRow(
        platform=words.variant_text(row),
        colour="transparent",
        kind="variant",
        cpu="",
        waiting="",
        **_verdict(found, row) | {"p": ""},
        notes=(),
        cell="",
        order={},
    )


def _verdict(found: Findings, row: Comparison | None) -> dict[str, str]:
    if row is None:
        blank = dict.fromkeys(("degradation", "interval", "pairs", "p", "floor"), "")
        return {"cost": "1", "verdict": "baseline", "mark": "", "word": "baseline", **blank}
    pairs = words.pairs_text(row)
    ends = numbers.percents_text(row.low, row.high, row.cost)
    return {
        "cost": numbers.cost_text(row.cost),
        "degradation": numbers.percent_text(row.cost, row.low, row.high),
        "interval": ends if row.low is not None else "",
        "verdict": words.verdict_text(row, found.plan.repetition.margin),
        "mark": MARKS[row.verdict],
        "word": row.verdict.value.replace(" ", "-"),
        "pairs": pairs if row.look in (None, row.pairs) else f"{row.look} of {pairs}",
        "p": NONE if row.is_control else numbers.p_text(row.holm_p),
        "floor": numbers.share_text(row.noise_floor),
    }


def _notes(found: Findings, cell: Cell, row: Comparison | None) -> list[Note]:
    """Gather what concerns one number: its flags, its trials' warnings, why it is not there."""
    lost = words.lost_text(found, cell)
    first = [Note(f"{lost[:1].upper()}{lost[1:]}, on average over its trials.")] if lost else []
    flags = row.flags if row else ()
    alarms = [isinstance(one, Flag) and one.kind in ALARMS for one in flags]
    first += map(Note, flag_texts(flags), alarms)
    notes = [*found.notes[cell.id]]
    usage = found.usage.get(cell.id)
    if usage and usage.coverage < 0.9:
        seen = numbers.share_text(usage.coverage)
        notes.append(f"Waiting is known of {seen} of the CPU time only: threads ended unseen.")
    if row and row.verdict in (Verdict.UNDECIDED, Verdict.NOT_MEASURED):
        why = words.stop_text(row)
        notes.append(f"{why[:1].upper()}{why[1:]}.")
        bound = [abs(end - 1) for end in (row.low, row.high) if end is not None]
        if row.verdict is Verdict.UNDECIDED and bound and math.isfinite(max(bound)):
            notes.append(f"Any difference is smaller than {numbers.share_text(max(bound))}.")
    return [*first, *map(Note, notes)]
