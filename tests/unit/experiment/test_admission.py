"""Admission: the sums, what is refused before anything starts, and opening by blocks."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from tare.cli import CANNOT, main
from tare.core.errors import LayerError, Unavailable
from tare.core.model import Limits, Status
from tare.experiment import run as runner
from tare.experiment.design import make_plan
from tare.experiment.design.admission import (
    IDLE_BYTES,
    RESERVE_BYTES,
    Need,
    Sum,
    admit,
    at_once_of,
    by_blocks,
    needs,
)
from tare.experiment.host.facts import available_bytes
from tare.experiment.run.headroom import Headroom, overhead_bytes
from tare.experiment.study import load_study, read_study
from tare.machines.instance import Threads
from tare.results.store import load
from tare.work import workload
from tare.work.roles import PEER, Lifetime, Role

MIB, GIB = 2**20, 2**30
SMALL, LARGE = (Limits(cpus=1, memory_bytes=size * GIB) for size in (1, 4))
GUEST = {"stack": "host/guest"}
HOST_24_GB = 23 * GIB + 512 * MIB
"""What a host of 24 GiB has available when nothing else is on it."""


def declared(platforms, baseline, memory="1GiB", **others):
    listed = "".join(f"  - {one}\n" for one in platforms)
    rest = "".join(f"{key}: {json.dumps(value)}\n" for key, value in others.items())
    work = "" if {"lifecycle", "workloads"} & others.keys() else "workloads: [sysbench_cpu]\n"
    text = (
        f"name: s\nplatforms:\n{listed}baseline: {baseline}\n"
        f"limits: {{cpus: 1, memory: {memory}}}\n{work}{rest}"
    )
    study = read_study(text, "s.yaml")
    plan = make_plan(study, 1)
    return needs(study, plan), at_once_of(plan)


def one(found, platform):
    return next(need for need in found if need.platform == platform)


def test_guests_keep_their_memory_and_containers_take_it_while_they_run():
    found, _ = declared(["host", "host/docker", "host/kvm"], "host")

    assert one(found, "host/kvm").kept_bytes == GIB
    assert one(found, "host/kvm").passing_bytes == 0
    assert one(found, "host/docker").kept_bytes == IDLE_BYTES
    assert one(found, "host/docker").passing_bytes == GIB


def test_the_outermost_guest_holds_what_is_inside_it_and_is_counted_once():
    found, _ = declared(["host", "host/kvm/docker", "host/kvm/kvm"], "host")

    for name in ("host/kvm/docker", "host/kvm/kvm"):
        assert (one(found, name).kept_bytes, one(found, name).passing_bytes) == (GIB, 0)


@pytest.mark.parametrize("setting", ["storage: tmpfs", "runtime: kata"])
def test_a_container_that_keeps_files_or_a_machine_in_memory_is_counted_as_a_guest(setting):
    platform = f"{{stack: host/docker, name: keeps, docker: {{{setting}}}}}"
    found, _ = declared(["host", platform], "host")

    assert (one(found, "keeps").kept_bytes, one(found, "keeps").passing_bytes) == (GIB, 0)


SERVES = {"serve": "serve {port}", "run": "ask {server} {port}", "called": "mine"}
AT_PEER = [
    *({name: {}} for name in workload.names() if name not in {"command", "php_sql"}),
    {"php_sql": {"together": True}},  # apart it has two instances, which are counted elsewhere
    *({name: {"under_test": "client"}} for name in ("netperf_rr", "sockperf")),
    *({"command": {**SERVES, "server_under_test": side}} for side in (True, False)),
]
"""Every workload, and those with two sides a second time, from their other side."""


@pytest.mark.parametrize("work", AT_PEER, ids=str)
def test_the_peer_is_in_the_sum_of_every_workload_that_has_a_role_there(work):
    alone, _ = declared(["host", "host/kvm"], "host", workloads=["sysbench_cpu"])
    found, at_once = declared(["host", "host/kvm"], "host", workloads=[work])
    guest, _ = declared(["host", "host/kvm"], "host", workloads=[work], peer="host/kvm")
    ((name, params),) = work.items()
    uses = workload.load(name, **params).uses_peer()

    assert uses is any("peer" in (one.place, workload.load(name, **params).place())
                       for one in workload.load(name, **params).roles())  # fmt: skip
    cable = [need for need in found if need.stays]
    assert [(one.platform, one.kept_bytes, one.instances) for one in cable] == uses * [
        ("the peer host", IDLE_BYTES, 1)
    ]
    assert one(found, "host").passing_bytes == GIB + uses * GIB
    assert one(found, "host/kvm").passing_bytes == uses * GIB
    more = Sum(found, at_once).total_bytes - Sum(alone, at_once).total_bytes
    assert more == uses * (GIB + IDLE_BYTES)

    peers = [need for need in guest if need.stays]
    assert [(one.platform, one.kept_bytes) for one in peers] == uses * [("the peer host/kvm", GIB)]
    assert one(guest, "host").passing_bytes == GIB
    more = Sum(guest, at_once).total_bytes - Sum(alone, at_once).total_bytes
    assert more == uses * GIB


@pytest.mark.parametrize("peer", ["{stack: host/ssh, ssh: {address: there}}"])
def test_a_peer_on_another_computer_takes_nothing(peer):
    text = f"name: s\nplatforms: [host]\nlimits: {{cpus: 1, memory: 1GiB}}\npeer: {peer}\n"
    study = read_study(f"{text}workloads: [web_ab]\n", "s.yaml")

    found = needs(study, make_plan(study, 1))

    assert [one.kept_bytes for one in found if one.stays] == [0]
    assert {one.passing_bytes for one in found if not one.stays} == {GIB}


def test_there_is_a_peer_for_each_number_of_cpus_and_each_memory_and_it_stays():
    limits = [{"cpus": 1, "memory": "1GiB"}, {"cpus": 2, "memory": "1GiB"},
              {"cpus": 2, "memory": "1GiB", "disk_cache": "writeback"}]  # fmt: skip
    text = "name: s\nplatforms: [host]\npeer: host/kvm\nworkloads: [web_ab]\n"
    study = read_study(f"{text}limits: {json.dumps(limits)}\n", "s.yaml")
    found = needs(study, make_plan(study, 1))

    peers = [one for one in found if one.stays]
    assert [one.limits.cpus for one in peers] == [2, 1]
    for each in by_blocks(found, 1):  # they are not closed when a block ends
        assert [one for one in each.needs if one.stays] == peers
        assert each.kept_bytes == 2 * GIB + 2 * IDLE_BYTES
    for limits in study.limits:
        assert [one.is_of("the peer host/kvm", limits) for one in peers].count(True) == 1


def test_limits_that_pin_nothing_have_a_peer_of_their_own():
    limits = [{"cpus": 1, "memory": "1GiB"}, {"cpus": 1, "memory": "1GiB", "cpu_limit": "quota"}]
    text = "name: s\nplatforms: [host]\npeer: host/kvm\nworkloads: [web_ab]\n"
    study = read_study(f"{text}limits: {json.dumps(limits)}\n", "s.yaml")
    found = needs(study, make_plan(study, 1))

    peers = [one for one in found if one.stays]
    assert [one.kept_bytes for one in peers] == [GIB, GIB]
    for under in study.limits:
        assert [one.is_of("the peer host/kvm", under) for one in peers].count(True) == 1


def test_a_role_that_stays_up_between_trials_keeps_the_memory_of_its_container(monkeypatch):
    kept = Role(name="db", command=["serve", "{db.port}"], lifetime=Lifetime.INSTANCE)
    work = workload.load("sysbench_cpu")
    monkeypatch.setattr(type(work), "roles", lambda self: (kept,))
    found, _ = declared(["host", "host/docker"], "host")
    assert one(found, "host/docker").instances == 10  # a part each
    assert (one(found, "host/docker").kept_bytes, one(found, "host/docker").passing_bytes) == (
        GIB, 0,
    )  # fmt: skip

    monkeypatch.setattr(type(work), "roles", lambda self: (replace(kept, place=PEER),))
    found, _ = declared(["host", "host/docker"], "host")
    assert one(found, "host/docker").kept_bytes == IDLE_BYTES
    assert [one.kept_bytes for one in found if one.stays] == [GIB]


def test_the_control_has_instances_of_its_own():
    found, at_once = declared(["host/kvm"], "host/kvm", repetition={"instances": 3})

    assert [need.instances for need in found] == [3, 3]
    assert Sum(found, at_once).kept_bytes == 6 * GIB


def test_a_duet_has_all_instances_twice_and_two_trials_at_once():
    found, at_once = declared(
        ["host", "host/kvm"], "host", repetition={"instances": 1, "design": "duet"}
    )

    assert at_once == 2
    assert Sum(found, at_once).passing_bytes == 2 * GIB
    assert Sum(found, at_once).kept_bytes == 2 * GIB + 4 * IDLE_BYTES


def test_what_is_on_another_machine_or_set_apart_before_takes_nothing():
    found, _ = declared(
        [
            "host",
            "{stack: host/ssh, ssh: {address: there}}",
            "{stack: host/kvm, name: huge, kvm: {hugepages: true}}",
            "host/xen",
        ],
        "host",
    )

    for name in ("host/ssh", "huge", "host/xen"):
        assert (one(found, name).kept_bytes, one(found, name).passing_bytes) == (0, 0)


def test_a_machine_that_many_share_is_counted_once():
    lab = Need(platform="lab/kvm", limits=SMALL, instances=5, kept_bytes=6 * GIB, shared="lab")

    assert Sum([lab, lab]).kept_bytes == 6 * GIB
    assert "1 x lab of 6.0 GiB" in Sum([lab, lab]).says()


def test_a_storm_of_guests_takes_each_ones_memory_and_one_of_containers_little():
    storm = {"scenario": "lifecycle", "repetition": {"instances": 1}}
    guests, _ = declared(["host/kvm"], "host/kvm", "256MiB", lifecycle={"count": 32}, **storm)
    containers, _ = declared(["host/docker"], "host/docker", lifecycle={"count": 128}, **storm)
    inside, _ = declared(["host/kvm/docker"], "host/kvm/docker", lifecycle={"count": 9}, **storm)

    assert Sum(guests).total_bytes == 32 * 256 * MIB + RESERVE_BYTES
    assert Sum(containers).total_bytes == 128 * IDLE_BYTES + RESERVE_BYTES
    assert Sum(inside).total_bytes == 2 * GIB + RESERVE_BYTES  # with the control's guest
    for found in (guests, containers, inside):
        assert admit(found, 1, HOST_24_GB)


@pytest.mark.parametrize(
    ("preset", "scale"),
    [
        ("quick", None),
        ("lifecycle", None),
        ("host-os", None),
        *((name, "quick") for name in ("aspernas2016-prestudy", "cole2022", "hpe2016-pure")),
        *((name, "quick") for name in ("huang2019-performance", "laine2017")),
        *((name, "quick") for name in ("laine2017-cpus", "laine2017-web")),
    ],
)
def test_presets_are_all_open_at_once_on_a_host_of_24_gb(preset, scale):
    study = load_study(preset, scale)
    plan = make_plan(study, 1)

    assert admit(needs(study, plan), at_once_of(plan), HOST_24_GB)


def test_what_fits_exactly_is_admitted_and_a_byte_less_is_opened_by_blocks():
    found = [Need(platform="vm", limits=SMALL, instances=2, kept_bytes=GIB)]
    exactly = 2 * GIB + RESERVE_BYTES

    assert admit(found, 1, exactly)
    assert not admit(found, 1, exactly - 1)


def test_by_blocks_only_cells_under_the_same_limits_are_open_together():
    found = [
        Need(platform=name, limits=limits, instances=5, kept_bytes=limits.memory_bytes)
        for limits in (SMALL, LARGE)
        for name in ("a", "b")
    ]

    assert [each.kept_bytes for each in by_blocks(found, 1)] == [2 * GIB, 8 * GIB]
    assert not admit(found, 1, 9 * GIB)
    with pytest.raises(Unavailable, match=r"needs 8\.5 GiB"):
        admit(found, 1, 8 * GIB)


def test_a_refusal_names_what_needs_how_much_what_there_is_and_the_remedy():
    found = [
        Need(platform="vm", limits=LARGE, instances=2, kept_bytes=4 * GIB),
        Need(platform="box", limits=LARGE, instances=2, kept_bytes=IDLE_BYTES, passing_bytes=GIB),
    ]

    with pytest.raises(Unavailable) as refused:
        admit(found, 1, 3 * GIB)

    assert str(refused.value) == (
        "what is open at once needs 5.5 GiB of memory, 3.0 GiB are available on this host: "
        "1 x vm of 4.0 GiB, idle containers 16 MiB, running trials 1.0 GiB, the host itself "
        "512 MiB; fix: a smaller `memory` in the limits, fewer platforms, or a smaller "
        "`count`"
    )


def test_a_host_with_too_little_memory_is_refused_before_anything_starts(lab, scripted):
    seen = []
    scripted.plot = lambda instance, verb, argv: seen.append(verb)
    study, plan, folder = lab.begin(lab.text({"base": GUEST, "other": GUEST}))

    with pytest.raises(Unavailable, match="base of 1") as refused:
        runner.run(study, plan, folder, runner.Silent(), lambda: 2 * GIB)

    assert "2.0 GiB are available" in str(refused.value)
    assert seen == []
    assert scripted.made == []
    assert lab.leftovers() == []
    assert not load(folder).trials


def test_run_ends_with_one_error_and_the_status_of_what_this_host_cannot_do(
    lab, scripted, tmp_path, capsys
):
    file = tmp_path / "s.yaml"
    file.write_text(lab.text({"base": GUEST}, limits={"cpus": 1, "memory": "100TiB"}))

    assert main(["run", str(file), "--into", str(tmp_path / "into")]) == CANNOT
    told = capsys.readouterr().err.splitlines()[-1]
    assert told.startswith("tare: what is open at once needs ")
    assert "fix: " in told
    assert scripted.made == []

    assert main(["plan", str(file)]) == 0
    assert "memory     does not fit: what is open at once needs" in capsys.readouterr().out
    assert main(["plan", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["memory"]["fits"] == "not"


def test_the_plan_of_what_is_opened_by_blocks_has_the_starts_in_its_time(
    lab, scripted, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr("tare.cli.plan.available_bytes", lambda: 4 * GIB)
    told = []
    for memory in ("16MiB", "1GiB"):
        file = tmp_path / f"{memory}.yaml"
        repetition = {"min_blocks": 6, "max_blocks": 6, "instances": 2}
        limits = {"cpus": 1, "memory": memory}
        file.write_text(
            lab.text({"base": GUEST, "other": GUEST}, limits=limits, repetition=repetition)
        )
        assert main(["plan", str(file), "--json"]) == 0
        told.append(json.loads(capsys.readouterr().out))

    assert [one["memory"]["fits"] for one in told] == ["at once", "by blocks"]
    assert [one["estimate"]["starts"]["base"] for one in told] == [2 * 2, 2 * 6]
    assert "the time includes that" in told[1]["memory"]["says"]
    assert scripted.made == []


def by_blocks_study(lab, **others):
    text = lab.text(
        {"base": GUEST, "other": GUEST},
        repetition={"min_blocks": 3, "max_blocks": 4, "instances": 2},
        **others,
    )
    return lab.begin(text)


@pytest.mark.parametrize(
    ("limits", "available"),
    [
        ({"cpus": 1, "memory": "1GiB"}, 4 * GIB),
        ([{"cpus": 1, "memory": "1GiB"}, {"cpus": 1, "memory": "2GiB"}], 7 * GIB),
    ],
)
def test_what_does_not_fit_at_once_is_opened_for_its_block_and_closed_after(
    lab, scripted, limits, available
):
    most = []

    def plot(instance, verb, argv):
        if verb not in ("start", "resume"):
            return
        live = [each for each in list(scripted.made) if Path(each.path).exists()]
        most.append(sum(each.site.limits.memory_bytes for each in live))
        if verb == "resume":  # all that is compared is open together
            assert len(live) == 3
            assert len({each.site.limits for each in live}) == 1

    scripted.plot = plot
    study, plan, folder = by_blocks_study(lab, limits=limits)

    runner.run(study, plan, folder, runner.Silent(), lambda: available)

    results = load(folder)
    assert {trial.status for trial in results.trials} <= {Status.OK, Status.SUSPECT}
    blocks = {(trial.cell, trial.block): trial.instance for trial in results.trials}
    of_cell = [label for (cell, _), label in blocks.items() if cell == plan.cells[0].id]
    assert len(set(of_cell)) == len(of_cell)  # each block has instances of its own
    assert max(most) <= available - RESERVE_BYTES
    session = json.loads((folder / "run.json").read_text())["sessions"][0]
    assert session["blocks_per_instance"] == 1
    assert lab.leftovers() == []


def test_a_block_whose_memory_others_have_taken_since_says_that_and_leaves_nothing(lab, scripted):
    study, plan, folder = by_blocks_study(lab)
    # The plan, one instance of each platform and of the control, and one of the second block.
    readings = iter([4 * GIB] * 5)

    runner.run(study, plan, folder, runner.Silent(), lambda: next(readings, GIB))

    found = {(one.status, one.reason.partition(": ")[0]) for one in load(folder).trials}
    assert found - {(Status.OK, "")} == {
        (Status.UNAVAILABLE, "no instance could be opened for a block")
    }
    assert lab.leftovers() == []


def test_an_instance_whose_memory_others_have_taken_since_is_not_opened(lab, scripted):
    readings = iter([100 * GIB, 10 * GIB, 10 * GIB])
    study, plan, folder = lab.begin(lab.text({"base": GUEST, "other": GUEST}))

    runner.run(study, plan, folder, runner.Silent(), lambda: next(readings, GIB))

    trials = load(folder).trials
    assert {trial.status for trial in trials} >= {Status.UNAVAILABLE}
    lost = next(trial for trial in trials if trial.status is Status.UNAVAILABLE)
    assert "takes 1.0 GiB of memory, and 512 MiB are left to the host itself" in lost.reason
    assert len(scripted.made) == 2


def with_a_guest_as_peer(lab):
    text = lab.text({"base": {}}, workloads=["web_ab"], peer=GUEST)
    return lab.begin(text)


def test_a_peer_whose_memory_others_have_taken_since_is_not_opened(lab, scripted):
    study, plan, folder = with_a_guest_as_peer(lab)
    readings = iter([100 * GIB] * 3)  # the plan, and an instance of the platform and its control

    runner.run(study, plan, folder, runner.Silent(), lambda: next(readings, GIB))

    assert {one.status for one in load(folder).trials} == {Status.UNAVAILABLE}
    (reason,) = {one.reason for one in load(folder).trials}
    assert reason.startswith("an instance of the peer host/guest takes 1.0 GiB of memory, and")
    assert scripted.made == []


def test_what_the_peers_own_process_takes_is_in_the_sum_too(lab, heavy, scripted):
    study, plan, folder = with_a_guest_as_peer(lab)
    assert [one.platform for one in needs(study, plan) if one.stays] == ["the peer host/guest"]

    runner.run(study, plan, folder, runner.Silent(), lambda: GIB + RESERVE_BYTES + 199 * MIB)

    first, *others = load(folder).trials
    assert "1 x the peer host/guest of 1.2 GiB, the host itself 512 MiB" in first.reason
    assert {one.status for one in (first, *others)} == {Status.UNAVAILABLE}
    assert len(scripted.made) == 1
    assert lab.leftovers() == []


SMAPS = """\
7f0000000000-7f0040000000 rw-p 00000000 00:00 0
Size:            1048576 kB
Pss:              300000 kB
7f0050000000-7f0050100000 rw-s 00000000 00:01 77 /dev/shm/guest memory (deleted)
Size:             524288 kB
Pss:              200000 kB
7f0060000000-7f0060100000 rwxp 00000000 00:00 0
Size:            1048572 kB
Rss:               70000 kB
Pss:               61440 kB
Pss_Dirty:         61440 kB
7f0070000000-7f0070100000 r-xp 00000000 08:01 99    /usr/lib/a: library
Size:               1024 kB
Pss:                1024 kB
"""


@pytest.fixture
def processes(tmp_path):
    group = tmp_path / "cgroup" / "tare/x/kernel"
    group.mkdir(parents=True)
    (tmp_path / "cgroup/cgroup.controllers").touch()
    (group / "cgroup.procs").write_text("7\n8\n")
    (tmp_path / "proc/7").mkdir(parents=True)
    (tmp_path / "proc/7/smaps").write_text(SMAPS)  # 8 has ended meanwhile
    return tmp_path


def test_a_guests_overhead_is_what_its_process_has_besides_the_guests_memory(processes):
    found = overhead_bytes("tare/x", GIB, processes / "cgroup", processes / "proc")

    assert found == 61 * MIB


def test_the_overhead_of_the_first_guest_counts_for_all_of_its_platform(processes):
    vm = Need(platform="vm", limits=SMALL, instances=4, kept_bytes=GIB)

    def measured(available):
        headroom = Headroom([vm], 1, lambda: available)
        headroom.measure = lambda group, size: overhead_bytes(
            group, size, processes / "cgroup", processes / "proc"
        )
        return headroom

    enough = measured(5 * GIB)
    enough.opened("vm", SMALL, Threads(cgroup="tare/x"))
    assert Sum(enough.needs).kept_bytes == 4 * (GIB + 61 * MIB)

    assert not enough.is_by_blocks

    scarce = measured(4 * GIB + RESERVE_BYTES)
    assert not scarce.is_by_blocks
    scarce.opened("vm", SMALL, Threads(cgroup="tare/x"))
    assert scarce.is_by_blocks

    with pytest.raises(Unavailable, match=r"1 x vm of 1\.1 GiB"):
        measured(GIB + RESERVE_BYTES).opened("vm", SMALL, Threads(cgroup="tare/x"))


def storm(lab, count, **limits):
    text = lab.text({"base": GUEST}, scenario="lifecycle", lifecycle={"count": count})
    document = yaml.safe_load(text) | {"repetition": {"min_blocks": 2, "max_blocks": 2}}
    del document["workloads"]
    return lab.begin(yaml.safe_dump(document | limits))


@pytest.fixture
def heavy(scripted, monkeypatch):
    """Guests whose own processes take 200 MiB each; gives how many were open at each start."""
    most = []

    def plot(instance, verb, argv):
        if verb == "threads":
            return Threads(cgroup="tare/x")
        if verb == "start":
            most.append(sum(Path(each.path).exists() for each in list(scripted.made)))
        return None

    scripted.plot = plot
    monkeypatch.setattr(
        "tare.experiment.run.headroom.overhead_bytes", lambda group, size: 200 * MIB
    )
    return most


def test_before_a_trial_makes_several_guests_one_is_made_and_what_it_takes_is_counted(
    lab, heavy, scripted
):
    study, plan, folder = storm(lab, 3)

    runner.run(study, plan, folder, runner.Silent(), lambda: 4 * GIB + 88 * MIB)

    trials = load(folder).trials
    assert {trial.status for trial in trials} == {Status.OK}
    # One for the platform, whose control is the same; then three for each trial.
    assert len(scripted.made) == 1 + 3 * len(trials)
    assert heavy[0] == 1
    assert lab.leftovers() == []


def test_guests_that_take_more_than_their_memory_are_opened_by_blocks_where_only_that_fits(
    lab, heavy, scripted
):
    study, plan, folder = by_blocks_study(lab)
    available = 6 * GIB + RESERVE_BYTES + 100 * MIB  # six guests, of which each takes 1.2 GiB

    runner.run(study, plan, folder, runner.Silent(), lambda: available)

    assert {trial.status for trial in load(folder).trials} <= {Status.OK, Status.SUSPECT}
    session = json.loads((folder / "run.json").read_text())["sessions"][0]
    assert session["blocks_per_instance"] == 1
    # Before it was known two a CPU were begun; then one of each platform and of the control.
    assert max(heavy[len(heavy) // 2 :]) <= 3
    assert lab.leftovers() == []


def test_a_trial_whose_guests_do_not_fit_with_what_they_take_besides_makes_none(
    lab, heavy, scripted
):
    study, plan, folder = storm(lab, 3)

    runner.run(study, plan, folder, runner.Silent(), lambda: 4 * GIB + 87 * MIB)

    trials = load(folder).trials
    assert {trial.status for trial in trials} == {Status.UNAVAILABLE}
    assert trials[0].reason == (
        "a trial makes 3 x base of 1.2 GiB, together 3.6 GiB of memory, and 512 MiB are left to "
        "the host itself: 4.1 GiB are available; fix: a smaller `memory` in the limits, "
        "fewer platforms, or a smaller `count`"
    )
    assert max(heavy) == 1
    assert len(scripted.made) == 1
    assert lab.leftovers() == []


def test_a_guest_that_cannot_be_made_to_be_measured_fails_the_trial_and_leaves_nothing(
    lab, scripted
):
    def plot(instance, verb, argv):
        if verb == "ready":
            raise LayerError("it did not boot")

    scripted.plot = plot
    study, plan, folder = storm(lab, 2)

    runner.run(study, plan, folder, runner.Silent(), lambda: 100 * GIB)

    assert {(one.status, one.reason) for one in load(folder).trials} == {
        (Status.FAILED, "it did not boot")
    }
    assert lab.leftovers() == []


@pytest.mark.parametrize("count", [1, 2])
def test_only_where_trials_make_several_guests_one_is_measured_first(lab, heavy, scripted, count):
    study, plan, folder = storm(lab, count)

    runner.run(study, plan, folder, runner.Silent(), lambda: 100 * GIB)

    made = count * len(load(folder).trials)
    assert len(scripted.made) == made + (count > 1)


def test_available_memory_is_read_in_bytes(tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:    2048 kB\n")

    assert available_bytes(tmp_path) == 2 * MIB
