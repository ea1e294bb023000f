"""A finding in one sentence that has a clause for each platform."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tare.present.view.findings import Findings
from tare.present.view.names import plain_names
from tare.results.compare.comparison import Comparison
from tare.results.stats.sequential import Verdict

DECIDED = (Verdict.SLOWER, Verdict.FASTER, Verdict.SAME)
"""Verdicts that say something."""


def sentence(
    found: Findings,
    rows: Sequence[Comparison],
    begin: str,
    clause: Callable[[Sequence[Comparison], Findings], str],
) -> str:
    """Return ``begin`` and what ``clause`` says of the rows of each platform, with the doubts.

    It says that it is not the end where the study goes on, and that nothing is to be trusted where
    the control differs from itself.
    """
    names = plain_names(found.plan)
    platforms = dict.fromkeys(row.cell.platform for row in rows)
    clauses = [
        f"{names[one]} {clause([row for row in rows if row.cell.platform == one], found)}"
        for one in platforms
    ]
    so_far = "" if found.results.run.stop else "so far "
    doubt = "not to be trusted, for the control differs from itself: " if found.untrusted else ""
    text = f"{doubt}{begin} {so_far}{'; '.join(clauses)}."
    return text[0].upper() + text[1:]
