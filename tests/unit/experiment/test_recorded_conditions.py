"""What a session reads of its platforms, and what it does with values that cannot be."""

import json
import shlex
from dataclasses import dataclass
from functools import partial

import pytest
import yaml

from tare.core.completed import Completed
from tare.core.model import DiskCache, Status
from tare.experiment.trial.measure import _too_fast
from tare.machines.simulation.tools import answer
from tare.machines.stack import Stack
from tare.present.view.flags import flag_texts
from tare.results.store import read_facts
from tare.results.study import compare
from tare.work.workloads.fio import Workload

MIB = 2**20
HOST = """\
/proc/sys/kernel/osrelease:6.18
/sys/devices/system/clocksource/clocksource0/current_clocksource:tsc
affinity:1
filesystem:254:0 ext4 /dev/vda rw
"""
GUEST = HOST.replace("tsc", "hpet").replace("ext4", "xfs")


def study(lab):
    return lab.text(
        {"base": {"stack": "host/scripted", "scripted": {"cost": 1.0}}}
        | {"dear": {"stack": "host/scripted", "scripted": {"cost": 1.5}}},
        workloads=[
            {"sysbench_cpu": {"threads": 1, "time": "1 s"}},
            {"fio": {"size": "1MiB", "time": "1 s", "depth": 1}},
        ],
    )


def told(instance, argv):
    """Answer what is asked of a machine before it is measured; None is for the simulation."""
    if argv[0] != "sh":
        return None
    text = GUEST if instance.machine.simulated.cost > 1 else HOST
    return Completed(argv, 0, text.encode() if "affinity" in argv[2] else b"", b"", 0.0)


def test_what_is_unlike_the_baseline_is_stored_and_stands_beside_the_numbers(lab, scripted):
    asked = []

    def plot(instance, verb, argv):
        if verb == "run" and argv[0] == "sh":
            asked.append(argv)
            return told(instance, argv)
        return None

    scripted.plot = plot
    results = lab.run(study(lab))

    stored = read_facts(results.folder)["platforms"]
    assert stored["base"]["preconditions"]["clocksource"] == "tsc"
    assert stored["base"]["mismatches"] == []
    assert [(one["said"], one["workloads"]) for one in stored["dear"]["mismatches"]] == [
        ("clock source hpet (tsc there)", ["sysbench_cpu", "fio"]),
        ("filesystem xfs (ext4 there)", ["fio"]),
    ]
    assert {shlex.join(argv[3:]) for argv in asked if "affinity" in argv[2]} == {
        "/data fio sysbench"
    }
    rows = compare(results.plan, results.trials, results.facts).comparisons
    flags = {
        r.cell.workload: flag_texts(r.flags)
        for r in rows
        if r.primary and r.cell.platform == "dear"
    }
    assert "Unlike its baseline: clock source hpet (tsc there)." in flags["sysbench_cpu"]
    assert any("filesystem xfs" in flag for flag in flags["fio"])


def test_a_time_of_day_that_was_set_meanwhile_is_said(lab, scripted):
    asked = iter(range(1000))

    def plot(instance, verb, argv):
        if verb == "run" and argv[0] == "sh" and "uptime" in argv[2]:
            return Completed(argv, 0, f"{1e9 + 60 * next(asked)}\n5.0\n".encode(), b"", 0.0)
        return told(instance, argv) if verb == "run" else None

    scripted.plot = plot
    results = lab.run(study(lab))

    about = read_facts(results.folder)["platforms"]["dear"]
    assert about["clock"]["set_s"] > 0
    assert about["mismatches"][0]["about"] == "clock set"


def test_a_machine_that_cannot_be_asked_is_measured_and_warned_of(lab, scripted):
    def plot(instance, verb, argv):
        if verb == "run" and argv[0] == "sh":
            return Completed(argv, 127, b"", b"no sh here", 0.0)
        return None

    scripted.plot = plot
    results = lab.run(study(lab))

    stored = read_facts(results.folder)["platforms"]["dear"]
    assert stored["preconditions"] == {}
    assert any("preconditions could not be read inside" in one for one in stored["warnings"])
    assert {one.status for one in results.trials} == {Status.OK}


def test_facts_are_plain_data(lab):
    folder = lab.run(lab.text({"base": {"sim": {}}})).folder

    about = json.loads((folder / "facts.json").read_text())["platforms"]["base"]
    assert about["preconditions"] == about["clock"] == {}


@pytest.mark.parametrize(("wall_s", "status"), [(0.9, Status.FAILED), (0.98, Status.OK)])
def test_a_tool_that_ran_longer_than_the_host_saw_fails(lab, scripted, wall_s, status):
    """It says that it ran for 1 s."""

    def plot(instance, verb, argv):
        if verb == "run" and "sysbench" in argv:
            return Completed(argv, 0, answer(argv, 1.0)[0], b"", wall_s)
        return None

    scripted.plot = plot
    text = yaml.safe_load(study(lab))
    text["workloads"] = text["workloads"][:1]
    results = lab.run(yaml.safe_dump(text))

    assert {one.status for one in results.trials} == {status}
    if status is Status.FAILED:
        reason = results.trials[0].reason
        assert "it ran for 1.000 s, but by the host's clock the whole command took 0.900" in reason


@dataclass
class Cached:
    mode: DiskCache | None

    def disk_cache(self):
        return self.mode


@pytest.mark.parametrize(
    ("moved", "direct", "mode", "is_too_fast"),
    [
        (5.0, True, None, True),
        (5.0, True, DiskCache.NONE, True),
        (5.0, True, DiskCache.WRITEBACK, False),  # it was asked for
        (5.0, False, None, False),
        (70.0, True, None, False),  # said beside the number
        (None, True, None, False),
    ],
)
def test_direct_work_that_no_disk_did_fails(moved, direct, mode, is_too_fast):
    noise = {} if moved is None else {"disk_read_bytes": moved * MIB, "disk_written_bytes": 0.0}
    look = partial(_too_fast, Stack(None, instances=[Cached(None), Cached(mode)]))
    samples = {"throughput": 100.0 * MIB, "tool_duration": 1.0}

    said = look(Workload(direct=direct), samples, noise, Completed((), 0, b"", b"", 1.1))
    assert bool(said) is is_too_fast
    if is_too_fast:
        assert "claims 100 MiB of O_DIRECT I/O, but all disks of the host together moved 5" in said
