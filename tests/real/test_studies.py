"""Short real studies: everything is measured, faults are survived, nothing stays behind."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from tare.core.home import home
from tare.core.model import Kind, Status
from tare.experiment import run as runner
from tare.experiment.design import make_plan
from tare.experiment.study import read_study
from tare.machines.backends.docker import answering
from tare.machines.ledger import leftovers
from tare.machines.machine import Host
from tare.results.store import Writer, load, read_facts

GOOD = (Status.OK, Status.SUSPECT)
# The packages of all tests, or another userland would be built.
SHORT = [
    {"sysbench_cpu": {"max_prime": 2000, "threads": 1, "time": "1 s"}},
    {"fio": {"pattern": "randread", "size": "16MiB", "depth": 1, "jobs": 1, "time": "1 s"}},
    {"mbw": {"size": "16MiB", "runs": 2}},
]


def measured(results, platform):
    cells = results.plan.cells_by_id
    return [
        trial
        for trial in results.trials
        if trial.kind is Kind.MEASURED
        and cells[trial.cell].platform == platform
        and not cells[trial.cell].replica
    ]


def is_whole(results):
    done = {(t.block, t.cell) for t in results.trials if t.kind is Kind.MEASURED}
    return done == {(slot.block, slot.cell) for slot in results.plan.slots}


def run(lab, text, folder, progress):
    """Run a study in this process, so that a test can act at what it does."""
    study = read_study(text, "study.yaml")
    writer = Writer(folder)
    plan = make_plan(study, 1)
    writer.start(study.source, plan)
    writer.close()
    lab.patiently(lambda: runner.run(study, plan, folder, progress))
    return load(folder)


def size(path):
    return path.stat().st_size if path.exists() else 0


def kill(pid_file):
    os.kill(int(pid_file.read_text()), signal.SIGKILL)


class AtTrial(runner.Silent):
    """Acts once, at the first trial of a platform in a block."""

    def __init__(self, platform, block, act):
        self.platform, self.wanted, self.act = platform, block, act
        self.number, self.acted = -1, False

    def block(self, number, decided, of):
        self.number = number

    def trial(self, cells, following):
        (cell,) = cells
        if self.number == self.wanted and cell.platform == self.platform and not self.acted:
            self.acted = True
            self.act()


@pytest.mark.needs("docker")
@pytest.mark.needs("qemu")
def test_every_stack_is_measured_and_nothing_stays(lab, tmp_path):
    stacks = ("host", "host/docker", "host/qemu-tcg", "host/qemu-tcg/docker")
    (tmp_path / "study.yaml").write_text(lab.declare(*stacks, blocks=1))
    folder = tmp_path / "results"
    done = lab.tare("run", tmp_path / "study.yaml", "--into", folder, "--seed", 1)

    assert done.returncode == 0, done.stderr
    results = load(folder)
    assert is_whole(results)
    for stack in stacks:
        trials = measured(results, stack)
        # A suspect one is run again, and both are kept: this host has other work too.
        assert len({trial.cell for trial in trials}) == 4
        assert all(trial.status in GOOD for trial in trials), [t.reason for t in trials]
        assert all(trial.samples for trial in trials)
        assert all(trial.host is not None and trial.host.all_cpu_s > 0 for trial in trials)
        facts = read_facts(results.folder)["platforms"][stack]
        assert facts["inside"]["cpus"] == 1
        assert facts["inside"]["memory_bytes"] <= 512 * 2**20
        assert facts["probe"]
        assert facts["start_s"]
    inside_guest = read_facts(results.folder)["platforms"]["host/qemu-tcg"]["inside"]
    assert inside_guest["disk_cache"] == "none"
    assert {"sysbench", "fio", "mbw"} <= set(results.facts.userland.versions.keys())
    assert lab.leftovers(folder) == []


@pytest.mark.slow  # what a killed engine leaves is tested one by one in tests/contract
@pytest.mark.needs("docker")
def test_trials_of_a_daemon_that_was_killed_fail_and_the_study_completes(lab, tmp_path):
    if answering(Host()) is not None:
        pytest.skip("a daemon that is not Tare's own serves this host")

    def kill_daemon():
        # By the ledger of this very run: other tests have daemons of their own.
        made = leftovers(tmp_path / "results" / "ledger.jsonl")
        (folder,) = (
            left.name for left in made if left.name.endswith("-docker") and left.what == "folder"
        )
        kill(Path(folder) / "pid")

    watching = AtTrial("host/docker", 1, kill_daemon)
    text = lab.declare("host", "host/docker", blocks=3, instances=2, workloads=SHORT)
    results = run(lab, text, tmp_path / "results", watching)

    failed = [t for t in measured(results, "host/docker") if t.status not in GOOD]
    assert watching.acted
    assert len(failed) == 1
    assert failed[0].status is Status.FAILED
    assert "docker" in failed[0].reason
    assert is_whole(results)
    assert results.run.stop == "the maximum of 3 blocks was reached"
    assert lab.leftovers(tmp_path / "results") == []


@pytest.mark.slow
@pytest.mark.needs("qemu")
def test_a_guest_that_is_killed_in_a_trial_is_replaced(lab, tmp_path):
    def kill_guest():
        (pid,) = (home() / "run").glob("*/tare-*-p1-0-0/pid")
        threading.Timer(0.7, kill, (pid,)).start()

    watching = AtTrial("host/qemu-tcg", 1, kill_guest)
    text = lab.declare("host", "host/qemu-tcg", workloads=SHORT)
    results = run(lab, text, tmp_path / "results", watching)

    failed = [t for t in measured(results, "host/qemu-tcg") if t.status not in GOOD]
    assert watching.acted
    assert [t.status for t in failed] == [Status.FAILED]
    assert failed[0].reason
    assert is_whole(results)
    assert {t.instance.partition("-")[2] for t in measured(results, "host/qemu-tcg")} == {
        "0",
        "0r1",
    }
    assert lab.leftovers(tmp_path / "results") == []


@pytest.mark.needs("qemu")
@pytest.mark.needs("docker")
def test_a_guest_that_does_not_boot_did_not_respond_and_the_study_goes_on(lab, tmp_path):
    (tmp_path / "study.yaml").write_text(
        lab.declare("host", "host/docker", "host/qemu-tcg", blocks=1, workloads=SHORT, start="2 s")
    )
    folder = tmp_path / "results"
    done = lab.tare("run", tmp_path / "study.yaml", "--into", folder)

    assert done.returncode == 1, done.stderr
    results = load(folder)
    trials = measured(results, "host/qemu-tcg")
    assert [t.status for t in trials] == [Status.DNR] * len(SHORT)
    assert "its console ends:" in trials[0].reason
    # By cells: a suspect trial is run again, and both are kept.
    assert len({t.cell for t in measured(results, "host") if t.status in GOOD}) == len(SHORT)
    assert lab.leftovers(folder) == []


@pytest.mark.needs("docker")
@pytest.mark.parametrize("moment", ["opening", "measuring"])
def test_an_interrupted_run_leaves_nothing_and_says_how_to_go_on(lab, tmp_path, moment):
    (tmp_path / "study.yaml").write_text(lab.declare("host", "host/docker", blocks=8))
    folder = tmp_path / "results"
    with lab.start("run", tmp_path / "study.yaml", "--into", folder) as process:
        ledger, trials = folder / "ledger.jsonl", folder / "trials.jsonl"
        deadline = time.monotonic() + 60
        while not (size(trials) if moment == "measuring" else size(ledger) > 2000):
            assert time.monotonic() < deadline
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)

    assert process.returncode == 130
    assert f"tare run --resume {folder}" in err
    assert "Traceback" not in err
    assert lab.leftovers(folder) == []
