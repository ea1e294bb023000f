"""``tare record-noise``: record what this host's noise does to short trials of unchanged work."""

from __future__ import annotations

import argparse
import math
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from tare.cli import DONE
from tare.cli.progress import watching
from tare.core.errors import ConfigError, ResultsError
from tare.core.model import (
    Better,
    HostCost,
    Kind,
    MetricRole,
    Placement,
    Plan,
    Slot,
    Status,
    Trial,
    metric_of,
)
from tare.experiment import run as runner
from tare.experiment.design import make_plan
from tare.experiment.study import read_study
from tare.machines.simulation import trace
from tare.machines.simulation.trace import PAIRS, RUNS, Row
from tare.results.store import Writer, load
from tare.results.store.reader import Results

WORKLOADS: dict[str, dict[str, Any]] = {
    # Fixed work of about half a second, so that contention shows as time.
    "cpu": {"sysbench_cpu": {"max_prime": 5000, "threads": 1, "time": "30 s", "events": 6000}},
    "memory": {"sysbench_memory": {"block": "1MiB", "threads": 1, "time": "30 s",
                                   "total": "14GiB"}},
    "disk": {"fio": {"pattern": "randwrite", "engine": "psync", "depth": 1, "jobs": 1,
                     "block": "4KiB", "size": "64MiB", "time": "500 ms"}},
}  # fmt: skip
PAIRS_A_ROUND = 10
RUN = 12
"""Trials in a row: what Phoronix's rule takes at most of one side."""
MIN_COVERAGE = 0.9
ROUND_S = 40.0
"""A round of all three is never shorter, so that the budget is what ends the recording."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", type=Path, help="where the trace goes, such as noise.csv.gz")
    parser.add_argument("--minutes", type=float, default=12.0, help="how long to measure (12)")
    parser.add_argument(
        "--workloads", nargs="+", choices=sorted(WORKLOADS), default=list(WORKLOADS),
        help="what to run (all)",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    if not 0 < options.minutes <= 24 * 60:
        raise ConfigError(f"--minutes {options.minutes:g}: expected above 0, at most 1440")
    if not options.file.parent.is_dir():
        raise ConfigError(f"{options.file.parent} is no folder; make it before recording")
    if options.file.is_dir():
        raise ConfigError(f"{options.file} is a folder; name a file in it")
    rounds = math.ceil(options.minutes * 60 / ROUND_S * len(WORKLOADS) / len(options.workloads))
    text = yaml.safe_dump(_study(list(dict.fromkeys(options.workloads)), rounds, options.minutes))
    study = read_study(text, "record-noise")
    now = datetime.now().astimezone()
    plan = arranged(make_plan(study, int(now.timestamp())), rounds)
    folder = Path("results") / f"{study.name}-{now:%Y%m%d-%H%M%S}"
    writer = Writer(folder)
    writer.start(study.source, plan)
    writer.close()
    before = _load()
    with watching(folder) as progress:
        print(f"stopped: {runner.run(study, plan, folder, progress)}")
    results = load(folder)
    about = (
        f"tare noise trace, recorded {now:%Y-%m-%d %H:%M} in {options.minutes:g} minutes",
        f"host: {_host(results)}",
        f"load average of 1, 5 and 15 minutes before {before}, after {_load()}",
    )
    rows = rows_of(results)
    if not rows:
        raise ResultsError(f"no trial has numbers, so there is no trace; see tare show {folder}")
    try:
        trace.write(options.file, trace.Trace(about, tuple(rows)))
    except OSError as error:
        raise ResultsError(f"cannot write {options.file}: {error.strerror}") from error
    print(f"trace:   {options.file}, {len(rows)} trials   (as trials: {folder})")
    return DONE


def arranged(plan: Plan, rounds: int) -> Plan:
    """Order a plan of one platform as rounds: blocks of A and A', then each workload in a row.

    A row is RUN times A, then RUN times A', as most people measure. What ends the recording ends it
    between rounds of both.
    """

    blocks: dict[int, list[Slot]] = {}
    for slot in plan.slots:
        blocks.setdefault(slot.block, []).append(slot)
    ordered, first = [], (Placement(instance=0),)
    number = 0
    for turn in range(rounds):
        for place in range(PAIRS_A_ROUND):
            ordered += [replace(one, block=number) for one in blocks[turn * PAIRS_A_ROUND + place]]
            number += 1
        for workload in plan.metrics:
            cells = [cell for cell in plan.cells if cell.workload == workload]
            for cell in sorted(cells, key=lambda cell: cell.replica):
                for _ in range(RUN):
                    ordered.append(Slot(block=number, slot=0, cell=cell.id, placements=first))
                    number += 1
    # No look may end anything: all blocks are to be recorded.
    repetition = replace(plan.repetition, min_blocks=number, max_blocks=number)
    return replace(plan, slots=tuple(ordered), repetition=repetition)


def rows_of(results: Results) -> list[Row]:
    """Make a trace of a recording's trials; those without numbers are left out."""
    measured = [
        trial for trial in results.trials
        if trial.kind is Kind.MEASURED and trial.status in (Status.OK, Status.SUSPECT)
    ]  # fmt: skip
    in_pairs = _blocks_of_pairs(results.plan.slots)
    rows = [_row(trial, results.plan, in_pairs) for trial in measured]
    known = [row for row in rows if row is not None]
    begin_s = min((row.start_s for row in known), default=0.0)
    return [replace(row, start_s=row.start_s - begin_s) for row in known]


def _row(trial: Trial, plan: Plan, in_pairs: set[int]) -> Row | None:
    cell = plan.cells_by_id[trial.cell]
    metrics = plan.metrics[cell.workload]
    metric = metrics[0]
    value, cost = trial.samples.get(metric.name, 0.0), trial.host
    if value <= 0 or cost is None:
        return None
    return Row(
        start_s=datetime.fromisoformat(trial.started_at).timestamp(),
        workload=next(name for name, one in WORKLOADS.items() if cell.workload in one),
        part=PAIRS if trial.block in in_pairs else RUNS,
        arm="B" if cell.replica else "A",
        block=trial.block,
        slot=trial.slot,
        wall_s=trial.duration_s,
        unit_s=1 / value if metric.better is Better.HIGHER else value,
        tool_s=trial.lasted_s(metric_of(metrics, MetricRole.TOOL_DURATION)),
        cpu_s=cost.cpu_s,
        all_cpu_s=cost.all_cpu_s,
        run_delay_s=cost.run_delay_s,
        foreign_delay_s=_foreign_delay_s(cost),
        coverage=cost.coverage,
    )


def _foreign_delay_s(cost: HostCost) -> float | None:
    """Return the waiting that may be taken off the wall time; None where too little was seen.

    Nothing of the platform's own runs next to these workloads, so that all they wait is for others.
    """
    if cost.foreign_delay_s is not None:
        return cost.foreign_delay_s
    return cost.run_delay_s if cost.coverage >= MIN_COVERAGE else None


def _blocks_of_pairs(slots: tuple[Slot, ...]) -> set[int]:
    cells: dict[int, int] = {}
    for slot in slots:
        cells[slot.block] = cells.get(slot.block, 0) + 1
    return {block for block, count in cells.items() if count > 1}


def _study(names: list[str], rounds: int, minutes: float) -> dict[str, object]:
    blocks = rounds * PAIRS_A_ROUND
    return {
        "name": "record-noise",
        "platforms": ["host"],
        "limits": {"cpus": 1, "memory": "1GiB"},
        "workloads": [WORKLOADS[name] for name in names],
        "repetition": {
            "min_blocks": blocks, "max_blocks": blocks, "instances": 1,
            "budget": f"{60 * minutes:.0f} s",
        },
    }  # fmt: skip


def _load() -> str:
    return " ".join(Path("/proc/loadavg").read_text().split()[:3])


def _host(results: Results) -> str:
    words = [results.facts.host.get(key) for key in ("cpu_model", "cpus", "hypervisor", "kernel")]
    return ", ".join(str(word) for word in words if word) or "unknown"
