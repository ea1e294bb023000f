"""``tare report``: the report of a results directory."""

from __future__ import annotations

import argparse
from pathlib import Path

NAME = "report"
HELP = "write report.html, results.csv, .md and .tex and the figures of a results directory"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("results", type=Path, help="a results directory, finished or not")
    parser.add_argument("--into", type=Path, metavar="DIR", help="where to write; else beside")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from tare.report import write_report
    from tare.store import load

    for path in write_report(load(options.results), options.into or options.results):
        print(path)
    return 0
