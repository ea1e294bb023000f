"""False alarms among comparisons of a host with itself, each of trials used once (T1 b)."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from proof.figures import Share, share
from tare.results.stats.sequential import Rule, Verdict

CAP = 30
RULE = Rule(cap=CAP, minimum=8, margin=0.0)
"""Without a margin nothing ends as the same, so that every look by ranks may alarm. There are no
early verdicts, for these comparisons have no A/A control."""
ALARMS = (Verdict.SLOWER, Verdict.FASTER)
VARIANTS: Mapping[str, Callable[[Mapping[str, str]], float]] = {
    "wall time": lambda row: float(row["wall_s"]),
    "less foreign delay": lambda row: float(row["wall_s"]) - float(row["delay_s"]),
    "CPU time": lambda row: float(row["cpu_s"]),
}


def alarms(path: Path) -> dict[str, Share]:
    """Judge all comparisons of a file by ``benchmarks/fresh.py``, by each variant.

    Raises OSError, and ValueError where the file is damaged or one of them has not all its pairs.
    """
    found: dict[tuple[str, str], list[Mapping[str, str]]] = defaultdict(list)
    try:
        lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    except (EOFError, zlib.error) as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    for row in csv.DictReader(lines):
        found[row["began"], row["kind"]].append(row)
    return {
        name: share([_alarms(rows, value) for rows in found.values()])
        for name, value in VARIANTS.items()
    }


def _alarms(rows: list[Mapping[str, str]], value: Callable[[Mapping[str, str]], float]) -> bool:
    arms = {
        arm: {int(row["pair"]): value(row) for row in rows if row["arm"] == arm} for arm in "ab"
    }
    if any(sorted(pairs) != list(range(CAP)) for pairs in arms.values()):
        raise ValueError(f"the comparison of {rows[0]['began']} has not {CAP} pairs")
    ratios = np.array([arms["a"][pair] / arms["b"][pair] for pair in range(CAP)])
    return RULE.judge(np.log(ratios), ended=True).verdict in ALARMS
