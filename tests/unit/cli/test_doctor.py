import argparse
import json
import os
import re
import time

import pytest
import yaml
from rich.console import Console

from tare.cli import CANNOT, DONE, doctor, listing
from tare.cli.listing import catalogue
from tare.core.completed import Completed
from tare.core.home import home
from tare.experiment import scenario
from tare.experiment.host.facts import NoiseSource
from tare.experiment.study.combinations import variants
from tare.experiment.study.item import compose
from tare.machines import layer, layers
from tare.machines.detection import Detected
from tare.work import stressor, workload

BROKEN = {
    "syntax.py": "def",
    "empty.py": "",
    "needy.py": "class Layer:\n    def __init__(self, port): pass",
    "raising.py": "class Layer:\n    def probe(self, outer, userland): return {}['key']",
    "failing.py": "from tare.core.errors import LayerError\n"
    "class Layer:\n    def probe(self, outer, userland): raise LayerError('no daemon')",
    "hanging.py": "class Layer:\n    def probe(self, outer, userland): outer.run(['sleep', '30'])",
}


class Empty:
    """A machine on which no program is installed."""

    name = "host/empty"
    ephemeral = False

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        return Completed(tuple(argv), 127, b"", b"not found", 0.0)


@pytest.fixture
def broken_layers(tmp_path, monkeypatch):
    for name, source in BROKEN.items():
        (tmp_path / name).write_text(source)
    monkeypatch.setattr(layers, "__path__", [str(tmp_path)])


@pytest.fixture
def nothing_built(tmp_path, monkeypatch):
    monkeypatch.setenv("TARE_HOME", str(tmp_path))


def printed(parts):
    console = Console(width=200)
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    return captured.get()


@pytest.mark.parametrize("name", ["host", "docker", "qemu", "kvm", "qemu-tcg"])
def test_a_layer_whose_tools_are_not_there_is_unavailable_and_says_what_fixes_it(name):
    found = doctor.ask(name, Empty())
    assert (found.layer, found.state) == (name, "unavailable")
    assert "host/empty" in found.reason
    assert found.fix


def test_a_layer_that_needs_settings_is_no_error():
    found = doctor.ask("ssh", Empty())
    assert found.state == "needs settings"
    assert "address" in found.reason
    assert "host/ssh" in found.fix


def test_the_simulated_layer_is_told_as_simulated():
    assert doctor.ask("sim", Empty()).state == "simulated"


@pytest.mark.usefixtures("broken_layers")
def test_broken_layers_are_told_and_one_that_hangs_is_ended():
    began = time.monotonic()
    found = {one.layer: one for one in doctor.examine(layer.names(), within_s=1)}
    assert time.monotonic() - began < 10
    assert {name: one.state for name, one in found.items()} == {
        "syntax": "broken",
        "empty": "broken",
        "needy": "needs settings",
        "raising": "broken",
        "failing": "broken",
        "hanging": "broken",
    }
    assert "invalid syntax" in found["syntax"].reason
    assert "port" in found["needy"].reason
    assert "KeyError" in found["raising"].reason
    assert found["failing"].reason == "no daemon"
    assert found["hanging"].reason == "did not answer in time"


@pytest.mark.usefixtures("broken_layers")
def test_broken_layers_are_listed():
    listed = catalogue.describe("syntax", layer.kind)
    assert listed.description.startswith("broken: ConfigError: layer syntax cannot be loaded")


@pytest.mark.parametrize(
    ("findings", "status"),
    [
        ([doctor.LayerState(layer="host", state="usable")], DONE),
        ([doctor.LayerState(layer="host", state="unavailable")], CANNOT),
        ([doctor.LayerState(layer="docker", state="usable")], CANNOT),
    ],
)
def test_the_status_tells_whether_the_host_itself_can_be_measured(findings, status):
    assert doctor.status(findings) == status


def test_the_page_tells_facts_layers_noise_and_what_to_do_next():
    usable = doctor.LayerState(layer="host", state="usable", uses={"host.cgroup": "v2"})
    lacking = doctor.LayerState(
        layer="docker", state="unavailable", reason="no [docker]", fix="apt-get install docker.io"
    )
    advice = NoiseSource("turbo is on", "the clock rate varies", "echo 0 > boost")
    facts = {"os": "Debian", "cpus": 2, "memory_bytes": 2**30}
    stack = [
        Detected("unknown", "", ("it does not show",)),
        Detected("kvm", "Firecracker micro-VM", ("cpuid: KVMKVMKVM", "no [DMI]")),
    ]
    text = printed(doctor.page(facts, stack, [usable, lacking], [advice]))
    for words in (
        "Debian, 2 CPUs, 1.0 GiB",
        "This host is: unknown > KVM (Firecracker micro-VM)\n",
        "      cpuid: KVMKVMKVM",
        "      no [DMI]",
        "usable       cgroup v2",
        "unavailable  no [docker]",
        "Fix: apt-get install docker.io",
        "turbo is on",
        "Fix: echo 0 > boost",
        "Next: tare run quick",
    ):
        assert words in text
    text = printed(doctor.page({}, stack, [lacking], []))
    assert "nothing that Tare knows of" in text
    assert "Nothing can be measured here" in text


@pytest.mark.usefixtures("nothing_built")
def test_this_host_is_examined_for_programs_and_for_people(capsys):
    status = doctor.run(argparse.Namespace(json=True))
    report = json.loads(capsys.readouterr().out)
    assert [one["layer"] for one in report["layers"]] == layer.names()
    assert report["facts"]["kernel"] == os.uname().release
    assert all(step["title"] and step["evidence"] for step in report["facts"]["detected"])
    state = {one["layer"]: one["state"] for one in report["layers"]}
    assert status == (DONE if state["host"] == "usable" else CANNOT)
    assert state["kvm"] == "unavailable"  # nothing is built, so nothing could be booted

    assert doctor.run(argparse.Namespace(json=False)) == status
    lines = capsys.readouterr().out.splitlines()
    assert all(line == line.rstrip() and "\x1b" not in line for line in lines)


@pytest.mark.usefixtures("nothing_built")
def test_without_a_built_userland_none_is_given_and_nothing_is_built(tmp_path):
    with doctor.built_userland() as userland:
        assert userland is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("what", ["layers", "workloads", "stressors", "scenarios", "studies"])
def test_everything_is_listed_for_programs_and_for_people(what, capsys):
    assert listing.run(argparse.Namespace(what=what, json=True)) == DONE
    listed = json.loads(capsys.readouterr().out)
    names = {
        "layers": layer.names(),
        "workloads": workload.names(),
        "stressors": stressor.names(),
        "scenarios": scenario.names(),
        "studies": ["quick"],
    }
    assert set(names[what]) <= {one["name"] for one in listed}
    assert all(one["description"] and "\n" not in one["description"] for one in listed)
    assert listing.run(argparse.Namespace(what=what, json=False)) == DONE
    text = capsys.readouterr().out
    assert all(one["description"] in text for one in listed)


def test_a_list_wraps_within_the_terminal_and_marks_what_is_secondary():
    rows = [
        ("docker", "a container of the engine that everybody has", ""),
        ("", "  cpus: 1", " or 2"),
    ]
    plain = list(listing.lines(rows, 40, styled=False))
    styled = "\n".join(listing.lines(rows, 40, styled=True))

    assert all(len(line) <= 40 for line in plain)
    assert plain[0].startswith("  docker  a container")
    assert plain[-1] == "            cpus: 1 or 2"
    assert "\x1b[1mdocker\x1b[0m" in styled
    assert "\x1b[2m or 2\x1b[0m" in styled


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("TARE_HOME", str(tmp_path))


def test_a_list_is_kept_until_a_file_of_tare_changes(monkeypatch):
    made = listing.read("scenarios")
    monkeypatch.setattr(listing, "_made", lambda what: {"broken": False, "rows": [what]})

    assert listing.read("scenarios")["rows"] == json.loads(json.dumps(made["rows"]))
    monkeypatch.setattr(listing, "_version", lambda: "of other files")
    assert listing.read("scenarios")["rows"] == ["scenarios"]


def test_a_list_with_a_broken_module_is_made_anew_each_time(monkeypatch):
    monkeypatch.setattr(listing, "_made", lambda what: {"broken": True, "rows": [what]})
    listing.read("studies")
    monkeypatch.setattr(listing, "_made", lambda what: {"broken": False, "rows": []})

    assert listing.read("studies")["rows"] == []


@pytest.mark.usefixtures("broken_layers")
def test_with_plugins_nothing_is_kept(monkeypatch):
    monkeypatch.setattr(listing, "_made", lambda what: {"broken": False, "rows": []})
    listing.read("layers")
    assert not (home() / listing.SHELF / "layers.json").exists()


def test_parameters_have_defaults_units_and_choices():
    found = {one.name: one for one in catalogue.describe("fio", workload.kind).parameters}
    assert found["size_bytes"] == catalogue.Parameter(name="size_bytes", default=2**30, unit="B")
    assert (found["time_s"].unit, found["time_s"].choices) == ("s", ("none",))
    assert found["gtod_reduce"].choices == (True, False)
    assert found["direct"].choices == (True, False)
    assert "randrw" in found["pattern"].choices
    kvm = {one.name for one in catalogue.describe("kvm", layer.kind).parameters}
    assert kvm
    assert "accel" not in kvm  # it leaves no choice


@pytest.mark.parametrize(
    ("kind", "name"),
    [(found.kind, name) for found in (layer, workload) for name in found.names()],
)
def test_a_study_takes_every_key_and_value_that_is_listed(kind, name):
    _, *lines = listing.lines(
        list(catalogue.rows([catalogue.describe(name, kind)])), 1000, styled=False
    )
    found = [re.match(r" +(\w+): (.*?) *(?:   or .*)?$", line) for line in lines]
    given = {one[1]: one[2] for one in found if one and one[2] != "(not set)"}
    given.pop("job", None)  # it takes several lines
    root = compose(yaml.safe_dump(given), "study.yaml")

    variants(kind(name), root)

    assert [said for *_, said in root.problems.found if "missing" not in said] == []


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(2**30, "B", "1GiB"), (4096, "B", "4KiB"), (100, "B", "100 B"), (0, "B", "0 B"),
     (30, "s", "30 s"), (True, "", "true"), ("runc", "", "runc"), ("", "", "(not set)")],
)  # fmt: skip
def test_values_are_written_as_in_a_study_file(value, unit, text):
    assert catalogue.written(value, unit) == text


def test_arguments_are_declared():
    parser = argparse.ArgumentParser()
    doctor.arguments(parser)
    assert parser.parse_args(["--json"]).json
    parser = argparse.ArgumentParser()
    listing.arguments(parser)
    assert parser.parse_args(["layers"]).what == "layers"
