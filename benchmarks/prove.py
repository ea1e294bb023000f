"""What Tare's design and the usual ones find where the truth is known: ``make prove``.

Prints coverage, false alarms, power and time to decide on noise of known kinds and on noise
recorded from hosts (``benchmarks/traces``), whole studies through the real runner on the simulated
layer, and which targets of METHOD.md that meets. Seeded: the same numbers every time. Exit status 1
if what does not depend on the noise is missed: coverage, and false alarms.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from proof import fresh
from proof.designs import RIVALS, SD_LIMIT
from proof.figures import (
    EFFECTS,
    FIXED,
    OBVIOUS,
    Rivals,
    Share,
    Tares,
    families,
    obvious,
    rivals,
    seconds,
    share,
    tares,
)  # fmt: skip
from proof.noise import APART_S, MODELS, Noise, recorded
from proof.targets import Evidence, Target, targets
from tare.experiment import run as runner
from tare.experiment.design import make_plan
from tare.experiment.study import read_study
from tare.machines.simulation.trace import Variant, read
from tare.results.compare.comparison import Comparison
from tare.results.stats.sequential import Verdict
from tare.results.store import Writer, load
from tare.results.study import compare

TRACES = Path(__file__).parent / "traces"
FRESH = TRACES / "fresh" / "comparisons.csv.gz"
VARIANTS: dict[Variant, str] = {
    "wall": "wall", "corrected": "corrected", "host_cpu": "host CPU",
}  # fmt: skip
IN_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of a random name is made in it
DEAR = 1.03
VALIDITY = ("coverage", "T1", "T2", "familywise", "direction", "obvious")
ALARMS = (Verdict.SLOWER, Verdict.FASTER)


@dataclass(frozen=True)
class Size:
    """How much is simulated on each noise: comparisons, studies of 30, others, and whole runs."""

    paths: int
    studies: int
    rival_paths: int
    run: int


USUAL, FULL = Size(1000, 200, 4000, 40), Size(4000, 2000, 20000, 400)


def recordings() -> list[Noise]:
    """Take every workload of every trace, by wall time and with contention accounted for."""
    found: list[Noise] = []
    for path in sorted(TRACES.glob("*.csv*")):
        trace, host = read(path), path.name.split(".")[0]
        for workload in trace.workloads:
            for variant, name in VARIANTS.items():
                one = recorded(trace, workload, variant, f"{host}: {workload}, {name}")
                found += [] if one is None else [one]
    return found


def on_noise(noise: Noise, seed: int, size: Size) -> tuple[Tares, list[Rivals]]:
    """Everything about one noise."""
    alone = tares(noise, seed, size.paths)
    whole = families(noise, seed + 1, size.studies)
    found = replace(
        alone,
        alarms=whole.alarms,
        familywise=whole.familywise,
        uncorrected=whole.uncorrected,
        after_holm=whole.after_holm,
        family_pairs=whole.family_pairs,
    )
    others = [rivals(rival, noise, seed + 2, size.rival_paths) for rival in RIVALS]
    return found, [one for one in others if one is not None]


@dataclass(frozen=True)
class Run:
    """Studies through the whole runner, each of an equal platform and one that costs 3 %."""

    noise: str
    alarms: Share
    same: Share
    covered: Share
    slower: Share
    pairs: float


def through_runner(noise: str, sim: dict[str, object], studies: int) -> Run:
    """Declare, run, store and compare whole studies in a folder of their own."""
    alarms, same, covered, slower, pairs = [], [], [], [], []
    with tempfile.TemporaryDirectory(dir=IN_MEMORY if IN_MEMORY.is_dir() else None) as folder:
        os.environ["TARE_HOME"] = f"{folder}/home"
        for seed in range(studies):
            rows = run_study(Path(folder) / str(seed), seed, sim)
            alarms.append(rows["equal"].verdict in ALARMS)
            same.append(rows["equal"].verdict is Verdict.SAME)
            dear = rows["dear"]
            covered.append(dear.low is not None and dear.low <= DEAR <= dear.high)
            slower.append(dear.verdict is Verdict.SLOWER)
            pairs.append(dear.pairs)
    middle = statistics.median(pairs)
    return Run(noise, share(alarms), share(same), share(covered), share(slower), middle)


def run_study(folder: Path, seed: int, sim: dict[str, object]) -> dict[str, Comparison]:
    """Run one study; gives its comparisons by platform, without the control's."""
    setting = {"noise": 0.0, "seed": seed, **sim}
    costs = {"base": 1.0, "equal": 1.0, "dear": DEAR}
    text = yaml.safe_dump(
        {
            "name": "prove",
            "platforms": [
                {"stack": "host/sim", "name": name, "sim": {**setting, "cost": cost}}
                for name, cost in costs.items()
            ],
            "baseline": "base",
            "limits": {"cpus": 1, "memory": "1GiB"},
            "workloads": [{"sysbench_cpu": {"threads": 1, "time": "30 s", "events": 6000}}],
            "repetition": {"min_blocks": 3, "max_blocks": 30, "instances": 1},
        }
    )
    study = read_study(text, "prove")
    plan = make_plan(study, seed)
    writer = Writer(folder)
    writer.start(study.source, plan)
    writer.close()
    runner.run(study, plan, folder, runner.Silent())
    results = load(folder)
    rows = compare(results.plan, results.trials).comparisons
    return {row.cell.platform: row for row in rows if row.primary and not row.is_control}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="more paths: narrower figures, longer")
    parser.add_argument("--seed", type=int, default=20261121)
    options = parser.parse_args()
    size = FULL if options.full else USUAL
    noises: list[Noise] = [*MODELS, *recordings()]
    begin = time.monotonic()
    alarms = fresh.alarms(FRESH) if FRESH.exists() else {}
    with ProcessPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        runs = [
            pool.submit(through_runner, name, sim, size.run) for name, sim in simulated().items()
        ]
        found = [
            pool.submit(on_noise, noise, options.seed + 10 * place, size)
            for place, noise in enumerate(noises)
        ]
        soon = pool.submit(obvious, options.seed - 1, size.rival_paths)
        every = done(found)
        whole = done(runs)
    evidence = Evidence(
        tares={one.noise: one for one, _ in every},
        rivals=[rival for _, rivals in every for rival in rivals],
        fresh=alarms,
        obvious=soon.result(),
    )
    judged = targets(evidence)
    for part in (
        tares_tables(evidence),
        obvious_table(evidence),
        rivals_table(evidence),
        runs_table(whole),
    ):
        print("\n".join(part), end="\n\n")
    print("\n".join(targets_table(judged)))
    print(f"\n{size.paths} comparisons and {size.studies} studies of 30 on each noise, "
          f"{size.rival_paths} of each other design; seed {options.seed}; "
          f"{time.monotonic() - begin:.0f} s.")  # fmt: skip
    return int(any(target.met is False for target in judged if target.name in VALIDITY))


def simulated() -> dict[str, dict[str, object]]:
    """Name the noises on which the sim layer is run: independent, and the first recording."""
    found: dict[str, dict[str, object]] = {"independent": {"noise": 0.02}}
    for path in sorted(TRACES.glob("*.csv*"))[:1]:
        for variant, name in VARIANTS.items():
            found[f"{path.name.split('.')[0]}: cpu, {name}"] = {
                "trace": str(path), "variant": variant,
            }  # fmt: skip
    return found


def done(futures: Iterable[Future]) -> list:
    """Wait for all."""
    return [future.result() for future in futures]


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    return lines + [f"| {' | '.join(map(str, row))} |" for row in rows]


def percent(part: float) -> str:
    return f"{100 * part:.1f}"


def each(pick: Callable[[float], str]) -> str:
    return " / ".join(pick(effect) for effect in EFFECTS)


def tares_tables(found: Evidence) -> list[str]:
    """Tare's design: what its intervals hold, how often it alarms, and how soon it decides."""
    alls = list(found.tares.values())
    lines = ["Tare: coverage of 95 % intervals and false alarms, in %", ""]
    lines += table(
        ["noise", "SD of a trial", "robust SD of a pair",
         *(f"fixed, {n} pairs" for n in FIXED), "at the stop, cost 0 / 1 / 3 / 10 %", "all looks",
         "alarms, one comparison", "studies of 30 with an alarm: Holm", "by verdicts alone"],
        ([t.noise, f"{percent(t.trial_sd)}", f"{100 * t.pair_sd:.2f}",
          *(percent(t.fixed[n].value) for n in FIXED),
          " / ".join(percent(t.at_stop[e].value) for e in (0.0, *EFFECTS)),
          percent(t.always.value), percent(t.alarms.value), percent(t.familywise.value),
          percent(t.uncorrected.value)] for t in alls),
    )  # fmt: skip
    lines += ["", "Tare: what becomes of a true cost, in % of comparisons; median pairs and "
                  "seconds (two trials a pair; the A/A control adds half as much)", ""]  # fmt: skip
    lines += table(
        ["noise", "0 %: same within 2 % (pairs)", "1 / 3 / 10 %: slower",
         "wrong", "pairs", "seconds", "10 %: significant after Holm of 30 (if measured to)",
         "error at 20 trials"],
        ([t.noise, f"{percent(t.same.value)} ({t.same_pairs:.0f})",
          each(lambda e, t=t: percent(t.power[e].right.value)),
          each(lambda e, t=t: percent(t.power[e].wrong.value)),
          each(lambda e, t=t: f"{t.power[e].pairs:.0f}"),
          each(lambda e, t=t: f"{seconds(t.power[e].pairs, t.trial_s):.0f}"),
          f"{percent(t.after_holm.value)} ({t.family_pairs:.0f})", f"{100 * t.error:.2f}"]
         for t in alls),
    )  # fmt: skip
    return lines


def obvious_table(found: Evidence) -> list[str]:
    """What early looks decide, and what they cost in alarms."""
    of = found.tares["cloud"].power[OBVIOUS[0]].wrong.of
    lines = ["Tare: obvious costs, in %; wrong counts those that are called faster, or the same, "
             f"among {of}", ""]  # fmt: skip
    return lines + table(
        ["noise", "equal: alarms at 3 to 7 pairs", "50 / 255 / 1400 %: slower", "wrong",
         "median pairs", "interval at the stop holds it"],
        ([t.noise, f"{100 * t.early.value:.2f}",
          " / ".join(percent(t.power[e].right.value) for e in OBVIOUS),
          " / ".join(f"{t.power[e].wrong.count}" for e in OBVIOUS),
          " / ".join(f"{t.power[e].pairs:.0f}" for e in OBVIOUS),
          " / ".join(percent(t.at_stop[e].value) for e in OBVIOUS)]
         for t in found.tares.values()),
    )  # fmt: skip


def rivals_table(found: Evidence) -> list[str]:
    """What others do, on the same noise."""
    lines = [f"Others, in %. Platforms are measured {APART_S:.0f} s apart but for hyperfine's; "
             f"Phoronix's rule: 3 trials, more while the SD is {100 * SD_LIMIT:g} % or more, at "
             "most 12. Calibrated: by the threshold that would keep 5 % alarms. A recording has "
             "few trials in a row: there the figures are of overlapping windows.", ""]  # fmt: skip
    return lines + table(
        ["noise", "design", "alarms of equal platforms = intervals that miss",
         "1 / 3 / 10 %: slower", "faster", "calibrated power", "trials", "seconds",
         "error of the ratio"],
        ([r.noise, r.name, percent(r.alarms.value),
          each(lambda e, r=r: percent(r.right[e].value)),
          each(lambda e, r=r: percent(r.wrong[e].value)),
          "-" if r.name.endswith("apart") else each(lambda e, r=r: percent(r.calibrated[e])),
          f"{r.trials:.0f}", f"{r.seconds:.0f}", f"{100 * r.error:.1f}"] for r in found.rivals),
    )  # fmt: skip


def runs_table(runs: Sequence[Run]) -> list[str]:
    """Whole studies, each declared, run, stored and compared; at most 30 blocks."""
    lines = [f"Through the whole runner on the simulated layer, in %: {runs[0].alarms.of} studies "
             "on each noise, each with an equal platform and one that costs 3 %, at most 30 blocks",
             ""]  # fmt: skip
    return lines + table(
        ["noise", "equal: alarms", "equal: same", "3 %: interval at the stop holds it",
         "3 %: slower", "median pairs"],
        ([r.noise, percent(r.alarms.value), percent(r.same.value), percent(r.covered.value),
          percent(r.slower.value), f"{r.pairs:.0f}"] for r in runs),
    )  # fmt: skip


def targets_table(judged: Sequence[Target]) -> list[str]:
    words = {True: "yes", False: "NO", None: "not known"}
    return table(
        ["target", "asked", "found", "met"],
        ([t.name, t.asked, t.found, words[t.met]] for t in judged),
    )


if __name__ == "__main__":
    sys.exit(main())
