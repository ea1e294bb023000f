"""Cells, plans, trials and stored results for tests: what a test does not speak of is given."""

from tare.model import (
    Better,
    Cell,
    Kind,
    Limits,
    Metric,
    Plan,
    Repetition,
    Status,
    Trial,
    Unit,
)
from tare.store import Writer
from tare.store.samples import Samples

TIME = Metric("time", Unit.SECOND, Better.LOWER)
RATE = Metric("rate", Unit.PER_SECOND, Better.HIGHER)
LIMITS = Limits(cpus=1, memory_bytes=2**30)


def make_cell(platform, **others):
    """A cell of a platform that is called as its stack, unless another stack is given."""
    given = {
        "platform": platform,
        "stack": platform,
        "settings": (),
        "workload": "spin",
        "params": (),
        "limits": LIMITS,
    }
    return Cell(**given | others)


def make_plan(*cells, metrics=(TIME,), baseline=None, study="made", slots=(), **repetition):
    """A plan whose baseline is the first cell's platform, unless another is given.

    ``metrics`` are those of every workload, or those of each by its name.
    """
    if not isinstance(metrics, dict):
        metrics = {one.workload: metrics for one in cells}
    return Plan(
        study=study,
        seed=1,
        baseline=cells[0].platform if baseline is None else baseline,
        cells=cells,
        metrics=metrics,
        repetition=Repetition(**repetition),
        slots=slots,
    )


def make_trial(cell, block=0, **others):
    """A measured trial of a cell, or its id; it went well, and has no samples unless given."""
    given = {
        "block": block,
        "slot": 0,
        "kind": Kind.MEASURED,
        "instance": "1",
        "status": Status.OK,
    }
    return Trial(cell=getattr(cell, "id", cell), **given | others)


def store(side, folder):
    """Write what has a plan, facts and trials as a results directory; gives the folder."""
    writer = Writer(folder)
    writer.start("name: made\n", side.plan)
    writer.facts(side.facts)
    for trial in side.trials:
        writer.trial(trial, None)
    writer.close()
    return folder


def store_samples(folder, *told):
    """Write what was read over time: of each trial some series, or None."""
    session = Samples(folder)
    for trial, series in told:
        session.add(trial, series or ())
    session.close()
