"""Real instances that do the same work at once, and real numbers of instances that fit."""

import contextlib
import json
import os
import re
import signal
import threading
import time
from pathlib import Path

import pytest

from real.small import run
from tare.cli import main
from tare.core.model import Kind, Status, instances_of
from tare.experiment import run as runner
from tare.experiment.design import make_plan
from tare.experiment.study import read_study
from tare.results.questions.scaling import scaling_curves
from tare.results.store import Writer, load
from tare.results.study import Estimates

GOOD = {Status.OK, Status.SUSPECT}
LOOP = {"integer_loop": {"iterations": 200_000}}
KILLED = """
name: killed
scenario: scale
platforms: [host/docker]
baseline: host/docker
limits: {cpus: 1, memory: 64MiB}
workloads: [{integer_loop: {iterations: 2000000}}]
instances: [6]
repetition: {min_blocks: 2, max_blocks: 2, instances: 1, warmup: 0}
"""


def levels(results):
    """The measured trials that were not repeated, by their number of instances."""
    cells = results.plan.cells_by_id
    found = {}
    for one in results.trials:
        if one.kind is Kind.MEASURED and not one.repeat and not cells[one.cell].replica:
            found.setdefault(instances_of(cells[one.cell].params).count, []).append(one)
    return found


@pytest.mark.needs("docker")
def test_instances_work_at_once_and_a_curve_is_made_of_them(tmp_path, capsys):
    results = run(
        tmp_path / "results",
        ["host", "host/docker"],
        [LOOP],
        scenario="scale",
        limits={"cpus": 1, "memory": "64MiB"},
        instances=[1, 3],
    )

    found = levels(results)
    assert {count: len(some) for count, some in found.items()} == {1: 4, 3: 4}
    for count, some in found.items():
        for trial in some:
            assert trial.status in GOOD, trial.reason
            assert [part.name for part in trial.parts] == [str(n + 1) for n in range(count)]
            assert len({part.instance for part in trial.parts}) == count
            assert len({part.cpuset for part in trial.parts}) == 1
            assert None not in [part.late_s for part in trial.parts]
            own = [part.samples["real"] for part in trial.parts]
            assert trial.samples["real"] == pytest.approx(sum(own) / count)
            assert trial.host.cpu_s > 0
    curves = scaling_curves(Estimates(results.plan, results.trials))
    assert [curve.cell.platform for curve in curves] == ["host", "host/docker"]
    assert [[one.instances for one in curve.levels] for curve in curves] == [[1, 3], [1, 3]]
    assert main(["show", "--json", str(results.folder)]) == 0
    assert len(json.loads(capsys.readouterr().out)["scaling"]) == 2


class Killer(runner.Silent):
    """Kills all that is in two of six containers as soon as the loops of all run, once."""

    def __init__(self, folder):
        self.folder = folder
        self.thread = threading.Thread(target=self._kill)

    def trial(self, cells, following):
        del following
        if instances_of(cells[0].params).count == 6 and self.thread.ident is None:
            self.thread.start()

    def _kill(self):
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            found = inside(self.folder)
            if sum("while" in words for some in found.values() for words in some.values()) >= 6:
                break
        for number in ("1", "3"):
            for pid in found[number]:
                with contextlib.suppress(ProcessLookupError):  # its init took it with it
                    os.kill(pid, signal.SIGKILL)


def inside(folder):
    """The words of all processes in the groups of a study's instances, by instance and pid."""
    sessions = set(re.findall(r'/run/([0-9a-f]{6})"', (folder / "ledger.jsonl").read_text()))
    assert sessions
    name = re.compile(rf"tare-(?:{'|'.join(sessions)})-p0-(\d+)-0")
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # gone by now
            group = name.search((process / "cgroup").read_text())
            if group:
                words = (process / "cmdline").read_text()
                found.setdefault(group[1], {})[int(process.name)] = words
    return found


@pytest.mark.needs("docker")
def test_a_level_of_which_a_third_is_killed_says_who_answered(tmp_path):
    study = read_study(KILLED, "study.yaml")
    plan, folder = make_plan(study, 1), tmp_path / "results"
    progress = Killer(folder)
    writer = Writer(folder)
    writer.start(study.source, plan)
    writer.close()

    runner.run(study, plan, folder, progress)
    progress.thread.join()

    first, second = levels(load(folder))[6]
    assert first.status is Status.FAILED
    assert first.reason.startswith("4 of 6 instances answered; ")
    assert first.samples == {}
    lost = [part.name for part in first.parts if part.status not in GOOD]
    assert lost == ["2", "4"]
    assert all(part.samples["real"] > 0 for part in first.parts if part.name not in lost)
    # What was killed is replaced, and the next level is whole.
    assert second.status in GOOD, second.reason
    assert len(second.parts) == 6
    assert inside(tmp_path / "results") == {}


@pytest.mark.slow
@pytest.mark.needs("docker")
def test_128_containers_work_at_once(tmp_path):
    results = run(
        tmp_path / "results",
        ["host/docker"],
        [LOOP],
        blocks=1,
        scenario="scale",
        baseline="host/docker",
        limits={"cpus": 1, "memory": "64MiB"},
        instances=[128],
    )

    (trial,) = levels(results)[128]
    assert trial.status in GOOD, trial.reason
    assert len({part.instance for part in trial.parts}) == 128
    assert all(part.samples["real"] > 0 for part in trial.parts)
    assert inside(tmp_path / "results") == {}


@pytest.mark.needs("docker")
def test_instances_are_added_until_the_objective_breaks(tmp_path, capsys):
    results = run(
        tmp_path / "results",
        ["host", "host/docker"],
        [LOOP],
        blocks=1,
        scenario="density",
        limits={"cpus": 1, "memory": "64MiB"},
        objective={"slowdown": 3, "most": 8},
    )

    measured = [one for one in results.trials if one.kind is Kind.MEASURED and not one.repeat]
    assert len(measured) == 3
    for trial in measured:
        assert trial.status in GOOD, trial.reason
        fit = int(trial.samples["instances_that_fit"])
        assert 1 <= fit <= 8
        assert len(trial.parts) == fit
        assert trial.samples["slowest"] <= 3
        assert 0 < trial.samples["ready_p50"] <= trial.samples["ready_p99"]
        assert "instances: the slowest took" in trial.reason or trial.reason.startswith("all 8 fit")
    assert inside(tmp_path / "results") == {}
    assert main(["show", str(results.folder)]) == 0
    assert "Instances that fit at once" in capsys.readouterr().out


@pytest.mark.needs("docker")
def test_requests_start_containers_of_their_own(tmp_path, capsys):
    results = run(
        tmp_path / "results",
        ["host", "host/docker"],
        [{"integer_loop": {"iterations": 100_000}}],
        blocks=1,
        scenario="stream",
        limits={"cpus": 1, "memory": "64MiB"},
        arrivals={"rate_per_s": 4, "requests": 6, "at_once": 3},
    )

    measured = [one for one in results.trials if one.kind is Kind.MEASURED and not one.repeat]
    assert len(measured) == 3
    for trial in measured:
        assert trial.status in GOOD, trial.reason
        samples = trial.samples
        assert 0 < samples["ready_p50"] <= samples["latency_p50"] <= samples["latency_p99"]
        assert samples["delete_p50"] > 0
    assert inside(tmp_path / "results") == {}
    assert main(["show", "--json", str(results.folder)]) == 0
    assert "latency_p50" in capsys.readouterr().out
