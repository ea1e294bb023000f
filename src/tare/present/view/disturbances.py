"""What else the host did during the trials, by platform; and sentences that are said many times."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tare.core.complaints import sentence
from tare.core.model import Complaint, ComplaintKind, Kind, Status, Trial
from tare.present.view.numbers import NONE, plain, share_text
from tare.results.stats.signed_rank import Array

if TYPE_CHECKING:
    from tare.present.view.findings import Findings

COLUMNS = {
    "steal": "stolen",
    "foreign": "other work",
    "psi_cpu_some": "CPU pressure",
    "psi_memory_some": "memory pressure",
    "psi_io_some": "I/O pressure",
    "frequency_ratio": "clock rate",
}
"""Names in ``Trial.noise`` that are shares, and what they are called."""

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Disturbances:
    """A row for each platform: trials, suspect, run again, then median and most of each column.

    ``untold`` are the columns that no trial has a number for; ``reasons`` say of suspect trials why
    they are, with how many.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    untold: Sequence[str]
    reasons: Sequence[str]


def disturbances(found: Findings) -> Disturbances | None:
    """Gather what was read during the measured trials; None if nothing was."""
    platforms = {cell.id: cell.platform for cell in found.plan.cells}
    trials = [one for one in found.results.trials if _was_measured(one)]
    seen = set[str]().union(*(one.noise for one in trials))
    suspect = [one for one in trials if one.status is Status.SUSPECT]
    if not seen and not suspect:
        return None
    known = [name for name in COLUMNS if name in seen]
    of_each: dict[str, list[int]] = {platform: [] for platform in found.platforms}
    for at, one in enumerate(found.results.trials):
        if one.cell in platforms and _was_measured(one):
            of_each[platforms[one.cell]].append(at)
    rows = []
    for platform, places in of_each.items():
        if places:
            own = [found.results.trials[at] for at in places]
            bad = sum(one.status is Status.SUSPECT for one in own)
            again = sum(one.repeat > 0 for one in own)
            counted = (f"{len(own):,}", share_text(bad / len(own)), f"{again:,}")
            spread = [_spread(name, found.noise[name][places]) for name in known]
            rows.append((platform, *counted, *spread))
    reasons = merged(why for one in suspect for why in one.complaints or [one.reason])
    return Disturbances(
        columns=[COLUMNS[name] for name in known],
        rows=rows,
        untold=[words for name, words in COLUMNS.items() if name not in seen],
        reasons=[f"{why} ({count:,} of {len(trials):,} trials)" for why, count in reasons.items()],
    )


def merged(warnings: Iterable[str | Complaint]) -> dict[str, int]:
    """Count warnings by their sentence, the most frequent first.

    Complaints of one kind are one, and so are texts of tools that differ only in numbers. Where a
    number differs, the one sentence has its range: ``other work took 11 to 54 %``.
    """
    alike: dict[ComplaintKind | tuple[str, ...], list[str | Complaint]] = {}
    for one in warnings:
        form = one.kind if isinstance(one, Complaint) else tuple(_NUMBER.split(one))
        alike.setdefault(form, []).append(one)
    counts: Counter[str] = Counter()
    for some in alike.values():
        complaints = [one for one in some if isinstance(one, Complaint)]
        text = sentence(*complaints) if complaints else _as_one([str(one) for one in some])
        counts[text] += len(some)
    return dict(counts.most_common())


def _as_one(texts: Sequence[str]) -> str:
    """Write texts that differ in numbers only as one, with the ranges of these."""
    columns = zip(*map(_NUMBER.findall, texts), strict=True)
    parts, ranges = _NUMBER.split(texts[0]), map(_range, columns)
    return "".join(f"{part}{known}" for part, known in zip(parts, [*ranges, ""], strict=True))


def _range(numbers: Sequence[str]) -> str:
    low, high = min(numbers, key=float), max(numbers, key=float)
    return low if low == high else f"{low} to {high}"


def _was_measured(trial: Trial) -> bool:
    """Whether a trial could have been disturbed; what this host cannot run could not."""
    return trial.kind is Kind.MEASURED and trial.status is not Status.UNAVAILABLE


def _spread(name: str, column: Array) -> str:
    """Return the median, and the value farthest from undisturbed (of clock rates, the least)."""
    known = column[~np.isnan(column)]
    if not len(known):
        return NONE
    far = known.min() if name == "frequency_ratio" else known.max()
    middle, farthest = (f"{plain(100 * float(share), 2)}" for share in (np.median(known), far))
    return f"{middle} | {farthest} %"
