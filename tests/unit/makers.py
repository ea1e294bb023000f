"""Cells, plans, trials and stored results for tests: what a test does not speak of is given."""

import hashlib
from dataclasses import replace

from tare.core.model import (
    INJECTED,
    Better,
    Cell,
    Contrast,
    ContrastKind,
    Kind,
    Limits,
    Metric,
    Plan,
    Repetition,
    Status,
    Trial,
    Unit,
)
from tare.core.model.group import group
from tare.results.store import Writer
from tare.results.store.samples import Samples

TIME = Metric("time", Unit.SECOND, Better.LOWER)
RATE = Metric("rate", Unit.PER_SECOND, Better.HIGHER)
LOSS = Metric("loss", Unit.RATIO, Better.LOWER)
LIMITS = Limits(cpus=1, memory_bytes=2**30)


def make_cell(platform, **others):
    """A cell of a platform that is called as its stack, unless another stack is given.

    Equal cells have the same id, others have others.
    """
    given = {
        "platform": platform,
        "stack": platform,
        "settings": (),
        "workload": "spin",
        "params": (),
        "limits": LIMITS,
    }
    cell = Cell(**{"id": ""} | given | others)
    return (
        cell if cell.id else replace(cell, id=hashlib.sha256(repr(cell).encode()).hexdigest()[:10])
    )


def again(cell):
    """The A/A control that repeats a cell."""
    return replace(cell, id=f"{cell.id}-again", replica=1)


def contrasts_of(cells, platform):
    """All cells against those of a platform that have the same work, as a plan has them."""
    shares = {cell.id: dict(cell.params).get(INJECTED) for cell in cells}
    shares = {one: share for one, share in shares.items() if isinstance(share, float)}
    references = {
        group(cell): cell
        for cell in cells
        if cell.platform == platform and not cell.replica and cell.id not in shares
    }
    found = []
    for cell in cells:
        reference = references.get(group(cell), cell)
        kind = ContrastKind.INJECTED if cell.id in shares else ContrastKind.OVERHEAD
        kind = ContrastKind.CONTROL if cell.replica else kind
        known = shares.get(cell.id)
        if cell is not reference:
            found.append(Contrast(cell=cell.id, reference=reference.id, kind=kind, known=known))
    return tuple(found)


def make_plan(*cells, metrics=(TIME,), baseline=None, study="made", slots=(), **repetition):
    """A plan whose baseline is the first cell's platform, unless another is given.

    ``metrics`` are those of every workload, or those of each by its name.
    """
    if not isinstance(metrics, dict):
        metrics = {one.workload: metrics for one in cells}
    return Plan(
        study=study,
        seed=1,
        cells=cells,
        contrasts=contrasts_of(cells, cells[0].platform if baseline is None else baseline),
        metrics=metrics,
        repetition=Repetition(**repetition),
        slots=slots,
    )


def make_trial(cell, block=0, **others):
    """A measured trial of a cell, or its id; it went well, and has no samples unless given.

    Its instance is called as its session, and more after a dash, unless a session is given.
    """
    given = {
        "block": block,
        "slot": 0,
        "kind": Kind.MEASURED,
        "instance": "1",
        "status": Status.OK,
    }
    given |= others
    given.setdefault("session", given["instance"].partition("-")[0])
    return Trial(cell=getattr(cell, "id", cell), **given)


def store(side, folder, facts=None):
    """Write what has a plan and trials as a results directory, with raw facts; gives the folder."""
    writer = Writer(folder)
    writer.start("name: made\n", side.plan)
    writer.facts(facts or {})
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
