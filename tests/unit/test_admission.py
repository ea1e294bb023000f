"""Admission: the sums, what is refused before anything starts, and opening by blocks."""

import json
from pathlib import Path

import pytest

from tare import runner
from tare.cli import CANNOT, main
from tare.errors import Unavailable
from tare.facts import available_bytes
from tare.layer import Threads
from tare.model import Limits, Status
from tare.runner.headroom import Headroom, overhead_bytes
from tare.store import load
from tare.study import load_study, make_plan, read_study
from tare.study.admission import (
    IDLE_BYTES,
    RESERVE_BYTES,
    Need,
    Sum,
    admit,
    at_once_of,
    by_blocks,
    needs,
)

MIB, GIB = 2**20, 2**30
SMALL, LARGE = (Limits(cpus=1, memory_bytes=size * GIB) for size in (1, 4))
GUEST = {"stack": "host/guest"}
HOST_24_GB = 23 * GIB + 512 * MIB
"""What a host of 24 GiB has available when nothing else is on it."""


def declared(platforms, baseline, memory="1GiB", **others):
    listed = "".join(f"  - {one}\n" for one in platforms)
    rest = "".join(f"{key}: {json.dumps(value)}\n" for key, value in others.items())
    work = "" if "lifecycle" in others else "workloads: [sysbench_cpu]\n"
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


def test_a_peer_with_memory_of_its_own_is_counted_where_something_runs_there():
    guest = {"peer": "host/kvm", "workloads": [{"web_ab": {"server": "nginx"}}]}
    text = "name: s\nplatforms: [host]\nlimits: {{cpus: 1, memory: 1GiB}}\n{}"
    found = {}
    for name, more in (("guest", guest), ("cable", {"workloads": guest["workloads"]}),
                       ("unused", guest | {"workloads": ["sysbench_cpu"]})):  # fmt: skip
        rest = "".join(f"{key}: {json.dumps(value)}\n" for key, value in more.items())
        study = read_study(text.format(rest), "s.yaml")
        found[name] = [need for need in needs(study, make_plan(study, 1)) if need.shared]

    assert found["cable"] == found["unused"] == []
    (peer,) = found["guest"]
    assert (peer.shared, peer.kept_bytes) == ("the peer host/kvm", GIB)


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
        "512 MiB; to mend it: a smaller `memory` in the limits, fewer platforms, or a smaller "
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
    assert "to mend it: " in told
    assert scripted.made == []

    assert main(["plan", str(file)]) == 0
    assert "memory     does not fit: what is open at once needs" in capsys.readouterr().out
    assert main(["plan", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["memory"]["fits"] == "not"


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


def test_an_instance_whose_memory_others_have_taken_since_is_not_opened(lab, scripted):
    readings = iter([100 * GIB, 10 * GIB, 10 * GIB])
    study, plan, folder = lab.begin(lab.text({"base": GUEST, "other": GUEST}))

    runner.run(study, plan, folder, runner.Silent(), lambda: next(readings, GIB))

    trials = load(folder).trials
    assert {trial.status for trial in trials} >= {Status.UNAVAILABLE}
    lost = next(trial for trial in trials if trial.status is Status.UNAVAILABLE)
    assert "takes 1.0 GiB of memory, and 512 MiB are left to the host itself" in lost.reason
    assert len(scripted.made) == 2


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

    with pytest.raises(Unavailable, match=r"4 x vm of 1\.1 GiB"):
        measured(4 * GIB + RESERVE_BYTES).opened("vm", SMALL, Threads(cgroup="tare/x"))


def test_available_memory_is_read_in_bytes(tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:    2048 kB\n")

    assert available_bytes(tmp_path) == 2 * MIB
