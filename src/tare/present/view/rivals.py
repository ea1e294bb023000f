"""Isolation compared: which of two platforms loses less to a neighbour, in words and rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tare.present.view.findings import Findings
from tare.present.view.neighbours import neighbour_names
from tare.present.view.numbers import NONE, p_text, share_text, size_text
from tare.present.view.reasons import reason_text
from tare.results.compare.evidence import FAMILYWISE
from tare.results.questions.isolation import IsolationCompared
from tare.results.stats.sequential import Verdict

COLUMNS = ("platform", "loses", "ratio of costs", "p (Holm)", "blocks", "neighbour", "workload")
MAX_LINES = 60
"""The most pairs that are listed, those with a verdict first; all are in the JSON."""
WORDS = {Verdict.SLOWER: "more", Verdict.FASTER: "less"}
_ORDER = (Verdict.SLOWER, Verdict.FASTER, Verdict.SAME, Verdict.UNDECIDED, Verdict.NOT_MEASURED)


def reading(found: Findings) -> str:
    """Return how the table is read."""
    margin = share_text(found.plan.repetition.margin)
    text = (
        "Two platforms next to the same neighbour: the degradation of the first over that of the "
        "second, as a ratio of costs, of blocks in which both were measured alone and next to it. "
        f"More and less hold among all pairs of the study (Holm's p at most {FAMILYWISE:g}); the "
        f"same: any difference is smaller than {margin}. Nothing is decided by fewer than 8 blocks."
    )
    pairs = len(found.isolation_compared)
    return f"{text} Listed are {MAX_LINES} of {pairs} pairs." if pairs > MAX_LINES else text


def compared_lines(found: Findings) -> list[Sequence[str]]:
    """List a line for each two platforms and neighbour: one text for each of ``COLUMNS``."""
    every = found.isolation_compared
    if len(every) > MAX_LINES:
        kept = sorted(every, key=lambda one: _ORDER.index(one.verdict))[:MAX_LINES]
        every = tuple(one for one in every if one in kept)
    names = neighbour_names(found)
    return [_line(one, found, names[one.neighbour]) for one in every]


def _line(one: IsolationCompared, found: Findings, neighbour: str) -> Sequence[str]:
    both = one.found
    size = NONE if both.cost is None else size_text(both.cost, both.low, both.high)
    return (
        one.row.cell.platform,
        said(one.verdict, one.other.cell.platform),
        size if both.cost is not None else reason_text(both.reason),
        p_text(one.holm_p),
        str(both.pairs),
        neighbour,
        found.group_names[one.row.cell.id],
    )


def said(verdict: Verdict, other: str, words: Mapping[Verdict, str] = WORDS) -> str:
    """Return what is known of a platform against another one: more than host, the same as host."""
    if verdict in words:
        return f"{words[verdict]} than {other}"
    if verdict is Verdict.SAME:
        return f"the same as {other}"
    is_measured = verdict is not Verdict.NOT_MEASURED
    return f"{'undecided' if is_measured else 'not known'}, against {other}"


def compared_rows(found: Findings) -> list[dict[str, Any]]:
    """Return all pairs as plain data, in ratios."""
    return [
        {
            "workload": found.group_names[one.row.cell.id],
            **dict(one.neighbour.params),
            "platform": one.row.cell.platform,
            "against": one.other.cell.platform,
            "ratio": one.found.cost,
            "low": one.found.low,
            "high": one.found.high,
            "p": one.found.p,
            "holm_p": one.holm_p,
            "blocks": one.found.pairs,
            "left_out": one.found.left_out,
            "paired": one.paired,
            "loses": WORDS.get(one.verdict, one.verdict.value),
            "reason": reason_text(one.found.reason),
        }
        for one in found.isolation_compared
    ]
