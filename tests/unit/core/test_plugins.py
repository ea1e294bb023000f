"""Layers and workloads from outside the tree are found; what is wrong with one is told."""

import re
import sys
from pathlib import Path

import pytest

from tare.cli import main
from tare.core import plugins
from tare.core.errors import ConfigError
from tare.machines import layer, layers
from tare.work import workload, workloads

LAYER = """
from dataclasses import dataclass
from tare.machines.layers import sim

@dataclass(frozen=True, kw_only=True)
class Layer(sim.Layer):
    pass
"""
BROKEN = {
    "syntax": ("class Layer(:", "invalid syntax"),
    "import": ("import nothing_of_that_name", "nothing_of_that_name"),
    "name": ("class Layers: pass", "has no attribute 'Layer'"),
}


@pytest.fixture(autouse=True)
def paths(monkeypatch):
    """The search paths as they are, whatever a test adds; and no module that it imported."""
    for package in (layers, workloads):
        monkeypatch.setattr(package, "__path__", list(package.__path__))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if "plugged" in name or name.startswith("somebody"):
            del sys.modules[name]


@pytest.fixture
def plugged(tmp_path):
    """A folder of plugins with one layer; gives how a module is written in it."""

    def write(text=LAYER, name="plugged", kind="layers"):
        folder = tmp_path / "own" / kind
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.py").write_text(text)
        return str(tmp_path / "own")

    return write


@pytest.fixture
def distribution(tmp_path, monkeypatch):
    """An installed package; gives how its entry points and its modules are written."""

    def write(entry_points, modules=()):
        facts = tmp_path / "somebody-1.0.dist-info"
        facts.mkdir()
        (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: somebody\nVersion: 1.0\n")
        (facts / "entry_points.txt").write_text(entry_points)
        for name, text in dict(modules).items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        monkeypatch.syspath_prepend(str(tmp_path))

    return write


def used(*folders):
    return list(plugins.use(folders))


def test_a_layer_in_a_folder_is_found_like_any_other(plugged):
    assert used(plugged()) == []

    assert "plugged" in layer.names()
    assert layer.load("plugged", cost=2.0).name == "plugged"


def test_a_workload_in_a_folder_is_found(plugged):
    text = "from tare.work.workloads.sysbench_cpu import Workload"

    assert used(plugged(text, kind="workloads")) == []

    assert "plugged" in workload.names()
    assert workload.load("plugged", threads=1).packages == ("sysbench",)
    assert "plugged" not in layer.names()


def test_a_folder_that_is_given_twice_is_used_once(plugged):
    folder = plugged()

    assert used(folder, folder) == []
    assert used(folder) == []
    assert len(set(layers.__path__)) == len(layers.__path__)


def test_a_folder_that_is_missing_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match=r"--plugins .*nowhere: there is no such folder"):
        used(str(tmp_path / "nowhere"))


def test_a_folder_without_plugins_is_an_error(tmp_path):
    with pytest.raises(
        ConfigError, match="expected layers/ or scenarios/ or stressors/ or workloads/ in that"
    ):
        used(str(tmp_path))


def test_the_command_line_says_that_a_folder_is_missing(tmp_path, capsys):
    assert main(["--plugins", str(tmp_path / "nowhere"), "list", "layers"]) == 2
    assert "there is no such folder" in capsys.readouterr().err


def test_a_module_that_has_a_name_of_tares_own_is_not_used_and_that_is_told(plugged):
    (told,) = used(plugged("raise SystemError", name="sim"))

    assert told.endswith("sim.py is not used: there are layers of that name")
    assert layer.load("sim").cost == 1.0


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_module_is_reported_and_hides_no_other(plugged, capsys, how):
    text, why = BROKEN[how]
    folder = plugged()
    plugged(text, name="plugged_broken")

    assert main(["--plugins", folder, "list", "layers"]) == 0

    lines = capsys.readouterr().out.splitlines()
    (line,) = (line for line in lines if "plugged-broken" in line)
    assert "broken: " in line
    assert why in line
    assert {"plugged", "docker"} <= {line.split()[0] for line in lines}
    with pytest.raises(ConfigError, match="layer plugged-broken cannot be loaded: "):
        layer.load("plugged-broken")


def test_a_module_of_an_installed_package_is_found(distribution):
    distribution(
        "[tare.layers]\nsomebody = somebody.layers\n",
        {
            "somebody/__init__.py": "",
            "somebody/layers/__init__.py": "",
            "somebody/layers/plugged.py": LAYER,
        },
    )

    assert used() == []

    assert layer.load("plugged").name == "plugged"


@pytest.mark.parametrize(
    ("entry", "modules", "told"),
    [
        ("nothing.layers", {}, "plugin somebody (nothing.layers): ModuleNotFoundError: "),
        ("somebody", {"somebody.py": ""}, "plugin somebody: somebody is not a package of layers"),
        ("somebody_else", {}, "plugin somebody: somebody_else is not a package of layers"),
        (
            "somebody.layers",
            {"somebody/__init__.py": "raise RuntimeError('it will not')"},
            "plugin somebody (somebody.layers): RuntimeError: it will not",
        ),
    ],
    ids=["missing package", "module", "missing module", "package that raises"],
)
def test_an_entry_point_that_is_broken_is_told_and_not_fatal(distribution, entry, modules, told):
    distribution(f"[tare.layers]\nsomebody = {entry}\n", modules)

    (problem,) = used()

    assert problem.startswith(told)
    assert layer.load("sim").name == "sim"


def test_the_command_line_goes_on_with_a_broken_entry_point(distribution, capsys):
    distribution("[tare.layers]\nsomebody = nothing.layers\n")

    assert main(["list", "layers"]) == 0

    said = capsys.readouterr()
    assert said.err.startswith("tare: plugin somebody (nothing.layers): ")
    assert "sim" in {line.split()[0] for line in said.out.splitlines()}


def _words(code):
    return [line.strip() for line in code.splitlines() if line.strip()]


def test_the_code_on_the_page_is_the_code_of_the_plugin():
    root = Path(__file__).parents[3]
    page = (root / "docs/how-to/add-a-layer.md").read_text()
    plugin = (root / "tests/plugins/layers/namespace.py").read_text()
    shown = re.findall(r"```python\n(.*?)```", page, re.DOTALL)

    assert shown
    # The formatter takes what is on a page for a module of its own: lines count, not their places.
    whole = "\n".join(_words(plugin))
    assert [code for code in shown if "\n".join(_words(code)) not in whole] == []
    assert plugin.count("\n") <= 150
