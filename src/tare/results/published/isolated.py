"""What studies printed of victims next to neighbours, by the cells of Tare that stand for them."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module

from tare.core.model import Cell
from tare.results.published.counterparts import Measure, Stress
from tare.results.published.rows import Row, load, studies


@dataclass(frozen=True, slots=True, kw_only=True)
class StressedRows:
    """A victim of a study next to one load: its printed rows by platform, and cells of Tare.

    ``measure`` says which cells of Tare stand for it; ``cells`` are these, by their platforms.
    """

    study: str
    victim: str
    measure: Measure
    stress: Stress
    printed: Mapping[str, Row]
    cells: Mapping[str, Cell] = field(default_factory=dict)


def stressed_rows(cells: Sequence[Cell]) -> list[StressedRows]:
    """List what studies printed of which one of some cells has a counterpart, in their order.

    Platforms need not be those of the study. Of several cells on a platform the first is taken.
    """
    found = []
    for one in _every():
        own: dict[str, Cell] = {}
        for cell in cells:
            if one.measure.fits(cell):
                own.setdefault(cell.platform, cell)
        if own:
            found.append(
                StressedRows(
                    study=one.study,
                    victim=one.victim,
                    measure=one.measure,
                    stress=one.stress,
                    printed=one.printed,
                    cells=own,
                )
            )
    return found


@lru_cache
def _every() -> tuple[StressedRows, ...]:
    found = []
    for study in studies():
        name = f"tare.results.published.by_study.{study}"
        module = import_module(name) if importlib.util.find_spec(name) else None
        if module is not None and hasattr(module, "stress_of"):
            found += _of_study(study, module.measures)
    return tuple(found)


def _of_study(study: str, measures: Callable[[Row], Sequence[Measure]]) -> list[StressedRows]:
    known: dict[tuple[str, Stress], tuple[Measure, dict[str, Row]]] = {}
    for row in load(study):
        for measure in measures(row):
            if measure.stress is not None:
                _, printed = known.setdefault((row.workload, measure.stress), (measure, {}))
                printed.setdefault(row.platform, row)
    return [
        StressedRows(study=study, victim=victim, measure=measure, stress=stress, printed=printed)
        for (victim, stress), (measure, printed) in known.items()
    ]
