"""``tare run``: measure a study, or go on with one."""

from __future__ import annotations

import argparse
import contextlib
import os
import secrets
import signal
from datetime import datetime
from pathlib import Path
from types import FrameType

from tare.cli import CANNOT, DONE, INTERRUPTED, NOT_ALL_OK
from tare.cli.plan import scale_argument
from tare.cli.progress import Tally, watching
from tare.core.errors import ConfigError, ResultsError
from tare.core.model import Plan, Status
from tare.experiment import run as runner
from tare.experiment.design import make_plan
from tare.experiment.study import Study, load_study, read_study
from tare.present.report import describe, write_report
from tare.present.view.finding import finding
from tare.results.store import Results, Writer, load


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("study", nargs="?", help="a study file, or the name of a preset")
    which.add_argument("--resume", type=Path, metavar="DIR", help="go on with these results")
    parser.add_argument("--into", type=Path, metavar="DIR", help="where the results go; new")
    parser.add_argument("--seed", type=int, help="the seed of the random order; else drawn")
    parser.add_argument("--report", action="store_true", help="write the report at the end")
    scale_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    if options.resume and options.scale:
        raise ConfigError(
            "--scale was given with --resume; these results have theirs; leave it out"
        )
    if options.resume:
        folder = options.resume
        stored = load(folder)
        study, plan = read_study(stored.study, str(folder / "study.yaml")), stored.plan
    else:
        study = load_study(options.study, options.scale)
        folder = options.into or new_folder(study)
        plan = begin(study, options.seed, folder)
    reason = carry_out(study, plan, folder)
    if reason is None:
        return INTERRUPTED
    print(f"stopped: {reason}")
    results = load(folder)
    print(finding(describe(results)))
    if options.report:
        for path in write_report(results, folder)[:1]:
            print(f"report:  {path}")
    else:
        print(f"results: {folder}   (tare show {folder}, tare report {folder})")
    return status_of(results)


def new_folder(study: Study) -> Path:
    """Name the results directory of a study that begins now."""
    return Path("results") / f"{study.name}-{datetime.now().astimezone():%Y%m%d-%H%M%S}"


def begin(study: Study, seed: int | None, folder: Path) -> Plan:
    """Plan a study and store the plan, or raise ResultsError where the folder has results."""
    drawn = (seed, study.seed, secrets.randbits(31))
    plan = make_plan(study, next(seed for seed in drawn if seed is not None))
    if (folder / "plan.json").exists():
        raise ResultsError(f"{folder} has results already; go on with tare run --resume {folder}")
    writer = Writer(folder)
    writer.start(study.source, plan)
    writer.close()
    return plan


def carry_out(study: Study, plan: Plan, folder: Path) -> str | None:
    """Run a plan while its progress is shown; returns why it stopped, None if interrupted."""
    with watching(folder) as progress:
        _second_interrupt_leaves(progress)
        try:
            return runner.run(study, plan, folder, progress)
        except KeyboardInterrupt:
            _say(f"interrupted; go on with: tare run --resume {folder}")
            return None


def status_of(results: Results) -> int:
    """Return the exit status for how the trials ended."""
    came = {trial.status for trial in results.trials}
    if came == {Status.UNAVAILABLE}:
        return CANNOT
    return DONE if came <= {Status.OK, Status.SUSPECT, Status.UNAVAILABLE} else NOT_ALL_OK


def _second_interrupt_leaves(progress: Tally) -> None:
    """The first interrupt ends the run and cleans up; a second one leaves that to `tare clean`.

    Where the removal has begun by itself the first one changes nothing.

    It is said past Python's own buffers, which the interrupted thread may be writing to. A hang-up
    is one too: the study of a lost ssh connection must not leave its machines behind.
    """
    count = 0

    def interrupted(number: int, frame: FrameType | None) -> None:
        nonlocal count
        del number, frame
        count += 1
        if count == 1:
            _say("ending; removing what was started (again to leave at once)")
            if progress.is_removing:
                return
            raise KeyboardInterrupt
        _say("left at once; remove what was started with: tare clean")
        os._exit(INTERRUPTED)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)


def _say(text: str) -> None:
    with contextlib.suppress(OSError):
        os.write(2, f"tare: {text}\n".encode())
