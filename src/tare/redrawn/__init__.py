"""The figures of published studies, drawn again, and beside them the same from results of ours.

A part of its own, because it needs both what ``published`` knows (values, counterparts) and what
``report`` draws with (theme, grid, files), neither of which needs the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tare.published.beside import Ours
from tare.published.originals import UNDRAWN, Form, originals
from tare.published.rows import load
from tare.redrawn.bars import bars
from tare.redrawn.here import Here
from tare.redrawn.maps import degradation_map, significance_matrix
from tare.report.figures.figure import Figure

__all__ = ["figures", "undrawn", "write_figures"]


def figures(study: str, ours: Ours | None = None) -> Iterator[Figure]:
    """Draw a study's figures; with results of ours, the same from them beside each.

    ConfigError if there is no such study.
    """
    rows = load(study)
    here = Here(study, ours) if ours else None
    drawers = {Form.BARS: bars, Form.MAP: degradation_map, Form.MATRIX: significance_matrix}
    for original in originals(study, rows):
        yield drawers[original.form](study, original, rows, here)


def undrawn(study: str) -> str:
    """Say which of a study's tables are no figures, and why; empty if all are."""
    told = [f"{table} ({what})" for table, what in UNDRAWN.get(study, {}).items()]
    return f"Not drawn: {', '.join(told)}." if told else ""


def write_figures(study: str, into: Path, ours: Ours | None = None) -> list[Path]:
    """Write the page and each figure as SVG, PNG and PDF; list them, the page first.

    ConfigError if there is no such study, or the files cannot be written.
    """
    # Here, because templates and charts take longer to import than a list of studies has.
    from tare.redrawn.write import write

    return write(study, into, ours)
