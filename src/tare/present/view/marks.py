"""Marks of verdicts, and words for what stands where there is no number."""

from __future__ import annotations

from collections import Counter

from tare.core.model import Cell, Kind, Status
from tare.present.view.findings import Findings
from tare.present.view.numbers import NONE, TIMES
from tare.results.compare.comparison import Comparison
from tare.results.stats.sequential import Verdict

MARKS = {
    Verdict.SLOWER: "▲",
    Verdict.FASTER: "▼",
    Verdict.SAME: "=",
    Verdict.UNDECIDED: "?",
    Verdict.NOT_MEASURED: "∅",
}
"""A shape each, so that nobody needs colours to tell them apart."""

DNR, FAILED, UNAVAILABLE = "dnr", "failed", "unavailable"
NO_BASELINE, NO_RATIO, NOT_RUN = "no baseline", "no ratio", "not run"
NOT_KNOWN = "not known"
SHORT = {
    UNAVAILABLE: "n/a",
    NO_BASELINE: "base",
    NO_RATIO: f"{TIMES}/0",
    FAILED: "fail",
    NOT_RUN: NONE,
    NOT_KNOWN: "…",
}
"""The same words where there is room for four letters."""

MEANINGS = {
    DNR: "every trial was ended at its deadline",
    FAILED: "no trial gave a number",
    UNAVAILABLE: "this host cannot run it",
    NO_BASELINE: "the baseline has no number",
    NO_RATIO: "too many pairs have no ratio",
    NOT_RUN: "no trial has been measured",
    NOT_KNOWN: "there are trials, but no pair of numbers",
}


FLAWED = " *: some of its pairs are suspect, or failed; the table says which."


def is_flawed(row: Comparison) -> bool:
    """Whether a mark has a star: its number is made of more than undisturbed trials."""
    return bool(row.suspect or row.failed or row.baseline_failed)


def own_gap(found: Findings, cell: Cell) -> str:
    """Return in a word why a cell has no numbers at all; empty if it has some."""
    if found.measured[cell.id]:
        return ""
    ended = Counter(one.status for one in found.trials[cell.id] if one.kind is Kind.MEASURED)
    if ended[Status.DNR] or ended[Status.FAILED]:
        return DNR if ended[Status.DNR] > ended[Status.FAILED] else FAILED
    tried = (one.status for one in found.trials[cell.id])
    return UNAVAILABLE if Status.UNAVAILABLE in tried else NOT_RUN


def gap(found: Findings, row: Comparison) -> str:
    """Return in a word why a comparison has no cost; empty if it has one."""
    if row.cost is not None:
        return ""
    if row.verdict is not Verdict.NOT_MEASURED and row.why_no_ratio:
        return NO_RATIO
    if own := own_gap(found, row.cell):
        return own
    return NO_BASELINE if row.baseline is None or own_gap(found, row.baseline) else NOT_KNOWN


def explained(words: set[str]) -> str:
    """Return what the words in a chart mean, those that are in it; both forms of each."""
    text = []
    for word, meaning in MEANINGS.items():
        if word in words:
            both = f"{word} or {SHORT[word]}" if word in SHORT else word
            text.append(f"{both}: {meaning}")
    return f" {'; '.join(text)}." if text else ""
