"""Small real studies that are run in this process, so that plugins of a test are known."""

import yaml

from tare.core.model import Kind
from tare.experiment import run as runner
from tare.experiment.design import make_plan
from tare.experiment.host.facts import available_bytes
from tare.experiment.study import read_study
from tare.results.store import Writer, load


def run(folder, platforms, workloads, *, blocks=2, memory=available_bytes, **more):
    text = yaml.safe_dump(
        {
            "name": "roles",
            "platforms": platforms,
            "limits": {"cpus": 1, "memory": "512MiB"},
            **({} if workloads is None else {"workloads": workloads}),
            "repetition": {"min_blocks": blocks, "max_blocks": blocks, "instances": 1},
            "deadlines": {"start": "600 s"},
            **more,
        }
    )
    study = read_study(text, "study.yaml")
    plan = make_plan(study, 1)
    writer = Writer(folder)
    writer.start(study.source, plan)
    writer.close()
    runner.run(study, plan, folder, runner.Silent(), memory)
    return load(folder)


def trials(results, **of):
    """List the measured trials whose cells have some values, by their platform."""
    cells = results.plan.cells_by_id
    for one in results.trials:
        cell = cells[one.cell]
        if one.kind is Kind.MEASURED and of.items() <= dict(cell.params).items():
            yield cell.platform, one
