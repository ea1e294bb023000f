"""``tare show``: the verdicts of a results directory."""

from __future__ import annotations

import argparse
import gc
import json
from pathlib import Path

from rich.console import Console

from tare.present.report import as_json, describe
from tare.present.terminal.verdicts import show
from tare.results.store import load


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("results", type=Path, help="a results directory, finished or not")
    parser.add_argument("--json", action="store_true", help="print facts for programs")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    gc.disable()  # a fifth of the time with many trials, all of which are needed to the end
    described = describe(load(options.results))
    if options.json:
        print(json.dumps(as_json(described)))
    else:
        Console().print(show(described))
    return 0
