"""Whether neighbours cost what they must: known truths of the kernel's scheduler on this host.

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
from tare.core.model import IDLE, Cell, NeighbourCpus, neighbour_of
from tare.results.store import load
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
repetition: {min_blocks: 8, max_blocks: 54, instances: 1, precision: 2%, budget: BUDGET s}
"""


def truth(cell: Cell) -> float:
    """Return what a cell must cost beyond the same alone, as a ratio."""
    neighbour = neighbour_of(cell.params)
    if neighbour is None or neighbour.stressor == IDLE or neighbour.cpus is NeighbourCpus.APART:
        return 1.0
    return 1.0 + neighbour.count


def main(budget_s: int) -> int:
    from tare.present.view.names import platform_text

    with tempfile.TemporaryDirectory() as folder:
        study, results = Path(folder, "study.yaml"), Path(folder, "results")
        study.write_text(STUDY.replace("BUDGET", str(budget_s)))
        if status := tare(["run", str(study), "--into", str(results)]):
            return status
        stored = load(results)
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
    return int(worst > BAR)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--budget", type=int, default=300, help="seconds of measuring")
    sys.exit(main(parser.parse_args().budget))
