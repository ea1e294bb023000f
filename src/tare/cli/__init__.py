"""The command line: arguments, progress, printing, exit status. One module a command."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from tare.core import plugins
from tare.core.errors import ConfigError, ResultsError, TareError

COMMANDS = (
    *("doctor", "measure", "listing", "new", "plan", "run", "serve", "show", "report", "selftest"),
    *("published", "compare", "advise", "record_noise", "tune", "lab", "clean"),
)

DONE, NOT_ALL_OK, BAD_INPUT, CANNOT, INTERRUPTED = 0, 1, 2, 3, 130
"""Exit statuses; NOT_ALL_OK: some trial was not ok; CANNOT: this host cannot do it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    parser = argparse.ArgumentParser(
        prog="tare", description="Measure what every layer between application and hardware costs."
    )
    parser.add_argument("--debug", action="store_true", help="log every command that is run")
    parser.add_argument(
        "--plugins",
        action="append",
        default=[],
        metavar="DIR",
        help="a folder with layers/ or workloads/ of your own; may be given again",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in COMMANDS:
        module = import_module(f"tare.cli.{name}")
        command = commands.add_parser(module.NAME, help=module.HELP, description=module.HELP)
        module.arguments(command)
        command.set_defaults(run=module.run)
    words = list(sys.argv[1:] if argv is None else argv)
    options = parser.parse_args(words, argparse.Namespace(argv=words))
    logging.basicConfig(
        level=logging.DEBUG if options.debug else logging.WARNING,
        format="%(asctime)s %(message)s",
    )
    try:
        for problem in plugins.use(options.plugins):
            print(f"tare: {problem}", file=sys.stderr)
        return int(options.run(options))
    except TareError as error:
        print(f"tare: {error}", file=sys.stderr)
        return BAD_INPUT if isinstance(error, ConfigError | ResultsError) else CANNOT
    except KeyboardInterrupt:
        print("tare: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
