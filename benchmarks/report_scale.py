"""Times `tare show` and `tare report` on simulated results of 100,000 trials: 10 s, 600 MB each.

Each step is a process of its own, as on the command line. Run: python benchmarks/report_scale.py
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from tare.model import (
    Better,
    Cell,
    HostCost,
    Kind,
    Limits,
    Metric,
    Plan,
    Repetition,
    Slot,
    Status,
    Trial,
    Unit,
)

PLATFORMS = ("host", "host/docker", "host/qemu-tcg", "host/qemu-tcg/docker")
METRICS = (
    Metric("throughput", Unit.BYTE_PER_SECOND, Better.HIGHER),
    Metric("latency", Unit.SECOND, Better.LOWER),
    Metric("latency_max", Unit.SECOND, Better.LOWER),
)
COSTS = (1.0, 1.03, 6.0, 6.5, 1.0)
SHAPES = ((40, 2500), (1000, 100))
SECONDS, MEGABYTES = 10.0, 600.0


def make_cells(count: int) -> Iterator[Cell]:
    """Five cells a group: four platforms and the control."""
    for group in range(count // 5):
        for platform in (*PLATFORMS, None):
            yield Cell(
                platform=platform or "host",
                stack=platform or "host",
                settings=(),
                workload="fio",
                params=(("block_bytes", 512 * (group + 1)),),
                limits=Limits(cpus=1, memory_bytes=2**30),
                control=platform is None,
            )


def make(folder: Path, count: int, blocks: int) -> None:
    """Write a results directory as the runner would, without its fsyncs."""
    rng = np.random.default_rng(1)
    cells = tuple(make_cells(count))
    slots = tuple(
        Slot(block=block, slot=place, cell=cell.id, instance=block % 5)
        for block in range(blocks)
        for place, cell in enumerate(cells)
    )
    plan = Plan(
        study="scale",
        seed=1,
        baseline="host",
        cells=cells,
        metrics={"fio": METRICS},
        repetition=Repetition(max_blocks=blocks),
        slots=slots,
    )
    (folder / "study.yaml").write_text("name: scale\nquestion: How large may a study be?\n")
    (folder / "plan.json").write_text(json.dumps({"format": 1, **asdict(plan)}))
    (folder / "run.json").write_text(json.dumps({"sessions": [], "stop": "the budget is spent"}))
    pattern = Trial(
        cell="",
        block=0,
        slot=0,
        kind=Kind.MEASURED,
        instance="i",
        status=Status.OK,
        started_at="2024-11-21T10:00:00.000000+00:00",
        duration_s=1.02,
        host=HostCost(cpu_s=0.9, run_delay_s=0.01, all_cpu_s=1.0, coverage=1.0, threads=3),
        phases_s={"resume": 0.01, "setup": 0.0, "command": 1.0, "parse": 0.0001, "store": 0.002},
    )
    with (folder / "trials.jsonl").open("w") as file:
        for slot in slots:
            factor = COSTS[slot.slot % 5] * float(np.exp(rng.normal(0, 0.04)))
            samples = {"throughput": 1e8 / factor, "latency": 4e-5 * factor, "latency_max": 1e-3}
            status = Status.SUSPECT if rng.random() < 0.01 else Status.OK
            reason = "the host was loaded" if status is Status.SUSPECT else ""
            trial = replace(
                pattern,
                cell=slot.cell,
                block=slot.block,
                slot=slot.slot,
                samples=samples,
                status=status,
                reason=reason,
            )
            file.write(json.dumps({"format": 1, **asdict(trial)}, separators=(",", ":")) + "\n")


def show(folder: Path) -> None:
    """What `tare show` does."""
    from rich.console import Console

    from tare.report import describe, show
    from tare.store import load

    Console(file=(folder / "show.txt").open("w"), width=120).print(show(describe(load(folder))))


def report(folder: Path) -> None:
    """What `tare report` does."""
    from tare.report import write_report
    from tare.store import load

    write_report(load(folder), folder)


def main() -> int:
    if len(sys.argv) > 1:
        start = time.monotonic()
        {"show": show, "report": report}[sys.argv[1]](Path(sys.argv[2]))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{time.monotonic() - start:.2f} {time.process_time():.2f} {peak:.0f}")
        return 0
    good = True
    for count, blocks in SHAPES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            make(folder, count, blocks)
            for step in ("show", "report"):
                argv = [sys.executable, __file__, step, name]
                done = subprocess.run(argv, check=True, capture_output=True, text=True)
                seconds, cpu, megabytes = map(float, done.stdout.split())
                size = (folder / "report.html").stat().st_size if step == "report" else 0
                page = f", page {size / 2**20:.1f} MiB" if size else ""
                fits = seconds < SECONDS and megabytes < MEGABYTES
                good &= fits
                print(
                    f"{step}: {count} cells x {blocks} blocks: {seconds:.1f} s "
                    f"({cpu:.1f} s CPU), {megabytes:.0f} MB{page}{'' if fits else '  TOO MUCH'}"
                )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
