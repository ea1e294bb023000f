"""Reads and checks the published values; a row is one printed number."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from pathlib import Path

from tare.core.errors import ConfigError
from tare.core.model import Better

DATA = Path(__file__).with_name("data")

COLUMNS = (
    *("study", "table", "experiment", "workload", "metric", "platform", "baseline", "scenario"),
    *("level", "run", "statistic", "value", "unit", "better", "note"),
)
UNITS = frozenset(
    {"requests", "events/s", "Mbit/s", "Gbit/s", "MB/s", "MiB/s", "ms", "s", "min", "bombs"}
    | {"1", "%", "% degradation", "percentage points", "points"}
    | {"B/s", "CPUs", "GB", "datagrams", "events", "tests", "word"}
)
DID_NOT_RESPOND = "DNR"
VERDICTS = frozenset({"comparable"})
"""The words of verdicts that studies give instead of numbers."""


class Statistic(StrEnum):
    """What a printed number is."""

    RUN = "run"
    MEAN = "mean"
    MIN = "min"
    MAX = "max"
    STDEV = "stdev"
    P_VALUE = "p-value"
    DIFFERENCE = "difference"
    SETTING = "setting"
    RANGE = "range"
    COUNT = "count"
    VERDICT = "verdict"
    """A word: the study prints no number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One printed number and what it is of.

    ``value`` is None where the platform did not respond, and of a verdict in words; ``text`` is
    what is printed: the number, whose digits say how it was rounded, or the word. ``platform`` is
    ``a/b`` where b runs inside a; ``baseline`` is what a difference or degradation is against.
    ``better`` is None where neither way is.
    """

    study: str
    table: str
    experiment: str
    workload: str
    metric: str
    platform: str
    baseline: str
    scenario: str
    level: str
    run: int | None
    statistic: Statistic
    value: float | None
    text: str
    unit: str
    better: Better | None
    note: str

    @property
    def subject(self) -> tuple[str, ...]:
        """What two rows must share to be values of the same thing on different platforms."""
        names = (self.table, self.experiment, self.workload, self.metric, self.scenario, self.level)
        return (*names, self.unit)

    @property
    def title(self) -> str:
        """Name what was measured, within its experiment."""
        parts = (self.workload, self.metric, self.scenario, self.level)
        return ", ".join(dict.fromkeys(part for part in parts if part))

    @property
    def resolution(self) -> float:
        """The unit of the last printed digit."""
        if self.value is None:
            return 1.0
        exponent = Decimal(self.text).as_tuple().exponent
        assert isinstance(exponent, int)  # noqa: S101 - values are finite
        return float(10.0**exponent)


def studies() -> tuple[str, ...]:
    """List the studies whose values are here."""
    return tuple(sorted(path.stem for path in DATA.glob("*.csv")))


def load(study: str) -> tuple[Row, ...]:
    """Read a study's rows, or raise ConfigError, which names the file and line."""
    path = DATA / f"{study}.csv"
    if study not in studies():
        known = ", ".join(studies())
        raise ConfigError(f"no published study is called {study!r}; there are {known}")
    return read(path)


def read(path: Path) -> tuple[Row, ...]:
    """Read the rows of a file of this form, or raise ConfigError, which names the file and line."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return tuple(_rows(path, file.read().splitlines()))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error


def source(study: str) -> str:
    """Return who published a study, and where, from SOURCES.md; empty if it does not say."""
    for line in (DATA / "SOURCES.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 2 and cells[0] == f"`{study}`":
            return cells[1].replace("*", "")
    return ""


def _rows(path: Path, lines: list[str]) -> Iterator[Row]:
    reader = csv.DictReader(lines)
    if tuple(reader.fieldnames or ()) != COLUMNS:
        raise ConfigError(f"{path}:1: expected the columns {','.join(COLUMNS)}")
    for cells in reader:
        where = f"{path}:{reader.line_num}"
        if None in cells or None in cells.values():
            raise ConfigError(f"{where}: expected {len(COLUMNS)} columns")
        if cells["study"] != path.stem:
            raise ConfigError(f"{where}: study: expected {path.stem}, found {cells['study']!r}")
        yield _row(where, cells)


def _row(where: str, cells: dict[str, str]) -> Row:
    statistic = _one_of(where, cells, "statistic", {one.value for one in Statistic})
    run = cells["run"]
    if (statistic == Statistic.RUN) != run.isdecimal() or (run and not run.isdecimal()):
        raise ConfigError(f"{where}: run: expected a run's number for a run and nothing else")
    better = _one_of(where, cells, "better", {"", *(one.value for one in Better)})
    text = cells["value"]
    return Row(
        **{name: cells[name] for name in COLUMNS[:9]},
        run=int(run) if run else None,
        statistic=Statistic(statistic),
        value=_value(where, text, statistic),
        text=text,
        unit=_one_of(where, cells, "unit", UNITS),
        better=Better(better) if better else None,
        note=cells["note"],
    )


def _one_of(where: str, cells: dict[str, str], name: str, known: frozenset[str] | set[str]) -> str:
    if cells[name] not in known:
        expected = ", ".join(sorted(known - {""}))
        raise ConfigError(f"{where}: {name}: expected one of {expected}; found {cells[name]!r}")
    return cells[name]


def _value(where: str, text: str, statistic: str) -> float | None:
    if statistic == Statistic.VERDICT:
        if text not in VERDICTS:
            expected = ", ".join(sorted(VERDICTS))
            raise ConfigError(f"{where}: value: expected a verdict: {expected}; found {text!r}")
        return None
    return None if text == DID_NOT_RESPOND else _number(where, text)


def _number(where: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ConfigError(
            f"{where}: value: expected a finite number or {DID_NOT_RESPOND}; found {text!r}"
        )
    return value
