"""``tare plan``: what a study would do, without doing it."""

from __future__ import annotations

import argparse
import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict

NAME = "plan"
HELP = "show what a study would run, and estimate its time and disk"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("study", help="a study file, or the name of a preset (tare list studies)")
    parser.add_argument("--seed", type=int, help="the seed of the random order; else drawn")
    parser.add_argument("--json", action="store_true", help="print facts for programs")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from tare.model import Design
    from tare.study import duet, estimate, load_study, make_plan

    study = load_study(options.study)
    seed = next((s for s in (options.seed, study.seed) if s is not None), secrets.randbits(31))
    plan = make_plan(study, seed)
    expected = estimate(plan, study)
    if options.json:
        print(json.dumps({"plan": asdict(plan), "estimate": asdict(expected)}))
        return 0
    rule = plan.repetition
    print(f"{study.name}: {study.question}" if study.question else study.name)
    print(f"  baseline   {study.baseline}, measured twice in every block (A/A control)")
    for title, names in (
        ("platforms", [platform.name for platform in study.platforms]),
        ("workloads", [_label(w.name, dict(w.params)) for w in study.workloads]),
        ("limits", [f"{x.cpus} CPU, {_bytes(x.memory_bytes)}, disk cache {x.disk_cache}"
                    for x in study.limits]),
    ):  # fmt: skip
        for name in names:
            print(f"  {title:<10} {name}")
            title = ""
    print(f"  blocks     {rule.min_blocks} to {rule.max_blocks}, order by seed {plan.seed}")
    if rule.design is Design.DUET:
        print("  design     duet: each platform and the baseline at the same moment, on CPUs of")
        print("             their own, swapped between blocks. It assumes:")
        for assumption in duet.ASSUMES:
            print(f"             - {assumption}")
    sides = " on each set of CPUs" if rule.design is Design.DUET else ""
    print(f"  cells      {expected.cells}, on {rule.instances} instances a platform{sides}")
    budget = "" if rule.budget_s is None else f", of which measuring at most {_time(rule.budget_s)}"
    print(f"  trials     {expected.trials_min} to {expected.trials_max} (estimated)")
    print(f"  time       {_time(expected.duration_min_s)} to {_time(expected.duration_max_s)} "
          f"(estimated){budget}")  # fmt: skip
    print(f"  disk       {_bytes(sum(expected.disk_bytes.values()))} of workload files (estimated)")
    return 0


def _label(name: str, params: Mapping[str, object]) -> str:
    return f"{name}({', '.join(f'{key}={value}' for key, value in params.items())})"


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _bytes(count: float) -> str:
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.0f} MiB"
