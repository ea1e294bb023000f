"""`tare measure` for real: a line, no study file, and nothing stays behind."""

import json

import pytest

from tare.cli import DONE
from tare.core.model import Kind, Status
from tare.results.store import load


@pytest.mark.needs("docker")
def test_commands_are_measured_without_a_study_file(lab, tmp_path):
    folder, facts = tmp_path / "results", tmp_path / "facts.json"
    # With mbw it is the userland of all these tests.
    line = ["measure", "--in", "docker", "--package", "mbw", "--limit", "memory=512MiB"]
    each = ["--setup", "head -c 1M /dev/zero > file", "--prepare", "rm -f file.gz", "-n", "again"]
    done = lab.tare(
        *line, *each, "-r", 2, "-o", folder, "--export-json", facts, "gzip -k file", "true | cat"
    )

    assert done.returncode == DONE, done.stdout + done.stderr
    results = load(folder)
    measured = [trial for trial in results.trials if trial.kind is Kind.MEASURED]
    assert len({trial.cell for trial in measured}) == 6
    assert {trial.status for trial in measured} <= {Status.OK, Status.SUSPECT}
    assert all(trial.samples["duration"] > 0 for trial in measured)
    assert {row["platform"] for row in json.loads(facts.read_text())["commands"]} == {
        "host",
        "host/docker",
    }
    assert f"tare report {folder}" in done.stdout
    assert lab.leftovers(folder) == []
