"""Read and write noise traces: short trials of constant work, recorded on a real host.

``tare record-noise`` writes one, ``sim`` replays it, ``proof`` resamples it. The file is CSV,
compressed if its name ends in ``.gz``; lines that begin with ``#`` say where and when.
"""

from __future__ import annotations

import csv
import gzip
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Literal

PAIRS, RUNS = "pairs", "runs"
"""The two parts: blocks of A and A' in random order; and the same number of A, then of A'."""

Variant = Literal["wall", "corrected", "host_cpu"]
"""Variants of a trial's cost (METHOD.md 2.7): wall time, without foreign delay, host CPU time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One trial; all times in seconds.

    ``unit_s`` is the time per unit of work by the tool's own measure, ``tool_s`` how long the tool
    worked; the rest is HostCost. ``foreign_delay_s`` is the waiting that may be taken off, None if
    that is not known.
    """

    start_s: float
    workload: str
    part: str
    arm: str
    block: int
    slot: int
    wall_s: float
    unit_s: float
    tool_s: float
    cpu_s: float
    all_cpu_s: float
    run_delay_s: float
    foreign_delay_s: float | None
    coverage: float

    def cost(self, variant: Variant) -> float:
        """Return the cost per unit of work; NaN where the variant is not known of this trial."""
        if variant == "wall":
            return self.unit_s
        spent_s = self.all_cpu_s
        if variant == "corrected":
            spent_s = math.nan
            if self.foreign_delay_s is not None:
                spent_s = self.tool_s - self.foreign_delay_s
        return self.unit_s * spent_s / self.tool_s if spent_s > 0 else math.nan


@dataclass(frozen=True)
class Trace:
    """What was recorded on one host; rows in order of time."""

    about: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def workloads(self) -> tuple[str, ...]:
        """The names of what was run."""
        return tuple(dict.fromkeys(row.workload for row in self.rows))

    def of(self, workload: str, part: str | None = None) -> list[Row]:
        """Return the trials of one workload, of one part or of both."""
        return [r for r in self.rows if r.workload == workload and part in (None, r.part)]


def log_deviations(rows: Iterable[Row], variant: Variant) -> list[float]:
    """Return the logs of the costs less their median.

    Trials whose cost is not known are left out.
    """
    logs = [math.log(cost) for row in rows if (cost := row.cost(variant)) > 0]
    middle = statistics.median(logs) if logs else 0.0
    return [one - middle for one in logs]


def write(path: Path, trace: Trace) -> None:
    """Write a trace; OSError where that cannot be."""
    names = [field.name for field in fields(Row)]
    with _open(path, "wt") as file:
        file.writelines(f"# {line}\n" for line in trace.about)
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(names)
        rows.writerows([_text(value) for value in asdict(row).values()] for row in trace.rows)


@lru_cache(maxsize=8)
def read(path: Path) -> Trace:
    """Read a trace, or raise ValueError that says what is wrong with it where."""
    try:
        with _open(path, "rt") as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError, EOFError) as error:
        raise ValueError(f"the noise trace {path} cannot be read: {error}") from error
    about = tuple(line[1:].strip() for line in lines if line.startswith("#"))
    table = list(csv.reader(line for line in lines if not line.startswith("#")))
    names = [field.name for field in fields(Row)]
    if not table or table[0] != names:
        raise ValueError(f"{path} is no noise trace; expected the columns {', '.join(names)}")
    rows = []
    for number, words in enumerate(table[1:], len(about) + 2):
        try:
            rows.append(_row(dict(zip(names, words, strict=True))))
        except ValueError as error:
            raise ValueError(f"{path}:{number}: not a trial of a noise trace: {error}") from error
    if not rows:
        raise ValueError(f"{path} holds no trial; record it again with tare record-noise")
    return Trace(about, tuple(rows))


def _open(path: Path, mode: Literal["rt", "wt"]):  # type: ignore[no-untyped-def]  # noqa: ANN202
    return gzip.open(path, mode) if path.suffix == ".gz" else path.open(mode)


def _text(value: object) -> str:
    return repr(value) if isinstance(value, float) else "" if value is None else str(value)


def _row(words: dict[str, str]) -> Row:
    number = {name: float(words[name]) for name in _NUMBERS}
    if not (number["unit_s"] > 0 and number["tool_s"] > 0):
        raise ValueError("unit_s and tool_s must be above 0")
    foreign = words["foreign_delay_s"]
    return Row(
        workload=words["workload"],
        part=words["part"],
        arm=words["arm"],
        block=int(words["block"]),
        slot=int(words["slot"]),
        foreign_delay_s=float(foreign) if foreign else None,
        **number,
    )


_NUMBERS: Sequence[str] = (
    *("start_s", "wall_s", "unit_s", "tool_s"),
    *("cpu_s", "all_cpu_s", "run_delay_s", "coverage"),
)
