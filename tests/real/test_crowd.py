"""A rendezvous of real machines: armed by their agents, released together, stored and shown."""

import json
import sys
from pathlib import Path

import pytest

from tare.cli import main
from tare.core.model import Kind, Status
from tare.experiment import run as runner
from tare.experiment import scenarios
from tare.experiment.design import make_plan
from tare.experiment.study import read_study
from tare.results.store import Writer, load

PAGE = Path(__file__).parents[2] / "docs/how-to/add-a-scenario.md"
STUDY = """
name: crowd
scenario: crowd
platforms: [host, {platform}]
limits: {{cpus: 1, memory: 64MiB}}
workloads:
  - command: {{run: "true", called: nothing}}
repetition: {{instances: 1, min_blocks: 3, max_blocks: 3}}
"""


@pytest.fixture
def crowd(tmp_path, monkeypatch):
    """The scenario of the documentation, with as many parts as a test asks for."""

    def use(parts):
        code = PAGE.read_text().partition("```python\n")[2].partition("```")[0]
        names = tuple(f"part {number}" for number in range(parts))
        folder = tmp_path / "scenarios"
        folder.mkdir()
        (folder / "crowd.py").write_text(code.replace('("first", "second", "third")', repr(names)))
        monkeypatch.setattr(scenarios, "__path__", [*scenarios.__path__, str(folder)])

    yield use
    sys.modules.pop("tare.experiment.scenarios.crowd", None)


def run(platform, folder):
    study = read_study(STUDY.format(platform=platform), "study.yaml")
    plan = make_plan(study, 1)
    writer = Writer(folder)
    writer.start(study.source, plan)
    writer.close()
    runner.run(study, plan, folder, runner.Silent())
    return load(folder)


@pytest.mark.needs("docker")
@pytest.mark.parametrize("parts", [4, pytest.param(32, marks=pytest.mark.slow)])
def test_containers_are_released_together(crowd, tmp_path, capsys, parts):
    crowd(parts)
    results = run("host/docker", tmp_path / "results")

    cells = results.plan.cells_by_id
    measured = [
        one for one in results.trials
        if one.kind is Kind.MEASURED and cells[one.cell].platform == "host/docker"
    ]  # fmt: skip
    assert len(measured) == 3
    for trial in measured:
        assert {part.status for part in trial.parts} <= {Status.OK, Status.SUSPECT}
        assert len({part.instance for part in trial.parts}) == parts
        late = [part.late_s for part in trial.parts]
        assert None not in late
        assert min(late) == 0
        assert all(part.host is not None for part in trial.parts)
    assert main(["show", "--json", str(results.folder)]) == 0
    starts = {one["platform"]: one for one in json.loads(capsys.readouterr().out)["starts"]}
    assert starts["host/docker"]["parts"] == parts
    assert starts["host/docker"]["missing"] == 0
    assert 0 < starts["host/docker"]["median_s"] <= starts["host/docker"]["most_s"]
