"""A real neighbour disturbs a real workload, in instances of their own."""

from dataclasses import replace
from statistics import median

import pytest

from real.small import run
from tare.cli import main
from tare.core.model import (
    ContrastKind,
    Kind,
    Neighbour,
    Reservation,
    Resource,
    Source,
    Status,
    Use,
    neighbour_of,
)
from tare.core.model.reservation import CPUS, DISK_RATES, LEAST_CPUS, LEAST_DISK_BYTES_PER_S, given
from tare.experiment.trial import guard
from tare.present.view.names import platform_text
from tare.results.store.calibrations import read_calibrations
from tare.results.study import compare

GOOD = {Status.OK, Status.SUSPECT}


@pytest.mark.needs("docker")
def test_a_neighbour_runs_while_the_workload_is_measured(tmp_path, capsys):
    results = run(
        tmp_path / "results",
        ["host", "host/docker"],
        [{"integer_loop": {"iterations": 300_000}}],
        blocks=1,
        scenario="isolation",
        neighbours=[
            {"stressor": "cpu", "count": 2},
            {"stressor": "idle"},
            {"stressor": "cpu", "cpus": "apart"},
        ],
    )

    measured = [one for one in results.trials if one.kind is Kind.MEASURED and not one.repeat]
    assert len(measured) == 9
    for one in measured:
        cell = results.plan.cells_by_id[one.cell]
        neighbour = neighbour_of(cell.params)
        assert one.status in GOOD, f"{platform_text(cell)}: {one.reason}"
        assert one.host.cpu_s > 0
        if neighbour is None:
            assert one.parts == ()
            continue
        own, *others = one.parts
        assert [part.name for part in others] == ["neighbour1", "neighbour2"][: neighbour.count]
        assert len({part.instance for part in one.parts}) == len(one.parts)
        assert one.host == own.host
        is_idle = neighbour.stressor == "idle"
        for part in others:
            assert (part.host.cpu_s < own.host.cpu_s / 10) if is_idle else part.host.cpu_s > 0
            is_same = part.cpuset == own.cpuset
            assert is_same == (neighbour.cpus == "same")

    rows = [row for row in compare(results.plan, results.trials).comparisons if row.primary]
    assert [row.kind for row in rows].count(ContrastKind.ISOLATION) == 6

    folder = str(tmp_path / "results")
    assert main(["show", folder]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("With a neighbour, ")
    assert "host/docker (2 cpu neighbours)" in " ".join(shown.split())
    assert main(["report", folder]) == 0
    assert (tmp_path / "results/report.html").stat().st_size > 0


@pytest.mark.needs("docker")
def test_a_neighbour_runs_on_another_platform_than_the_workload(tmp_path, capsys):
    platforms = ["host", "host/docker"]
    results = run(
        tmp_path / "results",
        platforms,
        [{"integer_loop": {"iterations": 300_000}}],
        blocks=2,
        scenario="isolation",
        neighbours=[{"stressor": "cpu", "platform": platforms}],
        reservation=["none", {"cpus": 0.2}],
    )

    found = set()
    for one in results.trials:
        cell = results.plan.cells_by_id[one.cell]
        neighbour = neighbour_of(cell.params)
        assert one.status in GOOD, f"{platform_text(cell)}: {one.reason}"
        if neighbour is None:
            continue
        own, other = one.parts
        assert own.platform == ""
        assert other.platform == ("" if neighbour.platform == cell.platform else neighbour.platform)
        assert other.cpuset == own.cpuset
        assert other.host.cpu_s > 0
        assert one.host == own.host
        is_held = neighbour.reservation is not None
        if is_held:  # whatever else the host does, the quota holds
            assert other.host.cpu_s <= 1.1 * 0.2 * (one.duration_s + 2 * PERIOD_S)
        found.add((cell.platform, neighbour.platform, is_held))
    assert found == {(a, b, held) for a in platforms for b in platforms for held in (True, False)}

    rows = [row for row in compare(results.plan, results.trials).comparisons if row.primary]
    assert [row.kind for row in rows].count(ContrastKind.ISOLATION) == len(found)
    assert main(["show", str(tmp_path / "results")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "host (cpu neighbour in host/docker" in shown


@pytest.mark.needs("docker")
def test_neighbours_of_a_host_in_danger_are_ended_and_the_study_goes_on(tmp_path, monkeypatch):
    # More than any host has: each look finds it in danger.
    monkeypatch.setattr(guard.Limits.__init__, "__defaults__", (2**60, 0.9, 1.0))
    results = run(
        tmp_path / "results",
        ["host", "host/docker"],
        [{"integer_loop": {"iterations": 1_000_000}}],
        blocks=1,
        scenario="isolation",
        neighbours=[{"stressor": "fork"}],
    )

    measured = [one for one in results.trials if one.kind is Kind.MEASURED and not one.repeat]
    found = {bool(neighbour_of(results.plan.cells_by_id[one.cell].params)): one for one in measured}
    assert found[False].status in GOOD
    assert found[True].status is Status.DNR
    assert "the neighbours were ended, for the host was in danger" in found[True].reason
    assert "MiB of the host's memory were left" in found[True].reason


def test_a_level_is_found_and_read_back(tmp_path):
    results = run(
        tmp_path / "results",
        ["host"],
        [{"integer_loop": {"iterations": 1_000_000}}],
        blocks=2,
        scenario="isolation",
        neighbours=[{"stressor": "cpu", "level": "75%", "cpus": "apart"}],
    )

    trials = [
        one for one in results.trials if neighbour_of(results.plan.cells_by_id[one.cell].params)
    ]
    assert trials
    for one in trials:
        if one.status in GOOD:
            assert 0 < one.noise["level"] <= 1.1
            assert 0 < one.noise["intensity"] <= 1
        else:  # on a busy host it may be out of reach, which is to be said
            assert one.reason.startswith("level: "), one.reason
    for found in read_calibrations(tmp_path / "results/calibrations.json").values():
        assert (found.resource, found.level, found.maximum) == ("cpu", 0.75, 1.0)
        assert 0 < found.alone <= 1.1
        assert 0 < found.neighbours <= 1.1
        assert found.tries


@pytest.mark.needs("docker")
def test_a_bomb_lives_in_a_limit_of_its_own_though_the_study_sets_none(tmp_path, capsys):
    platforms = ["host", "host/docker"]
    results = run(
        tmp_path / "results",
        platforms,
        [{"integer_loop": {"iterations": 1_000_000}}],
        blocks=1,
        scenario="isolation",
        neighbours=[{"stressor": "fork"}],
    )

    most = Resource(Source.LAYER, "pids_most").name
    for one in results.trials:
        assert one.status in GOOD, one.reason
        for part in one.parts[1:]:
            assert 0 < part.resources.get(most, 1) <= 84
    (section,) = (one for one in results.facts.sections if one.name == "process_ceilings")
    assert {str(one.value) for one in section.values} == {"84"}
    assert main(["report", str(tmp_path / "results")]) == 0
    assert "Process ceilings" in (tmp_path / "results/report.html").read_text()


def test_cpus_that_this_host_does_not_have_make_those_cells_alone_unavailable(tmp_path):
    placed = ["sibling", "cache", "socket"]
    results = run(
        tmp_path / "results",
        ["host"],
        [{"integer_loop": {"iterations": 300_000}}],
        blocks=1,
        scenario="isolation",
        neighbours=[{"stressor": "cpu"}, {"stressor": "cpu", "cpus": placed}],
    )

    seen = set()
    for one in results.trials:
        neighbour = neighbour_of(results.plan.cells_by_id[one.cell].params)
        if one.status is Status.UNAVAILABLE:
            assert neighbour.cpus in placed
            assert one.reason.startswith(f"cpus: {neighbour.cpus}: this host has none of the CPUs")
        else:
            assert one.status in GOOD, one.reason
            own, *others = one.parts or (one,)
            for other in others:
                assert (other.cpuset == own.cpuset) == (neighbour.cpus == "same")
        seen.add(neighbour and neighbour.cpus)
    assert seen == {None, "same", *placed}


@pytest.mark.slow
@pytest.mark.needs("docker")
def test_a_neighbour_is_held_to_what_the_workload_leaves_of_the_disk(tmp_path, capsys):
    results = run(
        tmp_path / "results",
        ["host", "host/docker"],
        [{"integer_loop": {"iterations": 700_000}}],
        blocks=1,
        scenario="isolation",
        neighbours=[{"stressor": "disk"}],
        reservation=["none", "derived"],
    )

    # One that is not read back as it was given fails its trial.
    for one in results.trials:
        cell = results.plan.cells_by_id[one.cell]
        assert one.status in GOOD, f"{platform_text(cell)}: {one.reason}"

    stored = results.facts.reservations
    assert len(stored) == 2
    for limits in stored.values():
        assert [limit.resource for limit in limits] == [*DISK_RATES]
        for limit in limits:
            assert limit.readings >= 1
            assert limit.used >= 0
            assert limit.kept <= limit.capacity
            assert LEAST_DISK_BYTES_PER_S / 2 <= limit.each <= limit.capacity / 2

    assert main(["show", str(tmp_path / "results")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "--device-read-bps DEVICE:" in shown
    assert "Derived (integer_loop, host" in shown


PERIOD_S = 0.1


@pytest.mark.slow
@pytest.mark.needs("docker")
def test_a_neighbour_that_is_held_leaves_the_workload_more(tmp_path, capsys):
    results = run(
        tmp_path / "results",
        ["host", "host/docker"],
        [{"integer_loop": {"iterations": 700_000}}],
        blocks=2,
        scenario="isolation",
        neighbours=[{"stressor": "cpu"}],
        reservation=["none", {"cpus": 0.25}, "derived"],
    )

    free = Neighbour(stressor="cpu")
    quarter = replace(free, reservation=given({CPUS: 0.25}))
    derived = replace(free, reservation=Reservation(derived=Use.PEAK))
    taken = {}
    for one in results.trials:
        cell = results.plan.cells_by_id[one.cell]
        neighbour = neighbour_of(cell.params)
        assert one.status in GOOD, f"{platform_text(cell)}: {one.reason}"
        if neighbour is None:
            continue
        own, other = one.parts
        shares = taken.setdefault((cell.platform, neighbour), [])
        shares.append(other.host.cpu_s / own.host.cpu_s)
        if neighbour == quarter:  # whatever else the host does, the quota holds
            periods = one.duration_s / PERIOD_S + 2
            assert other.host.cpu_s <= 1.1 * 0.25 * PERIOD_S * periods

    # One CPU, equal weights: 1, 1/3, and next to nothing; more where others take the CPU as well.
    for platform in ("host", "host/docker"):
        shares = [median(taken[platform, one]) for one in (free, quarter, derived)]
        assert shares[0] > 1.15 * shares[1], platform
        assert shares[1] > shares[2], platform

    limits = results.facts.reservations
    assert len(limits) == 2
    for (limit,) in limits.values():
        assert limit.used > 0
        assert limit.readings >= 1
        assert limit.each >= LEAST_CPUS

    folder = str(tmp_path / "results")
    assert main(["show", folder]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "What reservations give back" in shown
    assert "docker update --cpus 0.25 NEIGHBOUR" in shown
    assert "Derived (integer_loop, host" in shown
    assert main(["report", folder]) == 0
    assert 'id="reservations"' in (tmp_path / "results/report.html").read_text()
