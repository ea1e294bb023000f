"""The bytes that disks moved, and the claims that are held against them."""

import json
import os
from dataclasses import asdict

import pytest

from tare.core.model import Better, FileAccess, Metric, Unit
from tare.experiment.design import make_plan as planned
from tare.experiment.probes import disk
from tare.experiment.probes.disk import Moved
from tare.experiment.study import read_study
from tare.present.view.flags import flag_texts
from tare.results.checks.conditions import claim, moved_share, unlike
from tare.results.compare.pairing import histories
from tare.results.store import facts_of
from tare.results.store.reader import plan_of
from tare.results.study import compare
from tare.work import workload
from tare.work.workload import TOOL_DURATION
from unit.makers import make_cell, make_plan, make_trial

THROUGHPUT = Metric("throughput", Unit.BYTE_PER_SECOND, Better.HIGHER)
METRICS = (THROUGHPUT, TOOL_DURATION)
MIB = 2**20
DISKSTATS = """\
 254       0 vda 10 0 100 5 20 0 300 7 0 1 12 0 0 0 0 0 0
 254       1 vda1 10 0 100 5 20 0 300 7 0 1 12 0 0 0 0 0 0
 253       0 dm-0 9 0 100 5 20 0 300 7 0 1 12 0 0 0 0 0 0
   8       0 sda 1 0 8 5 2 0 16 7 0 1 12
"""


def cell(platform, direct=True):
    access = FileAccess.DIRECT if direct else FileAccess.CACHED
    return make_cell(platform, workload="fio", file_access=access)


def plan(*cells):
    return make_plan(*cells, metrics=METRICS, baseline="host")


def trial(of, block, moved=None, rate=100.0 * MIB, **samples):
    return make_trial(
        of,
        block,
        duration_s=1.1,
        samples={"throughput": rate, "tool_duration": 1.0, **samples},
        noise={} if moved is None else {"disk_read_bytes": moved, "disk_written_bytes": 0.0},
    )


def flags(cells, trials, facts=None):
    found = compare(plan(*cells), trials, facts_of(facts or {}))
    return {row.cell.platform: " ".join(flag_texts(row.flags)) for row in found.comparisons}


def test_only_disks_with_hardware_behind_them_are_counted(tmp_path):
    (tmp_path / "diskstats").write_text(DISKSTATS)
    for name in ("vda", "sda"):
        (tmp_path / name / "device").mkdir(parents=True)
    (tmp_path / "dm-0").mkdir()

    found = disk.read(tmp_path, tmp_path)
    assert (found.read_bytes, found.written_bytes) == (108 * 512, 316 * 512)
    assert found.busy_ms == {"vda": 1, "sda": 1}
    assert found.at_s > 0


def test_a_host_without_disks_does_not_know(tmp_path):
    (tmp_path / "diskstats").write_text(DISKSTATS)

    assert disk.read(tmp_path, tmp_path) is None
    assert disk.read(tmp_path / "none", tmp_path) is None
    assert disk.between(None, Moved(1, 1)) == {}


def test_what_was_moved_is_the_difference():
    found = disk.between(Moved(10, 20), Moved(110, 25))

    assert found == {"disk_read_bytes": 100.0, "disk_written_bytes": 5.0}


def test_the_busiest_disk_tells_how_busy_they_were():
    before = Moved(0, 0, {"sda": 2**32 - 300, "sdb": 50, "gone": 5}, at_s=10.0)
    after = Moved(0, 0, {"sda": 200, "sdb": 150, "new": 9000}, at_s=12.0)

    assert disk.between(before, after)["disk_busy_share"] == 0.25


def test_ticks_make_no_disk_busier_than_always():
    before, after = Moved(0, 0, {"sda": 0}, at_s=1.0), Moved(0, 0, {"sda": 104}, at_s=1.1)

    assert disk.between(before, after)["disk_busy_share"] == 1.0


def test_a_claim_is_rate_times_the_tools_own_duration():
    samples = {"throughput": 100.0, "tool_duration": 2.0}
    noise = {"disk_read_bytes": 150.0, "disk_written_bytes": 3.0}

    assert claim(samples, noise, 2.5, METRICS) == (200.0, 153.0)
    assert claim({"throughput": 100.0}, noise, 2.5, METRICS) == (250.0, 153.0)
    assert claim(samples, {}, 2.5, METRICS) is None
    assert claim({}, noise, 2.5, METRICS) is None
    assert claim(samples, noise, 2.5, ()) is None


def test_files_are_on_a_disk_through_partitions_and_mappings(tmp_path):
    devices, block = tmp_path / "dev", tmp_path / "block"
    number = tmp_path.stat().st_dev
    link = devices / f"{os.major(number)}:{os.minor(number)}"
    devices.mkdir()
    (block / "sda/device").mkdir(parents=True)
    (block / "sda/sda1").mkdir()
    (block / "sda/sda1/partition").write_text("1")
    (block / "dm-0/slaves").mkdir(parents=True)
    (block / "dm-0/slaves/sda1").symlink_to(block / "sda/sda1")
    (block / "zram0").mkdir()

    assert not disk.is_counted(tmp_path, devices)  # in memory, or on the network
    for name, expected in (("sda/sda1", True), ("sda", True), ("dm-0", True), ("zram0", False)):
        link.unlink(missing_ok=True)
        link.symlink_to(block / name)
        assert disk.is_counted(tmp_path, devices) is expected


def test_claims_too_small_to_judge_are_left_out():
    host = cell("host")
    known = histories(plan(host), [trial(host, 0, moved=0.0, rate=1000.0)])

    assert moved_share(known[host.id]) is None


def test_o_direct_that_was_cached_is_said_beside_the_number():
    host, vm = cell("host"), cell("vm")
    trials = [trial(host, b, moved=101.0 * MIB) for b in range(3)]
    trials += [trial(vm, b, moved=12.0 * MIB) for b in range(3)]

    said = flags((host, vm), trials)["vm"]
    assert "O_DIRECT was not direct: the host's disks moved 12 % of the bytes" in said
    assert "The baseline's" not in said


@pytest.mark.parametrize(("direct", "moved"), [(False, 0.0), (True, 100.0 * MIB), (True, None)])
def test_nothing_is_said_of_work_that_may_be_cached_or_was_not_or_is_not_known(direct, moved):
    host, vm = cell("host", direct), cell("vm", direct)
    trials = [trial(of, b, moved) for of in (host, vm) for b in range(3)]

    assert "O_DIRECT" not in flags((host, vm), trials)["vm"]


def test_mismatches_stand_beside_the_numbers_that_they_touch():
    host, vm = cell("host"), cell("vm")
    mismatch = {"about": "clock", "said": "clock source hpet (tsc there)", "workloads": ["fio"]}
    other = {"about": "x", "said": "only of others", "workloads": ["mbw"]}
    drifting = {"about": "clock rate", "said": "its clock ran slow", "workloads": ["fio"]}
    platforms = {"vm": {"mismatches": [mismatch, other]}, "host": {"mismatches": [drifting]}}

    said = flags((host, vm), [trial(host, 0), trial(vm, 0)], {"platforms": platforms})["vm"]
    assert "Unlike its baseline: clock source hpet (tsc there)." in said
    assert "The baseline: its clock ran slow." in said
    assert "only of others" not in said


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"platforms": 3},
        {"platforms": {"vm": []}},
        {"platforms": {"vm": {"mismatches": 1}}},
        {"platforms": {"vm": {"mismatches": [1, {"workloads": 3}]}}},
    ],
)
def test_facts_of_any_shape_are_not_known(facts):
    assert unlike(facts_of(facts), "vm", "fio") == []


@pytest.mark.parametrize("name", ["dd_disk", "fio", "ioping", "sysbench_fileio"])
def test_a_workload_on_files_says_whether_it_bypasses_the_page_cache(name):
    assert workload.load(name, direct=True).file_access() is FileAccess.DIRECT
    assert workload.load(name, direct=False).file_access() is FileAccess.CACHED


def test_a_cell_says_how_its_workload_reaches_files():
    text = """
        {name: files, platforms: [host], limits: {cpus: 1, memory: 1GiB}, workloads: [
        {ioping: {direct: true}}, {fio: {direct: false}}, sysbench_cpu]}
    """
    cells = planned(read_study(text, "files.yaml"), seed=1).cells

    assert {cell.workload: cell.file_access for cell in cells} == {
        "ioping": FileAccess.DIRECT,
        "fio": FileAccess.CACHED,
        "sysbench_cpu": FileAccess.NONE,
    }


@pytest.mark.parametrize(
    ("params", "access"),
    [
        ([["direct", True]], FileAccess.DIRECT),
        ([["direct", False]], FileAccess.CACHED),
        ([["threads", 1]], FileAccess.NONE),
    ],
)
def test_a_workload_of_the_first_format_was_on_files_if_it_could_be_direct(params, access):
    stored = asdict(plan(cell("host"))) | {"format": 1, "baseline": "host"}
    stored["cells"] = [{**one, "params": params} for one in stored["cells"]]
    for one in stored["cells"]:
        del one["file_access"]

    (read,) = plan_of(json.dumps(stored).encode(), "plan.json").cells

    assert read.file_access is access
