"""``tare list``: the layers, workloads, stressors, scenarios and studies, and what can be set.

To describe them each module is imported, which takes half a second. What came of it is kept in
Tare's home and printed from there until a file of Tare changes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from tare.cli import DONE
from tare.core import durable
from tare.core.home import home
from tare.core.plugins import PACKAGES

TARE = Path(__file__).parents[2]
SHELF = "lists"
PIPED_WIDTH = 1000
BOLD, DIM = "1", "2"

Row = Sequence[str]
"""A name, a text, and a text that is dimmed."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    kinds = ["layers", "workloads", "stressors", "scenarios", "studies"]
    parser.add_argument("what", choices=kinds, help="what to list")
    parser.add_argument("--json", action="store_true", help="print facts for programs")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    listed = read(options.what)
    if options.json:
        print(json.dumps(listed["facts"]))
    else:
        on_terminal = sys.stdout.isatty()
        width = shutil.get_terminal_size().columns if on_terminal else PIPED_WIDTH
        for line in lines(listed["rows"], width, styled=on_terminal):
            print(line)
    return DONE


def read(what: str) -> dict[str, Any]:
    """Return the facts and the rows of a list, from what is kept where that is of these files."""
    folders = import_module(PACKAGES[what]).__path__ if what in PACKAGES else ()
    if any(TARE not in Path(folder).parents for folder in folders):
        return _made(what)  # of plug-ins it is not known which files they are made of
    kept, version = home() / SHELF / f"{what}.json", _version()
    with suppress(OSError, ValueError, KeyError):
        known: dict[str, Any] = json.loads(kept.read_text())
        if known["version"] == version:
            return known
    listed = _made(what)
    if not listed["broken"]:  # what is broken may be whole as soon as a package is installed
        with suppress(OSError):
            kept.parent.mkdir(parents=True, exist_ok=True)
            durable.replace(kept, json.dumps({**listed, "version": version}))
    return listed


def _made(what: str) -> dict[str, Any]:
    from tare.cli.listing.catalogue import listed  # the heavy path

    return listed(what)


def _version() -> str:
    """Return a digest of the times and sizes of all files of Tare."""
    digest = hashlib.sha256()
    for folder, folders, names in os.walk(TARE):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            about = os.stat(f"{folder}/{name}")  # noqa: PTH116 - a Path takes four times as long
            digest.update(f"{folder}/{name} {about.st_mtime_ns} {about.st_size}\n".encode())
    return digest.hexdigest()


def lines(rows: Sequence[Row], width: int, *, styled: bool) -> Iterator[str]:
    """Yield the lines of two columns: names, and texts wrapped to what is left of the width."""
    first = max((len(name) for name, *_ in rows), default=0)
    room = max(20, width - first - 4)
    for name, text, dim in rows:
        head = f"  {_style(name, BOLD, styled)}{' ' * (first - len(name))}  "
        own = len(text) - len(text.lstrip())
        texts = textwrap.wrap(text, room, subsequent_indent=" " * (own + 2)) if text.strip() else []
        dims = textwrap.wrap(dim, room, subsequent_indent=" " * (own + 4))
        if dims and (not texts or len(texts[-1]) + len(dim) <= room):
            texts[-1:] = [f"{texts[-1] if texts else ''}{_style(dim, DIM, styled)}"]
        else:
            texts += [_style(line, DIM, styled) for line in dims]
        for line in texts or [""]:
            yield (head + line).rstrip()
            head = " " * (first + 4)


def _style(text: str, style: str, styled: bool) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if styled and text else text
