"""Studies with invented values, in which every number is known: what charts and tables show."""

import math
from pathlib import Path

import numpy as np

from tare.core.model import NO_FACTS, Better, Limits, Metric, Run, Status, Unit
from tare.present.report import describe
from tare.results.store import Results
from unit.makers import make_cell, make_plan, make_trial

EVENTS = Metric("events", Unit.PER_SECOND, Better.HIGHER)
LATENCY = Metric("latency", Unit.SECOND, Better.LOWER)
LIFE = tuple(
    Metric(name, Unit.SECOND, Better.LOWER)
    for name in (
        *("boot", "create", "soft_reboot", "hard_reboot", "stop", "start", "delete"),
        *("total", "host_cpu"),
    )
)
LONG = "host/qemu-tcg/docker with a name that somebody made very long, to be exact about all of it"
HOSTILE = '<script>alert("1")</script> & $x_1$ | \\textbf{no}\nnew line'


class Study:
    """A study with invented values, in which every number is known."""

    def __init__(self, platforms, blocks=11, baseline="host"):
        self.platforms, self.blocks, self.baseline = platforms, blocks, baseline
        self.cells, self.metrics, self.trials = [], {}, []

    def add(self, workload, value, *, metrics=(EVENTS,), params=(), cpus=1, memory_bytes=2**30):
        """Add cells; ``value(platform, block)`` gives samples, or a status and a reason."""
        self.metrics[workload] = metrics
        for platform in (*self.platforms, None):
            cell = make_cell(
                platform or self.baseline,
                workload=workload,
                params=tuple(params),
                limits=Limits(cpus=cpus, memory_bytes=memory_bytes),
                replica=int(platform is None),
            )
            self.cells.append(cell)
            for block in range(self.blocks):
                given = value(cell.platform, block)
                if given is not None:
                    self.trials.append(self._trial(cell, block, given))
        return self

    def _trial(self, cell, block, given):
        status, reason, samples = Status.OK, "", {}
        if isinstance(given, tuple):
            status, reason, *rest = given
            given = rest[0] if rest else {}
        samples = given if isinstance(given, dict) else {"events": given}
        return make_trial(
            cell,
            block,
            slot=len(self.trials),
            instance=f"a-{block}",
            status=status,
            reason=reason,
            samples=samples,
        )

    def found(self):
        plan = make_plan(
            *self.cells,
            study="invented",
            baseline=self.baseline,
            metrics=self.metrics,
            max_blocks=self.blocks,
        )
        results = Results(
            folder=Path("results"),
            plan=plan,
            trials=tuple(self.trials),
            study="name: invented\n",
            facts=NO_FACTS,
            run=Run(stop="all blocks were run"),
        )
        return describe(results)


def names(count):
    some = ["host", "host/docker", LONG, "host/qemu-tcg", "host/kvm", "host/gvisor"]
    return [*some, *(f"host/layer-{number}/inner" for number in range(20))][:count]


def noisy(costs, base=1000.0, seed=3, noise=0.01):
    """Give values with these costs by platform and a little noise, the same every time."""
    rng = np.random.default_rng(seed)

    def value(platform, block):
        cost = costs.get(platform, 1.0)
        return base / cost * math.exp(rng.normal(0, noise) + 0.01 * math.sin(block))

    return value


def full(count):
    """A study with every kind of cell: slow, fast, dnr, failed, unavailable, suspect, missing."""
    platforms = names(count)
    study = Study(platforms)
    costs = {name: 1.0 + 0.4 * place for place, name in enumerate(platforms)}
    study.add("sysbench_cpu", noisy(costs), params=(("threads", 1),))
    fast = noisy({name: 1 / cost for name, cost in costs.items()})
    study.add("fio", broken(costs), params=(("pattern", "randread"), ("block_bytes", 4096)))
    study.add("a workload of " + "very " * 12 + "long name", fast)
    for threads, gain in {1: 1.0, 2: 1.9, 4: 3.4, 8: 3.6, 16: 3.7}.items():
        study.add("scales", broken(costs, gain), params=(("threads", threads),))
    study.add("lifecycle", life(costs), metrics=LIFE)
    return study.found()


def broken(costs, gain=1.0):
    """Give values, and one kind of trouble on each of four platforms."""
    plain = noisy(costs, base=1000.0 * gain)

    def value(platform, block):
        if platform == "host/qemu-tcg":
            return Status.DNR, "did not end within 60 s"
        if platform == "host/kvm":
            return Status.UNAVAILABLE, "there is no /dev/kvm"
        if platform == "host/gvisor" and block == 3:
            return Status.FAILED, "exited with 1"
        if platform == "host/docker" and block in (2, 5):
            return Status.SUSPECT, "throttled", {"events": 1400.0}
        return plain(platform, block)

    return value


def life(costs):
    """Give the phases of a life; docker knows no soft reboot, and kvm is not there."""
    phases = {"create": 0.2, "boot": 1.5, "soft_reboot": 1.1, "hard_reboot": 1.3}
    phases |= {"stop": 0.4, "start": 1.2, "delete": 0.3}

    def value(platform, block):
        if platform == "host/kvm":
            return Status.UNAVAILABLE, "there is no /dev/kvm"
        cost = costs[platform] * (1 + 0.01 * (block % 5))
        return {
            **{
                name: cost * seconds
                for name, seconds in phases.items()
                if (platform, name) != ("host/docker", "soft_reboot")
            },
            "host_cpu": 2.0,
        }

    return value
