"""Writes the report's files: the page, the table, and each chart as SVG and PNG."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import vl_convert

from tare.report.figures import Figure, figures
from tare.report.figures.figure import Spec
from tare.report.findings import describe
from tare.report.html import page
from tare.report.tables import write_csv
from tare.store import Results

WIDE, PHONE = 940, 350
"""Widths of a chart in the page in pixels; the wide one is also that of the files."""

_VEGA_LITE = "5.21"
_NOTHING: Spec = {"data": {"values": []}, "mark": "point"}
_OURS = re.compile(r"(forest|attribution|points-\d+|drift-\d+)\.(svg|png)")
_MARK = re.compile(r'<path aria-label="([^"]*)" role="[^"]*" aria-roledescription="[^"]*" (.*?)/?>')


@dataclass(frozen=True)
class Drawing:
    """A chart as it stands in the page: two SVGs, for two widths."""

    figure: Figure
    wide: str
    phone: str


def write(results: Results, into: Path) -> list[Path]:
    """Write all files, those of the charts over those of an earlier report."""
    folder = into / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        if _OURS.fullmatch(old.name):
            old.unlink()
    # Vega draws in a thread of its own, and takes half a second to wake up.
    with ThreadPoolExecutor(1) as artist:
        artist.submit(svg, _NOTHING)
        found = describe(results)
        drawn = [
            (figure, artist.submit(svg, figure.draw(WIDE)), artist.submit(svg, figure.draw(PHONE)))
            for figure in figures(found)
        ]
        report, table = into / "report.html", into / "results.csv"
        write_csv(found, table)
        written = [report, table]
        drawings = {}
        for figure, wide, phone in drawn:
            written += _files(folder / figure.name, wide.result())
            drawings[figure.name] = Drawing(
                figure,
                inline(wide.result(), figure, "wide"),
                inline(phone.result(), figure, "phone"),
            )
    report.write_text(page(found, drawings), encoding="utf-8")
    return written


def _files(path: Path, drawn: str) -> list[Path]:
    files = [path.with_suffix(".svg"), path.with_suffix(".png")]
    files[0].write_text(drawn, encoding="utf-8")
    files[1].write_bytes(vl_convert.svg_to_png(drawn, scale=2))
    return files


def svg(spec: Spec) -> str:
    """Draw a chart; nothing is fetched."""
    drawn: str = vl_convert.vegalite_to_svg(spec, vl_version=_VEGA_LITE, allowed_base_urls=[])
    return drawn


def inline(drawn: str, figure: Figure, variant: str) -> str:
    """Make an SVG part of a page that has others: its ids its own, its labels tool tips."""
    drawn = re.sub(r"\b(clip|gradient_)(\d+)", rf"{figure.name}-{variant}-\1\2", drawn)
    drawn = _MARK.sub(r"<path \2><title>\1</title></path>", drawn)
    return drawn.replace("<svg ", f'<svg role="img" aria-labelledby="chart-{figure.name}" ', 1)
