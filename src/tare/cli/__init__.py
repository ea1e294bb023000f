"""The command line: one module a command, of which only the one that runs is imported."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from tare.core.errors import ConfigError, ResultsError, TareError

COMMANDS = {
    "doctor": "say which layers this host can run, and what makes it noisy",
    "measure": "measure a command of your own in the stacks you name; no study file needed",
    "list": "list the layers, workloads, stressors, scenarios or studies there are, and what can "
    "be set in each",
    "new": "write the skeleton of a workload: a module that works, and recorded outputs of its "
    "tool",
    "plan": "show what a study would run, and estimate its time and disk",
    "run": "measure a study and store its trials",
    "serve": "show studies in the browser while they run; only reads",
    "show": "print the verdicts of a results directory",
    "report": "write report.html, the tables next to it and the figures of a results directory",
    "selftest": "inject overheads of known size, and say what this host can resolve in which time",
    "published": "put the numbers of a published study through Tare's statistics",
    "compare": "compare results with those of published studies, or with earlier ones of the same "
    "study",
    "advise": "rank platforms for a mix of workloads, with constraints",
    "record-noise": "record this host's noise as a trace that the sim layer and make prove can "
    "replay",
    "tune": "set what makes this host quieter, and take it back; without a flag, only say what",
    "lab": "a disposable host with emulated hardware virtualization: up, shell, status, down",
    "clean": "remove whatever killed runs left on this host, and take back what tare tune set",
}
"""Each command and what it does; its module has its ``arguments`` and its ``run``."""

DONE, NOT_ALL_OK, BAD_INPUT, CANNOT, INTERRUPTED = 0, 1, 2, 3, 130
"""Exit statuses; NOT_ALL_OK: some trial was not ok; CANNOT: this host cannot do it."""


def module_of(name: str) -> str:
    """Return the module of a command."""
    # A module called list would hide Python's own list in this package.
    return f"tare.cli.{'listing' if name == 'list' else name.replace('-', '_')}"


class _CommandParser(argparse.ArgumentParser):
    """The parser of one command, which imports the command's module when it is chosen."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # noqa: ANN401
        """Declare the arguments of the command, then parse."""
        name = self.prog.rpartition(" ")[2]
        module = import_module(module_of(name))
        self.description = COMMANDS[name]
        module.arguments(self)
        self.set_defaults(run=module.run)
        return super().parse_known_args(args, namespace)


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
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True, parser_class=_CommandParser
    )
    for name, text in COMMANDS.items():
        commands.add_parser(name, help=text)
    words = list(sys.argv[1:] if argv is None else argv)
    options = parser.parse_args(words, argparse.Namespace(argv=words))
    if options.debug:
        import logging  # here, as it takes as long to import as a short command takes

        logging.basicConfig(level=logging.DEBUG, format="%(asctime)s %(message)s")
    try:
        from tare.core import plugins  # as logging; --help needs no plug-ins

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
