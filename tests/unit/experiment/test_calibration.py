"""How the scenario brings neighbours to a level, and judges each trial by it; on a made-up host."""

from dataclasses import replace

import pytest

from tare.core.errors import LayerError, LayerTimedOut, Unavailable
from tare.core.model import Cell, ComplaintKind, Kind, Limits, Neighbour, Reservation, Status
from tare.core.model.reservation import CPUS, given
from tare.experiment.scenario import TrialContext
from tare.experiment.scenarios._calibration import bring_to_level, dialled, find_maximum, judged
from tare.experiment.scenarios._disturbed import Disturbed, Unloaded
from tare.experiment.trial.calibrations import Calibrations
from tare.experiment.trial.measure import Outcome
from tare.work import workload

ALONE, AT_FULL = 0.3, 0.8
NINETY = Neighbour(stressor="cpu", level=0.9)


class Host:
    """A CPU whose uses add up, and what was run on it; the first ``suspect`` runs are disturbed."""

    def __init__(self, status=Status.OK, suspect=0):
        self.status, self.suspect = status, suspect
        self.runs, self.prepared = [], 0

    def before(self, context):
        self.prepared += 1

    def measure(self, context):
        made = context.made
        self.runs.append(made)
        is_idle = made.neighbour.stressor == "idle"
        share = 0.0 if isinstance(made, Unloaded) else ALONE
        share += 0.0 if is_idle else AT_FULL * made.neighbour.intensity
        status = Status.SUSPECT if len(self.runs) <= self.suspect else self.status
        return outcome(min(1.0, share) if status is Status.OK else 0.123, status)


def outcome(busy, status=Status.OK):
    part = Outcome(instance="a", status=status, started_at="", cpuset="1", noise={"busy": busy})
    return replace(part, reason="why", duration_s=2.0, cpuset="", noise={}, parts=(part,))


@pytest.fixture
def context(tmp_path, monkeypatch):
    monkeypatch.setenv("TARE_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()

    def make(neighbour=NINETY, name="abc", folder=tmp_path):
        made = Disturbed(workload=workload.load("sysbench_cpu"), neighbour=neighbour)
        cell = Cell(
            id=name,
            platform="host",
            stack="host",
            settings=(),
            workload="sysbench_cpu",
            params=neighbour.params,
            limits=Limits(cpus=1, memory_bytes=2**30),
        )
        return TrialContext(
            cell=cell,
            made=made,
            kind=Kind.WARMUP,
            host=None,
            placed_parts=(),
            peer=None,
            kept={},
            ledger=None,
            deadline_s=60.0,
            fresh=lambda count: [],
            calibrations=Calibrations(folder),
        )

    return make


def bring(host, one):
    bring_to_level(host, host.measure, one, one.made)
    return one.calibrations.of(one.cell)


def test_the_workload_alone_and_its_neighbours_alone_say_where_to_begin(context):
    host = Host()
    found = bring(host, context())

    assert (found.alone, found.neighbours, found.maximum) == (ALONE, AT_FULL, 1.0)
    assert found.tries == ((0.75, pytest.approx(0.9)),)
    assert [type(one) for one in host.runs] == [Disturbed, Unloaded, Disturbed]
    assert host.runs[0].neighbour.stressor == "idle"
    assert host.runs[-1].neighbour.intensity == 0.75
    assert host.prepared == len(host.runs)


def test_a_disturbed_run_is_run_once_more(context):
    host = Host(suspect=1)

    assert bring(host, context()).alone == ALONE
    assert len(host.runs) == 4


@pytest.mark.parametrize(
    ("status", "error"), [(Status.DNR, LayerTimedOut), (Status.FAILED, LayerError)]
)
def test_a_run_that_fails_fails_the_calibration(context, status, error):
    with pytest.raises(error, match=r"a run of the calibration .*why"):
        bring(Host(status), context())


def test_neighbours_that_move_nothing_have_no_level(context):
    one = context(Neighbour(stressor="disk", level=0.9))
    host = Host()

    def measure(there):
        found = host.measure(there)
        timeline = type("T", (), {"metrics": dict.fromkeys(MOVED, 0.0)})()
        return replace(found, parts=(replace(found.parts[0], timeline=timeline),))

    with pytest.raises(Unavailable, match="moved nothing that this host counts"):
        bring_to_level(host, measure, one, one.made)


FULL = Neighbour(stressor="cpu", level="full")


def at_full(host, one):
    find_maximum(host, host.measure, one, one.made)
    return one.calibrations.of(one.cell)


def test_of_full_use_only_the_maximum_is_found_and_once_in_a_study(context, tmp_path):
    host, one = Host(), context(FULL)
    found = at_full(host, one)

    assert (found.level, found.intensity, found.maximum, found.reached) == (1.0, 1.0, 1.0, None)
    assert (found.alone, found.neighbours) == (ALONE, AT_FULL)
    assert [type(each) for each in host.runs] == [Disturbed, Unloaded]
    at_full(host, context(FULL))
    assert len(host.runs) == 2
    (tmp_path / "other").mkdir()
    at_full(host, context(FULL, folder=tmp_path / "other"))
    assert len(host.runs) == 4


@pytest.mark.parametrize(("busy", "warns"), [(1.0, False), (0.981, False), (0.93, True)])
def test_full_use_that_was_not_reached_is_a_warning_and_what_was_reached_is_stored(
    context, busy, warns
):
    one = context(FULL)
    found = at_full(Host(), one)

    came = judged(one, outcome(busy), found)

    assert came.status is Status.OK
    assert came.noise == {"level": busy, "intensity": 1.0}
    says = "full use was asked for, and 93 % of the maximum of the cpu was used"
    assert came.warnings == ((says,) if warns else ())
    assert one.calibrations.of(one.cell).reached == busy
    assert one.calibrations.of(one.cell).intensity == 1


MOVED = ("host_disk_read_bytes", "host_disk_written_bytes")


def test_what_an_earlier_study_found_is_only_checked(context, tmp_path):
    bring(Host(), context())
    (tmp_path / "other").mkdir()
    host = Host()
    found = bring(host, context(folder=tmp_path / "other"))

    assert [one.neighbour.intensity for one in host.runs] == [0.75]
    assert found.is_known
    assert found.reached == pytest.approx(0.9)


def test_a_trial_on_its_level_says_so(context):
    one = context()
    found = bring(Host(), one)
    came = judged(one, outcome(0.915), found)

    assert came.status is Status.OK
    assert came.noise == {"level": 0.915, "intensity": 0.75}
    assert one.calibrations.of(one.cell).intensity == 0.75


def test_a_trial_off_its_level_is_suspect_and_corrects_the_next(context):
    one = context()
    came = judged(one, outcome(0.98), bring(Host(), one))

    assert came.status is Status.SUSPECT
    (complaint,) = came.warnings
    assert complaint.kind is ComplaintKind.OFF_LEVEL
    assert complaint.values == {"share": 0.98, "target": 0.9}
    corrected = one.calibrations.of(one.cell)
    assert corrected.intensity == pytest.approx(0.65)
    assert corrected.reached is None
    assert corrected.tries[-1] == (0.75, 0.98)
    assert dialled(one.made, corrected).neighbour.intensity == corrected.intensity


def test_what_else_disturbed_a_trial_corrects_nothing(context):
    one = context()
    judged(one, outcome(0.98, Status.SUSPECT), bring(Host(), one))

    assert one.calibrations.of(one.cell).intensity == 0.75


def test_a_neighbour_that_is_held_may_be_off_its_level(context):
    one = context()
    found = bring(Host(), one)
    held = context(replace(NINETY, reservation=given({CPUS: 0.25})), name="def")

    assert isinstance(held.made.neighbour.reservation, Reservation)
    came = judged(held, outcome(0.55), found)
    assert (came.status, came.noise["level"]) == (Status.OK, 0.55)
    assert one.calibrations.of(one.cell).intensity == 0.75
