"""The figures of a report, as a table: a row for each kind of figure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tare.present.charts.costs import forest, has_layers, waterfall
from tare.present.charts.courses import TrialCourse, has_course, over_time
from tare.present.charts.distributions import distribution
from tare.present.charts.doses import doses, has_doses
from tare.present.charts.drift import drift
from tare.present.charts.families import Family, families
from tare.present.charts.figure import Figure
from tare.present.charts.heat import heat_map
from tare.present.charts.instances import (
    by_instances,
    efficiencies,
    has_efficiency,
    has_values,
)
from tare.present.charts.isolation import has_neighbours, isolation_map
from tare.present.charts.ladders import has_ladder, ladder
from tare.present.charts.lifecycle import gantt, has_life
from tare.present.charts.matrix import has_rivals, matrix
from tare.present.charts.scaling import MAX_FAMILIES, scaling
from tare.present.charts.starved import Rivalry, has_rivalry, rivalries, starved
from tare.present.charts.stressed import has_stressed, stressed_map
from tare.present.charts.timelines import cpu, has_cpu, has_memory, memory
from tare.present.charts.trials import points
from tare.present.view.courses import gather
from tare.present.view.findings import CellGroup, Findings
from tare.present.view.scaling import scaled_works
from tare.present.view.trial_records import MAX_TRIALS
from tare.results.questions.scaling import INSTANCES

MAX_GROUPS = 6
"""Maximum number of workloads drawn individually; of more, those with the largest costs."""
MAX_GROUPS_OF_LARGE = 4
"""The same where trials have pages of their own: such a report has enough to do."""

Subject = TypeVar("Subject")


@dataclass(frozen=True)
class Row(Generic[Subject]):
    """A kind of figure: its name, what it is drawn of, when it is drawn, and what builds it.

    ``subjects`` lists what there is a figure each of: the study, workloads, courses. A figure that
    is not of the study as a whole is numbered: points-01.
    """

    name: str
    subjects: Callable[[Findings], Sequence[Subject]]
    is_drawn: Callable[[Findings, Subject], bool]
    build: Callable[[Findings, Subject, str], Figure]


def drawn(found: Findings) -> tuple[CellGroup, ...]:
    """Choose the workloads that are drawn, in the order of the plan."""
    most = MAX_GROUPS_OF_LARGE if len(found.results.trials) > MAX_TRIALS else MAX_GROUPS
    if len(found.groups) <= most:
        return found.groups
    sizes = {group.name: 0.0 for group in found.groups}
    for row in found.headline:
        if row.cost is not None and not row.is_control:
            name = found.group_names[row.cell.id]
            sizes[name] = max(sizes[name], abs(math.log(row.cost)))
    largest = set(sorted(sizes, key=lambda name: -sizes[name])[:most])
    return tuple(group for group in found.groups if group.name in largest)


def _study(found: Findings) -> Sequence[tuple[CellGroup, ...]]:
    return [drawn(found)]


def _scaled(found: Findings) -> Sequence[Family]:
    """Choose the courses; over the number of instances there are figures of their own."""
    return [one for one in families(found) if one.factor != INSTANCES][:MAX_FAMILIES]


def _rivalries(found: Findings) -> Sequence[Rivalry]:
    return rivalries(drawn(found))


def _courses(found: Findings) -> Sequence[TrialCourse]:
    groups = drawn(found)
    known = gather(found, groups)
    return [TrialCourse(group, known) for group in groups]


def _has_cost(found: Findings, _: tuple[CellGroup, ...]) -> bool:
    return any(row.cost is not None for row in found.headline)


def _has_map(found: Findings, groups: tuple[CellGroup, ...]) -> bool:
    """Whether platforms are what is compared; of neighbours there is a map of their own."""
    return _has_cost(found, groups) and not has_neighbours(found, groups)


def _always(_: Findings, __: object) -> bool:
    return True


def _has_values(found: Findings, group: CellGroup) -> bool:
    return bool(_medians(found, group))


def _has_positive_values(found: Findings, group: CellGroup) -> bool:
    return any(median > 0 for median in _medians(found, group))


def _has_rivals(found: Findings, group: CellGroup) -> bool:
    return has_rivals(found, group) and _has_values(found, group)


def _medians(found: Findings, group: CellGroup) -> list[float]:
    metric = group.metrics[0].name
    summaries = [found.summaries[cell.id, metric] for cell in group.cells]
    return [one.values.median for one in summaries if one.values]


FIGURES: tuple[Row[Any], ...] = (
    Row("forest", _study, _has_cost, forest),
    Row("heat", _study, _has_map, heat_map),
    Row("isolation", _study, has_neighbours, isolation_map),
    Row("stressed", drawn, has_stressed, stressed_map),
    Row("doses", drawn, has_doses, doses),
    Row("attribution", _study, has_layers, waterfall),
    Row("ladder", _study, has_ladder, ladder),
    Row("instances", scaled_works, has_values, by_instances),
    Row("efficiency", scaled_works, has_efficiency, efficiencies),
    Row("scaling", _scaled, _always, scaling),
    Row("points", drawn, _has_values, points),
    Row("drift", drawn, _has_positive_values, drift),
    Row("distribution", drawn, _has_positive_values, distribution),
    Row("matrix", drawn, _has_rivals, matrix),
    Row("lifecycle", drawn, has_life, gantt),
    # The last, so that samples are read while Vega draws the others.
    Row("starved", _rivalries, has_rivalry, starved),
    Row("cpu", drawn, has_cpu, cpu),
    Row("memory", drawn, has_memory, memory),
    Row("course", _courses, has_course, over_time),
)


def figures(found: Findings) -> Iterator[Figure]:
    """Build all figures of a report."""
    for row in FIGURES:
        for number, subject in enumerate(row.subjects(found), 1):
            if row.is_drawn(found, subject):
                name = row.name if row.subjects is _study else f"{row.name}-{number:02d}"
                yield row.build(found, subject, name)
