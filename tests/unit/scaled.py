"""Studies of scale with invented values, in which the law of each platform is known."""

import math
from pathlib import Path

import numpy as np

from tare.core.model import NO_FACTS, Better, Metric, Part, Run, Status, Unit
from tare.results.questions.scaling import INSTANCES
from tare.results.store import Results
from unit.makers import make_cell, make_plan, make_trial

LEVELS = (1, 2, 4, 8, 16)
BUILD = Metric("elapsed", Unit.SECOND, Better.LOWER)
PAGES = Metric("pages", Unit.PER_SECOND, Better.HIGHER)
SHARE = Metric("share", Unit.RATIO, Better.HIGHER)
BASE_BYTES, EACH_BYTES = 500e6, 64e6


def law(sigma, kappa, rate=0.01):
    """Return the throughput of n instances together."""
    return lambda n: rate * n / (1 + sigma * (n - 1) + kappa * n * (n - 1))


def scaled(laws, *, metric=BUILD, blocks=8, noise=0.01, levels=LEVELS, workload="build", seed=3):
    """A study in which each platform has a law, or a status at and above a level.

    ``laws`` maps a platform to a function of n, or to such a function, a level and a status. Each
    trial has a part for each instance; all of them did the same, and took ``EACH_BYTES``.
    """
    rng = np.random.default_rng(seed)
    cells, trials = [], []
    for platform, given in laws.items():
        together, *rest = given if isinstance(given, tuple) else (given,)
        limit, status = rest or (math.inf, None)
        for n in levels:
            cell = make_cell(platform, workload=workload, params=((INSTANCES, n),))
            cells.append(cell)
            for block in range(blocks):
                value = together(n) * math.exp(rng.normal(0, noise))
                sample = value / n if metric.better is Better.HIGHER else n / value
                if n >= limit:
                    ended = {"status": status, "reason": "did not end within 60 s"}
                else:
                    ended = {"samples": {metric.name: sample}, "parts": parts(n, metric, sample)}
                instance = f"a-{block}"
                trials.append(make_trial(cell, block, instance=instance, duration_s=1.0, **ended))
    plan = make_plan(*cells, metrics=(metric,), max_blocks=blocks)
    run = Run(stop="all blocks were run")
    return Results(Path("results"), "name: made\n", plan, NO_FACTS, run, tuple(trials))


def parts(n, metric, value):
    return tuple(
        Part(
            name=f"instance{number}",
            instance=f"a-{number}",
            status=Status.OK,
            samples={metric.name: value},
            resources={"layer_pss_bytes": EACH_BYTES + BASE_BYTES / n},
        )
        for number in range(n)
    )
