"""How far equal trials differ under other load: wall time, less foreign delay, host CPU time.

Pairs of the same trial on the host layer, first as the host is, then with load that this starts
itself: two processes on the measured CPU that are busy and idle by turns, at random. Printed is the
spread of the pairs' log ratios (MADsd), and with it how many pairs show 1 % and 3 %.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tare.core.model import Kind, Limits, Trial, Variant
from tare.experiment.run.session import Session
from tare.experiment.trial.measure import measure
from tare.experiment.trial.placed_part import PlacedPart
from tare.experiment.trial.role_placement import PlacedCommand, in_directory
from tare.experiment.trial.watch import WatchSettings
from tare.machines import layer
from tare.machines.stack import Stack, open_stack
from tare.results.compare.contention import value
from tare.results.stats.description import spread
from tare.results.stats.power import blocks_needed
from tare.work.workload import TOOL_DURATION, load
from tare.work.workloads.sysbench_cpu import EVENTS

LIMITS = Limits(cpus=1, memory_bytes=2**30)
WORK = load("sysbench_cpu", max_prime=10_000, threads=1, time_s=60, events=2000)
BURSTS = (
    "import random, sys, time\n"
    "turns = random.Random(int(sys.argv[1]))\n"
    "while True:\n"
    "    end = time.monotonic() + turns.uniform(0.05, 0.5)\n"
    "    while time.monotonic() < end: pass\n"
    "    time.sleep(turns.uniform(0.05, 0.5))\n"
)
AT_MOST_S = 900


@contextmanager
def loaded_by(others: int, cpu: int) -> Iterator[None]:
    """Keep other work on a CPU; ``timeout`` ends it should this be killed."""
    busy = [
        subprocess.Popen(
            ["/usr/bin/timeout", str(AT_MOST_S), "taskset", "-c", str(cpu), sys.executable, "-c",
             BURSTS, str(seed)], start_new_session=True,
        )
        for seed in range(others)
    ]  # fmt: skip
    try:
        yield
    finally:
        for process in busy:
            os.killpg(process.pid, 15)
            process.wait()


def pairs(session: Session, count: int) -> dict[Variant, list[float]]:
    """Measure pairs of equal trials; give the log ratios of those in which a variant is known."""
    stack = open_stack(session.host, [layer.load("host")], session.site("pairs", LIMITS, 120))
    try:
        trials = [one_trial(session, stack) for _ in range(2 * count + 1)][1:]
    finally:
        stack.close()
    found: dict[Variant, list[float]] = {variant: [] for variant in Variant}
    for first, second in zip(trials[::2], trials[1::2], strict=True):
        for variant, ratios in found.items():
            values = [value(trial, EVENTS, variant, TOOL_DURATION) for trial in (first, second)]
            if values[0] and values[1]:
                ratios.append(math.log(values[0] / values[1]))
    return found


def one_trial(session: Session, stack: Stack) -> Trial:
    command = PlacedCommand(stack.machine, in_directory(stack.workdir, WORK.command()))
    how = WatchSettings(cpus=session.cpus(1))
    outcome = measure(PlacedPart(part="", instance="0", stack=stack, how=how), WORK, command, 60)
    return Trial(
        cell="bench", block=0, slot=0, kind=Kind.MEASURED, instance="0", status=outcome.status,
        duration_s=outcome.completed.duration_s, samples=outcome.samples, host=outcome.host,
    )  # fmt: skip


def row(title: str, ratios: Sequence[float]) -> str:
    if len(ratios) < 2:
        return f"{title:<34}{len(ratios):>7}{'unknown':>10}"
    noise = spread(np.array(ratios))
    needed = (blocks_needed(noise, math.log1p(effect)) for effect in (0.01, 0.03))
    return f"{title:<34}{len(ratios):>7}{100 * noise:>9.2f}%" + "".join(f"{n:>9}" for n in needed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=40)
    count = parser.parse_args().pairs
    print(f"{'variant':<34}{'pairs':>7}{'MADsd':>10}{'for 1 %':>9}{'for 3 %':>9}")
    with (
        tempfile.TemporaryDirectory(dir=Path.cwd()) as folder,
        Session(Path(folder), "bookworm", ("sysbench",)) as session,
    ):
        session.step_aside(1)
        for others in (0, 2):
            title = f"with {others} bursty processes" if others else "the host as it is"
            with loaded_by(others, session.cpus(1)[0]):
                found = pairs(session, count)
            for variant, ratios in found.items():
                print(row(f"{title}: {variant.value}", ratios), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
