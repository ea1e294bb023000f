"""``tare selftest``: inject overheads of known size, and see how well this host finds them."""

from __future__ import annotations

import argparse
import json
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from tare.cli import CANNOT, DONE, NOT_ALL_OK
from tare.cli.doctor import ask, built_userland
from tare.cli.progress import watching
from tare.experiment import resolution
from tare.experiment import run as runner
from tare.experiment.host.facts import host_facts
from tare.experiment.selftest import STAGES, Tested, declare, evaluate, is_resolved, order, until
from tare.experiment.selftest.outcome import SPANS_S
from tare.experiment.selftest.sentences import (
    NAMES,
    found_so_far,
    found_text,
    said,
    share_text,
    span_text,
)
from tare.machines.machine import Host
from tare.present.view.reasons import reason_text
from tare.results.store import Writer, load

QUICK = ("host",)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--quick", action="store_true", help="on the host alone, a minute or two")
    parser.add_argument("--into", type=Path, metavar="DIR", help="where the trials go; new")
    parser.add_argument("--json", action="store_true", help="print facts for programs")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    now = datetime.now().astimezone()
    into = options.into or Path("results") / f"selftest-{now:%Y%m%d-%H%M%S}"
    facts = host_facts(Host())  # before it is a load itself
    stacks = QUICK if options.quick else (*QUICK, "host/docker", _guest())
    tested = [one for stack in stacks for one in _test(stack, into, len(stacks))]
    date = f"{now:%Y-%m-%d %H:%M}"
    sentences = said(tested, date)
    if any(one.recommended for one in tested):
        resolution.remember(facts, date, sentences, as_table(tested))
    if options.json:
        print(json.dumps({"date": date, "said": sentences, "tested": as_table(tested)}))
    else:
        console = Console()
        for part in page(tested, sentences):
            console.print(part)
        console.print(f"trials: {into}")
    return status(tested)


def status(tested: Sequence[Tested]) -> int:
    """Return the exit status: a truth that a recommended variant missed is a failure."""
    chosen = [one for one in tested if one.recommended]
    if not chosen:
        return CANNOT
    return NOT_ALL_OK if any(arm.missed for one in chosen for arm in one.arms) else DONE


def as_table(tested: Sequence[Tested]) -> list[dict[str, Any]]:
    """Return what was found as plain data; ratios minus one, and seconds."""
    return [{**asdict(one), "reason": reason_text(one.reason)} for one in tested]


def page(tested: Sequence[Tested], sentences: Sequence[str]) -> Iterator[RenderableType]:
    """Lay out what people read."""
    found = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), title_justify="left")
    found.title = "What was found, in %, of what was injected (red: missed, and not by bad luck)"
    titles = [f"{100 * arm.truth:+g} %" if arm.truth else "A/A" for arm in tested[0].arms]
    for title in ("stack and variant", *titles, "pairs"):
        found.add_column(title, overflow="fold")
    can = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), title_justify="left")
    can.title = "What one comparison will probably show, by the time of its measuring"
    for title in ("stack and variant", "s a pair", *map(span_text, SPANS_S)):
        can.add_column(title)
    for one in tested:
        style = "bold" if one.recommended else "dim"
        name = f"{one.stack}, {NAMES[one.variant]}{' (recommended)' if one.recommended else ''}"
        if one.reason:
            found.add_row(Text(name), Text(reason_text(one.reason), style="yellow"), style="dim")
            continue
        cells = [Text(found_text(arm), style="red" if arm.missed else "") for arm in one.arms]
        pairs = str(min(arm.pairs for arm in one.arms))
        found.add_row(Text(name), *cells, Text(pairs), style=style)
        shares = (Text(share_text(share)) for share in one.resolvable)
        can.add_row(Text(name), Text(f"{one.pair_s:.2f}"), *shares, style=style)
    yield found
    yield Text()
    yield can
    yield Text()
    for sentence in sentences:
        yield Text(sentence)


def _test(stack: str, into: Path, stacks: int) -> tuple[Tested, ...]:
    """Run the self-test of one stack by the ordinary runner, in stages until it is resolved."""
    study = declare(stack)
    plan = order(study, secrets.randbits(31))
    folder = into / stack.replace("/", "-")
    writer = Writer(folder)
    writer.start(study.source, plan)
    writer.close()
    tested: tuple[Tested, ...] = ()
    for stage in range(1, STAGES + 1):
        with watching(folder) as progress:
            runner.run(study, until(plan, stage), folder, progress)
            tested = evaluate(plan, load(folder).trials, stacks)
            progress.says(f"look {stage} of at most {STAGES}: {found_so_far(tested)}")
        if is_resolved(tested):
            break
    return tested


def _guest() -> str:
    """Choose the virtual machine: with hardware virtualization where a guest boots on it."""
    with built_userland() as userland:
        found = ask("kvm", Host(), userland)
    return "host/kvm" if found.state == "usable" else "host/qemu-tcg"
