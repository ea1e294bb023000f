"""Writes the report's files: the page, the tables, and each chart as SVG, PNG and PDF."""

from __future__ import annotations

import multiprocessing
import re
import signal
from collections.abc import Mapping
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event

import vl_convert

from tare.report.explanations import write_explanations
from tare.report.exports import write_latex, write_markdown
from tare.report.figures import Figure, figures
from tare.report.figures.figure import Spec
from tare.report.findings import Findings, describe
from tare.report.html import pages
from tare.report.tables import write_csv
from tare.report.timelines import tell
from tare.report.trials_page import FOLDER, MAX_TRIALS
from tare.store import Results

WIDE, PHONE = 940, 350
"""Widths of a chart in the page in pixels; the wide one is also that of the files."""

_VEGA_LITE = "5.21"
_awake = Event()
"""Whether Vega has drawn in this process."""
_NOTHING: Spec = {"data": {"values": []}, "mark": "point"}
_OURS = re.compile(
    r"(forest|heat|attribution|"
    r"(scaling|points|drift|distribution|matrix|lifecycle|cpu|memory|course)-\d+)"
    r"\.(svg|png|pdf)"
)
_CELL = re.compile(r"[0-9a-f]{10}\.html")
_EXPORTS = {
    "results.csv": write_csv,
    "results.md": write_markdown,
    "results.tex": write_latex,
}
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
    # Vega takes half a second to wake up.
    with _artists(results) as artists:
        told = artists.submit(tell, results.folder)
        artists.submit(svg, _NOTHING)
        found = replace(describe(results), read_texts=told.result)
        drawn = [
            (
                figure,
                artists.submit(_files, folder / figure.name, figure.draw(WIDE)),
                artists.submit(svg, figure.draw(PHONE)),
            )
            for figure in figures(found)
        ]
        written: list[Path] = []
        for name, export in _EXPORTS.items():
            export(found, into / name)
            written.append(into / name)
        written += write_explanations(found, into / "explanations.csv")
        drawings = {}
        for figure, wide, phone in drawn:
            text, paths = wide.result()
            written += paths
            drawings[figure.name] = Drawing(
                figure,
                inline(text, figure, "wide"),
                inline(phone.result(), figure, "phone"),
            )
    return [*_pages(found, drawings, into), *written]


def _artists(results: Results) -> Executor:
    """Give who draws: processes beside this one where this one has much to do itself.

    Vega draws in a thread of its own, but what is drawn becomes files under Python's lock. Where it
    is awake already, a process made of this one would wait for that thread, which it does not have.
    """
    if len(results.trials) <= MAX_TRIALS or _awake.is_set():
        return ThreadPoolExecutor(2)
    # An interrupt is for the command, which ends them.
    ignore = (signal.SIGINT, signal.SIG_IGN)
    return ProcessPoolExecutor(2, multiprocessing.get_context("fork"), signal.signal, ignore)


def _pages(found: Findings, drawings: Mapping[str, Drawing], into: Path) -> list[Path]:
    """Write the page, and in a large study those of its trials beside it.

    Those that an earlier report wrote of other cells, or of more trials, do not stay.
    """
    paths = []
    for name, text in pages(found, drawings, into):
        path = into / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    beside = into / FOLDER
    if beside.is_dir():
        for old in set(beside.iterdir()).difference(paths):
            if _CELL.fullmatch(old.name):
                old.unlink()
    return paths


def _files(path: Path, spec: Spec) -> tuple[str, list[Path]]:
    """Draw a chart and write it in every form; give the SVG, and what was written."""
    drawn = svg(spec)
    files = [path.with_suffix(suffix) for suffix in (".svg", ".png", ".pdf")]
    files[0].write_text(drawn, encoding="utf-8")
    files[1].write_bytes(vl_convert.svg_to_png(drawn, scale=2))
    files[2].write_bytes(vl_convert.svg_to_pdf(drawn))
    return drawn, files


def svg(spec: Spec) -> str:
    """Draw a chart; nothing is fetched."""
    _awake.set()
    drawn: str = vl_convert.vegalite_to_svg(spec, vl_version=_VEGA_LITE, allowed_base_urls=[])
    return drawn


def inline(drawn: str, figure: Figure, variant: str) -> str:
    """Make an SVG part of a page that has others: its ids its own, its labels tool tips."""
    drawn = re.sub(r"\b(clip|gradient_)(\d+)", rf"{figure.name}-{variant}-\1\2", drawn)
    drawn = _MARK.sub(r"<path \2><title>\1</title></path>", drawn)
    return drawn.replace("<svg ", f'<svg role="img" aria-labelledby="chart-{figure.name}" ', 1)
