"""Storms: 128 containers and 32 emulated guests at once, against one alone, in one run.

Each is a lifecycle study as a user would run it; a row is the measured trial (the warm-up before it
is not shown). ``per instance`` is the storm's time divided by its size, over the time of one alone:
below 1 the verb runs in parallel, above 1 the instances stand in each other's way.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tare import runner
from tare.model import Kind, Trial
from tare.store import Writer, load
from tare.study import make_plan, read_study

STUDY = """
name: storm
scenario: lifecycle
platforms: [{platform}]
baseline: {platform}
limits: {{cpus: 1, memory: {memory}}}
lifecycle: {{count: [1, {count}], reboots: false}}
repetition: {{instances: 1, min_blocks: 1, max_blocks: 1}}
deadlines: {{start: 20 min}}
"""
VERBS = ("create", "boot", "stop", "start", "delete", "total")


def storm(platform: str, memory: str, count: int) -> dict[int, Trial]:
    """Run one and many at once; gives the measured trial by how many they were."""
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "results"
        study = read_study(STUDY.format(platform=platform, memory=memory, count=count), "storm")
        plan = make_plan(study, 1)
        writer = Writer(folder)
        writer.start(study.source, plan)
        writer.close()
        runner.run(study, plan, folder, runner.Silent())
        results = load(folder)
    cells = results.plan.cells_by_id
    return {
        int(dict(cells[trial.cell].params)["count"]): trial
        for trial in results.trials
        if trial.kind is Kind.MEASURED and not cells[trial.cell].control
    }


def rows(platform: str, trials: dict[int, Trial]) -> list[str]:
    """Write the rows of a table, or why there is none."""
    lines = []
    for count, trial in sorted(trials.items()):
        if not trial.samples:
            lines.append(f"| {platform} | {count} | {trial.status}: {trial.reason} |")
            continue
        cells = [f"{trial.samples[verb]:.2f}" for verb in VERBS]
        memory = trial.samples.get("host_memory")
        cells.append("-" if memory is None else f"{memory / count / 2**20:.1f}")
        cells.append(f"{trial.samples['host_cpu'] / count:.2f}")
        lines.append(f"| {platform} | {count} | {' | '.join(cells)} |")
    one, many = (trials[count].samples for count in (min(trials), max(trials)))
    if one and many:
        factors = [f"{many[verb] / max(trials) / one[verb]:.2f}" for verb in VERBS]
        lines.append(f"| {platform} | per instance | {' | '.join(factors)} | | |")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--containers", type=int, default=128)
    parser.add_argument("--guests", type=int, default=32)
    options = parser.parse_args()
    heads = [*(f"{verb} s" for verb in VERBS), "memory MiB each", "host CPU s each"]
    print(f"| platform | at once | {' | '.join(heads)} |")
    print(f"|---|---|{'---|' * len(heads)}")
    failed = False
    for platform, memory, count in (
        ("host/docker", "256MiB", options.containers),
        ("host/qemu-tcg", "256MiB", options.guests),
    ):
        if count < 2:
            continue
        trials = storm(platform, memory, count)
        failed |= any(not trial.samples for trial in trials.values())
        print("\n".join(rows(platform, trials)), flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
