import csv
import io
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

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
from tare.report import as_json, describe, show, write_report
from tare.store import Results

EVENTS = Metric("events", Unit.PER_SECOND, Better.HIGHER)
BANDWIDTH = Metric("throughput", Unit.BYTE_PER_SECOND, Better.HIGHER)
LATENCY = Metric("latency_mean", Unit.SECOND, Better.LOWER)
LIMITS = Limits(cpus=1, memory_bytes=2**30)
PLATFORMS = ("host", "host/docker", "host/qemu-tcg", "host/qemu-tcg/docker", "host/kvm")
WORKLOADS = {
    "sysbench_cpu": ((EVENTS, LATENCY), (("max_prime", 10000), ("threads", 1), ("time_s", 1))),
    "sysbench_memory": ((BANDWIDTH,), (("block_bytes", 2**20), ("threads", 1), ("time_s", 1))),
    "fio": (
        (BANDWIDTH, LATENCY),
        (("pattern", "randread"), ("block_bytes", 4096), ("direct", True), ("time_s", 1)),
    ),
}
BASE = {"sysbench_cpu": 1031.0, "sysbench_memory": 7.2e9, "fio": 88e6}
COSTS = {
    "sysbench_cpu": (1, 1.001, 14.2, 14.4),
    "sysbench_memory": (1, 1.004, 2.3, 2.31),
    "fio": (1, 1.12, 5.8, 9.1),
}
NOISE = {"sysbench_cpu": 0.004, "sysbench_memory": 0.02, "fio": 0.05}


def cell(platform, workload, *, control=False):
    return Cell(
        platform=platform,
        stack=platform,
        settings=tuple((f"{layer}.image", "tare") for layer in platform.split("/")[1:]),
        workload=workload,
        params=WORKLOADS[workload][1],
        limits=LIMITS,
        control=control,
    )


def make_plan(platforms=PLATFORMS, workloads=tuple(WORKLOADS), blocks=11):
    cells = tuple(
        cell(platform, workload, control=control)
        for workload in workloads
        for platform, control in [*((name, False) for name in platforms), ("host", True)]
    )
    slots = tuple(
        Slot(block=block, slot=place, cell=one.id, instance=block % 2)
        for block in range(blocks)
        for place, one in enumerate(cells)
    )
    return Plan(
        study="quick",
        seed=20241121,
        baseline="host",
        cells=cells,
        metrics={name: WORKLOADS[name][0] for name in workloads},
        repetition=Repetition(max_blocks=blocks, instances=2, budget_s=150),
        slots=slots,
    )


def make_trial(plan, slot, rng, drift):
    of = plan.cells_by_id[slot.cell]
    common = {
        "cell": of.id,
        "block": slot.block,
        "slot": slot.slot,
        "instance": f"{of.platform.rpartition('/')[2]}-{'c' if of.control else ''}{slot.instance}",
        "started_at": f"2024-11-21T10:{slot.block:02d}:{slot.slot % 60:02d}Z",
    }
    if of.platform == "host/kvm":
        return Trial(
            kind=Kind.MEASURED,
            status=Status.UNAVAILABLE,
            reason="/dev/kvm is there, but no guest came up in 30 s",
            **common,
        )
    cost = COSTS[of.workload][PLATFORMS.index(of.platform)]
    noise = NOISE[of.workload]
    rate = BASE[of.workload] / cost / math.exp(drift[slot.block] + rng.normal(0, noise))
    metrics = plan.metrics[of.workload]
    samples = {metrics[0].name: rate}
    if LATENCY in metrics:
        samples["latency_mean"] = 1 / rate if of.workload == "sysbench_cpu" else 4096 / rate
    return Trial(
        kind=Kind.MEASURED,
        status=Status.OK,
        duration_s=1.02 + 0.01 * rng.random(),
        samples=samples,
        host=HostCost(
            cpu_s=0.97,
            run_delay_s=0.02 * rng.random() * cost**0.5,
            all_cpu_s=1.0 + 0.05 * cost**0.5,
            coverage=1.0,
            threads=2,
        ),
        phases_s={
            "resume": 0.002 * cost**0.5,
            "setup": 0.001,
            "command": 1.02,
            "parse": 0.0004,
            "pause": 0.002,
            "store": 0.003,
        },
        **common,
    )


def make_trials(plan, seed=7):
    """Every slot's trial, warm-ups first; some failed, did not respond, or are suspect."""
    rng = np.random.default_rng(seed)
    blocks = plan.repetition.max_blocks
    drift = 0.03 * np.sin(np.linspace(0, 3, blocks))
    trials, warm = [], set()
    for slot in plan.slots:
        trial = make_trial(plan, slot, rng, drift)
        if trial.status is Status.OK and (slot.cell, trial.instance) not in warm:
            warm.add((slot.cell, trial.instance))
            slower = {name: value * 0.97 for name, value in trial.samples.items()}
            trials.append(replace(trial, kind=Kind.WARMUP, samples=slower))
        of = plan.cells_by_id[slot.cell]
        if trial.status is Status.OK and of.workload == "fio":
            trial = disturb(of, trial)
        trials.append(trial)
    return tuple(trials)


def disturb(of, trial):
    if of.platform == "host/docker" and trial.block == 3:
        return replace(
            trial,
            status=Status.SUSPECT,
            reason="the host was throttled for 0.2 s",
            warnings=("CPU throttled",),
        )
    if of.platform == "host/qemu-tcg/docker" and trial.block == 5:
        reason = 'fio exited with 1: <script>alert("no")</script>'
        return replace(trial, status=Status.FAILED, reason=reason, samples={})
    if of.platform == "host/qemu-tcg/docker" and trial.block == 9:
        return replace(trial, status=Status.DNR, reason="did not end within 60 s", samples={})
    return trial


FACTS = {
    "host": {
        "cpu": "Intel Xeon 8370C, 2 CPUs",
        "memory_bytes": 25277976576,
        "kernel": "6.1.0-26-amd64",
        "distribution": "Debian 12",
        "virtualized": "yes, in a virtual machine (kvm)",
    },
    "noise": [
        "The frequency governor is not known: this host is itself a virtual machine.",
        "The load was 1.4 before the study began.",
    ],
    "platforms": {
        "host": {
            "stack": "host",
            "settings": {},
            "probe": {},
            "inside": {"cpus": 1, "memory_bytes": 2**30, "disk_cache": "none"},
            "warnings": [],
        },
        "host/docker": {
            "stack": "host/docker",
            "settings": {"docker.network": "none"},
            "probe": {"docker": "20.10.24", "runtime": "runc 1.1.5"},
            "inside": {"cpus": 1, "memory_bytes": 2**30, "disk_cache": "none"},
            "warnings": ["The daemon is Tare's own: none answered."],
        },
        "host/qemu-tcg": {
            "stack": "host/qemu-tcg",
            "settings": {"qemu-tcg.accel": "tcg"},
            "probe": {"qemu": "7.2.13"},
            "inside": {"cpus": 1, "memory_bytes": 1021984768, "disk_cache": "none"},
            "warnings": [],
        },
        "host/qemu-tcg/docker": {"stack": "host/qemu-tcg/docker", "probe": {"qemu": "7.2.13"}},
        "host/kvm": {
            "stack": "host/kvm",
            "unavailable": "/dev/kvm is there, but no guest came up in 30 s",
        },
    },
    "userland": {
        "id": "bookworm-3f2a91c0de",
        "suite": "bookworm",
        "versions": {"sysbench": "1.0.20+ds-5", "fio": "3.33-3", "libc6": "2.36-9+deb12u8"},
        "kernel": "6.1.0-26-cloud-amd64",
    },
    "tare": {"version": "0.1.0", "python": "3.11.2"},
    "session": {"cpuset": "1", "controller_cpus": "0", "seed": 20241121},
}
RUN = {
    "sessions": [
        {
            "id": "a1",
            "started": "2024-11-21T10:00:00Z",
            "ended": "2024-11-21T10:04:31Z",
            "reason": "every cell is decided or at its last block",
        }
    ],
    "stop": "every cell is decided or at its last block",
}
STUDY = "name: quick\nquestion: What does each layer cost on this host?\n"


def make_results(folder=Path("results/quick-20241121"), **changes):
    plan = changes.pop("plan", None) or make_plan()
    trials = changes.pop("trials", None)
    content = {"study": STUDY, "facts": FACTS, "run": RUN, **changes}
    trials = make_trials(plan) if trials is None else trials
    return Results(folder=folder, plan=plan, trials=trials, **content)
