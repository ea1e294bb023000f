"""Our results for a figure that is ours alone: numbers of each cell, and why there is none."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tare.core.model import Cell, Limits, Metric, MetricRole, Scalar, Status, metric_of
from tare.present.charts.trials import NO_VALUE
from tare.present.redrawn.panels import technology_colours
from tare.present.view import theme
from tare.present.view.marks import DNR, FAILED, NOT_RUN, UNAVAILABLE
from tare.present.view.names import limits_text, params_text
from tare.present.view.numbers import bytes_text, plain
from tare.results.compare.columns import has_numbers
from tare.results.compare.pairing import History
from tare.results.published.counterparts import (
    Measure,
    has_limits,
    made_of,
    platforms_for,
    wanted_text,
)
from tare.results.published.rows import Row
from tare.results.published.study_comparison import Ours
from tare.results.published.unprinted import Unprinted
from tare.results.stats.description import Description, describe
from tare.results.stats.median import median_interval


@dataclass(frozen=True, slots=True)
class LossyRun:
    """A run that lost a ``share`` of its requests, and its value all the same."""

    value: float
    share: float


@dataclass(frozen=True, slots=True)
class Gap:
    """Why a cell has no number: a word that stands in its place, and what its last trial said."""

    word: str
    reason: str = ""

    @property
    def text(self) -> str:
        """Both of them."""
        return f"{self.word} ({self.reason})" if self.reason else self.word


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnResult:
    """One metric of one cell: its ``values``, or the ``gap`` that is in their place.

    ``low`` and ``high`` are the 95 % interval of the median, where there are runs enough;
    ``without`` counts the trials that gave no number. ``series`` names the platform and what else
    tells its cells apart that is no axis of the figure, ``place`` the cell among those of the
    figure but for its ``level`` on the ``axis``, both empty where there is none. ``is_studied``
    says that the study had such a platform with such limits.
    """

    cell: Cell
    metric: Metric
    measure: Measure
    series: str
    place: str
    axis: str
    level: str
    is_studied: bool
    values: Description | None
    low: float | None
    high: float | None
    lossy: tuple[LossyRun, ...]
    gap: Gap | None
    without: Mapping[Status, int]

    @property
    def where(self) -> str:
        """Name the cell among all of the figure."""
        return f"{self.place}, {self.axis} {self.level}" if self.axis else self.place

    @property
    def params(self) -> Mapping[str, Scalar]:
        """The parameters of its cell by name."""
        return dict(self.cell.params)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFigure:
    """What is declared of a figure and our results for it; ``here`` is what our study is called.

    ``missing`` is what the study had in it and our results do not have; ``colours`` are those of
    the series; ``counts_losses`` says that the workload tells how many requests failed.
    """

    study: str
    here: str
    declared: Unprinted
    results: tuple[OwnResult, ...]
    missing: tuple[str, ...]
    colours: Mapping[str, str]
    counts_losses: bool

    @property
    def name(self) -> str:
        """The name of its files."""
        return f"{self.study}-{self.declared.name}"

    @property
    def title(self) -> str:
        """What it is called."""
        return self.declared.title


def own_figure(
    study: str,
    declared: Unprinted,
    rows: Sequence[Row],
    ours: Ours,
    known: Mapping[str, History],
) -> OwnFigure:
    """Collect our results for a figure of a study.

    ``rows`` are all that the study prints, ``known`` are the histories of our cells by their ids.
    """
    chosen = [
        (measure, cell, metric)
        for measure in declared.measures
        for cell in ours.cells
        if measure.fits(cell) and all(one in dict(cell.params) for one in declared.axes)
        for metric in ours.plan.metrics[cell.workload]
        if metric.name == measure.metric
    ]
    order = _order(declared, [cell for _, cell, _ in chosen])
    platforms = list(dict.fromkeys(cell.platform for _, cell, _ in chosen))
    chosen.sort(
        key=lambda one: (
            order.get(one[1].id, len(declared.platforms)),
            platforms.index(one[1].platform),
        )
    )
    names = _names(declared, chosen)
    results = tuple(
        _result(measure, cell, metric, known[cell.id], names[cell.id], is_studied=cell.id in order)
        for measure, cell, metric in chosen
    )
    return OwnFigure(
        study=study,
        here=ours.plan.study,
        declared=declared,
        results=results,
        missing=tuple(_missing(declared, results, ours)),
        colours=_colours(declared, rows, results),
        counts_losses=any(_lost(known[cell.id]) for _, cell, _ in chosen),
    )


def _order(declared: Unprinted, cells: Sequence[Cell]) -> Mapping[str, int]:
    """Number the cells that are of a platform of the study, in its order."""
    order: dict[str, int] = {}
    for place, name in enumerate(declared.platforms):
        platforms = platforms_for(name, cells)
        for cell in cells:
            if cell.platform in platforms and has_limits(name, cell.limits):
                order.setdefault(cell.id, place)
    return order


class _Names(NamedTuple):
    """What a cell is called in its figure; see OwnResult."""

    series: str
    place: str
    axis: str
    level: str


def _names(
    declared: Unprinted, chosen: Sequence[tuple[Measure, Cell, Metric]]
) -> Mapping[str, _Names]:
    """Name each cell, by its id, by what differs among those of the figure."""
    cells = [cell for _, cell, _ in chosen]
    needed = {name for measure, _, _ in chosen for name in measure.needed}
    apart = {declared.along, declared.panels, *needed}
    varied = _varied(cells)
    limits = _limits_texts(cells)
    names = {}
    for cell in cells:
        different = [one for one in cell.params if (cell.workload, one[0]) in varied]
        rest = tuple(one for one in different if one[0] not in apart)
        series = _joined(cell.platform, params_text(rest), limits[cell.limits])
        of_place = tuple(one for one in different if one[0] in {*needed, declared.panels})
        place = _joined(series, params_text(of_place))
        level = level_text(dict(cell.params).get(declared.along, ""))
        names[cell.id] = _Names(series, place, declared.along, level)
    return names


def level_text(level: Scalar) -> str:
    """Write a level of a parameter without its name."""
    return level if isinstance(level, str) else plain(level, 6)


def _joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _limits_texts(cells: Sequence[Cell]) -> Mapping[Limits, str]:
    """Write limits where cells differ in them: CPUs and memory, or all if these are the same."""
    every = list(dict.fromkeys(cell.limits for cell in cells))
    if len(every) == 1:
        return {every[0]: ""}
    short = {one: _resources_text(one) for one in every}
    if len(set(short.values())) == len(every):
        return short
    return {one: limits_text(one) for one in every}


def _resources_text(limits: Limits) -> str:
    cpus = "1 CPU" if limits.cpus == 1 else f"{limits.cpus} CPUs"
    return f"{cpus}, {bytes_text(limits.memory_bytes)}"


def _varied(cells: Sequence[Cell]) -> set[tuple[str, str]]:
    """List the parameters, each with its workload, that have several values among cells."""
    values: dict[tuple[str, str], set[Scalar]] = {}
    for cell in cells:
        for name, value in cell.params:
            values.setdefault((cell.workload, name), set()).add(value)
    return {key for key, some in values.items() if len(some) > 1}


def _result(  # noqa: PLR0913 - all that one result is made of
    measure: Measure,
    cell: Cell,
    metric: Metric,
    history: History,
    names: _Names,
    *,
    is_studied: bool,
) -> OwnResult:
    lost = _lost(history)
    runs = sorted(
        (trial.samples[metric.name], trial.samples.get(lost.name, 0.0) if lost else 0.0)
        for trial in history.counted
        if has_numbers(trial) and math.isfinite(trial.samples.get(metric.name, math.nan))
    )
    values = [value for value, _ in runs]
    low, high = median_interval(values)
    return OwnResult(
        cell=cell,
        metric=metric,
        measure=measure,
        series=names.series,
        place=names.place,
        axis=names.axis,
        level=names.level,
        is_studied=is_studied,
        values=describe(values),
        low=low,
        high=high,
        lossy=tuple(LossyRun(value, share) for value, share in runs if share > 0),
        gap=None if values else _gap(history),
        without=Counter(one.status for one in history.counted if not has_numbers(one)),
    )


def _lost(history: History) -> Metric | None:
    return metric_of(history.metrics, MetricRole.FAILED)


def _gap(history: History) -> Gap:
    ended = Counter(trial.status for trial in history.counted)
    if ended[Status.OK] or ended[Status.SUSPECT]:
        return Gap(NO_VALUE)
    if ended[Status.DNR] or ended[Status.FAILED]:
        word = DNR if ended[Status.DNR] > ended[Status.FAILED] else FAILED
        return Gap(word, history.last_reason)
    return Gap(NOT_RUN) if history.impossible is None else Gap(UNAVAILABLE, history.impossible)


def _missing(declared: Unprinted, results: Sequence[OwnResult], ours: Ours) -> Iterator[str]:
    """Name what the study had in its figure and these results do not have at all."""
    if not results:
        yield f"{wanted_text(declared.measures, ours.cells)} is not in these results"
        return
    cells = [one.cell for one in results]
    for name in declared.platforms:
        platforms = platforms_for(name, cells)
        if not any(one.platform in platforms and has_limits(name, one.limits) for one in cells):
            yield name
    for param, levels in declared.levels.items():
        there = {one.params.get(param) for one in results}
        absent = [level_text(level) for level in levels if level not in there]
        if absent:
            yield f"{param} {', '.join(absent)}"


def _colours(
    declared: Unprinted, rows: Sequence[Row], results: Sequence[OwnResult]
) -> Mapping[str, str]:
    """Return the colour of each series; a line has its own, bars of one platform have the same.

    It is that of its technology in the study's other figures, if no other has it.
    """
    studied = list(technology_colours(rows))
    owners = {one.series: one.series if declared.along else one.cell.platform for one in results}
    keys: dict[str, str] = {}
    for one in results:
        owner, technology = owners[one.series], made_of(one.cell.path)
        if owner not in keys:
            is_free = technology in studied and technology not in keys.values()
            keys[owner] = technology if is_free else owner
    others = dict.fromkeys(key for key in keys.values() if key not in studied)
    colours = theme.colours((*studied, *others))
    return {series: colours[keys[owner]] for series, owner in owners.items()}
