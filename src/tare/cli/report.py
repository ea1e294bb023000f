"""``tare report``: the report of a results directory."""

from __future__ import annotations

import argparse
import gc
from pathlib import Path

from tare.present.report import read_and_report


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("results", type=Path, help="a results directory, finished or not")
    parser.add_argument("--into", type=Path, metavar="DIR", help="where to write; else next to")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    gc.disable()  # a fifth of the time with many trials, all of which are needed to the end
    for path in read_and_report(options.results, options.into or options.results):
        print(path)
    return 0
