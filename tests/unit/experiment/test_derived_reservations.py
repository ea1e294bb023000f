"""What a session measures of a workload alone becomes what its neighbours are left."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from tare.core.errors import ResultsError, Unavailable
from tare.core.model import (
    HostCost,
    Kind,
    Limits,
    Neighbour,
    Part,
    Placement,
    Reservation,
    Source,
    Status,
    Use,
)
from tare.core.model.reservation import CPUS, DISK_RATES, LEAST_DISK_BYTES_PER_S, given
from tare.experiment.probes.series import Series
from tare.experiment.run.cell_run import CellRun
from tare.experiment.run.instance_set import InstanceSet, Member
from tare.experiment.run.reservations import ENOUGH_SECONDS, MOST_TRIALS, Reservations
from tare.experiment.study import Platform
from tare.machines.cgroup.group_limits import GroupLimits
from tare.results.store import Writer, read_facts
from tare.results.store.facts import facts_of
from unit.makers import make_cell, make_plan, make_trial

LIMITS = Limits(cpus=1, memory_bytes=2**30)
NEIGHBOUR = Neighbour(
    stressor="cpu", count=2, reservation=Reservation(derived=Use.MEAN, headroom=0.0)
)
ALONE = make_cell("host")
HELD = make_cell("host", params=NEIGHBOUR.params)
OF_DISK = make_cell("host", params=replace(NEIGHBOUR, stressor="disk").params)
PLAN = make_plan(ALONE, HELD, OF_DISK)
MIB = 2**20
PARTS = ("neighbour1", "neighbour2")


class OneCpu:
    """A session whose instances are on the CPU of their number."""

    def cpus_under(self, limits, number):
        return [number]


@pytest.fixture
def made(tmp_path):
    writer = Writer(tmp_path)
    writer.facts({"host": {"cpus": 2}})
    yield Reservations(PLAN, OneCpu(), writer)
    writer.close()


def cell_run(parts=("command", *PARTS), numbers=(0, 0, 0), cell=HELD):
    members = [Member(index=n, stack=None, number=of) for n, of in enumerate(numbers)]
    platform = Platform(name="host", stack="host", layers=(("host", ()),))
    return CellRun(
        cell,
        0,
        tuple(Placement(part=part, instance=n) for n, part in enumerate(parts)),
        [InstanceSet(platform, LIMITS, "host", members)] * len(members),
        members,
    )


def cpu_time(share, seconds):
    times_s = [float(second) for second in range(seconds + 1)]
    return Series(Source.LAYER.value, "cpu_s", times_s, [share * one for one in times_s])


def trial(share, *, seconds=5, status=Status.OK, delay_s=None, cell=ALONE):
    """A warm-up and what was read of it."""
    host = HostCost(
        cpu_s=1, run_delay_s=0, all_cpu_s=1, coverage=1, threads=1, foreign_delay_s=delay_s
    )
    one = make_trial(
        cell,
        0,
        kind=Kind.WARMUP,
        status=status,
        host=host,
        duration_s=float(seconds),
        instance="s-0",
    )
    return one, {("", "s-0"): [cpu_time(share, seconds)]}


class Group:
    """A stack whose group is held to what it is told."""

    machine = SimpleNamespace(name="tare-x")

    def __init__(self, processes=None, *, has_group=True):
        self.processes, self.has_group, self.cpus = processes, has_group, None

    def held(self):
        return GroupLimits(self.cpus, processes=self.processes) if self.has_group else None

    def confine(self, limits):
        self.processes = limits.processes

    def ration(self, cpus):
        self.cpus = cpus


def bombed(stack, *, stack_of="host", limits=LIMITS, held=None):
    """Run a cell with a bomb; ``held`` are the limits of its reservation."""
    reservation = given(held) if held else None
    bomb = Neighbour(stressor="fork", reservation=reservation)
    cell = replace(make_cell(stack_of, params=bomb.params), limits=limits)
    member = Member(index=1, stack=stack)
    name = stack_of.rpartition("/")[2]
    platform = Platform(name=stack_of, stack=stack_of, layers=((name, ()),))
    home = InstanceSet(platform, limits, "p0", [member])
    return CellRun(cell, 0, (Placement(part="neighbour1", instance=1),), [home], [member])


def test_a_bomb_has_a_ceiling_where_a_study_sets_none_and_the_facts_say_so(made, tmp_path):
    stack = Group()
    run = bombed(stack)

    made.hold(run, PARTS[:1], 84)
    assert stack.processes == 84
    assert read_facts(tmp_path)["process_ceilings"] == {"host": {"fork": 84}}

    run.awake.close()
    assert stack.processes is None


def test_a_bomb_has_its_ceiling_with_a_reservation_of_something_else(made):
    stack = Group()
    run = bombed(stack, held={CPUS: 0.5})
    made.hold(run, PARTS[:1], 84)
    assert (stack.cpus, stack.processes) == (0.5, 84)

    run.awake.close()
    assert (stack.cpus, stack.processes) == (None, None)


@pytest.mark.parametrize(
    ("run", "processes"),
    [
        (bombed(Group(64), limits=replace(LIMITS, processes=64)), 64),
        (bombed(Group(50)), 50),
        (bombed(Group(), stack_of="kvm"), None),
        (bombed(Group(has_group=False)), None),
    ],
    ids=["the study limits it", "its engine does", "a kernel of its own", "no group"],
)
def test_a_bomb_that_something_else_limits_has_no_ceiling(made, tmp_path, run, processes):
    made.hold(run, PARTS[:1], 84)

    assert run.members[0].stack.processes == processes
    assert "process_ceilings" not in read_facts(tmp_path)


def test_a_reservation_of_processes_is_the_ceiling(made, tmp_path):
    stack = Group()
    run = bombed(stack, held={"processes": 100})
    made.hold(run, PARTS[:1], 84)

    assert stack.processes == 100
    run.awake.close()
    assert "process_ceilings" not in read_facts(tmp_path)


def never(cell):
    raise AssertionError(f"{cell} was measured although enough was known")


def test_the_rest_of_the_cpus_in_common_is_shared(made):
    made.note(*trial(0.5))
    made.derive(cell_run(), PARTS, never, never)

    (limit,) = made.derived[HELD.id]
    assert (limit.used, limit.kept, limit.each) == pytest.approx((0.5, 0.5, 0.25))
    assert limit.neighbours == 2


def test_what_was_derived_is_stored_at_once_and_used_again(made, tmp_path):
    made.note(*trial(0.5))
    made.derive(cell_run(), PARTS, never, never)

    stored = read_facts(tmp_path)
    assert stored["host"] == {"cpus": 2}
    assert facts_of(stored).reservations == made.derived
    writer = Writer(tmp_path)
    again = Reservations(PLAN, OneCpu(), writer)
    writer.close()
    again.derive(cell_run(), PARTS, never, never)
    assert again.derived == made.derived


@pytest.mark.parametrize(
    ("stored", "says"),
    [
        ({HELD.id: [{"resource": "cpus", "used": "much"}]}, rf"reservations.{HELD.id}.0.used: "),
        ({HELD.id: [{"resource": "cpus"}]}, rf"reservations.{HELD.id}.0.used: Field required"),
        ({"x": 3}, r"reservations.x: "),
        ([], r"reservations: "),
    ],
)
def test_a_reservation_that_was_damaged_is_named_with_its_file_and_key(tmp_path, stored, says):
    writer = Writer(tmp_path)
    writer.facts({"reservations": stored})
    with pytest.raises(ResultsError, match=f"facts.json: {says}.*restore it from a copy"):
        Reservations(PLAN, OneCpu(), writer)
    writer.close()


def test_the_workload_is_measured_alone_until_enough_is_known(made):
    measured = []

    def measure(cell):
        measured.append(cell)
        made.note(*trial(0.4, seconds=2))

    made.derive(cell_run(), PARTS, measure, never)

    assert measured == [ALONE] * 3
    assert made.derived[HELD.id][0].readings == 6 >= ENOUGH_SECONDS


def test_a_workload_that_fails_alone_has_no_reservation(made):
    measured = []

    def measure(cell):
        measured.append(cell)
        made.note(*trial(0.4, status=Status.FAILED))

    with pytest.raises(Unavailable, match="the workload takes alone is not known"):
        made.derive(cell_run(), PARTS, measure, never)
    assert len(measured) == MOST_TRIALS
    assert made.derived == {}


def test_trials_next_to_a_neighbour_do_not_count(made):
    made.note(*trial(0.9, cell=HELD))
    with pytest.raises(Unavailable):
        made.derive(cell_run(), PARTS, lambda cell: None, never)


def test_what_other_work_took_is_the_workloads(made):
    made.note(*trial(0.25, status=Status.SUSPECT, delay_s=2.5))
    made.derive(cell_run(), PARTS, never, never)

    assert made.derived[HELD.id][0].used == pytest.approx(0.5)


def test_undisturbed_trials_count_before_suspect_ones(made):
    made.note(*trial(0.1, status=Status.SUSPECT))
    made.note(*trial(0.6))
    made.derive(cell_run(), PARTS, never, never)

    assert made.derived[HELD.id][0].used == pytest.approx(0.6)


def test_only_the_parts_on_the_neighbours_cpus_keep_anything_of_them(made):
    whole, _ = trial(0.0)
    parts = [
        replace(part, instance=f"s-{n}", name=name)
        for n, name in enumerate(("server", "command"))
        for part in [Part(name="", instance="", status=Status.OK, duration_s=5.0, host=whole.host)]
    ]
    series = {("", "s-0"): [cpu_time(0.3, 5)], ("", "s-1"): [cpu_time(0.8, 5)]}
    made.note(replace(whole, parts=tuple(parts)), series)

    run = cell_run(("server", "command", *PARTS), numbers=(0, 1, 0, 0))
    made.derive(run, PARTS, never, never)

    assert made.derived[HELD.id][0].used == pytest.approx(0.3)


# --- of the disk


def disk(name, bytes_per_s, *, seconds=5, device="vda", reason=""):
    times_s = [float(second) for second in range(seconds + 1)]
    values = [bytes_per_s * one for one in times_s]
    return Series(Source.HOST.value, name, times_s, values, device=device, reason=reason)


def on_disk(*series, **trial_of):
    """A warm-up, and what was read of it and of the host's disks."""
    one, read = trial(0.1, **trial_of)
    return one, {part: [*of_part, *series] for part, of_part in read.items()}


READS = disk("disk_read_bytes", 6 * MIB), disk("disk_read_bytes", 1 * MIB, device="vdb")
WRITES = (disk("disk_written_bytes", 3 * MIB),)


def test_the_rest_of_the_disk_is_shared_in_both_directions(made, tmp_path):
    made.note(*on_disk(*READS, *WRITES))
    made.derive(cell_run(cell=OF_DISK), PARTS, never, lambda cell: 90.0 * MIB)

    limits = made.derived[OF_DISK.id]
    assert [one.resource for one in limits] == [*DISK_RATES]
    for one in limits:
        assert (one.used, one.kept, one.capacity) == pytest.approx((10 * MIB, 10 * MIB, 90 * MIB))
        assert (one.each, one.readings, one.neighbours) == (20 * MIB, 5, 2)
    assert facts_of(read_facts(tmp_path)).reservations == made.derived


def test_neighbours_are_left_a_little_of_a_disk_that_the_workload_takes_alone(made):
    made.note(*on_disk(*READS, *WRITES))
    made.derive(cell_run(cell=OF_DISK), PARTS, never, lambda cell: 5.0 * MIB)

    assert {one.each for one in made.derived[OF_DISK.id]} == {LEAST_DISK_BYTES_PER_S / 2}


def test_a_limit_of_the_study_is_not_raised(made):
    limits = replace(LIMITS, disk_read_bytes_per_s=2 * MIB)
    alone, held = (replace(one, limits=limits) for one in (ALONE, OF_DISK))
    made = Reservations(make_plan(alone, held), OneCpu(), made._writer)
    made.note(*on_disk(*READS, *WRITES))
    made.derive(cell_run(cell=held), PARTS, never, lambda cell: 90.0 * MIB)

    assert [one.each for one in made.derived[held.id]] == [2 * MIB, 20 * MIB]


@pytest.mark.parametrize(
    "series",
    [
        (),
        READS,
        (*READS, disk("disk_written_bytes", 1.0, reason="it was not read")),
    ],
    ids=["no disk", "reads alone", "a counter that ended"],
)
def test_nothing_is_derived_of_a_disk_that_is_not_counted(made, series):
    made.note(*on_disk(*series))
    with pytest.raises(Unavailable, match="disk bytes a second the workload takes alone is not"):
        made.derive(cell_run(cell=OF_DISK), PARTS, lambda cell: None, never)
    assert made.derived == {}


def test_the_limits_of_a_disk_are_put_on_each_neighbour_and_taken_back(made):
    made.note(*on_disk(*READS, *WRITES))
    made.derive(cell_run(cell=OF_DISK), PARTS, never, lambda cell: 90.0 * MIB)
    run = cell_run(cell=OF_DISK)
    stacks = [DiskGroup() for _ in PARTS]
    for member, stack in zip(run.members[1:], stacks, strict=True):
        member.stack = stack

    made.hold(run, PARTS)
    assert {stack.held() for stack in stacks} == {
        GroupLimits(None, disk_read_bytes_per_s=20 * MIB, disk_write_bytes_per_s=20 * MIB)
    }
    run.awake.close()
    assert {stack.held() for stack in stacks} == {GroupLimits(None)}


class DiskGroup:
    """A stack whose group is held to the limits that it is told."""

    machine = SimpleNamespace(name="tare-x")
    limits = LIMITS

    def held(self):
        return replace(GroupLimits(None), **dict(self.limits.optional))

    def confine(self, limits):
        self.limits = limits
