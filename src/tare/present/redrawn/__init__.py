"""The figures of published studies, drawn again, with the same from results of Tare.

A part of its own, because it needs both what ``published`` knows (values, counterparts) and what
``report`` draws with (theme, grid, files), neither of which needs the other. Figures of which a
study prints no numbers are drawn of our results alone (``own``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tare.present.charts.figure import Figure
from tare.present.redrawn.bars import bars
from tare.present.redrawn.maps import degradation_map, significance_matrix
from tare.present.redrawn.own import OwnFigure, own_figure
from tare.present.redrawn.own_bars import own_bars
from tare.present.redrawn.own_lines import own_lines
from tare.present.redrawn.own_values import OwnValues
from tare.results.compare.pairing import histories
from tare.results.published.originals import UNDRAWN, Form, originals
from tare.results.published.rows import load
from tare.results.published.study_comparison import Ours
from tare.results.published.unprinted import OwnForm, unprinted

__all__ = ["drawn", "figures", "own_figures", "undrawn"]


def figures(study: str, ours: Ours | None = None) -> Iterator[Figure]:
    """Draw a study's figures; with results of Tare, each has a second column of them.

    ConfigError if there is no such study.
    """
    rows = load(study)
    here = OwnValues(study, ours) if ours else None
    drawers = {Form.BARS: bars, Form.MAP: degradation_map, Form.MATRIX: significance_matrix}
    for original in originals(study, rows):
        yield drawers[original.form](study, original, rows, here)


def own_figures(study: str, ours: Ours) -> list[OwnFigure]:
    """Collect what of a study is shown by our results alone, those without any result too.

    ConfigError if there is no such study.
    """
    rows = load(study)
    known = histories(ours.plan, ours.trials)
    return [own_figure(study, one, rows, ours, known) for one in unprinted(study, rows)]


def drawn(figure: OwnFigure) -> Figure | None:
    """Draw a figure that is ours alone and has results; None where it is a table."""
    drawers = {OwnForm.BARS: own_bars, OwnForm.LINES: own_lines}
    form = figure.declared.form
    return drawers[form](figure) if form in drawers else None


def undrawn(study: str, own: Iterable[OwnFigure] | None = None) -> str:
    """Return what of a study is in no figure, and why; empty if all is.

    ``own`` are the figures of our results alone, where there are results of Tare.
    """
    parts = []
    if tables := [f"{table} ({what})" for table, what in UNDRAWN.get(study, {}).items()]:
        parts.append(f"Not drawn: {', '.join(tables)}.")
    if own is None:
        if titles := [one.title for one in unprinted(study, load(study))]:
            parts.append(
                f"Drawn from results alone, by tare compare RESULTS {study} --figures DIR: "
                f"{'; '.join(titles)}."
            )
    else:
        empty: dict[str, list[str]] = {}
        for one in own:
            if not one.results:
                empty.setdefault("; ".join(one.missing), []).append(one.declared.title)
        parts += [f"Not drawn: {'; '.join(some)}: {why}." for why, some in empty.items()]
    return " ".join(parts)
