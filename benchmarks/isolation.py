"""Whether neighbours cost what they must, and levels are reached: known truths of this kernel.

A workload that computes on one CPU shares it with neighbours that compute too, all in control
groups of equal weight: with n of them it must take n + 1 times as long, and as long as alone where
they have another CPU. The study is run as a user would, and its costs are compared with these
truths; the bar is 5 % off. The rows of an idle neighbour and of the A/A control show the noise.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tare.cli import main as tare
from tare.core.model import IDLE, Cell, Kind, NeighbourCpus, neighbour_of
from tare.results.store import Results, load
from tare.results.study import compare

BAR = 0.05
STUDY = """\
name: known-neighbours
scenario: isolation
platforms: [host, host/docker]
limits: {cpus: 1, memory: 256MiB}
workloads: [{integer_loop: {iterations: 300000}}]
neighbours:
  - stressor: cpu
    count: [1, 2]
  - stressor: cpu
    cpus: apart
  - stressor: idle
reservation: [none, {cpu_weight: 33}, {cpus: 0.25}]
repetition: {min_blocks: 8, max_blocks: 54, instances: 1, precision: 2%, budget: BUDGET s}
"""


LEVELS = """\
name: known-levels
scenario: isolation
platforms: [host, host/docker]
limits: {cpus: 1, memory: 256MiB}
workloads: [{sysbench_cpu: {threads: 1, time: 3 s}}]
neighbours: [{stressor: [cpu, disk, net_send, net_receive], level: 90%, cpus: apart}]
repetition: {min_blocks: 5, max_blocks: 5, instances: 1}
"""
LEVEL_BAR, LEVEL_BAR_S = 0.02, 60.0


def truth(cell: Cell) -> float:
    """Return what a cell must cost beyond the same alone, as a ratio."""
    neighbour = neighbour_of(cell.params)
    if neighbour is None or neighbour.stressor == IDLE or neighbour.cpus is NeighbourCpus.APART:
        return 1.0
    held = dict(neighbour.reservation.limits) if neighbour.reservation else {}
    if "cpus" in held:
        return 1 / (1 - neighbour.count * held["cpus"])
    return 1.0 + neighbour.count * held.get("cpu_weight", 100) / 100


def main(budget_s: int) -> int:
    from tare.present.view.names import platform_text

    with tempfile.TemporaryDirectory() as folder:
        stored = measured(folder, STUDY.replace("BUDGET", str(budget_s)))
        rows = [one for one in compare(stored.plan, stored.trials).comparisons if one.primary]
    print(f"\n{'':<42} {'must':>6} {'found':>7} {'interval':>16} {'off':>7} {'pairs':>6}")
    worst = 0.0
    for row in rows:
        if row.cost is None or row.low is None or row.high is None:
            print(f"{platform_text(row.cell):<42} not measured: {row.reason}")
            worst = 1.0
            continue
        must = truth(row.cell)
        off = row.cost / must - 1
        worst = max(worst, abs(off))
        interval = f"{row.low:.3f} to {row.high:.3f}"
        print(
            f"{platform_text(row.cell):<42} {must:>6.2f} {row.cost:>7.3f} {interval:>16} "
            f"{100 * off:>+6.1f} % {row.pairs:>5}"
        )
    print(f"\nlargest deviation {100 * worst:.1f} %, bar {100 * BAR:.0f} %")
    return int(worst > BAR) | levels()


def measured(folder: str, study: str) -> Results:
    """Run a study as a user would, and read its results, those of cells that failed too."""
    path, into = Path(folder, "study.yaml"), Path(folder, "results")
    path.write_text(study)
    tare(["run", str(path), "--into", str(into)])
    return load(into)


def levels() -> int:
    """Bring resources to a level; returns whether a calibration or a trial is beyond its bar."""
    from tare.present.view.names import platform_text

    with tempfile.TemporaryDirectory() as folder:
        stored = measured(folder, LEVELS)
    print(f"\n{'':<62} {'took':>7} {'tries':>6} {'least':>7} {'most':>7} {'trials':>7}")
    bad = False
    for cell in stored.plan.cells:
        neighbour = neighbour_of(cell.params)
        if neighbour is None or neighbour.target is None:
            continue
        found = stored.calibrations.get(cell.id)
        of_cell = [one for one in stored.trials if one.cell == cell.id and "level" in one.noise]
        reached = [one.noise["level"] for one in of_cell if one.kind is Kind.MEASURED]
        if found is None or not reached:
            reasons = {one.reason for one in stored.trials if one.cell == cell.id}
            print(f"{platform_text(cell):<62} not measured: {'; '.join(sorted(reasons))}")
            bad = True
            continue
        off = max(abs(one - neighbour.target) for one in reached)
        bad |= found.took_s > LEVEL_BAR_S or off > LEVEL_BAR
        print(
            f"{platform_text(cell):<62} {found.took_s:>5.1f} s {len(found.tries):>6} "
            f"{100 * min(reached):>5.1f} % {100 * max(reached):>5.1f} % {len(reached):>7}"
        )
    return int(bad)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--budget", type=int, default=300, help="seconds of measuring")
    sys.exit(main(parser.parse_args().budget))
