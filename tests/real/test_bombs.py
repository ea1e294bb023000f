"""Bombs at full in a study: killed with -9 while each of them runs."""

import contextlib
import re
import signal
import time
from pathlib import Path

import pytest
import yaml

from tare.core.model import Kind, Status
from tare.results.store import load

pytestmark = [pytest.mark.slow, pytest.mark.needs("docker")]

ENDS = {Status.OK, Status.SUSPECT, Status.DNR}
SEEN_S = 240.0
EVERY_S = 0.02
BOMBS = {"cpu": "stress-ng-cpu", "memory": "stress-ng-vm", "fork": "stress-ng-fork"}
"""What the kernel calls the workers of each; a name may be cut off after 15 characters."""
PLATFORMS = ["host", "host/docker"]
WORKLOAD = {"integer_loop": {"iterations": 100_000}}


def test_a_study_killed_beside_each_bomb_is_cleaned_and_resumed(lab, tmp_path):
    study, folder = tmp_path / "study.yaml", tmp_path / "results"
    study.write_text(
        yaml.safe_dump(
            {
                "name": "bombs",
                "scenario": "isolation",
                "platforms": PLATFORMS,
                "limits": {"cpus": 1, "memory": "512MiB", "processes": 128},
                "workloads": [WORKLOAD],
                "neighbours": [{"stressor": name} for name in BOMBS],
                "repetition": {"min_blocks": 1, "max_blocks": 1, "instances": 1},
            }
        )
    )
    killed = set()
    while killed != set(BOMBS):
        words = ["--resume", folder] if killed else [study, "--into", folder, "--seed", "1"]
        with lab.start("run", *words) as process:
            killed |= await_bombs(process, folder, set(BOMBS) - killed)
            process.send_signal(signal.SIGKILL)
        cleaned = lab.tare("clean")

        assert cleaned.returncode == 0, cleaned.stderr
        assert bombs(folder) == {}
        assert lab.leftovers(folder) == [], cleaned.stdout

    done = lab.tare("run", "--resume", folder)

    assert done.returncode in (0, 1), done.stderr
    results = load(folder)
    measured = [one for one in results.trials if one.kind is Kind.MEASURED]
    assert {(one.block, one.cell) for one in measured} == {
        (slot.block, slot.cell) for slot in results.plan.slots
    }
    assert {one.status for one in measured} <= ENDS, [one.reason for one in measured]
    assert bombs(folder) == {}
    assert lab.leftovers(folder) == []


def await_bombs(process, folder, wanted):
    """Wait until some bombs run in a study, and return which of the wanted do."""
    deadline = time.monotonic() + SEEN_S
    while not (seen := {name for name in wanted if BOMBS[name] in bombs(folder).values()}):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(EVERY_S)
    return seen


def bombs(folder):
    """Return the stressors that run in the groups of a study's sessions, by their pids."""
    ledger = folder / "ledger.jsonl"
    written = ledger.read_text() if ledger.exists() else ""
    ids = set(re.findall(r'/run/([0-9a-f]{6})"', written))
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # gone by now
            name = (process / "comm").read_text().strip()
            if name.startswith("stress-ng"):
                groups = (process / "cgroup").read_text()
                if any(f"tare-{one}" in groups for one in ids):
                    found[process.name] = name
    return found
