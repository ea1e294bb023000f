"""Writes the report's files: the page, the tables, and each chart as SVG, PNG and PDF."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from tare.present.charts import Figure, figures
from tare.present.charts.figure import Spec
from tare.present.charts.vega import is_awake, svg, write_figure
from tare.present.export import write_exports
from tare.present.page.html import Pages
from tare.present.page.trials_page import FOLDER
from tare.present.view.findings import Findings
from tare.present.view.study import describe
from tare.present.view.timelines import tell
from tare.results.store import Results, load
from tare.results.store.raw_output import read_raw

WIDE, PHONE = 940, 350
"""Widths of a chart in the page in pixels; the wide one is also that of the files."""
LARGE_BYTES = 10_000_000
"""Trials that take more are drawn by a process; so large are those of ten thousand or fewer."""

_NOTHING: Spec = {"data": {"values": []}, "mark": "point"}
_OURS = re.compile(
    r"(forest|heat|attribution|"
    r"(scaling|points|drift|distribution|matrix|lifecycle|cpu|memory|course)-\d+)"
    r"\.(svg|png|pdf)"
)
_CELL = re.compile(r"[0-9a-f]{10}\.html")
_MARK = re.compile(r'<path aria-label="([^"]*)" role="[^"]*" aria-roledescription="[^"]*" (.*?)/?>')


@dataclass(frozen=True)
class Drawing:
    """A chart as it stands in the page: two SVGs, for two widths."""

    figure: Figure
    wide: str
    phone: str


def write(results: Results, into: Path) -> list[Path]:
    """Write all files, those of the charts over those of an earlier report; threads draw."""
    return _write(ThreadPoolExecutor(2), results.folder, lambda: results, into)


def read_and_write(folder: Path, into: Path) -> list[Path]:
    """Read results and write all files; a process beside draws what is large.

    It is made of this process before it has much memory, and does not have to copy it.
    """
    return _write(_artists(folder), folder, lambda: load(folder), into)


def _artists(folder: Path) -> Executor:
    """Give who draws: a process beside this one where this one has much to do itself.

    One: a second one draws no sooner on two CPUs, and takes 130 MB more.

    Vega draws in a thread of its own, but what is drawn becomes files under Python's lock. Where it
    is awake already, a process made of this one would wait for that thread, which it does not have.
    """
    trials = folder / "trials.jsonl"
    if is_awake() or not trials.is_file() or trials.stat().st_size <= LARGE_BYTES:
        return ThreadPoolExecutor(2)
    return ProcessPoolExecutor(1, multiprocessing.get_context("fork"), _begin_to_draw)


def _begin_to_draw() -> None:
    """Leave interrupts to the command, which ends its artists, and the CPUs where it needs one.

    It has the longest way to go; what is drawn is needed at its end.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(5)


def _write(artists: Executor, folder: Path, read: Callable[[], Results], into: Path) -> list[Path]:
    with artists:
        told = artists.submit(tell, folder)
        stored = artists.submit(read_raw, folder)
        artists.submit(svg, _NOTHING)  # Vega takes half a second to wake up
        found = replace(describe(read()), read_texts=told.result, read_raw=stored.result)
        drawn = _drawn(artists, found, into / "figures")
        written: list[Path] = []
        written += write_exports(found, into)
        pages = Pages(found, into)
        written += _write_beside(pages, into)
        drawings = {}
        for figure, wide, phone in drawn:
            text, paths = wide.result()
            written += paths
            drawings[figure.name] = Drawing(
                figure,
                inline(text, figure, "wide"),
                inline(phone.result(), figure, "phone"),
            )
    report = into / "report.html"
    report.write_text(pages.report(drawings), encoding="utf-8")
    return [report, *written]


def _drawn(
    artists: Executor, found: Findings, folder: Path
) -> Sequence[tuple[Figure, Future[tuple[str, list[Path]]], Future[str]]]:
    """Have all charts drawn; those of an earlier report go."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        if _OURS.fullmatch(old.name):
            old.unlink()
    return [
        (
            figure,
            artists.submit(_files, folder / figure.name, figure.draw(WIDE)),
            artists.submit(svg, figure.draw(PHONE)),
        )
        for figure in figures(found)
    ]


def _write_beside(pages: Pages, into: Path) -> list[Path]:
    """Write the pages of trials beside that of the report.

    Those that an earlier report wrote of other cells, or of more trials, do not stay.
    """
    paths = []
    for name, text in pages.of_trials():
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
    return drawn, write_figure(drawn, path)


def inline(drawn: str, figure: Figure, variant: str) -> str:
    """Make an SVG part of a page that has others: its ids its own, its labels tool tips."""
    drawn = re.sub(r"\b(clip|gradient_)(\d+)", rf"{figure.name}-{variant}-\1\2", drawn)
    drawn = _MARK.sub(r"<path \2><title>\1</title></path>", drawn)
    return drawn.replace("<svg ", f'<svg role="img" aria-labelledby="chart-{figure.name}" ', 1)
