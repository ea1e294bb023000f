"""In what one of our cells is not as the study's experiment: parameters, limits and settings.

The study's side is its set-up as data; what it is silent about cannot differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tare.core.model import Cell, Scalar, Unit, path_of
from tare.core.parameter import unit_of, word_of
from tare.results.published.counterparts import Measure, made_of
from tare.results.published.setup import Experiment, Parameter, Setup, SetupPlatform

NOT_RECORDED = "not recorded"
DEFAULT = ""
"""What stands for a setting that a layer stores only where it was asked for."""
MOST_IN_A_UNIT = 10_000
"""More than this number of a unit are no rounder than bytes."""
IEC = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))


class Topic(StrEnum):
    """What a difference is of."""

    PARAMETER = "parameter"
    """Of the workload: sizes, durations, threads."""
    LIMIT = "limit"
    PLATFORM = "platform"
    """A setting of the platform, or of its baseline."""
    HARDWARE = "hardware"
    SOFTWARE = "software"
    REPETITION = "repetition"


@dataclass(frozen=True, slots=True)
class SetupDifference:
    """One thing of the set-up that is not alike, in words; ``section`` is where theirs stands."""

    topic: Topic
    what: str
    ours: str
    theirs: str
    section: str | None = None

    def __str__(self) -> str:
        """Return ours and theirs in one phrase."""
        return f"{self.what} {self.ours}, there {self.theirs}"


def experiment_of(setup: Setup | None, measure: Measure) -> Experiment | None:
    """Return the study's experiment that a measure repeats, if its set-up has it."""
    for one in setup.experiments if setup else ():
        if measure.experiment:
            if one.name == measure.experiment:
                return one
            continue
        values = one.values
        fits = all(value in values.get(name, (value,)) for name, value in measure.needed.items())
        if one.workload == measure.workload and fits:
            return one
    return None


def differences_of(
    setup: Setup | None, measure: Measure, cell: Cell, baseline: Cell | None = None
) -> Iterator[SetupDifference]:
    """List in what a cell and its baseline were not as in the study."""
    experiment = experiment_of(setup, measure)
    known = {one.name: one for one in experiment.parameters} if experiment else {}
    yield from _parameters(measure, known, dict(cell.params))
    if setup is None or experiment is None:
        return
    for limit in experiment.limits:
        asked = (measure.cpus,) if limit.name == "cpus" and measure.cpus else limit.values
        ours = getattr(cell.limits, limit.name, None)
        if asked and ours is not None and ours not in asked:
            yield _difference(Topic.LIMIT, limit.name, ours, asked, limit.section)
    platforms = _platforms_of(setup, experiment)
    for each in (cell, *([baseline] if baseline else [])):
        yield from _settings(each, _platform_of(each, platforms))


def silent_of(experiment: Experiment) -> list[str]:
    """Return the parameters and limits that an experiment's study does not give."""
    every: Sequence[Parameter] = (*experiment.parameters, *experiment.limits)
    return [one.name for one in every if one.values is None]


def _parameters(
    measure: Measure, known: Mapping[str, Parameter], params: Mapping[str, Scalar]
) -> Iterator[SetupDifference]:
    """Compare the parameters of a cell with the row's own level, or else with all of the study."""
    for name, ours in params.items():
        parameter = known.get(name)
        section = parameter.section if parameter else None
        levels = parameter.values if parameter else None
        if name in measure.studied:
            levels = (measure.studied[name],)
        if levels and ours not in levels:
            yield _difference(Topic.PARAMETER, name, ours, levels, section)


def _platforms_of(setup: Setup, experiment: Experiment) -> list[SetupPlatform]:
    """Return the platforms of an experiment's preset, without those that only the preset has."""
    for preset in setup.presets:
        if preset.name == experiment.preset:
            deviating = {one.what for one in preset.deviations}
            return [one for one in preset.platforms if one.name not in deviating]
    return []


def _platform_of(cell: Cell, platforms: Sequence[SetupPlatform]) -> SetupPlatform | None:
    named = [one for one in platforms if one.name.casefold() == cell.platform.casefold()]
    alike = [one for one in platforms if made_of(path_of(one.stack)) == made_of(cell.path) != ""]
    return next(iter([*named, *alike]), None)


def _settings(cell: Cell, platform: SetupPlatform | None) -> Iterator[SetupDifference]:
    settings = dict(cell.settings)
    recorded = {name.partition(".")[0] for name in settings}
    for one in platform.settings if platform else ():
        if one.name.partition(".")[0] not in recorded:
            continue
        ours = settings.get(one.name, DEFAULT)
        if one.values and ours not in one.values:
            yield _difference(Topic.PLATFORM, one.name, ours, one.values, one.section)


def _difference(
    topic: Topic, name: str, ours: Scalar, theirs: Sequence[Scalar], section: str | None
) -> SetupDifference:
    said = " or ".join(level_text(name, value) for value in theirs)
    return SetupDifference(topic, word_of(name), level_text(name, ours), said, section)


def level_text(name: str, value: Scalar) -> str:
    """Write a level of a parameter; what counts bytes in the largest unit that it is whole in."""
    if value == DEFAULT:
        return "default"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if unit_of(name) is Unit.BYTE:
        for unit, size in IEC:
            if value and value % size == 0 and value < MOST_IN_A_UNIT * size:
                return f"{value // size:,} {unit}"
        return f"{value:,} B"
    return f"{value:,}"
