"""Platforms compared at the same number of instances, in words and rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tare.present.view.findings import Findings
from tare.present.view.isolation_tables import TextTable
from tare.present.view.numbers import NONE, p_text, share_text, size_text
from tare.present.view.reasons import reason_text
from tare.present.view.rivals import said
from tare.results.compare.evidence import FAMILYWISE
from tare.results.questions.at_once import AtOnce
from tare.results.stats.sequential import Verdict

TITLE = "Platforms at the same number of instances"
COLUMNS = ("platform", "instances", "is", "ratio of costs", "p (Holm)", "blocks", "workload")
WORDS = {Verdict.SLOWER: "slower", Verdict.FASTER: "faster"}


def at_once_tables(found: Findings) -> Iterator[TextTable]:
    """Yield the table of a study of scale with several platforms; of any other nothing.

    Where there is one workload it is no column.
    """
    lines = [_line(one, found) for one in found.platforms_at_once]
    if lines:
        kept = len(COLUMNS) - (len({line[-1] for line in lines}) == 1)
        yield TextTable(TITLE, _reading(found), COLUMNS[:kept], [line[:kept] for line in lines])


def _reading(found: Findings) -> str:
    margin = share_text(found.plan.repetition.margin)
    return (
        "What one instance takes on the first platform over what it takes on the second, with as "
        "many at work on each, of blocks in which both were measured. Slower and faster hold among "
        f"all pairs of the study (Holm's p at most {FAMILYWISE:g}); the same: any difference is "
        f"smaller than {margin}. Nothing is decided by fewer than 8 blocks."
    )


def _line(one: AtOnce, found: Findings) -> Sequence[str]:
    both = one.found
    size = NONE if both.cost is None else size_text(both.cost, both.low, both.high)
    return (
        one.cell.platform,
        str(one.instances),
        said(one.verdict, one.other.platform, WORDS),
        size if both.cost is not None else reason_text(both.reason),
        p_text(one.holm_p),
        str(both.pairs),
        found.group_names[one.cell.id],
    )


def at_once_rows(found: Findings) -> list[dict[str, Any]]:
    """Return all pairs as plain data, in ratios."""
    return [
        {
            "workload": found.group_names[one.cell.id],
            "instances": one.instances,
            "platform": one.cell.platform,
            "against": one.other.platform,
            "ratio": one.found.cost,
            "low": one.found.low,
            "high": one.found.high,
            "p": one.found.p,
            "holm_p": one.holm_p,
            "blocks": one.found.pairs,
            "is": WORDS.get(one.verdict, one.verdict.value),
            "reason": reason_text(one.found.reason),
        }
        for one in found.platforms_at_once
    ]
