"""Studies that print every run: what they measured, and which runs their averages are of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from tare.core.model import Better
from tare.results.published.rows import Row, Statistic
from tare.results.stats.outliers import outliers

ALL = "all runs"


@dataclass(frozen=True, slots=True)
class Experiment:
    """One table of the study: raw runs by platform, and the averages it prints."""

    title: str
    unit: str
    better: Better
    runs: dict[str, list[Row]]
    printed: dict[str, Row]

    def values(self, platform: str) -> list[float]:
        """Return all runs of a platform."""
        return [row.value for row in self.runs[platform] if row.value is not None]

    def apart(self, platform: str) -> tuple[int, ...]:
        """Return the places of the runs that stand apart from the others."""
        return outliers(self.values(platform))

    def without(self, platform: str) -> list[float]:
        """Return the runs that do not stand apart; for sensitivity only."""
        apart = self.apart(platform)
        return [value for place, value in enumerate(self.values(platform)) if place not in apart]


def experiments(rows: Sequence[Row]) -> list[Experiment]:
    """Collect the runs and averages of everything that has a better and a worse."""
    found: dict[tuple[str, ...], Experiment] = {}
    for row in rows:
        if row.better is None:
            continue
        title = f"{row.table}, {row.experiment}: {row.metric}"
        one = found.setdefault(row.subject, Experiment(title, row.unit, row.better, {}, {}))
        if row.statistic is Statistic.RUN:
            one.runs.setdefault(row.platform, []).append(row)
        elif row.statistic is Statistic.MEAN:
            one.printed[row.platform] = row
    return list(found.values())


def reproduced_by(experiment: Experiment, platform: str) -> str:
    """Return which runs the printed average is that of."""
    printed = experiment.printed.get(platform)
    if printed is None or printed.value is None:
        return "not printed"
    rows = experiment.runs[platform]
    kept = [row.value for row in rows if row.value is not None and not row.note]
    excluded = ", ".join(f"{row.run}" for row in rows if row.note)
    choices = {ALL: experiment.values(platform), f"all but run {excluded}": kept}
    for name, values in choices.items():
        if abs(fmean(values) - printed.value) <= printed.resolution / 2 * (1 + 1e-9):
            return name
    return "no choice of runs"
