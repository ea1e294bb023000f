"""Writes the report's files: the page, the tables, and each chart as SVG, PNG and PDF."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

from tare.core import durable
from tare.present.charts.canvas import Canvas
from tare.present.charts.catalogue import figures
from tare.present.charts.figure import Figure, Spec
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
_FIGURES = "figures"
_LIST = "report-files.txt"
"""Lists the figures and pages of trials that a report wrote, for the next one to replace."""
_SVG = "http://www.w3.org/2000/svg"
ElementTree.register_namespace("", _SVG)


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
    """Read results and write all files; a second process draws what is large.

    It is made of this process before it has much memory, and does not have to copy it.
    """
    return _write(_artists(folder), folder, lambda: load(folder), into)


def _artists(folder: Path) -> Executor:
    """Return what draws: a second process where this one has much to do itself.

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
        texts = artists.submit(tell, folder)
        stored = artists.submit(read_raw, folder)
        artists.submit(svg, _NOTHING)  # Vega takes half a second to wake up
        found = replace(describe(read()), read_texts=texts.result, read_raw=stored.result)
        drawn = _drawn(artists, found, into / _FIGURES)
        written: list[Path] = []
        written += write_exports(found, into)
        pages = Pages(found, into)
        written += _write_trial_pages(pages, into)
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
    _replace_earlier(into, written)
    return [report, *written]


def _replace_earlier(into: Path, written: Sequence[Path]) -> None:
    """Delete the figures and pages that an earlier report wrote and this one did not."""
    known = into / _LIST
    own = [f"{path.parent.name}/{path.name}" for path in written if path.parent != into]
    earlier = known.read_text("utf-8", "replace").splitlines() if known.is_file() else []
    for path in (into / one for one in set(earlier).difference(own)):
        if path.parent in (into / _FIGURES, into / FOLDER):
            path.unlink(missing_ok=True)
    durable.replace(known, "".join(f"{one}\n" for one in own))


def _drawn(
    artists: Executor, found: Findings, folder: Path
) -> Sequence[tuple[Figure, Future[tuple[str, list[Path]]], Future[str]]]:
    """Have all figures drawn."""
    folder.mkdir(parents=True, exist_ok=True)
    return [
        (
            figure,
            artists.submit(_files, folder / figure.name, figure.draw(WIDE)),
            artists.submit(svg, figure.draw(PHONE)),
        )
        for figure in figures(found)
    ]


def _write_trial_pages(pages: Pages, into: Path) -> list[Path]:
    """Write the pages of trials in a folder next to that of the report."""
    paths = []
    for name, text in pages.of_trials():
        path = into / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths


def _files(path: Path, picture: Spec | Canvas) -> tuple[str, list[Path]]:
    """Draw a figure and write it in every form; return the SVG, and what was written."""
    drawn = svg(picture)
    return drawn, write_figure(drawn, path)


def inline(drawn: str, figure: Figure, variant: str) -> str:
    """Make an SVG part of a page that has others: its ids its own, its labels tool tips."""
    root = ElementTree.fromstring(drawn)  # noqa: S314 - drawn by us
    root.attrib |= {"role": "img", "aria-labelledby": f"chart-{figure.name}"}
    for element in root.iter():
        for name, value in element.items():
            if name == "id":
                element.set(name, f"{figure.name}-{variant}-{value}")
            elif value.startswith("url(#"):
                element.set(name, value.replace("#", f"#{figure.name}-{variant}-"))
        if element.tag == f"{{{_SVG}}}path" and "aria-label" in element.attrib:
            for name in ("role", "aria-roledescription"):
                element.attrib.pop(name, None)
            title = ElementTree.SubElement(element, f"{{{_SVG}}}title")
            title.text = element.attrib.pop("aria-label")
    return ElementTree.tostring(root, encoding="unicode")
