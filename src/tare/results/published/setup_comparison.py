"""In what one of our comparisons is not as the study's: the whole set-up, row by row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tare.core.model import Cell, Facts
from tare.results.compare.comparison import Comparison
from tare.results.published.conditions_here import (
    MeasuredRow,
    condition_differences,
    host_text,
    repetition_differences,
    system_text,
)
from tare.results.published.counterparts import Measure
from tare.results.published.rows import DATA, Row
from tare.results.published.setup import Setup, setup_of
from tare.results.published.setup_difference import (
    SetupDifference,
    Topic,
    differences_of,
    experiment_of,
    silent_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupComparison:
    """What was not alike.

    ``words`` are what was chosen otherwise: parameters, limits, settings, and what is
    certain of the way of measuring. ``differences`` are all of it with the hardware, software and
    repetition.
    """

    words: tuple[str, ...] = ()
    differences: tuple[SetupDifference, ...] = ()


NO_DIFFERENCES = SetupComparison()


def known_setup(study: str) -> Setup | None:
    """Return the set-up of a study, None of one that is numbers alone."""
    return setup_of(study) if (DATA / f"{study}.yaml").exists() else None


def compare_setups(
    row: Row,
    measure: Measure,
    cell: Cell,
    facts: Facts,
    ours: Comparison | None = None,
) -> SetupComparison:
    """Compare the set-up of a cell, and of what it is compared with, with that of a row."""
    setup = known_setup(row.study)
    baseline = ours.baseline if ours else None
    chosen = tuple(differences_of(setup, measure, cell, baseline))
    compared = MeasuredRow(row=row, measure=measure, cell=cell, baseline=baseline)
    around = condition_differences(setup, facts, compared)
    repeated = repetition_differences(setup, measure, ours) if ours else ()
    words = (*map(str, chosen), *([measure.note] if measure.note else []))
    return SetupComparison(words=words, differences=(*chosen, *repeated, *around))


def setup_caveats(
    study: str, facts: Facts, every: Iterable[SetupComparison], measures: Iterable[Measure]
) -> Iterator[str]:
    """Return sentences for what holds of all rows: hardware, software, repetition, silence."""
    setup = known_setup(study)
    here = ", ".join(filter(None, (host_text(facts), system_text(facts)))) or "not known"
    if setup is None:
        yield f"The hardware is another: here {here}; the set-up of {study} is not in its data."
        return
    found = list(dict.fromkeys(one for each in every for one in each.differences))
    for topic in (Topic.HARDWARE, Topic.SOFTWARE, Topic.REPETITION):
        some = [one for one in found if one.topic is topic]
        if some:
            yield f"Other {topic.value}: {'; '.join(map(_with_section, some))}."
    measures = tuple(measures)
    deviations = dict.fromkeys(_deviations(setup, measures))
    if deviations:
        yield f"What no preset has as {study} had it: {'; '.join(deviations)}."
    silent = dict.fromkeys(_silent(setup, measures))
    if silent:
        yield f"{study} is silent about, and ours is our own choice: {'; '.join(silent)}."
    yield "Costs can be compared across hosts; what made a difference does not follow from them."


def _deviations(setup: Setup, measures: Iterable[Measure]) -> Iterator[str]:
    """Name what the presets of some measures cannot have as the study, with the reason."""
    experiments = (experiment_of(setup, measure) for measure in measures)
    used = {experiment.preset for experiment in experiments if experiment}
    for preset in setup.presets:
        if preset.name in used:
            yield from (f"{one.what} ({one.reason})" for one in preset.deviations)


def _silent(setup: Setup, measures: Iterable[Measure]) -> Iterator[str]:
    for measure in measures:
        experiment = experiment_of(setup, measure)
        names = silent_of(experiment) if experiment else []
        if names:
            yield f"{measure.workload}: {', '.join(names)}"


def _with_section(one: SetupDifference) -> str:
    where = f" (section {one.section})" if one.section else ""
    return f"{one.what}: {one.ours}, there {one.theirs}{where}"
