"""A platform taken apart: its switches become platforms, and their costs are found."""

import io
import json
import math
from dataclasses import replace
from random import Random

import pytest
import yaml
from rich.console import Console

from tare.cli.listing.catalogue import describe as describe_layer
from tare.core.errors import ConfigError
from tare.core.model import Contrast, ContrastKind, Ladder, LadderSwitch, Status
from tare.experiment.design import make_plan
from tare.experiment.study import read_study
from tare.experiment.study.ladder import neighbours
from tare.machines import layers
from tare.machines.layer import kind
from tare.present.charts.catalogue import figures
from tare.present.export.latex import latex
from tare.present.export.markdown import markdown
from tare.present.page.html import Pages
from tare.present.report import as_json, describe
from tare.present.terminal.verdicts import show
from tare.present.view.reasons import reason_text
from tare.results.store import load
from tare.results.study import compare, decided
from unit.conftest import PLUGINS
from unit.makers import make_cell, make_trial
from unit.makers import make_plan as plan_of
from unit.plugins.switched import COSTS, TOGETHER

HEAD = """
name: apart
limits: {cpus: 1, memory: 1GiB}
workloads: [{sysbench_cpu: {threads: 1, time: 1 s}}]
"""


def declare(ladder, **sections):
    study = {**yaml.safe_load(HEAD), "ladder": ladder, **sections}
    return read_study(yaml.safe_dump(study), "study.yaml")


def refused(ladder, **sections):
    with pytest.raises(ConfigError) as error:
        declare(ladder, **sections)
    return str(error.value)


def settings(study, platform):
    (found,) = (one for one in study.platforms if one.name == platform)
    return dict(found.settings)


@pytest.fixture
def switched(monkeypatch):
    """The simulated layer of this name, with switches of known costs."""
    monkeypatch.setattr(layers, "__path__", [*layers.__path__, PLUGINS])


def test_a_ladder_has_both_ends_and_each_switch_turned_alone():
    study = declare({"stack": "host/docker", "switches": ["network", "seccomp", "storage"]})

    assert [one.name for one in study.platforms] == [
        "host",
        "docker",
        "docker bare",
        "docker -seccomp",
        "docker -storage",
        "docker -network",
        "docker bare +seccomp",
        "docker bare +storage",
        "docker bare +network",
    ]
    (ladder,) = study.ladders
    assert (ladder.default, ladder.bare) == ("docker", "docker bare")
    assert [(one.name, one.on, one.off) for one in ladder.switches] == [
        ("seccomp", "on", "off"),
        ("storage", "overlay", "volume"),
        ("network", "bridge", "host"),
    ]


def test_the_default_end_is_the_engines_own_default_and_not_that_of_the_layer():
    study = declare("host/docker")

    assert settings(study, "docker")["docker.network"] == "bridge"
    assert settings(study, "docker bare")["docker.network"] == "host"
    assert settings(study, "docker")["docker.seccomp"] is True
    assert "docker.capabilities" not in settings(study, "docker")
    assert settings(study, "docker bare")["docker.capabilities"] == "all"


def test_a_switch_that_is_not_turned_stands_where_the_engine_has_it_unless_it_is_given():
    chosen = {"stack": "host/docker", "switches": ["seccomp", "storage"]}

    assert settings(declare(chosen), "docker bare")["docker.network"] == "bridge"
    given = declare({**chosen, "docker": {"network": "none"}})
    assert settings(given, "docker bare")["docker.network"] == "none"


def test_of_few_switches_platforms_that_are_the_same_are_measured_once():
    one = declare({"stack": "host/docker", "switches": ["seccomp"]})
    two = declare({"stack": "host/docker", "switches": ["seccomp", "storage"]})

    assert [each.name for each in one.platforms] == ["host", "docker", "docker bare"]
    assert len(two.platforms) == 5
    (seccomp, storage) = two.ladders[0].switches
    assert seccomp.only == storage.without == "docker -storage"


def test_emulated_devices_do_not_bring_another_kernel_with_them():
    study = declare("host/qemu-tcg")

    assert {settings(study, one.name).get("qemu-tcg.kernel") for one in study.platforms[1:]} == {
        "generic"
    }


def test_a_ladder_stands_beside_other_platforms_and_other_ladders():
    study = declare(
        [{"stack": "host/docker", "name": "a", "switches": ["seccomp"]}, "host/gvisor"],
        platforms=["host", "host/podman"],
    )

    assert [one.default for one in study.ladders] == ["a", "gvisor"]
    assert {"host", "host/podman", "a", "a bare", "gvisor bare"} <= {
        one.name for one in study.platforms
    }


def test_the_plan_keeps_the_ladder_and_the_cells_are_those_of_the_same_platforms():
    study = declare({"stack": "host/docker", "switches": ["seccomp"]})
    plan = make_plan(study, 1)

    (ladder,) = plan.ladders
    assert ladder.switches[0].without == "docker bare"
    alone = declare(
        {"stack": "host/gvisor"},
        platforms=["host", {"stack": "host/docker", "name": "docker",
                            "docker": {"network": "bridge"}}],
    )  # fmt: skip
    mine, same = (
        {one.id for one in made.cells if one.platform == "docker"}
        for made in (plan, make_plan(alone, 1))
    )
    assert mine == same


def test_new_settings_of_docker_leave_the_cells_of_earlier_studies_as_they_were():
    study = declare(
        {"stack": "host/gvisor"}, platforms=["host", {"stack": "host/docker", "name": "d"}]
    )

    assert sorted(settings(study, "d")) == [
        f"docker.{name}"
        for name in ("image", "network", "privileged", "runtime", "seccomp", "storage")
    ]


@pytest.mark.parametrize(
    ("ladder", "sections", "said"),
    [
        ("host/nspawn", {}, "ladder: the layer nspawn has no switches"),
        ("host", {}, "ladder: the layer host has no switches"),
        ("host/dokcer", {}, "no layer is called 'dokcer'"),
        ({"stack": "host/docker", "switches": ["sec"]}, {}, "there is no switch 'sec'"),
        ({"stack": "host/docker", "switches": ["init", "init"]}, {}, "stands above"),
        ({"stack": "host/docker", "switches": []}, {}, "empty list"),
        (
            {"stack": "host/docker", "docker": {"seccomp": False}},
            {},
            "ladder.docker.seccomp: the ladder turns this by its switch 'seccomp'",
        ),
        ({"stack": "host/docker", "docker": {"runtime": ["runc", "crun"]}}, {}, "not a factor"),
        ({"stack": "host/docker", "limits": 1}, {}, "unknown key"),
        ({"switches": ["init"]}, {}, "ladder.stack: found no value"),
        ("host/docker", {"platforms": ["host", {"stack": "host/docker", "name": "docker"}]},
         "two platforms are called 'docker'"),
        ("host/docker", {"repetition": {"design": "duet"}}, "of a ladder are compared with each"),
        ({"stack": "host/qemu-tcg", "qemu-tcg": {"machine": "q35"}}, {}, "q35 has no IDE"),
        ({"stack": "host/docker", "name": "a\nb"}, {}, "ladder.name: found"),
    ],
)  # fmt: skip
def test_what_cannot_be_taken_apart_is_refused_with_its_line(ladder, sections, said):
    message = refused(ladder, **sections)

    assert said in message
    assert message.startswith("study.yaml:")
    assert "\n" not in message


def text_of(lab, ladder=None, noise=0.004, **repetition):
    sections = {
        "ladder": ladder or {"stack": "host/switched", "name": "s", "switched": {"noise": noise}},
        "repetition": {"min_blocks": 20, "max_blocks": 20, "instances": 1, **repetition},
    }
    return lab.text({"base": {"sim": {"noise": noise}}}, **sections)


def taken_apart(results):
    (found,) = compare(results.plan, results.trials, results.facts).ladders
    return found


def holds(found, truth):
    return found.low <= truth <= found.high and found.cost == pytest.approx(truth, rel=0.01)


def test_the_known_cost_of_every_switch_is_found_from_both_ends(lab, switched):
    found = taken_apart(lab.run(text_of(lab)))
    by_name = {one.switch.name: one for one in found.switches}

    for name, cost in COSTS.items():
        together = TOGETHER if name in ("filter", "net") else 1.0
        assert holds(by_name[name].from_default, cost * together), name
        assert holds(by_name[name].from_bare, cost), name
        assert by_name[name].took_effect
    product = COSTS["filter"] * COSTS["net"] * COSTS["disk"]
    assert holds(found.between, product * TOGETHER)
    assert holds(found.default, product * TOGETHER)
    assert holds(found.bare, 1.0)


def test_what_two_switches_cost_only_together_is_the_rest(lab, switched):
    found = taken_apart(lab.run(text_of(lab)))
    product = COSTS["filter"] * COSTS["net"] * COSTS["disk"]

    assert holds(found.from_default.total, product * TOGETHER**2)
    assert holds(found.from_default.rest, 1 / TOGETHER)
    assert holds(found.from_bare.total, product)
    assert holds(found.from_bare.rest, TOGETHER)


def test_a_switch_without_an_effect_is_told_and_is_in_no_sum(lab, switched):
    found = taken_apart(lab.run(text_of(lab)))
    idle = found.switches[-1]

    assert (idle.switch.name, idle.took_effect) == ("idle", False)
    assert found.from_bare.total.pairs == 20
    without_facts = lab_costs_without_facts(lab.run(text_of(lab)))
    assert without_facts.switches[-1].took_effect is None
    assert without_facts.from_bare.total.cost != found.from_bare.total.cost


def lab_costs_without_facts(results):
    (found,) = compare(results.plan, results.trials).ladders
    return found


def test_the_rest_of_a_study_that_was_stored_is_read_without_the_layer(lab, switched, monkeypatch):
    results = lab.run(text_of(lab, min_blocks=8, max_blocks=8))
    monkeypatch.undo()

    assert load(results.folder).plan.ladders == results.plan.ladders
    assert taken_apart(load(results.folder)).between.cost > 1.3


def test_a_plan_of_an_earlier_tare_has_no_ladder(lab):
    results = lab.run(lab.text({"base": {"sim": {}}}, repetition={"max_blocks": 8}))
    path = results.folder / "plan.json"
    path.write_text(path.read_text().replace(', "ladders": []', ""))

    assert '"ladders"' not in path.read_text()
    assert load(results.folder).plan == results.plan


def noisy_neighbours():
    """Two ends of a ladder, both three times as dear as the baseline, and 1 % apart in noise."""
    cells = {name: make_cell(name) for name in ("base", "s", "s bare")}
    costs = {"base": 1.0, "s": 3.0, "s bare": 3.0}
    only = LadderSwitch(name="a", about="a", on="on", off="off", without="s bare", only="s")
    ladder = Ladder(default="s", bare="s bare", switches=(only,))
    random = Random(4)  # noqa: S311 - the same every time
    trials = [
        make_trial(cell, block, samples={"time": costs[name] * math.exp(random.gauss(0, 0.05))})
        for name, cell in cells.items()
        for block in range(8)
    ]
    plan = plan_of(*cells.values(), min_blocks=8, max_blocks=100)
    attributed = tuple(
        Contrast(cell=cells[one].id, reference=cells[other].id, kind=ContrastKind.ATTRIBUTION)
        for one, other in neighbours(ladder)
    )
    plan = replace(plan, ladders=(ladder,), contrasts=(*plan.contrasts, *attributed))
    return plan, trials, cells


def test_neighbours_go_on_although_both_are_told_from_the_baseline():
    plan, trials, cells = noisy_neighbours()

    assert decided(plan, trials) == set()
    alone = replace(plan, ladders=(), contrasts=tuple(plan.decided_by.values()))
    assert decided(alone, trials) == {cell.id for cell in cells.values()}


def test_a_sum_leaves_out_blocks_that_failed_and_says_how_many():
    plan, trials, cells = noisy_neighbours()
    failed = make_trial(cells["s"], 3, status=Status.FAILED)
    kept = [one for one in trials if (one.cell, one.block) != (cells["s"].id, 3)]

    (found,) = compare(plan, [*kept, failed]).ladders
    assert (found.from_bare.total.pairs, found.from_bare.total.left_out) == (7, 1)
    assert found.between.failed == 1


def test_a_ladder_with_an_end_that_is_unavailable_says_so():
    plan, trials, cells = noisy_neighbours()
    kept = [one for one in trials if one.cell != cells["s"].id]
    absent = make_trial(cells["s"], status=Status.UNAVAILABLE, reason="there is none")

    (found,) = compare(plan, [*kept, absent]).ladders
    assert reason_text(found.between.reason) == "there is none"
    assert reason_text(found.from_bare.rest.reason) == "s is unavailable: there is none"
    assert found.from_bare.rest.cost is None


def test_a_ladder_of_which_nothing_was_measured_has_no_cost_and_says_why():
    plan, _, _ = noisy_neighbours()

    (found,) = compare(plan, []).ladders
    assert found.from_default.total.cost is None
    assert reason_text(found.from_default.total.reason) == "no block has all its platforms"


def printed(results, width=130):
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(show(describe(results)))
    return console.export_text()


def test_the_terminal_the_exports_and_the_page_show_each_switch(lab, switched):
    results = lab.run(text_of(lab))
    found = describe(results)

    shown = printed(results)
    assert "Shown to cost something, seen from the default: filter (+" in shown
    assert "Without any effect on this host, and so without a cost: idle." in shown
    assert "filter None → off" in shown
    assert "filter None" not in printed(results, width=80)
    assert "s: sysbench\\_cpu: filter (on → off): +" in markdown(found)
    assert "filter (on $\\rightarrow$ off): +" in latex(found)
    page = Pages(found).report({})
    assert '<h2 id="switches">' in page
    assert "rest is what the sum lacks" in page


def test_programs_get_the_costs_of_a_ladder_as_ratios(lab, switched):
    results = lab.run(text_of(lab, min_blocks=8, max_blocks=8))
    (found,) = as_json(describe(results))["ladders"]

    assert (found["platform"], found["bare_platform"]) == ("s", "s bare")
    by_name = {one["name"]: one for one in found["switches"]}
    assert by_name["net"]["from_bare"]["cost"] == pytest.approx(COSTS["net"], rel=0.02)
    assert by_name["net"]["from_bare"]["verdict"] == "slower"
    assert by_name["idle"]["took_effect"] is False
    assert by_name["filter"]["read"] == {"filter": ["None", "off"]}
    assert found["rest_from_bare"]["cost"] == pytest.approx(TOGETHER, rel=0.02)
    assert json.dumps(found)


def test_the_chart_has_every_switch_that_had_an_effect_at_both_ends(lab, switched):
    found = describe(lab.run(text_of(lab, min_blocks=8, max_blocks=8)))
    (figure,) = (one for one in figures(found) if one.name == "ladder")
    values = figure.draw(1000)["data"]["values"]

    names = ["filter", "net", "disk", "sum", "rest", "all at once"]
    ends = ["default end of s: sysbench_cpu", "bare end of s: sysbench_cpu"]
    assert [(one["group"], one["line"]) for one in values] == [
        (end, name) for end in ends for name in names
    ]
    assert "without an effect on this host: idle" in figure.caption
    assert [one["decided"] for one in values if one["line"] == "filter"] == [True, True]


def test_a_study_without_a_ladder_has_no_such_part(lab):
    found = describe(lab.run(lab.text({"base": {"sim": {}}}, repetition={"max_blocks": 8})))

    assert 'id="switches"' not in Pages(found).report({})
    assert as_json(found)["ladders"] == []
    assert "ladder" not in [one.name for one in figures(found)]


def test_the_list_of_layers_names_the_switches_and_settings_of_one_word():
    docker = describe_layer("docker", kind)

    assert docker.switches[:2] == ("seccomp", "capabilities")
    assert {"capabilities", "init"} <= {one.name for one in docker.parameters}
    assert "accel" not in {one.name for one in describe_layer("kvm", kind).parameters}
    assert describe_layer("nspawn", kind).switches == ()
