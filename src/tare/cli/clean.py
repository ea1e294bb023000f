"""``tare clean``: remove what dead sessions left on this host, by their ledgers alone."""

from __future__ import annotations

import argparse
import shutil
import sys

from tare.cli.tune import restored
from tare.core.errors import TareError
from tare.core.home import home
from tare.experiment.run import clean_all


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--cache", action="store_true", help="remove the built userlands and guests too"
    )
    parser.add_argument(
        "--forget",
        action="store_true",
        help="give up what cannot be removed, because the computer it is on is gone for good",
    )


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    removed = problems = 0
    for found in clean_all(forget=options.forget):
        if isinstance(found, str):
            print(f"skipped: {found}", file=sys.stderr)
        elif found.problem:
            problems += not options.forget
            end = "; it is given up" if options.forget else ""
            print(f"tare: {found.problem}{end}", file=sys.stderr)
        else:
            removed += 1
            print(f"removed {found.left.what} {found.left.name}")
    try:
        problems += restored()
    except TareError as error:  # a session runs, and needs the host as it is
        print(f"skipped: {error}", file=sys.stderr)
    if options.cache:
        for shelf in ("userland", "guest", "lab", "lists", "probes"):
            shutil.rmtree(home() / shelf, ignore_errors=True)
        print(f"removed the cache in {home()}")
    print(f"{removed} things removed" + (f", {problems} could not be" if problems else ""))
    if problems and not options.forget:
        print("if the computer that they are on is gone for good: tare clean --forget")
    return 1 if problems else 0
