"""Lifecycle studies for real, and the tool killed in the middle of any verb of any layer."""

import random
import signal
import time

import pytest
import yaml

from tare.core.model import Kind, Status
from tare.results.store import load

VERBS = {"create", "boot", "soft_reboot", "hard_reboot", "stop", "start", "delete"}
SLOW = pytest.mark.slow
LAYERS = [
    pytest.param(name, marks=[pytest.mark.needs(name), *marks])
    for name, *marks in (
        ("docker",),
        ("podman", SLOW),
        ("gvisor", SLOW),
        ("lxc", SLOW),
        ("nspawn", SLOW),
        ("bubblewrap", SLOW),
        ("uml", SLOW),
        ("libvirt", SLOW),
        ("qemu-tcg", SLOW),
    )
]


def declare(platform, blocks=2, **given):
    return yaml.safe_dump(
        {
            "name": "lifecycle",
            "scenario": "lifecycle",
            "platforms": [platform],
            "baseline": platform,
            "limits": {"cpus": 1, "memory": "256MiB"},
            "lifecycle": given,
            "repetition": {"min_blocks": blocks, "max_blocks": blocks, "instances": 1},
            "deadlines": {"start": "300 s"},
        }
    )


@pytest.mark.needs("docker")
def test_a_lifecycle_study_times_every_verb_and_leaves_nothing(lab, tmp_path):
    (tmp_path / "study.yaml").write_text(declare("host/docker", count=[1, 3], cache="cold"))
    folder = tmp_path / "results"

    done = lab.tare("run", tmp_path / "study.yaml", "--into", folder, "--report")

    assert done.returncode == 0, done.stdout + done.stderr
    results = load(folder)
    measured = [trial for trial in results.trials if trial.kind is Kind.MEASURED]
    assert len(measured) == 8
    for trial in measured:
        assert trial.status in (Status.OK, Status.SUSPECT), trial.reason
        assert trial.samples.keys() >= VERBS
        assert trial.samples["total"] == pytest.approx(sum(trial.samples[verb] for verb in VERBS))
        assert trial.samples["host_cpu"] > 0
    assert lab.leftovers(folder) == []


@pytest.mark.parametrize("name", LAYERS)
def test_a_tool_killed_in_the_middle_of_any_verb_leaves_nothing_after_cleaning(lab, tmp_path, name):
    chance = random.Random(name)  # noqa: S311 - moments to kill at
    (tmp_path / "study.yaml").write_text(declare(f"host/{name}", blocks=9, count=2))
    folder = tmp_path / "results"
    for number in range(3):
        again = ("run", "--resume", folder)
        first = ("run", tmp_path / "study.yaml", "--into", folder)
        known = (folder / "ledger.jsonl").stat().st_size if number else 0
        with lab.start(*(again if number else first)) as process:
            # Only once the life of an instance has begun is there a verb to be killed in.
            deadline = time.monotonic() + 300
            while _grown(folder, known) < 2000 and process.poll() is None:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            time.sleep(chance.uniform(0, 6))
            assert process.poll() is None, process.stderr.read()
            process.send_signal(signal.SIGKILL)
        cleaned = lab.tare("clean")

        assert cleaned.returncode == 0, cleaned.stdout + cleaned.stderr
        assert lab.leftovers(folder) == []


def _grown(folder, known):
    ledger = folder / "ledger.jsonl"
    return ledger.stat().st_size - known if ledger.exists() else 0
