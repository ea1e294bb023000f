"""What can be written on the line of ``tare measure``; hyperfine's names where it has the same."""

from __future__ import annotations

import argparse
from pathlib import Path

USAGE = """tare measure --in STACK [--in STACK]... [option]... -- COMMAND [WORD]...
       tare measure --in STACK [--in STACK]... [option]... 'COMMAND LINE'..."""
MAX_BLOCKS = 27
INSTANCES = 2
"""The fewest that show whether instances differ; each one costs a start and a warm-up."""
TIMEOUT = "5min"


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.usage = USAGE
    parser.add_argument(
        "command",
        nargs="*",
        metavar="COMMAND",
        help="after --: the words of one command, run as they are; "
        "otherwise one or more command lines, each quoted as one word",
    )
    _where(parser)
    _what(parser)
    _number(parser)
    _repetition(parser)
    _results(parser)


def _where(parser: argparse.ArgumentParser) -> None:
    where = parser.add_argument_group("where")
    where.add_argument(
        "--in",
        dest="stacks",
        action="append",
        default=[],
        metavar="STACK[:KEY=VALUE,...]",
        help="a stack to measure in, besides the baseline: docker, qemu-tcg/docker, "
        "docker:network=none; may be given again (tare list layers)",
    )
    where.add_argument(
        "--baseline", default="host", metavar="STACK", help="compare with this (default: host)"
    )
    where.add_argument(
        "--image", metavar="IMAGE", help="the container image of layers that can take one"
    )
    where.add_argument(
        "--ladder",
        metavar="STACK",
        help="take this stack apart: what each of its switches costs",
    )
    where.add_argument(
        "--limit",
        dest="limits",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="what every stack gets: cpus=1, memory=1GiB (the defaults), disk_cache=writeback, "
        "cpu_limit=quota, swap=1GiB",
    )


def _what(parser: argparse.ArgumentParser) -> None:
    what = parser.add_argument_group("what")
    what.add_argument(
        "--package",
        dest="packages",
        action="append",
        default=[],
        metavar="NAME",
        help="a Debian package that the command needs; may be given again "
        "(default: the package of the program)",
    )
    what.add_argument(
        "-s", "--setup", metavar="CMD", help="run once in each instance, before its first trial"
    )
    what.add_argument(
        "-p",
        "--prepare",
        action="append",
        default=[],
        metavar="CMD",
        help="run before each trial, not timed; once for all commands or once for each",
    )
    what.add_argument(
        "-n",
        "--command-name",
        dest="names",
        action="append",
        default=[],
        metavar="NAME",
        help="what a command is called in tables; given in the order of the commands",
    )
    what.add_argument(
        "-L",
        "--parameter-list",
        dest="lists",
        action="append",
        default=[],
        nargs=2,
        metavar=("NAME", "V1,V2"),
        help="run the command once for each value in the place of {NAME}",
    )
    what.add_argument(
        "-P",
        "--parameter-scan",
        dest="scans",
        action="append",
        default=[],
        nargs=3,
        metavar=("NAME", "MIN", "MAX"),
        help="the same for the numbers from MIN to MAX",
    )
    what.add_argument(
        "-D",
        "--parameter-step-size",
        dest="step",
        metavar="STEP",
        help="the distance of a scan's numbers (default: 1)",
    )
    what.add_argument(
        "-S",
        "--shell",
        default="auto",
        metavar="SHELL",
        help="what runs a command line inside the stack: auto (sh where it has a shell's "
        "characters, otherwise none), none, or a shell such as bash",
    )
    what.add_argument(
        "-N", dest="shell", action="store_const", const="none", help="the same as --shell none"
    )
    what.add_argument(
        "-i",
        "--ignore-failure",
        action="store_true",
        help="measure a command whatever its exit status",
    )


def _number(parser: argparse.ArgumentParser) -> None:
    number = parser.add_argument_group("the number (default: the command's wall time)")
    found = number.add_mutually_exclusive_group()
    found.add_argument(
        "--number", metavar="REGEX", help="its first group is the number in the command's output"
    )
    found.add_argument(
        "--json", metavar="PATH", help="where the number is in the JSON output: jobs.0.read.iops"
    )
    number.add_argument("--better", choices=["lower", "higher"], help="which numbers are better")
    number.add_argument("--unit", choices=["s", "B", "1/s", "B/s", "1"], help="of the number")
    number.add_argument("--metric", metavar="NAME", help="what the number is called in tables")
    number.add_argument(
        "--stream", choices=["stdout", "stderr"], help="where it is printed (default: stdout)"
    )


def _repetition(parser: argparse.ArgumentParser) -> None:
    how_long = parser.add_argument_group("how long; each block runs every command in every stack")
    how_long.add_argument(
        "-w",
        "--warmup",
        type=_whole,
        metavar="N",
        help="trials that begin an instance and do not count",
    )
    how_long.add_argument(
        *("-m", "--min-blocks", "--min-runs"), dest="min_blocks", type=_count, metavar="N",
        help="the fewest blocks before a decision (default: as early as it can be trusted)",
    )  # fmt: skip
    how_long.add_argument(
        *("-M", "--max-blocks", "--max-runs"), dest="max_blocks", type=_count, metavar="N",
        help=f"the most blocks (default: {MAX_BLOCKS})",
    )  # fmt: skip
    how_long.add_argument(
        "-r", "--runs", type=_count, metavar="N", help="exactly N blocks, and no budget"
    )
    how_long.add_argument(
        "--budget",
        metavar="TIME",
        help="end measuring after so long: 2min, or none (default: 22.5 s for each command "
        "in each stack)",
    )
    how_long.add_argument(
        "--margin", metavar="PART", help="a smaller difference counts as none (default: 2%%)"
    )
    how_long.add_argument(
        "--instances",
        type=_count,
        metavar="N",
        help=f"how many of each stack are started (default: {INSTANCES})",
    )
    how_long.add_argument(
        "--timeout",
        default=TIMEOUT,
        metavar="TIME",
        help=f"end a command that takes longer (default: {TIMEOUT})",
    )
    how_long.add_argument("--seed", type=int, help="the seed of the random order; else drawn")


def _results(parser: argparse.ArgumentParser) -> None:
    results = parser.add_argument_group("results")
    results.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="the results directory; new"
    )
    for form in ("markdown", "json", "csv"):
        results.add_argument(
            f"--export-{form}", type=Path, metavar="FILE", help=f"write the result as {form}"
        )
    results.add_argument(
        "--save", type=Path, metavar="FILE", help="write the study file that does the same"
    )
    results.add_argument(
        "--dry-run", action="store_true", help="show what would be run, and how long it takes"
    )


def _count(text: str) -> int:
    """Read a whole number of 1 or more."""
    return _whole(text, 1)


def _whole(text: str, least: int = 0) -> int:
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(
            f"found {text!r}; expected a whole number, {least} or more"
        )
    return int(text)
