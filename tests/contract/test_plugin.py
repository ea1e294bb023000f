"""A layer from outside the tree is one file: it is found, keeps the promises, and is measured."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from contract import test_layer as promises
from contract import test_verbs as verbs
from tare.core.home import home
from tare.core.model import Status
from tare.machines import layer, layers
from tare.results.store import load

PLUGINS = Path(__file__).parents[1] / "plugins"
STUDY = {
    "name": "plugin",
    "platforms": ["host", {"stack": "host/namespace", "namespace": {"hostname": "box"}}],
    "limits": {"cpus": 1, "memory": "512MiB"},
    "workloads": [{"sysbench_cpu": {"max_prime": 2000, "threads": 1, "time": "1 s"}}],
    "repetition": {"min_blocks": 2, "max_blocks": 2, "instances": 1},
}
OF_MACHINES = [
    promises.test_a_status_is_a_result,
    promises.test_a_death_by_signal_is_told_alike_everywhere,
    promises.test_streams_stay_apart,
    promises.test_words_arrive_as_they_were_given,
    promises.test_bytes_survive_stdin_and_stdout,
    promises.test_a_failure_names_its_machine,
]
OF_STACKS = [
    promises.test_the_workdir_is_empty_and_can_be_written,
    promises.test_pause_takes_the_cpu_time_away,
    verbs.test_a_paused_one_can_be_left_hard,
]

pytestmark = pytest.mark.needs("root")


@pytest.fixture(scope="module")
def plugin():
    """The layer, findable for as long as these tests run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layers, "__path__", [*layers.__path__, str(PLUGINS / "layers")])
        yield layer.load("namespace", hostname="box")
    sys.modules.pop("tare.machines.layers.namespace")


@pytest.fixture(scope="module")
def stack(place, plugin):
    opened = place.open([plugin], place.site(limits=verbs.LIMITS))
    yield opened
    opened.close()


@pytest.mark.parametrize("promise", OF_MACHINES)
def test_a_plugin_keeps_the_promises_of_a_machine(stack, promise):
    promise(stack.machine)


@pytest.mark.parametrize("promise", OF_STACKS)
def test_a_plugin_keeps_the_promises_of_a_stack(stack, promise):
    promise(stack)


@pytest.mark.parametrize("hard", [False, True], ids=["in order", "hard"])
def test_a_plugin_stops_and_starts(stack, hard):
    verbs.test_what_was_stopped_does_not_answer_and_starts_with_its_disk(stack, hard)


def test_a_plugin_can_be_left_while_paused_and_twice(place, plugin, traces, settles):
    site = place.site()
    opened = place.open([plugin], site)
    assert traces(site.name)
    opened.pause()

    opened.close()
    opened.close()

    assert settles(lambda: not traces(site.name)), traces(site.name)
    place.undo_again(site.name)


def in_a_folder(tmp_path):
    """Give the words that make the plugin known, and the folder that Python has to know."""
    return ["--plugins", str(PLUGINS)], tmp_path


def by_entry_point(tmp_path):
    """As in_a_folder, for an installed distribution."""
    shutil.copytree(PLUGINS / "layers", tmp_path / "somebody" / "layers")
    for package in ("somebody", "somebody/layers"):
        (tmp_path / package / "__init__.py").touch()
    facts = tmp_path / "somebody-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: somebody\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[tare.layers]\nsomebody = somebody.layers\n")
    return [], tmp_path


@pytest.fixture
def own_home(tmp_path):
    """A home without other sessions, with the userlands that were built already."""
    folder = tmp_path / "home"
    folder.mkdir()
    (home() / "userland").mkdir(parents=True, exist_ok=True)
    (folder / "userland").symlink_to(home() / "userland")
    return folder


@pytest.mark.needs("host")
@pytest.mark.parametrize(
    "known", [in_a_folder, pytest.param(by_entry_point, marks=pytest.mark.slow)]
)
def test_a_plugin_is_listed_and_measured(own_home, tmp_path, known):
    words, path = known(tmp_path)
    environment = os.environ | {"TARE_HOME": str(own_home), "PYTHONPATH": str(path)}

    def tare(*more):
        argv = [sys.executable, "-m", "tare.cli", *words, *map(str, more)]
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=600, env=environment, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    (tmp_path / "study.yaml").write_text(yaml.safe_dump(STUDY))
    results = tmp_path / "results"

    listed = [line.split(maxsplit=1) for line in tare("list", "layers").splitlines()]
    tare("run", tmp_path / "study.yaml", "--into", results)

    at = [first for first, _ in listed].index("namespace")
    assert listed[at][1].startswith("Namespaces without an engine")
    assert listed[at + 1] == ["hostname:", "tare"]
    found = load(results)
    cells = {cell.id for cell in found.plan.cells if "namespace" in cell.stack}
    trials = [trial for trial in found.trials if trial.cell in cells]
    assert len(trials) >= STUDY["repetition"]["min_blocks"]
    assert all(trial.status in (Status.OK, Status.SUSPECT) for trial in trials)
    assert all(trial.samples["events"] > 0 for trial in trials)
