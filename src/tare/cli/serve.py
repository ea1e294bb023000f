"""``tare serve``: the live page of one study or several."""

from __future__ import annotations

import argparse
from pathlib import Path

from tare.present.live import ResultsCatalogue, serving

SELDOM_S = 3600.0
"""Interval at which the server checks for a request to end; an interrupt ends it at once."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("results", type=Path, help="a results directory, or a folder of several")
    parser.add_argument(
        "--port", type=int, default=8000, help="of 127.0.0.1; 0 is any that is free (8000)"
    )


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    with serving(ResultsCatalogue(options.results), options.port) as server:
        print(f"{server.address}   (of this host alone; end with Ctrl-C)", flush=True)
        server.serve_forever(SELDOM_S)
    return 0
