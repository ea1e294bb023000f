"""Reservations: what a study says of them, what is derived, and how instances are held to them."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest

from tare.core.errors import ConfigError, LayerError, Unavailable
from tare.core.model import (
    ContrastKind,
    Limits,
    Neighbour,
    Reservation,
    Source,
    Use,
    neighbour_of,
)
from tare.core.model.reservation import CPUS, given
from tare.experiment.design import make_plan
from tare.experiment.probes.series import Series
from tare.experiment.run.derivation import derive, rates, used
from tare.experiment.run.holding import differences, holding
from tare.experiment.run.instance_set import Member
from tare.experiment.run.reservations import Reservations
from tare.experiment.study import read_study
from tare.machines import layer
from tare.machines.cgroup.group_limits import GroupLimits
from unit.fakes import Fake
from unit.makers import make_trial

TEXT = """\
name: neighbours
scenario: {scenario}
platforms: [host, host/docker]
limits: {{cpus: 1, memory: 256MiB}}
workloads: [integer_loop]
neighbours: {neighbours}
{reservation}
repetition: {{min_blocks: 3, max_blocks: 4, instances: 2}}
"""


def read(reservation=None, neighbours="[{stressor: cpu}]", scenario="isolation"):
    line = "" if reservation is None else f"reservation: {reservation}"
    text = TEXT.format(reservation=line, neighbours=neighbours, scenario=scenario)
    return read_study(text, "study.yaml")


def planned(reservation=None, **others):
    return make_plan(read(reservation, **others), 1)


def of_host(plan):
    """The neighbours of the host's cells, in the plan's order, the one without any first."""
    cells = [cell for cell in plan.cells if cell.platform == "host" and not cell.replica]
    return [neighbour_of(cell.params) for cell in cells]


# --- a study


def test_each_neighbour_but_an_idle_one_is_crossed_with_each_reservation():
    plan = planned(
        "[none, derived, {cpus: [0.25, 0.5], processes: 64}]",
        neighbours="[{stressor: cpu}, {stressor: idle}]",
    )

    cpu, idle = Neighbour(stressor="cpu"), Neighbour(stressor="idle")
    assert of_host(plan) == [
        None,
        cpu,
        replace(cpu, reservation=Reservation(derived=Use.PEAK)),
        replace(cpu, reservation=given({CPUS: 0.25, "processes": 64})),
        replace(cpu, reservation=given({CPUS: 0.5, "processes": 64})),
        idle,
    ]
    assert len({cell.id for cell in plan.cells}) == len(plan.cells)


def test_a_neighbour_with_reservations_of_its_own_has_no_others():
    neighbours = "[{stressor: cpu, reservation: [none, {cpus: 0.25}]}, {stressor: syscall}]"
    plan = planned("{processes: 100}", neighbours=neighbours)

    cpu, syscall = Neighbour(stressor="cpu"), Neighbour(stressor="syscall")
    assert of_host(plan) == [
        None,
        cpu,
        replace(cpu, reservation=given({CPUS: 0.25})),
        replace(syscall, reservation=given({"processes": 100})),
    ]


def test_a_wrong_reservation_of_one_neighbour_is_told_where_it_stands():
    with pytest.raises(ConfigError, match=r"study.yaml:6:30: neighbours\[0\].reservation"):
        read(neighbours="[{stressor: cpu, reservation: some}]")
    with pytest.raises(
        ConfigError, match=r"neighbours\[0\].reservation: no reservation of what net_send"
    ):
        read(neighbours="[{stressor: net_send, reservation: derived}]")


def test_a_study_without_reservations_is_planned_as_before():
    assert planned("none") == planned() == planned("[none]")


def test_what_has_a_reservation_is_compared_with_the_same_platform_alone():
    plan = planned("[none, {cpus: 0.5}]")
    cells = plan.cells_by_id

    isolated = [one for one in plan.contrasts if one.kind is ContrastKind.ISOLATION]
    assert len(isolated) == 4
    for one in isolated:
        cell, reference = cells[one.cell], cells[one.reference]
        assert neighbour_of(reference.params) is None
        assert cell.platform == reference.platform


@pytest.mark.parametrize(
    ("reservation", "expected"),
    [
        ("derived", Reservation(derived=Use.PEAK, headroom=0.1)),
        ("{derived: mean, headroom: 25%}", Reservation(derived=Use.MEAN, headroom=0.25)),
        ("{network_out: 1MiB/s}", given({"network_out_bytes_per_s": 2**20})),
        ("{cpu_weight: 30}", given({"cpu_weight": 30})),
    ],
)
def test_a_reservation_may_stand_alone(reservation, expected):
    assert of_host(planned(reservation))[1].reservation == expected


@pytest.mark.parametrize(
    ("reservation", "says"),
    [
        ("dervied", r"study.yaml:7:.*reservation: found 'dervied'; expected none, derived, or a"),
        ("[{}]", r"reservation\[0\].*a reservation has limits, or derives them"),
        ("[{cpus: 0}]", r"reservation\[0\].cpus: 0 was given; expected 0.01 or more"),
        ("[{cpus: 2}]", "cpus: 1 were given, and a reservation leaves each neighbour 2"),
        ("[{processes: 3}]", r"reservation\[0\].processes: 3 was given; expected 16 or more"),
        ("[{memory: 1GiB}]", r"reservation\[0\].memory: unknown key"),
        ("[none, none]", r"reservation\[1\].*the same stands above"),
        ("[{derived: peak, cpus: 1}]", r"reservation\[0\].cpus: unknown key"),
        ("[{derived: most}]", "found 'most'; expected one of peak, mean"),
    ],
)
def test_a_wrong_reservation_is_named_with_its_line(reservation, says):
    with pytest.raises(ConfigError, match=says):
        read(reservation)


@pytest.mark.parametrize(
    ("neighbours", "says"),
    [
        ("[{stressor: net_send}]", "no reservation of what net_send takes can be derived, as no"),
        ("[{stressor: net_receive}]", "no reservation of what net_receive takes can be derived"),
        ("[{stressor: cpu, cpus: apart}]", "the neighbour cpu has other CPUs than the workload"),
    ],
)
def test_what_cannot_be_derived_is_refused(neighbours, says):
    with pytest.raises(ConfigError, match=says):
        read("[none, derived]", neighbours=neighbours)


def test_the_disk_is_shared_whatever_cpus_its_neighbour_has():
    plan = planned("derived", neighbours="[{stressor: disk, cpus: apart}]")

    (held,) = filter(None, of_host(plan))
    assert held.reservation == Reservation(derived=Use.PEAK)


def test_other_scenarios_have_no_reservations():
    with pytest.raises(ConfigError, match="reservation: unknown key"):
        read("none", scenario="solo")


# --- derived from what the workload takes alone


@pytest.mark.parametrize(
    ("times_s", "values", "expected"),
    [
        ([0, 1, 2, 3], [5, 5.5, 6.5, 6.5], [0.5, 1.0, 0.0]),
        ([0, 0.1, 0.2, 0.3], [0, 0.1, 0.1, 0.15], [0.5]),
        ([0, 0.5, 1.0, 1.5], [0, 0.5, 0.5, 1.0], [0.5, 1.0]),
        ([0, 1.0, 1.2], [0, 1.0, 1.0], [1.0]),
        ([0], [1], []),
        ([], [], []),
    ],
)
def test_a_counter_grows_so_much_in_each_second(times_s, values, expected):
    assert rates(times_s, values) == pytest.approx(expected)


def test_the_peak_is_what_all_but_one_second_in_twenty_stays_below():
    seconds = [0.1] * 19 + [1.0]

    assert used(Use.PEAK, seconds) == 0.1
    assert used(Use.PEAK, [*seconds, 1.0]) == 1.0
    assert used(Use.PEAK, [0.3]) == 0.3
    assert used(Use.MEAN, seconds) == pytest.approx(0.145)


def test_neighbours_share_what_is_left_equally():
    (limit,) = derive(Reservation(derived=Use.PEAK), {CPUS: [0.5, 0.5]}, {CPUS: 2.0}, 2)

    assert limit.used == 0.5
    assert limit.kept == pytest.approx(0.55)
    assert limit.each == pytest.approx(0.725)
    assert (limit.readings, limit.capacity, limit.neighbours) == (2, 2.0, 2)


def test_a_workload_that_takes_all_leaves_the_least_there_is():
    (limit,) = derive(Reservation(derived=Use.MEAN), {CPUS: [1.0]}, {CPUS: 1.0}, 3)

    assert (limit.kept, limit.each) == (1.0, 0.01)


@pytest.mark.parametrize(
    ("uses", "capacity", "says"),
    [
        ({}, {CPUS: 1.0}, "how many cpus the workload takes alone is not known"),
        ({"memory": [1.0]}, {"memory": 1.0}, "a reservation of memory cannot be derived yet"),
    ],
)
def test_what_is_not_known_is_not_derived(uses, capacity, says):
    with pytest.raises(Unavailable, match=says):
        derive(Reservation(derived=Use.PEAK), uses, capacity, 1)


# --- instances are held, and let go


LIMITS = Limits(cpus=1, memory_bytes=2**30)


@dataclass
class HeldStack:
    """A stack that holds what it is told, but for the limits that it forgets or refuses."""

    limits: Limits = LIMITS
    cpus: float | None = None
    forgets: bool = False
    keeps: bool = False

    @property
    def machine(self):
        return Fake()

    def confine(self, limits):
        if not self.keeps or self.limits == LIMITS:
            self.limits = limits

    def ration(self, cpus):
        if not self.forgets:
            self.cpus = cpus

    def held(self):
        return replace(GroupLimits(self.cpus), **dict(self.limits.optional))


def members(*stacks):
    return [Member(index=place, stack=stack) for place, stack in enumerate(stacks)]


LAYERS = [layer.load("host")]
HELD = given({CPUS: 0.25, "cpu_weight": 30})


def test_instances_are_held_for_as_long_as_a_cell_is_measured():
    stacks = HeldStack(), HeldStack()
    with holding(members(*stacks), LAYERS, LIMITS, HELD):
        for one in stacks:
            assert one.held() == GroupLimits(0.25, cpu_weight=30)
    for one in stacks:
        assert one.held() == GroupLimits()


def test_they_are_let_go_after_an_error():
    stack = HeldStack()
    with pytest.raises(KeyError), holding(members(stack), LAYERS, LIMITS, HELD):
        raise KeyError
    assert stack.held() == GroupLimits()


def test_a_limit_that_is_not_read_back_is_an_error_and_all_are_let_go():
    first, second = HeldStack(), HeldStack(forgets=True)
    says = "not held by its reservation: cpus: its group has no limit, 0.25 was to be given"
    with (
        pytest.raises(LayerError, match=says),
        holding(members(first, second), LAYERS, LIMITS, HELD),
    ):
        pass
    assert first.held() == second.held() == GroupLimits()


def test_an_instance_that_cannot_be_let_go_is_used_no_more():
    held = members(HeldStack(keeps=True), HeldStack())
    with (
        pytest.raises(LayerError, match="still held by its reservation"),
        holding(held, LAYERS, LIMITS, HELD),
    ):
        pass
    assert [one.is_spoiled for one in held] == [True, False]
    assert held[1].stack.held() == GroupLimits()


def test_the_limits_of_the_study_hold_again():
    own = replace(LIMITS, cpu_weight=200)
    stack = HeldStack(limits=own)
    with holding(members(stack), LAYERS, own, HELD):
        assert stack.held().cpu_weight == 30
    assert stack.held().cpu_weight == 200


def test_what_an_engine_limits_unasked_holds_again():
    stack = HeldStack(limits=replace(LIMITS, processes=2048))
    for held in (given({"processes": 64}), HELD):
        with holding(members(stack), LAYERS, LIMITS, held):
            assert stack.held().processes == held.optional.get("processes", 2048)
        assert stack.held() == GroupLimits(processes=2048)


class Refusing(HeldStack):
    """A stack whose group offers no quota."""

    def ration(self, cpus):
        raise Unavailable("the group takes no quota", "leave it out")


def test_what_could_not_be_given_need_not_be_taken_back():
    held = members(Refusing())
    with (
        pytest.raises(Unavailable, match="takes no quota"),
        holding(held, LAYERS, LIMITS, given({CPUS: 0.5})),
    ):
        pass
    assert not held[0].is_spoiled


def test_an_instance_without_a_group_is_unavailable():
    class Groupless(HeldStack):
        def held(self):
            return None

    with (
        pytest.raises(Unavailable, match="no control group holds"),
        holding(members(Groupless()), LAYERS, LIMITS, given({CPUS: 0.5})),
    ):
        pass


def test_what_a_layer_cannot_hold_is_unavailable_with_the_reason():
    stack = HeldStack()
    layers = [layer.load("qemu-tcg")]
    with (
        pytest.raises(
            Unavailable, match=r"counts the processes of qemu-tcg.*out of `reservation:`"
        ),
        holding(members(stack), layers, LIMITS, given({"processes": 64})),
    ):
        pass
    assert stack.held() == GroupLimits()


def test_the_rate_of_a_link_is_read_back_rounded_down():
    given_rate = {"network_out_bytes_per_s": 10_485_760}

    assert differences(given_rate, GroupLimits(network_out_bytes_per_s=10_485_750)) == []
    assert differences(given_rate, GroupLimits(network_out_bytes_per_s=9_000_000)) != []
    assert differences(given_rate, GroupLimits()) != []


def test_a_quota_is_read_back_in_whole_microseconds():
    assert differences({CPUS: 1 / 3}, GroupLimits(0.33333)) == []
    assert differences({CPUS: 1 / 3}, GroupLimits(0.3)) != []
    assert differences({"processes": 64}, None) == [
        "processes: its group has no limit, 64 was to be given"
    ]


@pytest.mark.parametrize(
    ("reservation", "kept"), [("none", 0), ("[none, {cpus: 0.25}]", 0), ("[derived]", 2)]
)
def test_what_a_workload_takes_is_kept_only_where_a_reservation_is_derived_of_it(
    tmp_path, reservation, kept
):
    plan = planned(reservation)
    reservations = Reservations(plan, None, SimpleNamespace(folder=tmp_path))
    read = Series(source=Source.LAYER, name="cpu_s", times_s=(0.0, 1.0, 2.0), values=(0, 1, 2))

    for cell in plan.cells:
        if cell.platform == "host" and not cell.replica:
            for block in range(2):
                trial = make_trial(cell, block)
                reservations.note(trial, {("", trial.instance): (read,)})

    assert sum(len(trials) for trials in reservations._uses.values()) == kept
