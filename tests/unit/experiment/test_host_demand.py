"""What a plan asks of a host besides memory, and what is said where the host lacks it."""

import pytest

from tare.cli import main
from tare.experiment.design import make_plan
from tare.experiment.design.host_demand import cpus_too_many, disk_need
from tare.experiment.study import load_study, preset_names, read_study

GIB = 2**30
STUDY = """
name: small
platforms: [host, host/docker]
limits: {cpus: 2, memory: [1GiB, 2GiB]}
workloads:
  - fio: {size: 1GiB, jobs: 4}
  - fio: {size: 512MiB, pattern: write}
  - sysbench_cpu
repetition: {instances: 3}
"""


def need(text=STUDY, **how):
    study = read_study(text, "small.yaml")
    return disk_need(study, make_plan(study, 1), **how)


def test_files_are_summed_over_all_instances_of_all_limits_and_the_control():
    found = need()

    # Two platforms and the control, three instances of each under each of two limits.
    assert found.instances == 3 * 3 * 2
    assert found.total_bytes == found.instances * 4.5 * GIB
    assert (found.largest, found.largest_bytes) == ("fio (size 1.0 GiB, jobs 4)", 4 * GIB)


def test_a_duet_has_its_files_on_both_sets_of_cpus():
    duet = "{instances: 3, design: duet, shared_devices: true}"
    both = STUDY.replace("{instances: 3}", duet)

    assert need(both).instances == 2 * 3 * 3 * 2
    assert need(both).total_bytes == need(both).instances * 4.5 * GIB
    assert need(both, by_blocks=True).instances == 2 * 3


def test_by_blocks_one_instance_of_each_platform_is_open_at_a_time():
    found = need(by_blocks=True)

    assert found.instances == 3
    assert found.total_bytes == 3 * 4.5 * GIB


def test_files_on_another_computer_do_not_count():
    ssh = STUDY.replace("[host, host/docker]", "[host, {stack: host/ssh, ssh: {address: other}}]")

    assert need(ssh).instances == 3 * 2 * 2


def test_the_number_that_is_too_large_is_named():
    found = need()

    assert found.too_large(100 * GIB) == ""
    said = found.too_large(80 * GIB)
    assert "81.0 GiB in 18 instances, 80.0 GiB are free" in said
    assert "the largest is fio (size 1.0 GiB, jobs 4): 4.0 GiB in each instance" in said


def test_more_cpus_than_the_host_has_are_named():
    study = read_study(STUDY.replace("cpus: 2", "cpus: [1, 2, 4]"), "small.yaml")

    assert cpus_too_many(study, 4) == ""
    assert cpus_too_many(study, 1) == "limits of 2, 4 CPUs are unavailable: this host has 1"


@pytest.mark.parametrize("preset", preset_names())
def test_a_plan_of_every_preset_states_time_disk_and_memory(preset, capsys):
    scale = ["--scale", "full"] if load_study(preset).scale else []

    assert main(["plan", preset, *scale]) == 0

    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line}
    assert {"time", "disk", "memory", "free"} <= set(lines)
