"""Storms: 128 containers and 32 emulated guests at once, against one alone, in one run.

Each row is one trial of the lifecycle scenario, after a trial of a single instance that is not
shown (it imports images and fills caches). ``per instance`` is the time divided by the number,
over the time of one alone: below 1 the verb runs in parallel, above 1 the instances hinder each
other.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tare.core.model import Limits
from tare.experiment.run.session import Session
from tare.experiment.scenarios._lifecycle_trial import measure
from tare.experiment.scenarios.lifecycle import Lifecycle
from tare.experiment.trial.measure import Outcome
from tare.experiment.trial.placed_part import PlacedPart
from tare.experiment.trial.watch import WatchSettings
from tare.machines import layer
from tare.machines.stack import Stack

LIMITS = Limits(cpus=1, memory_bytes=2**28)
DEADLINE_S = 1200.0
VERBS = ("create", "boot", "stop", "start", "delete", "total")


def storm(name: str, count: int) -> dict[int, Outcome]:
    """Run one, and many at once; gives the outcome by how many they were."""
    outcomes = {}
    with tempfile.TemporaryDirectory() as folder, Session(Path(folder), "bookworm", ()) as session:
        layer.load(name).prepare(session.host, session.userland)
        for turn, many in enumerate((1, 1, count)):
            instances = [
                (layer.load(name), session.site(f"{turn}-{number}", LIMITS, DEADLINE_S, number))
                for number in range(many)
            ]
            what = Lifecycle(count=many, reboots=False)
            placed = PlacedPart(
                part="",
                instance="0",
                stack=Stack(session.host),
                how=WatchSettings(cpus=session.cpus(1)),
            )
            outcomes[many] = measure(session.host, placed, instances, what)
    return outcomes


def rows(platform: str, trials: dict[int, Outcome]) -> list[str]:
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
    for name, count in (("docker", options.containers), ("qemu-tcg", options.guests)):
        if count < 2:
            continue
        outcomes = storm(name, count)
        failed |= any(not outcome.samples for outcome in outcomes.values())
        print("\n".join(rows(f"host/{name}", outcomes)), flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
