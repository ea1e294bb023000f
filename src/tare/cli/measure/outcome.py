"""What ``tare measure`` leaves: what was found, on the terminal and in files; and what to do next.

Files are tried before anything is measured, so that minutes of measuring do not end in an error.
"""

from __future__ import annotations

import gc
import json
import math
import os
import shlex
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tare.cli.run import status_of
from tare.core.errors import ConfigError
from tare.core.model import Status
from tare.present.export import commands, results_csv
from tare.present.export.markdown import markdown
from tare.present.report import StudyView, as_json, describe
from tare.present.terminal.commands import show as show_commands
from tare.present.terminal.verdicts import show as shown
from tare.results.compare.comparison import Comparison
from tare.results.store import load

FORMS = ("markdown", "json", "csv")


def refuse_unwritable(options: Namespace) -> None:
    """Raise ConfigError where a file that is to be written cannot be."""
    files = {f"--export-{form}": getattr(options, f"export_{form}") for form in FORMS}
    for option, path in {**files, "--save": options.save}.items():
        if path is None:
            continue
        if path.is_dir():
            raise ConfigError(f"{option} {path}: a folder; expected the name of a file")
        folder = path.parent
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            raise ConfigError(f"{option} {path}: there is no folder {folder} that can be written")


def write(path: Path, text: str) -> None:
    """Write a file, or raise ConfigError."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from error


def show(folder: Path, options: Namespace) -> int:
    """Print what was found, write the files that were asked for; returns the exit status."""
    gc.disable()  # all trials are needed to the end
    found = describe(load(folder))
    rows = commands.compared(found)
    console = Console()
    console.print(shown(found))
    if rows:
        show_commands(console, found, rows)
    _export(found, rows, options)
    for hint in hints(found, options.timeout):
        console.print(Text(f"\n{hint}"))
    print(f"\nresults: {folder}")
    print(f"page:    tare report {shlex.quote(str(folder))}")
    return status_of(found.results)


def _export(found: StudyView, rows: tuple[Comparison, ...], options: Namespace) -> None:
    if options.export_markdown is not None:
        section = f"\n{commands.markdown(found, rows)}" if rows else ""
        write(options.export_markdown, markdown(found) + section)
    if options.export_json is not None:
        facts = {**as_json(found), "commands": commands.as_json(found, rows)}
        write(options.export_json, json.dumps(facts, indent=1) + "\n")
    if options.export_csv is not None:
        results_csv.write(found, options.export_csv)


def hints(found: StudyView, timeout: str) -> Iterator[str]:
    """Yield what a user can do about trials that gave no number, or too few of them."""
    base = found.plan.reference
    cells = found.plan.platform_cells
    came = {
        cell.id: {trial.status for trial in found.trials[cell.id]}
        for cell in cells
        if found.trials[cell.id]
    }
    at_base = [came.get(cell.id, set()) for cell in cells if cell.platform == base]
    if {Status.UNAVAILABLE} in at_base:
        yield (
            f"The command could not be run on {base}. If it was not found, name the Debian package "
            "that has it: --package NAME."
        )
    if {Status.FAILED} in at_base:
        yield (
            "The command failed every time. It is run in an empty directory of each stack: "
            "--setup CMD makes there what it needs, and --ignore-failure measures it whatever its "
            "exit status."
        )
    if {Status.DNR} in at_base:
        yield f"The command did not end in {timeout}: --timeout TIME gives it longer."
    rule = found.plan.repetition
    if rule.budget_s is not None and found.blocks < rule.min_blocks and any(came.values()):
        took_s = sum(sum(one.phases_s.values()) for one in found.results.trials)
        needed_s = took_s / found.blocks * rule.min_blocks
        yield (
            f"The budget of {rule.budget_s:g} s was over after {found.blocks} of the "
            f"{rule.min_blocks} blocks that a decision needs; --budget {math.ceil(needed_s)}s is "
            "enough for them."
        )
