"""The finding of a study of neighbours in one sentence: what each platform loses at worst."""

from __future__ import annotations

from collections.abc import Sequence

from tare.core.model import IDLE, neighbour_of
from tare.present.view.by_platform import DECIDED, sentence
from tare.present.view.findings import Findings
from tare.present.view.names import neighbour_text
from tare.present.view.speed import speed_text
from tare.results.compare.comparison import Comparison
from tare.results.stats.sequential import Verdict


def isolation_finding(found: Findings, rows: Sequence[Comparison]) -> str:
    """Return what a neighbour costs at worst on each platform, and what is not decided."""
    return sentence(found, rows, "with a neighbour,", _clause)


def _clause(rows: Sequence[Comparison], found: Findings) -> str:
    """Return the worst decided row of a platform, and how many of its rows are undecided."""
    slower = [row for row in rows if row.verdict is Verdict.SLOWER]
    left = sum(row.verdict not in DECIDED for row in rows)
    rest = f"; {left} of {len(rows)} undecided" if left else ""
    known = [row for row in slower if row.cost is not None]
    hidden = [row for row in slower if row.cost is None]
    if hidden:
        return f"fails at worst ({_where(hidden[0], found)}{rest})"
    if known:
        worst = max(known, key=lambda row: row.cost or 0.0)
        assert worst.cost is not None  # noqa: S101 - of those that are known
        return f"is at worst {speed_text(worst.cost)} ({_where(worst, found)}{rest})"
    if left == len(rows):
        return "is undecided"
    return "is not slower" + (f" ({rest[2:]})" if rest else "")


def _where(row: Comparison, found: Findings) -> str:
    neighbour = neighbour_of(row.cell.params)
    text = neighbour_text(neighbour) if neighbour else IDLE
    return f"{found.group_names[row.cell.id]}, {text}"
