"""The scenario ``scale``: its study file, its plan, and what a trial of several instances gives."""

import pytest

from tare.core.completed import Completed
from tare.core.errors import ConfigError
from tare.core.model import (
    ContrastKind,
    HostCost,
    InstanceCpus,
    Instances,
    Kind,
    Status,
    instances_of,
)
from tare.core.model.group import group
from tare.experiment import scenario
from tare.experiment.design import make_plan
from tare.experiment.design.admission import needs
from tare.experiment.scenarios._scaled import Scaled
from tare.experiment.scenarios._wrapped import Wrapped
from tare.experiment.study import read_study
from tare.experiment.trial.distributed import mean_of
from tare.work import workload
from tare.work.roles import OWN as IN_INSTANCE
from tare.work.roles import Role, Succeeds
from tare.work.workload import Measured, Workload

TEXT = """\
name: scale
scenario: scale
platforms: [host, host/docker]
limits: {{cpus: 1, memory: 256MiB}}
workloads: [{workload}]
instances: {instances}
repetition: {{min_blocks: 3, max_blocks: 4, instances: 1{repetition}}}
"""
QUICK = {"min_blocks": 2, "max_blocks": 2, "instances": 1, "warmup": 0}
COST = HostCost(cpu_s=2.0, run_delay_s=1.0, all_cpu_s=3.0, coverage=1.0, threads=2)


def read(instances, workload="integer_loop", repetition=""):
    text = TEXT.format(instances=instances, workload=workload, repetition=repetition)
    return read_study(text, "study.yaml")


def planned(instances, **others):
    return make_plan(read(instances, **others), 1)


def said(cell):
    found = instances_of(cell.params)
    return cell.platform, cell.replica, found.count


def test_each_workload_is_crossed_with_the_numbers_of_instances():
    plan = planned("[1, 2, 4]")

    assert [said(cell) for cell in plan.cells] == [
        (platform, 0, count) for count in (1, 2, 4) for platform in ("host", "host/docker")
    ] + [("host", 1, 1)]
    assert len({group(cell) for cell in plan.cells}) == 1
    assert len({cell.id for cell in plan.cells}) == len(plan.cells)


def test_one_instance_is_measured_whether_a_study_names_it_or_not():
    assert [said(cell) for cell in planned("[4]").cells] == [
        said(cell) for cell in planned("[1, 4]").cells
    ]


def test_several_instances_are_compared_with_one_of_the_same_platform_and_cpus():
    plan = planned("{count: [1, 4], cpus: [shared, own]}")
    cells = plan.cells_by_id

    scaling = [one for one in plan.contrasts if one.kind is ContrastKind.SCALING]
    assert len(scaling) == 4
    for one in scaling:
        cell, reference = cells[one.cell], cells[one.reference]
        assert cell.platform == reference.platform
        assert not reference.replica
        many, single = instances_of(cell.params), instances_of(reference.params)
        assert (many.count, single.count) == (4, 1)
        assert many.cpus is single.cpus
    assert {cell.platform for cell in plan.platform_cells} == {"host", "host/docker"}
    assert {instances_of(cell.params).count for cell in plan.platform_cells} == {1}


def test_instances_share_cpus_or_have_their_own():
    shared, own = planned("{count: 3, cpus: shared}"), planned("{count: 3, cpus: own}")

    assert shared.sets_of_parts == (0, 0, 0)
    assert own.sets_of_parts == (0, 1, 2)


def test_a_set_has_as_many_instances_as_its_own_cells_use():
    plan = planned("[1, 8]")
    sizes = {(one.platform, one.replica): len(plan.cpu_sets_of(one)) for one in plan.cells}

    assert sizes == {("host", 0): 8, ("host/docker", 0): 8, ("host", 1): 1}
    found = needs(read("[1, 8]"), plan)
    assert [(one.platform, one.instances) for one in found] == [
        ("host", 8),
        ("host/docker", 8),
        ("host", 1),
    ]


def test_overcommitted_instances_are_not_counted_with_all_their_memory():
    plain, over = (
        max(needs(study, make_plan(study, 1)), key=lambda one: one.passing_bytes).passing_bytes
        for study in (read("[8]"), read("{count: 8, overcommit: true}"))
    )

    assert plain == 8 * 256 * 2**20
    assert over == 256 * 2**20  # of the one alone


@pytest.mark.parametrize(
    ("instances", "why"),
    [
        ("[0]", "instances[0]: 0 was given; expected 1 to 1024"),
        ("[two]", "is not a number"),
        ("[2, 2]", "the same stands above"),
        ("{count: 2, cpu: own}", "unknown key"),
        ("[]", "an empty list"),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(instances, why):
    with pytest.raises(ConfigError, match=r"study\.yaml:6:") as raised:
        read(instances)
    assert why in str(raised.value)


class Tiered(type(workload.load("integer_loop"))):
    def roles(self):
        return [Role(name="base", command=["true"], place=IN_INSTANCE, ready=Succeeds(["true"]))]


def test_a_workload_whose_roles_have_their_own_instances_is_refused():
    with pytest.raises(ValueError, match="the roles command, base of a workload have instances"):
        list(scenario.load("scale").crossed(Tiered(), [Instances(count=2)]))


def test_a_duet_of_several_instances_is_refused():
    with pytest.raises(ConfigError, match="several instances at once are no duet"):
        read("[2]", repetition=", design: duet")


def test_the_parts_and_the_disk_are_those_of_all_instances():
    fio = workload.load("fio")
    scaled = Scaled(workload=fio, instances=Instances(count=3, cpus=InstanceCpus.OWN))

    assert scaled.parts() == ("1", "2", "3")
    assert scaled.disk_bytes() == 3 * fio.disk_bytes()
    assert scaled.expected_s() == 3 * fio.expected_s()
    assert list(scaled.command()) == list(fio.command())


def test_what_a_trial_cost_is_what_each_instance_cost_on_average():
    other = HostCost(cpu_s=4.0, run_delay_s=3.0, all_cpu_s=5.0, coverage=0.9, threads=4)

    found = mean_of([COST, other])

    assert (found.cpu_s, found.run_delay_s, found.all_cpu_s) == (3.0, 2.0, 4.0)
    assert (found.coverage, found.threads) == (0.9, 4)
    assert mean_of([COST, None]) is None
    assert mean_of([]) is None


def test_a_trial_gives_the_mean_and_what_each_instance_measured(lab):
    text = lab.text(
        {"base": {"sim": {"noise": 0.02}}}, scenario="scale", instances=[4], repetition=QUICK
    )
    results = lab.run(text)

    cells = results.plan.cells_by_id
    many = [one for one in results.trials if instances_of(cells[one.cell].params).count == 4]
    assert {one.kind for one in many} == {Kind.MEASURED}
    for trial in many:
        assert trial.status is Status.OK
        assert [part.name for part in trial.parts] == ["1", "2", "3", "4"]
        assert len({part.instance for part in trial.parts}) == 4
        for name, value in trial.samples.items():
            own = [part.samples[name] for part in trial.parts]
            assert value == pytest.approx(sum(own) / 4)


def test_of_a_trial_in_which_an_instance_fails_nothing_is_compared(lab, scripted):
    def plot(instance, verb, argv):
        if verb == "run" and "sysbench" in argv and "-1-" in instance.site.name:
            return Completed(argv, 1, b"", b"killed", 0.0)
        return None

    scripted.plot = plot
    text = lab.text(
        {"base": {"stack": "host/scripted"}}, scenario="scale", instances=[2], repetition=QUICK
    )
    results = lab.run(text)

    many = [one for one in results.trials if len(one.parts) == 2]
    assert many
    for trial in many:
        assert trial.status is Status.FAILED
        assert trial.reason.startswith("1 of 2 instances answered; ")
        assert "exit status 1: killed" in trial.reason
        assert not trial.samples
        assert {part.status for part in trial.parts} == {Status.OK, Status.FAILED}
        assert any(part.samples for part in trial.parts)


def test_levels_that_differ_in_overcommitted_memory_alone_are_refused():
    with pytest.raises(ConfigError, match="4 instances stand there with it and without"):
        read("[4, {count: 4, overcommit: true}]")

    plan = planned("[{count: 2}, {count: 4, overcommit: true}]")
    assert [said(cell)[2] for cell in plan.cells if cell.platform == "host/docker"] == [1, 2, 4]
    assert len({cell.id for cell in plan.cells}) == len(plan.cells)


def test_one_instance_on_shared_cpus_is_no_other_work_than_on_its_own_but_another_group():
    plan = planned("{count: [1, 2], cpus: [shared, own]}")

    assert len({group(cell) for cell in plan.cells}) == 2
    assert sum(one.kind is ContrastKind.CONTROL for one in plan.contrasts) == 2


DERIVED = {"all_packages", "all_programs", "all_roles", "uses_peer", "outlasts_trials"}
"""What a workload makes of its other words."""
OWN = {"makes", "overcommits"}
"""What a scenario says and no workload does."""


def test_a_wrapped_workload_passes_on_every_word_of_its_workload():
    said = {
        name
        for kind in (Workload, Measured)
        for name, value in vars(kind).items()
        if callable(value) and not name.startswith("_")
    }

    assert said - DERIVED - OWN <= vars(Wrapped).keys()
    for name in (*DERIVED, *OWN):
        assert name in said
