"""Where the trials behind the verdicts are shown: in the page, or on pages next to it.

A study of ordinary size has them in the page as JSON, so that it stays one file; of a larger one
each cell's trials are a page of their own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from pydantic_core import to_json

from tare.core.model import Cell, Trial
from tare.present.view.findings import Findings
from tare.present.view.trial_records import MAX_TRIALS, Source
from tare.results.store.raw_output import raw_name, raw_of

MAX_BYTES = 9_000_000
"""Nor is their JSON larger than this in the page, whatever texts they carry: the charts of as
many trials take as much, and the page is to be less than 15 MB."""

FOLDER = "report-trials"
"""Where the pages next to the page are."""


@dataclass(frozen=True)
class DrillDown:
    """How one gets from the page to the trials.

    ``embedded`` is their JSON in the page, or None if each cell has its own page. ``results``
    is the way from the page to the results directory, as the start of a link.
    """

    embedded: str | None
    results: str

    def target(self, cell: str) -> str:
        """Where a link to a cell's trials leads."""
        return "#trials" if self.embedded is not None else f"{FOLDER}/{cell}.html"


def drill_down(found: Findings, into: Path | None) -> DrillDown:
    """Decide where the trials are shown, and write their JSON if it is in the page."""
    results = way(found, into)
    if len(found.results.trials) > MAX_TRIALS:
        return DrillDown(None, results)
    text = as_json(Source(found).content(found.plan.cells), results)
    return DrillDown(text if len(text.encode()) <= MAX_BYTES else None, results)


def cell_pages(found: Findings, results: str) -> Iterator[tuple[Cell, str]]:
    """Write the JSON of each cell's trials, for its own page."""
    source = Source(found)
    for cell in found.plan.cells:
        if found.trials[cell.id]:
            yield cell, as_json(source.content([cell]), f"../{results}")


def way(found: Findings, into: Path | None) -> str:
    """Write the way from a folder (None: that of the results) to the results, to begin a link."""
    folder = found.results.folder
    steps = Path(os.path.relpath(folder.resolve(), (into or folder).resolve())).parts
    return "".join(f"{quote(os.fsencode(step), safe='')}/" for step in steps)


def raw_link(found: Findings, trial: Trial, results: str) -> str:
    """Write a link to what a trial printed, or "" if there is nothing; its name is hostile text."""
    name = raw_name(trial)
    files, _ = found.raw.get(name) or raw_of(found.results.folder, name)
    if "stdout" not in files:
        return ""
    return f"{results}raw/{quote(name, safe='', errors='replace')}/stdout"


def as_json(about: Mapping[str, object], results: str) -> str:
    """Write JSON that may stand in a page: nothing in it ends its element or begins another.

    The characters that are escaped are in strings only.
    """
    text = to_json({"results": results, **about}).decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
