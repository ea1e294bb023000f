"""The three sentences at the head of the page: the finding, what was decided, what to trust.

The sentences of ``words.summary``, one a platform, stand below them as the numbers they rest on.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from tare.core.model import ContrastKind, Evidence
from tare.present.view import numbers, verdict_texts
from tare.present.view.density import is_density
from tare.present.view.finding import finding
from tare.present.view.findings import Findings
from tare.present.view.names import platform_text
from tare.present.view.reasons import reason_text
from tare.results.compare.comparison import Comparison
from tare.results.stats.sequential import Verdict

_FEW = 3
_DECIDED = (Verdict.SLOWER, Verdict.FASTER, Verdict.SAME)


def three_sentences(found: Findings) -> list[str]:
    """Return what was found, how many verdicts there are, and the noise."""
    rows = [row for row in found.headline if not row.is_control]
    if not rows:
        return verdict_texts.summary(found)
    if any(row.kind is ContrastKind.INJECTED for row in rows):
        first = _arms(rows, found)
    else:
        first = finding(found)
    return [first, _counts(rows, found), verdict_texts.control_text(found)]


def _arms(rows: Sequence[Comparison], found: Findings) -> str:
    """Return which arms of a self-test cost least and most: their work differs, as is known."""
    worst: dict[str, Comparison] = {}
    for row in sorted(rows, key=_size):
        if row.verdict in _DECIDED:
            worst[platform_text(row.cell)] = row
    if not worst:
        return (
            f"Nothing has been distinguished from {found.plan.reference}: no comparison is decided."
        )
    tried = [row for row in rows if row.verdict is not Verdict.NOT_MEASURED]
    names, some = ([platform_text(row.cell) for row in own] for own in (rows, tried))
    undecided = [name for name in dict.fromkeys(some) if name not in worst]
    absent = [name for name in dict.fromkeys(names) if name not in some]
    rest = f"; of {_listed(undecided)} nothing is decided" if undecided else ""
    rest += (
        f"; {_listed(absent)} {'were' if len(absent) > 1 else 'was'} not measured" if absent else ""
    )
    ranked = sorted(worst, key=lambda name: _size(worst[name]))
    least, most = ((name, _most(worst[name], rows, found)) for name in (ranked[0], ranked[-1]))
    beyond = f"With more work put into some, {least[0]} costs"
    if len(ranked) == 1:
        return f"{beyond}, against {found.plan.reference}, {least[1]}{rest}."
    decided = " of those decided" if undecided else ""
    return (
        f"{beyond} least beyond {found.plan.reference}{decided}: {least[1]}; {most[0]} most: "
        f"{most[1]}{rest}."
    )


def _listed(names: Sequence[str]) -> str:
    """Name a few platforms; of more, their number."""
    return " and ".join(names) if len(names) <= _FEW else f"{len(names)} other platforms"


def _size(row: Comparison) -> float:
    """How bad a comparison is for the platform; a claim without a cost is beyond all numbers."""
    if row.cost is not None:
        return row.cost
    return 0.0 if row.verdict is Verdict.FASTER else math.inf


def _most(row: Comparison, rows: Sequence[Comparison], found: Findings) -> str:
    """Return a platform's worst verdict, and on how many of its workloads there is none."""
    name = platform_text(row.cell)
    own = [one for one in rows if platform_text(one.cell) == name]
    decided = sum(one.verdict in _DECIDED for one in own)
    worst = "at worst " if len(own) > 1 else ""
    some = f" ({decided} of {len(own)} workloads are decided)" if decided < len(own) else ""
    return f"{worst}{_number(row, found)} on {found.group_names[row.cell.id]}{some}"


def _number(row: Comparison, found: Findings) -> str:
    text = verdict_texts.verdict_text(row, found.plan.repetition.margin)
    if row.cost is None:
        return f"{text} (no cost: {reason_text(row.why_no_ratio)})"
    size = numbers.size_text(row.cost, row.low, row.high)
    return size if row.verdict is Verdict.SLOWER else f"{text}, {size},"


def _counts(rows: Sequence[Comparison], found: Findings) -> str:
    counts = Counter(row.verdict for row in rows)
    same = f"the same within {numbers.share_text(found.plan.repetition.margin)}"
    text = {
        Verdict.SLOWER: "worse" if is_density(found) else "slower",
        Verdict.FASTER: "better" if is_density(found) else "faster",
        Verdict.SAME: same,
        Verdict.UNDECIDED: "undecided",
        Verdict.NOT_MEASURED: "not measured",
    }
    parts = [f"{counts[verdict]:,} {word}" for verdict, word in text.items() if counts[verdict]]
    listed = ", ".join(parts[:-1]) + (" and " if len(parts) > 1 else "") + parts[-1]
    weighed = [row for row in rows if row.evidence is not None]
    likely = sum(row.evidence is Evidence.LIKELY for row in weighed)
    doubt = f"; luck is not ruled out in {likely:,} of {len(weighed):,} verdicts" if likely else ""
    return f"Of {len(rows):,} comparison{'s' * (len(rows) > 1)}: {listed}{doubt}."
