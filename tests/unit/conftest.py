"""Studies on the simulated layer, run in a folder where fsync costs nothing; what a layer gets."""

import os
import shutil
import tempfile
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from tare.core.home import home
from tare.experiment import run as runner
from tare.experiment.design import make_plan
from tare.experiment.host import facts
from tare.experiment.run.pool import Pool
from tare.experiment.study import read_study
from tare.machines import detection, layers
from tare.machines.layer import Site
from tare.machines.ledger import Ledger, Scope, Services
from tare.machines.machine import Host
from tare.results.store import Writer, load
from unit.fakes import Userland
from unit.makers import LIMITS

IN_MEMORY = "/dev/shm"  # noqa: S108 - a folder of a random name is made in it
PLUGINS = str(Path(__file__).parent / "plugins")


class Lab:
    def __init__(self, folder):
        self.folder = folder
        self.count = 0

    def text(self, platforms, **sections):
        """Write a study of simulated platforms; the first is the baseline."""
        platforms = [
            {"stack": "host/sim", "name": name, **settings} for name, settings in platforms.items()
        ]
        study = {
            "name": "simulated",
            "platforms": platforms,
            "baseline": platforms[0]["name"],
            "limits": {"cpus": 1, "memory": "1GiB"},
            "workloads": [{"sysbench_cpu": {"threads": 1, "time": "1 s"}}],
            "repetition": {"min_blocks": 8, "max_blocks": 8, "instances": 1},
        }
        return yaml.safe_dump(study | sections)

    def begin(self, text, seed=1, folder=None):
        """Declare a study and write its plan; gives the study, the plan and the folder."""
        self.count += 1
        folder = folder or self.folder / f"results-{self.count}"
        study = read_study(text, "study.yaml")
        plan = make_plan(study, seed)
        writer = Writer(folder)
        writer.start(study.source, plan)
        writer.close()
        return study, plan, folder

    def run(self, text, seed=1, progress=None):
        """Run a study to its end and read what was stored."""
        study, plan, folder = self.begin(text, seed)
        runner.run(study, plan, folder, progress or runner.Silent())
        return load(folder)

    def leftovers(self):
        """What sessions left behind."""
        return [path for name in ("run", "ledgers") for path in (home() / name).glob("*")]


@cache
def _facts():
    return facts.host_facts(Host())


@cache
def _detected():
    return detection.detect(Host())


@pytest.fixture
def lab(monkeypatch):
    # A thousand studies ask the same host the same questions; that they are asked is tested once.
    monkeypatch.setattr(
        import_module("tare.experiment.run.record"), "host_facts", lambda host: _facts()
    )
    monkeypatch.setattr(Pool, "detected_here", property(lambda pool: _detected()))
    folder = Path(tempfile.mkdtemp(dir=IN_MEMORY if os.path.isdir(IN_MEMORY) else None))  # noqa: PTH112
    monkeypatch.setenv("TARE_HOME", str(folder / "home"))
    yield Lab(folder)
    shutil.rmtree(folder)


@pytest.fixture
def scripted(monkeypatch):
    """The module of the layer that does what a test tells it to."""
    monkeypatch.setattr(layers, "__path__", [*layers.__path__, PLUGINS])
    module = import_module("tare.machines.layers.scripted")
    module.plot, module.made = None, []
    yield module
    module.plot = None


@pytest.fixture
def site(tmp_path):
    """What a layer is given on a fake machine, with a real ledger."""
    ledger = Ledger(tmp_path / "ledger.jsonl")
    yield Site(
        name="tare-x-0-0",
        session="x",
        folder="/run/x",
        limits=LIMITS,
        cpuset="1,3",
        scope=Scope(ledger),
        services=Services(ledger),
        userland=Userland(),
    )
    ledger.close()
