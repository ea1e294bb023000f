"""A duet on real machines: two cells in one trial, each on CPUs of its own, started in order."""

import json
import os
from collections import Counter

import pytest

from tare.core.model import Kind, Status
from tare.experiment import run as runner
from tare.experiment.design import make_plan
from tare.experiment.study import read_study
from tare.results.store import Writer, load
from tare.results.store.raw_output import raw_name

GOOD = {Status.OK, Status.SUSPECT}
STUDY = """
name: duet
platforms: [host, host/docker]
baseline: host
limits: {cpus: 1, memory: 64MiB}
workloads:
  - command: {run: "sleep 0.1", called: nothing}
repetition: {design: duet, instances: 2, min_blocks: 4, max_blocks: 4}
"""


@pytest.mark.needs("docker")
def test_both_halves_are_one_trial_on_cpus_of_their_own(lab, tmp_path):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("a duet needs two CPUs, and this host gives one")
    study = read_study(STUDY, "study.yaml")
    plan, folder = make_plan(study, 1), tmp_path / "results"
    writer = Writer(folder)
    writer.start(study.source, plan)
    writer.close()
    lab.patiently(lambda: runner.run(study, plan, folder, runner.Silent()))

    stored = [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]
    measured = [one for one in stored if one["kind"] == "measured"]
    places = Counter((one["block"], one["slot"]) for one in measured if not one["repeat"])
    assert places == Counter((slot.block, slot.slot) for slot in plan.slots)
    for one in measured:
        assert {part["name"] for part in one["parts"]} == {"subject", "reference"}
        assert len({part["cell"] for part in one["parts"]}) == 2
        assert len({part["cpuset"] for part in one["parts"]}) == 2
        assert min(part["late_s"] for part in one["parts"]) == 0

    results = load(folder)
    halves = [one for one in results.trials if one.kind is Kind.MEASURED]
    assert {one.status for one in halves} <= GOOD
    assert len(halves) == 2 * len(measured)
    for one in halves:
        assert results.plan.cells_by_id[one.partner].id != one.cell
        assert (folder / "raw" / raw_name(one) / "command.json").exists()
