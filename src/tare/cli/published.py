"""``tare published``: the numbers of published studies under the statistics of this package."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from tare.core.errors import ConfigError
from tare.present.terminal.published_study import as_json, show
from tare.present.terminal.study_setup import setup_as_json
from tare.results.published import analyse, setup_of, studies
from tare.results.published.rows import source
from tare.results.published.study_comparison import Ours


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("study", nargs="?", help="the key of a study; without it, they are listed")
    parser.add_argument("--json", action="store_true", help="print facts for programs")
    add_figures(parser, "its figures")


def add_figures(parser: argparse.ArgumentParser, what: str) -> None:
    """Declare the option by which figures are written."""
    parser.add_argument(
        "--figures",
        type=Path,
        metavar="DIR",
        help=f"write {what} into this folder, drawn again: one page, and each as SVG, PNG and PDF",
    )


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    if options.study is None and options.figures is not None:
        raise ConfigError(f"--figures: expected a study; there are {', '.join(studies())}")
    if options.study is None:
        known = {name: source(name) for name in studies()}
        lines = [f"{name:<14} {about}".rstrip() for name, about in known.items()]
        print(json.dumps(known) if options.json else "\n".join(lines))
        return 0
    analysis = analyse(options.study)
    paths = write_all([options.study], options.figures)
    if options.json:
        content = as_json(analysis) | {"setup": setup_as_json(setup_of(options.study))}
        content |= {"figures": paths} if paths else {}
        print(json.dumps(content, allow_nan=False))
    else:
        show(analysis)
        show_paths(paths)
    return 0


def write_all(studies: Sequence[str], into: Path | None, ours: Ours | None = None) -> list[str]:
    """Write the figures of studies, if a folder is given for them; list the files."""
    if into is None:
        return []
    from tare.present.redrawn.write import write_figures  # the heavy path: it draws

    return [str(path) for study in studies for path in write_figures(study, into, ours)]


def show_paths(paths: Sequence[str]) -> None:
    """Print the files that were written, below whatever was printed before."""
    if paths:
        print("", *paths, sep="\n")
