"""Times `tare show` and `tare report` on simulated results of 100,000 trials with samples.

Each step is the command in a process of its own. Memory is the most that it and the processes that
it makes had at once, what they share counted once. Run: python benchmarks/report_scale.py
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tare.core.completed import Completed
from tare.core.model import (
    Better,
    Cell,
    Contrast,
    ContrastKind,
    HostCost,
    Kind,
    Limits,
    Metric,
    Placement,
    Plan,
    Repetition,
    Slot,
    Status,
    Trial,
    Unit,
)
from tare.results.store import formats
from tare.results.store.raw_output import RawOutput
from tare.results.store.samples import FOLDER, SCHEMA, TRIALS_A_FILE

PLATFORMS = ("host", "host/docker", "host/qemu-tcg", "host/qemu-tcg/docker")
METRICS = (
    Metric("throughput", Unit.BYTE_PER_SECOND, Better.HIGHER),
    Metric("latency", Unit.SECOND, Better.LOWER),
    Metric("latency_max", Unit.SECOND, Better.LOWER),
)
COSTS = (1.0, 1.03, 6.0, 6.5, 1.0)
SHAPES = ((40, 2500), (1000, 100))
BARS = {"show": (10.0, 600.0), "report": (15.0, 1000.0)}
"""Seconds and megabytes."""
NOISE = {
    "steal psi_cpu_full psi_memory_some psi_memory_full psi_io_some psi_io_full swapped_pages": 0.0,
    "major_faults": 0.0,
    "foreign": 0.0035,
    "psi_cpu_some": 0.0246,
    "context_switches": 90.0,
    "load": 0.36,
}
RESOURCES = {
    "host_disk_reads host_disk_read_bytes layer_major_faults host_major_faults": 0.0,
    "host_context_switches host_page_faults layer_page_faults host_disk_writes": 328.0,
    "host_disk_written_bytes host_network_bytes": 81_920.0,
    "layer_cpu_s layer_cpu_user_s layer_cpu_system_s layer_cpus_mean layer_cpus_most": 0.308,
    "layer_memory_bytes_mean layer_memory_bytes_most layer_memory_peak_bytes": 5.13e7,
    "layer_pids_mean layer_pids_most": 3.0,
    "layer_memory_byte_seconds": 1.69e7,
    "monitor_cpu_s": 0.0022,
}
"""What a trial of the self-test on the host had of either, about."""
FIGURES = 50
"""The number of figures in the samples of each trial."""
LOOK_EVERY_S = 0.25
"""So often memory is read; it costs the command about 1 %."""
COMMAND = Completed(
    argv=("fio", "--name=job", "--rw=randread"),
    returncode=0,
    stdout=b"the tool's own words\n" * 40,
    stderr=b"",
    duration_s=1.0,
)
TIMES_S = (0.0004, 1.0004, 1.0208)
"""What a trial of a second has at one reading a second: its begin, one tick, its end."""


def make_cells(count: int) -> Iterator[Cell]:
    """Five cells a group: four platforms and the control."""
    for group in range(count // 5):
        for platform in (*PLATFORMS, None):
            yield Cell(
                id=f"{group}-{platform}",
                platform=platform or "host",
                stack=platform or "host",
                settings=(),
                workload="fio",
                params=(("block_bytes", 512 * (group + 1)),),
                limits=Limits(cpus=1, memory_bytes=2**30),
                replica=int(platform is None),
            )


def make(folder: Path, count: int, blocks: int) -> tuple[Slot, ...]:
    """Write a results directory as the runner would, but for its fsyncs and samples."""
    rng = np.random.default_rng(1)
    cells = tuple(make_cells(count))
    contrasts = tuple(
        Contrast(
            cell=cell.id,
            reference=cells[place - place % 5].id,
            kind=ContrastKind.CONTROL if cell.replica else ContrastKind.OVERHEAD,
        )
        for place, cell in enumerate(cells)
        if place % 5
    )
    slots = tuple(
        Slot(block=block, slot=place, cell=cell.id, placements=(Placement(instance=block % 5),))
        for block in range(blocks)
        for place, cell in enumerate(cells)
    )
    plan = Plan(
        study="scale",
        seed=1,
        cells=cells,
        contrasts=contrasts,
        metrics={"fio": METRICS},
        repetition=Repetition(max_blocks=blocks),
        slots=slots,
    )
    (folder / "study.yaml").write_text("name: scale\nquestion: How large may a study be?\n")
    (folder / "plan.json").write_text(json.dumps({"format": formats.PLAN, **asdict(plan)}))
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

    def draw() -> float:
        return float(np.exp(rng.normal(0, 0.04)))

    def readings(usual: Mapping[str, float]) -> dict[str, float]:
        return {name: value * draw() for names, value in usual.items() for name in names.split()}

    raw = RawOutput(folder)
    with contextlib.closing(raw), (folder / "trials.jsonl").open("w") as file:
        for slot in slots:
            factor = COSTS[slot.slot % 5] * draw()
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
                noise=readings(NOISE),
                resources=readings(RESOURCES),
            )
            file.write(
                json.dumps({"format": formats.TRIALS, **asdict(trial)}, separators=(",", ":"))
                + "\n"
            )
            raw.add(trial, COMMAND)
    return slots


def make_samples(folder: Path, slots: Sequence[Slot]) -> None:
    """Write samples as the runner would: as many figures of a trial, most of which nobody draws."""
    (folder / FOLDER).mkdir()
    rng = np.random.default_rng(2)
    own = [("layer", name) for name in ("cpu_s", "cpu_user_s", "cpu_system_s")]
    own += [("host", f"cpu_{what}_s") for what in ("user", "system", "guest", "iowait", "steal")]
    own += [("layer", "memory_bytes"), ("layer", "memory_cached_bytes")]
    own += [("host", "memory_used_bytes")]
    own += [("host", f"figure_{number}") for number in range(FIGURES - len(own))]
    units = [2.0**20 if "bytes" in name else 1.0 for _, name in own]
    for first in range(0, len(slots), TRIALS_A_FILE):
        some = slots[first : first + TRIALS_A_FILE]
        rows = len(some) * FIGURES
        times_s = np.array(TIMES_S) + rng.uniform(0, 1e-3, (rows, 1))
        grown = np.cumsum(rng.uniform(0, 1, (rows, len(TIMES_S))), axis=1)
        values = grown * np.tile(units, len(some))[:, None]
        columns = {
            **{
                name: np.repeat([getattr(one, name) for one in some], FIGURES)
                for name in ("cell", "block", "slot")
            },
            **dict.fromkeys(("device", "reason"), [""] * rows),
            "kind": ["measured"] * rows,
            "instance": ["i"] * rows,
            "repeat": [0] * rows,
            "source": [source for source, _ in own] * len(some),
            "name": [name for _, name in own] * len(some),
            "is_counter": [True] * rows,
            "time_s": list(times_s),
            "value": list(values),
        }
        arrays = [pa.array(columns[field.name], field.type) for field in SCHEMA]
        path = folder / FOLDER / f"{first // TRIALS_A_FILE:06d}.parquet"
        table = pa.Table.from_arrays(arrays, schema=SCHEMA)
        pq.write_table(table, path, compression="zstd", write_page_checksum=True)


def processes(root: int) -> Iterator[int]:
    """List a process and all below it."""
    yield root
    for path in Path(f"/proc/{root}/task").glob("*/children"):
        for child in path.read_text().split():
            yield from processes(int(child))


def megabytes(process: int) -> float:
    """Return what a process has of memory, with its part of what others have too."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024 / 1e6


def watched(argv: Sequence[str]) -> tuple[float, float, float]:
    """Run a command; give its wall and CPU time in seconds, and its most memory in megabytes."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as command:
        most = 0.0
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                command.wait(timeout=LOOK_EVERY_S)
                break
            with contextlib.suppress(OSError):  # one of them has just ended
                most = max(most, sum(map(megabytes, processes(command.pid))))
    lasted = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if command.returncode:
        raise SystemExit(f"{' '.join(argv)} ended with {command.returncode}")
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return lasted, used, most


def main() -> int:
    good = True
    for count, blocks in SHAPES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            make_samples(folder, make(folder, count, blocks))
            os.sync()  # or the disk is busy with it while the command reads
            for step in ("show", "report"):
                seconds, cpu, most = watched([sys.executable, "-m", "tare.cli", step, name])
                size = (folder / "report.html").stat().st_size if step == "report" else 0
                page = f", page {size / 2**20:.1f} MiB" if size else ""
                fits = seconds < BARS[step][0] and most < BARS[step][1]
                good &= fits
                print(
                    f"{step}: {count} cells x {blocks} blocks: {seconds:.1f} s "
                    f"({cpu:.1f} s CPU), {most:.0f} MB{page}{'' if fits else '  TOO MUCH'}"
                )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
