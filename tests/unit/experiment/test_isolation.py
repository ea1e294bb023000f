"""The scenario ``isolation``: its study file, its plan, and the workload with its neighbour."""

from itertools import pairwise

import pytest

from tare.core.errors import ConfigError
from tare.core.model import ContrastKind, Neighbour, NeighbourCpus, neighbour_of
from tare.core.model.group import group
from tare.experiment import scenario
from tare.experiment.design import make_plan
from tare.experiment.scenarios._disturbed import Disturbed
from tare.experiment.study import read_study
from tare.work import workload
from tare.work.roles import OWN

TEXT = """\
name: neighbours
scenario: isolation
platforms: [host, host/docker]
limits: {{cpus: 1, memory: 256MiB}}
workloads: [{workload}]
neighbours: {neighbours}
repetition: {{min_blocks: 3, max_blocks: 4, instances: 2{repetition}}}
"""


def read(neighbours, workload="integer_loop", repetition=""):
    text = TEXT.format(neighbours=neighbours, workload=workload, repetition=repetition)
    return read_study(text, "study.yaml")


def planned(neighbours, **others):
    return make_plan(read(neighbours, **others), 1)


def said(cell):
    neighbour = neighbour_of(cell.params)
    return cell.platform, cell.replica, neighbour and (neighbour.stressor, neighbour.count)


def test_each_workload_is_crossed_with_the_neighbours_on_each_platform():
    plan = planned("[{stressor: cpu, count: [1, 2]}, {stressor: idle}]")

    assert [said(cell) for cell in plan.cells] == [
        (platform, 0, neighbour)
        for neighbour in (None, ("cpu", 1), ("cpu", 2), ("idle", 1))
        for platform in ("host", "host/docker")
    ] + [("host", 1, None)]
    assert len({cell.id for cell in plan.cells}) == len(plan.cells)


def test_what_has_a_neighbour_is_compared_with_the_same_platform_alone():
    plan = planned("[{stressor: cpu}, {stressor: idle}]")
    cells = plan.cells_by_id

    assert len(plan.contrasts) == 5
    for one in plan.contrasts:
        cell, reference = cells[one.cell], cells[one.reference]
        assert neighbour_of(reference.params) is None
        assert cell.platform == reference.platform
        assert not reference.replica
        control = ContrastKind.CONTROL
        assert one.kind is (control if cell.replica else ContrastKind.ISOLATION)
    assert plan.reference == "host"
    assert {cell.platform for cell in plan.platform_cells} == {"host", "host/docker"}
    assert all(neighbour_of(cell.params) is None for cell in plan.platform_cells)


def test_the_cells_of_a_workload_stand_together_in_each_block():
    plan = planned("[{stressor: cpu}]", workload="integer_loop, sysbench_cpu")
    cells = plan.cells_by_id

    for block in range(4):
        names = [cells[slot.cell].workload for slot in plan.slots if slot.block == block]
        assert len(names) == 10
        assert sum(one != other for one, other in pairwise(names)) == 1


def test_a_neighbour_has_the_cpus_of_the_workload_or_others():
    plan = planned("[{stressor: cpu, count: 2}, {stressor: cpu, cpus: apart}]")
    # The workload's own, the first neighbour's on either set, the second neighbour's.
    assert plan.sets_of_parts == (0, 0, 1, 0)
    assert plan.most_parts == 4

    for slot in plan.slots:
        neighbour = neighbour_of(plan.cells_by_id[slot.cell].params)
        first = 4 * (slot.block % 2)
        places = {
            None: {"": 0},
            Neighbour(stressor="cpu", count=2): {"command": 0, "neighbour1": 1, "neighbour2": 3},
            Neighbour(stressor="cpu", cpus=NeighbourCpus.APART): {"command": 0, "neighbour1": 2},
        }[neighbour]
        assert {one.part: one.instance - first for one in slot.placements} == places


def test_a_neighbour_may_be_on_another_platform_and_is_placed_on_its_instances():
    text = "[{stressor: cpu, platform: host/docker, count: 2}, {stressor: cpu}]"
    plan = planned(text)
    cells = plan.cells_by_id

    for slot in plan.slots:
        cell = cells[slot.cell]
        neighbour = neighbour_of(cell.params)
        other = neighbour.platform if neighbour else None
        expected = "host/docker" if other and cell.platform != other else ""
        assert [one.platform for one in slot.placements[1:]] == (
            [expected] * (neighbour.count if neighbour else 0)
        )
        assert slot.placements[0].platform == ""
    apart = [cell for cell in plan.cells if (of := neighbour_of(cell.params)) and of.platform]
    assert [(cell.platform, neighbour_of(cell.params).count) for cell in apart] == [
        ("host", 2),
        ("host/docker", 2),
    ]
    for cell in apart:
        reference = cells[plan.decided_by[cell.id].reference]
        assert (reference.platform, neighbour_of(reference.params)) == (cell.platform, None)


def test_a_neighbour_on_a_platform_with_fewer_instances_shares_them_between_places():
    text = TEXT.replace("host/docker]", "{{name: box, stack: host/docker, instances: 1}}]")
    wanted = text.format(
        neighbours="[{stressor: cpu, platform: box}]", workload="integer_loop", repetition=""
    )
    plan = make_plan(read_study(wanted, "study.yaml"), 1)

    found = {
        (slot.block % 2, placement.platform, placement.instance)
        for slot in plan.slots
        if plan.cells_by_id[slot.cell].platform == "host"
        for placement in slot.placements
    }
    assert found == {(0, "", 0), (1, "", 2), (0, "box", 1), (1, "box", 1)}


def test_a_neighbours_platform_is_a_part_of_what_it_is_and_none_of_its_group():
    alone = planned("[{stressor: cpu, platform: host}]")
    kept = [neighbour_of(cell.params) for cell in alone.cells]
    assert {one.platform for one in kept if one} == {"host"}
    assert len({group(cell) for cell in alone.cells}) == 1


@pytest.mark.parametrize("cpus", ["sibling", "cache", "socket"])
def test_a_neighbours_cpus_may_be_named_by_what_they_share_with_the_workloads(cpus):
    plan = planned(f"[{{stressor: cpu, cpus: {cpus}, count: 2}}, {{stressor: cpu}}]")

    assert plan.sets_of_parts == (0, 0, cpus, cpus)
    for slot in plan.slots:
        neighbour = neighbour_of(plan.cells_by_id[slot.cell].params)
        if neighbour and neighbour.count == 2:
            assert neighbour.cpus == cpus
            assert [one.instance % 4 for one in slot.placements] == [0, 2, 3]


def test_a_plan_of_parts_with_cpus_of_their_own_says_nothing_of_them():
    assert planned("[{stressor: cpu, cpus: apart}]").cpu_sets == ()
    assert planned("[{stressor: cpu}]").cpu_sets == (0, 0)


def test_a_disturbed_workload_is_the_workload_with_roles():
    alone = workload.load("sysbench_cpu", threads=1)
    made = Disturbed(workload=alone, neighbour=Neighbour(stressor="cpu", count=2))

    assert made.command() == alone.command()
    assert made.metrics == alone.metrics
    assert made.prepare() == alone.prepare()
    assert made.before_trial() == alone.before_trial()
    assert made.expected_s() == alone.expected_s()
    assert made.tools() == alone.tools()
    assert [one.name for one in made.roles() if one.place == OWN] == ["neighbour1", "neighbour2"]
    assert set(alone.all_packages()) < made.all_packages() | {"stress-ng"}
    assert list(made.all_roles().objections()) == []


@pytest.mark.parametrize(
    ("stressor", "ceiling"), [("fork", 84), ("memory", 35), ("cpu", None), ("idle", None)]
)
def test_bombs_have_a_ceiling_of_processes(stressor, ceiling):
    made = Disturbed(
        workload=workload.load("sysbench_cpu", threads=1), neighbour=Neighbour(stressor=stressor)
    )
    chosen = scenario.load("isolation")

    assert chosen.process_ceiling(made) == ceiling
    assert chosen.process_ceiling(made.workload) is None


def test_an_idle_neighbour_is_an_instance_that_sleeps():
    made = Disturbed(
        workload=workload.load("sysbench_cpu", threads=1), neighbour=Neighbour(stressor="idle")
    )
    (role,) = made.roles()
    assert role.command == ["sleep", "infinity"]


def test_roles_of_the_workload_stay_in_front():
    alone = workload.load("iperf")
    made = Disturbed(workload=alone, neighbour=Neighbour(stressor="cpu"))
    chosen = scenario.load("isolation")

    assert list(made.roles())[: len(alone.roles())] == list(alone.roles())
    assert list(chosen.parts(made)) == ["command", "neighbour1"]
    assert list(chosen.cpu_sets(made)) == [0, 0]


@pytest.mark.parametrize(
    ("neighbours", "says"),
    [
        ("[{stressor: tsunami}]", r"study.yaml:6:.*neighbours\[0\].stressor: .*'tsunami'.*cpu"),
        ("[{count: 2}]", r"study.yaml:6:.*neighbours\[0\].*missing stressor"),
        ("[{stressor: cpu, count: 0}]", r"neighbours\[0\].count: 0 was given; expected 1 to 128"),
        ("[{stressor: cpu, intensity: 120%}]", r"neighbours\[0\].intensity: 1.2 was given"),
        (
            "[{stressor: cache, intensity: 50%}]",
            r"intensity: 0.5 was given, and cache runs at full",
        ),
        ("[{stressor: disk, intensity: 50%}]", r"intensity: 0.5 was given, and disk runs at full"),
        ("[{stressor: cpu, intensity: 0.1%}]", r"intensity: stressor cpu: level: 0.001 was given"),
        ("[{stressor: idle, intensity: 50%}]", r"intensity: an idle neighbour has none"),
        ("[{stressor: cpu}, {stressor: cpu}]", r"neighbours\[1\].*the same stands above"),
        ("[{stressor: cpu, dose: 3}]", r"neighbours\[0\].dose: unknown key"),
        ("[{stressor: cpu, level: 3}]", r"level: 3 was given; expected more than 0, at most 1"),
        ("[{stressor: cpu, level: most}]", r"level: .*most.* or full"),
        ("[{stressor: cpu, level: 90%, intensity: 50%}]", r"level: an intensity was given too"),
        ("[{stressor: cache, level: 90%}]", r"level: cache has none, as nothing reads back .* cpu"),
        ("[{stressor: idle, level: 90%}]", r"level: idle has none"),
        (
            "[{stressor: cpu, platform: host/kvm}]",
            r"study.yaml:6:.*neighbours: platform: 'host/kvm' is not a platform; expected one of",
        ),
    ],
)
def test_a_wrong_neighbour_is_named_with_its_line(neighbours, says):
    with pytest.raises(ConfigError, match=says):
        read(neighbours)


def test_limits_below_what_a_neighbour_takes_are_refused():
    with pytest.raises(ConfigError, match=r"limits: memory: 256 MiB were given; expected at least"):
        read("[{stressor: memory}]")


def test_neighbours_are_needed():
    text = "\n".join(line for line in TEXT.splitlines() if not line.startswith("neighbours"))
    with pytest.raises(ConfigError, match="neighbours"):
        read_study(text.format(workload="integer_loop", repetition=""), "study.yaml")


def test_a_duet_cannot_have_neighbours():
    with pytest.raises(ConfigError, match="a neighbour would disturb both halves of a duet"):
        read("[{stressor: cpu}]", repetition=", design: duet")


def test_a_wrong_name_does_not_make_the_keys_of_the_scenario_unknown():
    text = TEXT.format(neighbours="[{stressor: cpu}]", workload="integer_loop", repetition="")
    wrong = text.replace("name: ", "name: all ", 1)

    with pytest.raises(ConfigError, match="name: 'all ") as raised:
        read_study(wrong, "study.yaml")

    assert "unknown key" not in str(raised.value)
