"""``tare measure``: a command of the user's own, measured in the stacks named; no study file.

The line becomes the same mapping as a study file (``mapping``) and goes the same way from there.
"""

from __future__ import annotations

import argparse
import secrets
import sys
from collections.abc import Sequence

from tare.cli import DONE, INTERRUPTED
from tare.cli.measure import mapping, outcome
from tare.cli.measure.commands import (
    duration_option,
    program,
    programs_for_shells,
    read_commands,
    unfilled,
)
from tare.cli.measure.mapping import Declared
from tare.cli.measure.options import declare as arguments
from tare.cli.measure.packages import find_packages
from tare.cli.plan import estimated, show
from tare.cli.run import begin, carry_out, new_folder
from tare.core.errors import ConfigError
from tare.experiment.design import make_plan
from tare.experiment.study import Study, read_study

__all__ = ["arguments", "run"]


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    outcome.refuse_unwritable(options)
    declared = declare(options)
    text = declared.text(options.argv)
    study = read_study(text, "the command line", options=declared.options)
    for note in declared.notes:
        print(f"tare: note: {note}", file=sys.stderr)
    if options.save is not None:
        outcome.write(options.save, text)
        print(f"study file: {options.save}")
    if options.dry_run:
        _show_plan(study, options.seed)
        return DONE
    folder = options.output or new_folder(study)
    plan = begin(study, options.seed, folder)
    reason = carry_out(study, plan, folder)
    if reason is None:
        return INTERRUPTED
    print(f"stopped: {reason}", end="\n\n")
    return outcome.show(folder, options)


def declare(options: argparse.Namespace) -> Declared:
    """Return the study that a line declares, or raise ConfigError."""
    _refuse_no_text(options.argv)
    commands = read_commands(options)
    packages = find_packages(
        # What stands in the command's own directory is made by its preparation.
        [program(one) for one in commands if not (options.setup and program(one)[:2] == "./")],
        [name for one in commands for name in programs_for_shells(one)],
        options.packages,
    )
    declared = mapping.declare(options, commands, packages.names)
    declared.notes += [
        f"{name} is taken from the Debian package of that name; --package chooses another"
        for name in packages.guessed
    ]
    if options.number is None and options.json is None and (words := duration_option(commands)):
        declared.notes.append(
            f"{words} seems to say how long the command runs, and then it takes as long "
            "everywhere; --number REGEX measures a number that it prints instead"
        )
    if places := unfilled(commands):
        declared.notes.append(
            f"{', '.join(places)} stands in the command as it is; --parameter-list NAME V1,V2 "
            "would put values there"
        )
    return declared


def _refuse_no_text(argv: Sequence[str]) -> None:
    for word in argv:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise ConfigError(
                f"{word!r} is not UTF-8 text; expected words of a study file"
            ) from None


def _show_plan(study: Study, seed: int | None) -> None:
    plan = make_plan(study, secrets.randbits(31) if seed is None else seed)
    show(study, plan, {"": estimated(study, plan)})
