"""Whether instances that share a CPU cost what they must, and what opening many of them takes.

Instances that compute on one CPU share it fairly: n of them take n times as long as one, so each
keeps 1/n of its speed, and all of them the same. The bar is 3 % off to 16 instances, and a fairness
of 0.98. The A/A control shows the noise.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tare.cli import main as tare
from tare.results.compare.estimates import Estimates
from tare.results.questions.scaling import scaling_curves
from tare.results.store import load
from tare.results.study import compare

BAR, FAIR = 0.03, 0.98
STUDY = """\
name: known-shares
scenario: scale
platforms: [host, host/docker]
limits: {cpus: 1, memory: 64MiB}
workloads: [{integer_loop: {iterations: 300000}}]
instances: [1, 2, 4, 8, 16]
repetition: {min_blocks: 6, max_blocks: 12, instances: 1, precision: 1%, budget: BUDGET s}
"""


def main(budget_s: int) -> int:
    """Measure, print how far each level is off its truth, and return whether a bar is missed."""
    with tempfile.TemporaryDirectory() as folder:
        file, into = Path(folder) / "study.yaml", Path(folder) / "results"
        file.write_text(STUDY.replace("BUDGET", str(budget_s)))
        tare(["run", str(file), "--into", str(into)])
        stored = load(into)
    worst, least = 0.0, 1.0
    print(f"\n{'':<14}{'instances':>10}{'must keep':>12}{'keeps':>9}{'interval':>20}{'off':>9}"
          f"{'fairness':>11}")  # fmt: skip
    for curve in scaling_curves(Estimates(stored.plan, stored.trials)):
        for level in curve.levels[1:]:
            kept, must = level.efficiency, 1 / level.instances
            if kept is None:
                print(f"{curve.cell.platform:<14}{level.instances:>10}  not measured")
                continue
            off = kept.value / must - 1
            ends = "" if kept.interval is None else "{:.4f} to {:.4f}".format(*kept.interval)
            fair = level.fairness or 0.0
            worst, least = max(worst, abs(off)), min(least, fair)
            print(
                f"{curve.cell.platform:<14}{level.instances:>10}{must:>12.4f}{kept.value:>9.4f}"
                f"{ends:>20}{100 * off:>+8.1f} %{fair:>11.4f}"
            )
    for row in compare(stored.plan, stored.trials).comparisons:
        if row.primary and row.is_control and row.cost is not None:
            print(f"A/A control {row.cost:.3f}")
    print(
        f"\nlargest deviation {100 * worst:.1f} %, bar {100 * BAR:g} %; least fairness {least:.3f}"
    )
    return int(worst > BAR or least < FAIR)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=int, default=240, help="seconds of measuring")
    sys.exit(main(parser.parse_args().budget))
