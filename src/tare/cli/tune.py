"""``tare tune``: set what makes this host quieter, and take it back."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from contextlib import suppress

from tare.cli import DONE, NOT_ALL_OK
from tare.core.home import home
from tare.experiment.host.tuning import (
    Change,
    Journal,
    Result,
    apply,
    measuring_stopped,
    plan,
    restore,
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--dry-run", action="store_true", help="only say what would be set (default)")
    what.add_argument("--apply", action="store_true", help="set it, after noting the old values")
    what.add_argument("--restore", action="store_true", help="set the old values again")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    if options.restore:
        return restored(session_matters=True)
    planned = plan()
    changes = [one for one in planned if isinstance(one, Change)]
    for one in planned:
        if isinstance(one, Change):
            print(f"{one.what}: {one.old} -> {one.wanted}  {one.path}\n    {one.why}")
        else:
            print(f"{one.what}: {one.why}")
    if not options.apply:
        known = len(journal().entries())
        if known:
            print(f"\n{known} values from before are noted; set them again: tare tune --restore")
        if changes:
            print(f"\nnothing was changed; set these {len(changes)} values: tare tune --apply")
        return DONE
    if not changes:
        print("\nthere is nothing to set")
        return DONE
    with measuring_stopped(home() / "lock"):
        print(f"\nthe old values are noted in {journal().path}")
        problems = report(apply(changes, journal()), "is now")
    print("set them again: tare tune --restore; a reboot does so too")
    return NOT_ALL_OK if problems else DONE


def journal() -> Journal:
    """Find the journal of this host."""
    return Journal(home() / "tune.json")


def restored(*, session_matters: bool = False) -> int:
    """Restore what the journal holds and say so; say nothing where it holds nothing and may."""
    if not journal().entries():
        with suppress(OSError):
            journal().path.unlink(missing_ok=True)  # of before a reboot, which undid it
        if session_matters:
            print("nothing is to be restored")
        return DONE
    with measuring_stopped(home() / "lock"):
        problems = report(restore(journal()), "is again")
    return NOT_ALL_OK if problems else DONE


def report(results: Iterable[Result], verb: str) -> int:
    """Print what became of each file as it happens; gives the number of problems."""
    problems = 0
    for one in results:
        problems += one.is_problem
        text = f"{one.path} {one.said or f'{verb} {one.now}'}"
        print(text, file=sys.stderr if one.is_problem else sys.stdout)
    return problems
