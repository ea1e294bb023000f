"""Numbers of studies that are no costs, and sums that no trial stores: ours of the same."""

from dataclasses import replace

import pytest

from tare.core.model import NO_FACTS, Better, Metric, Unit
from tare.results.published import analyse, load
from tare.results.published.by_study import hpe2016
from tare.results.published.study_comparison import NO_COST, Ours, compared_with, unpublished
from tare.results.published.sums import BOOT_DELETE, REBOOT_STOP_START, with_sums
from unit.makers import LIMITS, make_cell, make_plan, make_trial

THROUGHPUT = Metric("throughput", Unit.BYTE_PER_SECOND, Better.HIGHER)
EVENTS = Metric("events", Unit.PER_SECOND, Better.HIGHER)
PHASES = [Metric(name, Unit.SECOND, Better.LOWER) for name in ("boot", "delete", "soft_reboot",
                                                                "stop", "start")]  # fmt: skip
LIFE = {"workload": "lifecycle", "params": (("count", 1),)}
STREAM = {
    "workload": "netperf_stream",
    "params": (("protocol", "tcp"), ("time_s", 30)),
}
PRIMES = {
    "workload": "sysbench_cpu",
    "params": (("max_prime", 100), ("threads", 4), ("time_s", 30)),
}


def lives(docker, kvm):
    """Three blocks of lifecycles in which each platform has these times of its phases."""
    cells = [make_cell("kvm", stack="host/kvm", **LIFE),
             make_cell("docker", stack="host/docker", **LIFE)]  # fmt: skip
    plan = make_plan(*cells, metrics=tuple(PHASES), max_blocks=8)
    trials = [
        make_trial(cell, block, samples=samples)
        for block in range(8)
        for cell, samples in zip(cells, (kvm, docker), strict=True)
    ]
    return Ours(plan, trials, facts=NO_FACTS)


def of_metric(ours, metric):
    return [
        pair for pair in compared_with("hpe2016", ours).pairs if pair.ours.metric.name == metric
    ]


DOCKER = {"boot": 1.0, "delete": 0.5, "soft_reboot": 0.3, "stop": 0.2, "start": 0.5}
KVM = {"boot": 6.0, "delete": 4.0, "soft_reboot": 10.0, "stop": 5.0, "start": 5.0}


def test_the_totals_of_rally_are_sums_of_their_own_phases():
    ours = lives(DOCKER, KVM)

    (both,) = of_metric(ours, BOOT_DELETE)
    (all_three,) = of_metric(ours, REBOOT_STOP_START)
    assert both.printed.row.value == 30.57
    assert both.ours.cost == pytest.approx(1.5 / 10)
    assert all_three.printed.row.value == 90.76
    assert all_three.ours.cost == pytest.approx(1.0 / 20)


def test_without_one_phase_there_is_no_total():
    (pair,) = of_metric(lives({**DOCKER}, KVM), BOOT_DELETE)
    assert pair.ours.pairs == 8
    lost = {name: value for name, value in DOCKER.items() if name != "delete"}
    assert of_metric(lives(lost, KVM), BOOT_DELETE) == []


def test_a_total_that_we_made_is_not_listed_as_ours_alone():
    ours = lives(DOCKER, KVM)
    assert not {row.metric.name for row in unpublished([], ours)} & {BOOT_DELETE, REBOOT_STOP_START}
    assert "boot" in {row.metric.name for row in unpublished([], ours)}


def test_a_plan_without_lifecycles_has_no_sums():
    plan = make_plan(make_cell("docker", **PRIMES), metrics=(EVENTS,))
    assert with_sums(plan, ())[0] is plan


def measured(cell, *values, metric, resources=None):
    plan = make_plan(cell, metrics=(metric,), max_blocks=len(values))
    trials = [
        make_trial(cell, block, samples={metric.name: value}, resources=resources or {},
                   duration_s=30.0)
        for block, value in enumerate(values)
    ]  # fmt: skip
    return Ours(plan, trials, facts=NO_FACTS)


def bridge(network="bridge"):
    settings = (("docker.network", network),)
    return make_cell("docker bridge", stack="host/docker", settings=settings, **STREAM)


def test_the_range_of_our_bridge_stands_beside_that_of_ten_runs():
    part = compared_with("hpe2016", measured(bridge(), 90.0, 100.0, 95.0, metric=THROUGHPUT))

    (number,) = part.quantities
    assert (number.printed, number.unit, number.trials) == (14.1, "%", 3)
    assert number.ours == pytest.approx(10)
    assert number.difference == pytest.approx(-4.1)
    assert number.differs == ("the study is silent on what its percentage is of",)
    (missing,) = [one for one in part.missing if one.row == number.row]
    assert missing.reason == NO_COST
    assert missing not in part.not_here


@pytest.mark.parametrize(
    ("ours", "reason"),
    [
        (measured(bridge("host"), 90.0, 100.0, metric=THROUGHPUT), "has docker.network bridge"),
        (
            measured(bridge(), 90.0, metric=THROUGHPUT),
            "fewer than 2 trials have what it is made of",
        ),
        (
            measured(make_cell("docker", **PRIMES), 1.0, 2.0, metric=EVENTS),
            "netperf_stream is not in these results",
        ),
    ],
)
def test_a_range_that_is_not_here_has_a_reason(ours, reason):
    part = compared_with("hpe2016", ours)

    assert part.quantities == ()
    (said,) = [one.reason for one in part.not_here if "TCP_STREAM, bridge" in one.row.workload]
    assert reason in said


def sizes(platform, stack):
    limits = replace(LIMITS, cpus=4, memory_bytes=4096 * 2**20)
    return make_cell(platform, stack=stack, limits=limits, **PRIMES)


def cpus(cell, **resources):
    part = compared_with("cole2022", measured(cell, 1.0, 1.0, metric=EVENTS, resources=resources))
    return {one.row.metric: one for one in part.quantities}


def test_user_and_kernel_time_are_cpus_that_were_busy():
    used = cpus(sizes("docker", "host/docker"), layer_cpu_user_s=60.0, layer_cpu_system_s=1.5)

    user, kernel = used["user time"], used["kernel time"]
    assert (user.printed, user.ours, user.unit) == (120 / 30, 60 / 30, "CPUs")
    assert (kernel.printed, kernel.ours) == (0, pytest.approx(0.05))


def test_a_guests_times_are_by_its_own_kernel():
    guest = sizes("kvm", "host/kvm")

    assert cpus(guest, layer_cpu_user_s=60.0, layer_cpu_system_s=1.5) == {}
    used = cpus(guest, machine_cpu_user_s=90.0, machine_cpu_system_s=0.3, layer_cpu_user_s=60.0)
    assert used["user time"].ours == pytest.approx(3)
    assert used["user time"].printed == pytest.approx(120.5 / 30)


def test_every_printed_range_and_time_is_wanted():
    rows = {one.row for one in compared_with("cole2022", measured(sizes("x", "host/kvm"), 1.0,
                                                           metric=EVENTS)).missing}  # fmt: skip
    times = [row for row in load("cole2022") if row.metric in ("user time", "kernel time")]
    assert times
    assert set(times) <= rows


def test_thirty_at_once_are_a_cost_of_one_alone_that_nothing_here_measures():
    part = compared_with("hpe2016", measured(make_cell("docker", **PRIMES), 1.0, metric=EVENTS))
    (many,) = [one for one in part.missing if one.row.level == "30 containers"]
    (printed,) = [
        one for one in hpe2016.printed(load("hpe2016")) if one.row.level == "30 containers"
    ]

    assert "that many instances of a platform at once" in many.reason
    assert many.measurable
    assert printed.cost == pytest.approx(1089.704 / 904.7625)
    assert any(
        "1.204 times as long as one alone" in one.says for one in analyse("hpe2016").findings
    )
