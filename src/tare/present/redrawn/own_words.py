"""Sentences below a figure that is ours alone: how it is counted, what is missing and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from tare.present.redrawn.own import OwnFigure, OwnResult, level_text
from tare.present.view.numbers import share_text
from tare.results.published.setup_comparison import known_setup
from tare.results.published.setup_difference import differences_of

MIN_RUNS = 6
"""An interval of the median (95 %) by order statistics needs this number of runs."""


def notes(figure: OwnFigure) -> Iterator[str]:
    """Yield the sentences to read a figure with."""
    declared, results = figure.declared, figure.results
    yield declared.about
    if declared.note:
        yield declared.note
    counts = [result.values.n for result in results if result.values is not None]
    if counts:
        yield (
            f"Medians of {range_text(counts)} runs a cell, with 95 % intervals from {MIN_RUNS} "
            "runs on."
        )
    if counts and figure.counts_losses:
        yield _losses(results)
    yield from _gaps(results)
    if absent := list(_unplanned(figure)):
        yield f"Not planned here: {'; '.join(absent)}."
    if figure.missing:
        yield f"In the study, but not here: {'; '.join(figure.missing)}."
    if added := _added(results):
        yield f"Here, but not in the study: {'; '.join(added)}."
    setup = known_setup(figure.study)
    differs = dict.fromkeys(
        str(difference)
        for one in results
        for difference in differences_of(setup, one.measure, one.cell)
    )
    if differs:
        yield f"Not here as there: {'; '.join(differs)}."


def range_text(counts: Iterable[int]) -> str:
    """Write the least and the most of some counts."""
    known = sorted(counts)
    return f"{known[0]}" if known[0] == known[-1] else f"{known[0]} to {known[-1]}"


def runs_text(result: OwnResult) -> str:
    """Count the runs that gave a number, and the others by how they ended."""
    n = 0 if result.values is None else result.values.n
    others = [f"{count} {status.value}" for status, count in result.without.items()]
    return ", ".join([*([f"{n}"] if n or not others else []), *others])


def losses_text(result: OwnResult) -> str:
    """Return how many runs lost requests, and the largest share; empty if none did."""
    if not result.lossy or result.values is None:
        return ""
    most = share_text(max(run.share for run in result.lossy))
    return f"{len(result.lossy)} of {result.values.n} runs, up to {most}"


def _added(results: Sequence[OwnResult]) -> Iterable[str]:
    """Name the platforms that the study did not have, or not with such limits."""
    studied = {result.cell.platform for result in results if result.is_studied}
    added = [result for result in results if not result.is_studied]
    return dict.fromkeys(
        result.series if result.cell.platform in studied else result.cell.platform
        for result in added
    )


def _losses(results: Sequence[OwnResult]) -> str:
    lossy = [result for result in results if result.lossy]
    if not lossy:
        return "No run lost a request."
    return f"Runs that lost requests, which are in no rate: {_listed(lossy, losses_text)}."


def _gaps(results: Sequence[OwnResult]) -> Iterator[str]:
    """Yield why cells have no number, and which have fewer than were run."""
    empty: dict[str, list[OwnResult]] = {}
    for result in results:
        if result.gap is not None:
            empty.setdefault(result.gap.text, []).append(result)
    for why, cells in empty.items():
        yield f"No number, which is not 0: {_listed(cells)}: {why}."
    fewer = [result for result in results if result.without and result.gap is None]
    if fewer:
        yield f"Runs without a number: {_listed(fewer, runs_text)}."


def _unplanned(figure: OwnFigure) -> Iterator[str]:
    """Name the levels at which a line has no cell although another has, panel by panel."""
    axes = figure.declared.axes
    if not axes:
        return
    planned = {
        (result.series, *(result.params[name] for name in axes)) for result in figure.results
    }
    every = [dict.fromkeys(result.params[name] for result in figure.results) for name in axes]
    levels, panels = every
    along, across = axes
    for series in figure.colours:
        for panel in panels:
            absent = [level for level in levels if (series, level, panel) not in planned]
            if absent:
                texts = ", ".join(map(level_text, absent))
                yield f"{series}, {across} {level_text(panel)}, {along} {texts}"


def _listed(results: Iterable[OwnResult], text: Callable[[OwnResult], str] = lambda _: "") -> str:
    """Name cells, those that differ only in their level together, each with a text."""
    places: dict[str, dict[str, None]] = {}
    for result in results:
        place = f"{result.place}, {result.axis}" if result.axis else result.place
        more = text(result)
        parts = filter(None, (result.level, f"({more})" if more else ""))
        places.setdefault(place, {})[" ".join(parts)] = None
    return "; ".join(
        f"{place} {', '.join(levels)}" if any(levels) else place for place, levels in places.items()
    )
