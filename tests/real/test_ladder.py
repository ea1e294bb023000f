"""A short real ladder: its switches are turned, what they did is stored, and all are compared."""

import pytest
import yaml

from tare.present.report import describe
from tare.present.view import ladders
from tare.results.store import load

# The packages of all tests, or another userland would be built.
SHORT = [
    {"sysbench_cpu": {"max_prime": 2000, "threads": 1, "time": "1 s"}},
    {"fio": {"pattern": "randread", "size": "16MiB", "depth": 1, "jobs": 1, "time": "1 s"}},
    {"mbw": {"size": "16MiB", "runs": 2}},
]


@pytest.mark.needs("docker")
def test_a_ladder_of_two_switches_runs_and_its_switches_took_effect(lab, tmp_path):
    study = yaml.safe_load(lab.declare("host", blocks=1, workloads=SHORT))
    study["ladder"] = {"stack": "host/docker", "switches": ["seccomp", "capabilities"]}
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(study))
    folder = tmp_path / "results"
    done = lab.tare("run", tmp_path / "study.yaml", "--into", folder, "--seed", 1)

    assert done.returncode == 0, done.stderr
    found = describe(load(folder))
    assert [one.cell.workload for one in found.comparisons.ladders] == [
        "sysbench_cpu",
        "fio",
        "mbw",
    ]
    for one in found.comparisons.ladders:
        seccomp, capabilities = one.switches
        assert seccomp.took_effect
        assert capabilities.took_effect
        assert ladders.effect_text(seccomp).startswith("Seccomp 2 → 0")
        costs = [one.default, one.bare, one.between, seccomp.from_default, capabilities.from_bare]
        assert all(row.cost is not None for row in costs), [row.reason for row in costs]
        assert one.from_default.rest.pairs == 1
    assert lab.leftovers(folder) == []
