"""The set-ups of published studies: what each used, and how, with the section that says it.

One YAML file a study stands next to its CSV file. It has the conditions of the whole study, what
Tare's presets of it must have, and each experiment: the workload of Tare that repeats it, if there
is one, with every parameter. Where the study gives nothing the file says ``silent``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from tare.core.errors import ConfigError
from tare.core.model import Scalar
from tare.results.published.rows import DATA, studies

SILENT = "silent"
UNRECORDED = "unrecorded"
"""The section of what the study does say, in a place that our notes do not name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One fact of a set-up in words; ``value`` is None where the study is silent.

    ``section`` is where it stands, None where that is not recorded. What was ``derived`` follows
    from numbers of the study and does not stand there itself.
    """

    what: str
    value: str | None
    section: str | None = None
    derived: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """What a preset has instead of the study's values, and why."""

    values: tuple[Scalar, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """The study's levels of a parameter, limit or setting; ``values`` is None where it is silent.

    Names and units are those of cells: ``size_bytes``, ``time_s``, ``docker.network``.
    """

    name: str
    values: tuple[Scalar, ...] | None
    section: str | None = None
    derived: bool = False
    deviation: Deviation | None = None

    @property
    def in_preset(self) -> tuple[Scalar, ...] | None:
        """The levels that the preset of the study has at full scale; None: whatever we choose."""
        return self.values if self.deviation is None else self.deviation.values


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupPlatform:
    """A platform of a preset: its stack, and the settings that the study gives or is silent of."""

    name: str
    stack: str
    settings: tuple[Parameter, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """In what a preset is not as the study, where that is no parameter's value, and why."""

    what: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupPreset:
    """What a preset must have besides its workloads and limits."""

    name: str
    platforms: tuple[SetupPlatform, ...]
    repetition: tuple[Parameter, ...]
    deviations: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One experiment of a study; ``workload`` is None where Tare has none that repeats it.

    ``platforms`` are those of the study's experiment, in the names of the preset. ``roles`` say
    which program ran where. ``parameters`` are all that the workload has.
    """

    name: str
    section: str | None
    platforms: tuple[str, ...]
    workload: str | None
    preset: str | None
    roles: Mapping[str, str]
    notes: tuple[Condition, ...]
    limits: tuple[Parameter, ...]
    parameters: tuple[Parameter, ...]

    @property
    def values(self) -> dict[str, tuple[Scalar, ...]]:
        """The study's levels of the parameters that it gives, by name."""
        return {one.name: one.values for one in self.parameters if one.values is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The whole set-up of a study; ``conditions`` are by topic, such as hardware."""

    study: str
    conditions: Mapping[str, tuple[Condition, ...]]
    presets: tuple[SetupPreset, ...]
    experiments: tuple[Experiment, ...] = field(default=())

    def experiment(self, name: str) -> Experiment:
        """Return the experiment of a name, or raise KeyError."""
        return {one.name: one for one in self.experiments}[name]


@lru_cache
def setup_of(study: str) -> Setup:
    """Return a study's set-up, or raise ConfigError, which names the file and line."""
    if study not in studies():
        known = ", ".join(studies())
        raise ConfigError(f"no published study is called {study!r}; there are {known}")
    return read_setup(DATA / f"{study}.yaml")


def read_setup(path: Path) -> Setup:
    """Read a file of this form, or raise ConfigError, which names file, line and key."""
    try:
        text = path.read_text(encoding="utf-8")
        root = yaml.compose(text, yaml.CSafeLoader)
        document = yaml.load(text, yaml.CSafeLoader)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(f"{path}:{line}: {error.problem}; expected YAML") from error
    if root is None:
        raise ConfigError(f"{path}:1: the file is empty; expected the set-up of {path.stem}")
    for line, key in _repeated(root):
        raise ConfigError(f"{path}:{line}: {key}: the key stands there twice; remove one")
    try:
        made = _File.model_validate(document, strict=True).made()
    except ValidationError as error:
        raise ConfigError("\n".join(_problems(path, root, error))) from error
    if made.study != path.stem:
        raise ConfigError(f"{path}:1: study: expected {path.stem}, found {made.study!r}")
    return made


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


def _listed(value: object) -> object:
    return value if isinstance(value, list) else [value]


def _listed_or_none(value: object) -> object:
    return value if value is None else _listed(value)


def _given(value: object) -> object:
    """Write out the short form of what a study is silent about."""
    return {"value": None} if value == SILENT else value


_Scalar = str | bool | int | float
_Levels = Annotated[list[_Scalar], BeforeValidator(_listed), Field(min_length=1)]
_Text = Annotated[str, Field(min_length=1)]


class _Sectioned(_Part):
    section: _Text | None = None
    derived: bool = False

    @property
    def where(self) -> str | None:
        return None if self.section == UNRECORDED else self.section


def _hold_section(silent: bool, part: _Sectioned) -> None:
    if silent and (part.section or part.derived):
        raise ValueError(f"what is {SILENT} stands in no section; expected none")
    if not silent and not part.section:
        raise ValueError(f"section: expected the one that it stands in, or {UNRECORDED}")


class _Condition(_Sectioned):
    what: _Text
    value: _Text

    @model_validator(mode="after")
    def _check(self) -> _Condition:
        _hold_section(self.value == SILENT, self)
        return self

    def made(self) -> Condition:
        value = None if self.value == SILENT else self.value
        return Condition(what=self.what, value=value, section=self.where, derived=self.derived)


class _Parameter(_Sectioned):
    value: Annotated[list[_Scalar] | None, BeforeValidator(_listed_or_none)]
    instead: _Levels | None = None
    reason: _Text | None = None

    @model_validator(mode="after")
    def _check(self) -> _Parameter:
        _hold_section(self.value is None, self)
        if (self.instead is None) != (self.reason is None):
            raise ValueError("expected instead and reason together or neither")
        if self.instead is not None and (self.value is None or self.instead == self.value):
            raise ValueError("instead: expected other values than the study's")
        return self

    def made(self, name: str) -> Parameter:
        deviation = None
        if self.instead is not None and self.reason is not None:
            deviation = Deviation(values=tuple(self.instead), reason=self.reason)
        values = None if self.value is None else tuple(self.value)
        return Parameter(
            name=name,
            values=values,
            section=self.where,
            derived=self.derived,
            deviation=deviation,
        )


_Parameters = dict[str, Annotated[_Parameter, BeforeValidator(_given)]]


def _made(parameters: _Parameters) -> tuple[Parameter, ...]:
    return tuple(one.made(name) for name, one in parameters.items())


class _Platform(_Part):
    stack: _Text
    settings: _Parameters = {}


class _Repetition(_Part):
    min_blocks: Annotated[_Parameter, BeforeValidator(_given)]


class _Deviation(_Part):
    what: _Text
    reason: _Text


class _Preset(_Part):
    platforms: dict[str, _Platform]
    repetition: _Repetition
    deviations: list[_Deviation] = []

    def made(self, name: str) -> SetupPreset:
        platforms = tuple(
            SetupPlatform(name=called, stack=one.stack, settings=_made(one.settings))
            for called, one in self.platforms.items()
        )
        repetition = (self.repetition.min_blocks.made("min_blocks"),)
        deviations = tuple(Difference(what=x.what, reason=x.reason) for x in self.deviations)
        return SetupPreset(
            name=name, platforms=platforms, repetition=repetition, deviations=deviations
        )


class _Experiment(_Part):
    section: _Text
    platforms: list[_Text]
    workload: _Text | None = None
    preset: _Text | None = None
    roles: dict[str, _Text] = {}
    notes: list[_Condition] = []
    limits: _Parameters = {}
    parameters: _Parameters = {}

    @model_validator(mode="after")
    def _check(self) -> _Experiment:
        if self.preset and not (self.workload and {"cpus", "memory_bytes"} <= set(self.limits)):
            raise ValueError("preset: expected a workload and limits (cpus, memory_bytes) with it")
        if self.parameters and not self.workload:
            raise ValueError("parameters: expected the workload whose they are")
        return self

    def made(self, name: str) -> Experiment:
        return Experiment(
            name=name,
            section=None if self.section == UNRECORDED else self.section,
            platforms=tuple(self.platforms),
            workload=self.workload,
            preset=self.preset,
            roles=self.roles,
            notes=tuple(one.made() for one in self.notes),
            limits=_made(self.limits),
            parameters=_made(self.parameters),
        )


_Topic = Literal[
    "hardware",
    "software",
    "platforms",
    "repetition",
    "measured",
    "isolation",
    "stressors",
    "reservations",
]


class _File(_Part):
    study: _Text
    setup: dict[_Topic, list[_Condition]]
    presets: dict[str, _Preset]
    experiments: dict[str, _Experiment]

    @model_validator(mode="after")
    def _check(self) -> _File:
        for name, one in self.experiments.items():
            if one.preset and one.preset not in self.presets:
                raise ValueError(f"experiments.{name}: the preset {one.preset} is not described")
        return self

    def made(self) -> Setup:
        return Setup(
            study=self.study,
            conditions={
                topic: tuple(one.made() for one in listed) for topic, listed in self.setup.items()
            },
            presets=tuple(one.made(name) for name, one in self.presets.items()),
            experiments=tuple(one.made(name) for name, one in self.experiments.items()),
        )


def _repeated(node: yaml.Node, path: str = "") -> Iterator[tuple[int, str]]:
    """List the keys that stand twice in a mapping, of which YAML would drop the first."""
    if isinstance(node, yaml.SequenceNode):
        for place, one in enumerate(node.value):
            yield from _repeated(one, f"{path}[{place}]")
    elif isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            name = f"{path}.{key.value}".removeprefix(".")
            if key.value in seen:
                yield key.start_mark.line + 1, name
            seen.add(key.value)
            yield from _repeated(value, name)


def _problems(path: Path, root: yaml.Node, error: ValidationError) -> Iterator[str]:
    for one in error.errors():
        # What is no key of the file is the name of a type that was tried.
        line, keys = _place(root, one["loc"])
        message = one["msg"].removeprefix("Value error, ")
        yield f"{path}:{line}: {keys + ': ' if keys else ''}{message}"


def _place(root: yaml.Node, location: Sequence[int | str]) -> tuple[int, str]:
    """Find the line of the deepest part of a location that stands in the file."""
    node, line, keys = root, 1, ""
    for step in location:
        if isinstance(node, yaml.MappingNode):
            found = [(key, value) for key, value in node.value if key.value == step]
            if found:
                line, node = found[0][0].start_mark.line + 1, found[0][1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
            if step >= len(node.value):
                break
            node = node.value[step]
            line = node.start_mark.line + 1
        else:
            break
        keys += f"[{step}]" if isinstance(step, int) else f".{step}"
    return line, keys.removeprefix(".")
